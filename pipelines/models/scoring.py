"""A promoted model's target positions on the published set, bar by bar as its backtest would have them."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernels.execution import Costs, Execution, Instrument
from kernels.portfolio import whole_contracts
from pipelines.errors import UsageError
from pipelines.graphs.reading import read_artefact
from pipelines.models.promotions import Promoted
from pipelines.models.scored_code import LINEAR, STRATEGY
from pipelines.steps.boundaries import NORMALISED
from pipelines.steps.feature_set import FeatureSet
from pipelines.steps.fold_rows import NormalisedFeatures
from pipelines.storage.store import Store
from training.linear import LinearModel, linear_positions
from training.policy import Policy
from validation.normalise import Normaliser, normalise

FEWEST_BARS = 2  # after the first test bar, without which no decision could have been filled


@dataclass(frozen=True)
class Terms:
    """What the model was evaluated with, and what its positions are counted in."""

    contract: Instrument
    costs: Costs
    execution: Execution
    capital: float


@dataclass(frozen=True)
class Scored:
    """Target positions [bars] in [-1, 1], each decided at its bar's close, from row `first` on; NaN before it."""

    target: NDArray[np.float64]
    first: int
    filled: bool

    def contracts(self, execution: Execution) -> int:
        """The newest target in whole contracts."""
        return int(whole_contracts(self.target[-1:], execution.contracts)[0])


def score(store: Store, promoted: Promoted, feature_set: FeatureSet, terms: Terms) -> Scored:
    """Compute the model's targets from the fold's first test bar to the newest one; they depend on no later bar.

    `filled`: the newest bar has its whole look-back. Raises UsageError where the set does not hold what the model reads.
    """
    bars = feature_set.bars
    first = first_row(bars, promoted.since)
    target = np.full(len(bars), np.nan)
    if promoted.kind == STRATEGY:
        target[first:] = _strategy(promoted, bars, first, terms)
        return Scored(target, first, len(bars) > promoted.start)
    if list(feature_set.names) != promoted.names:
        raise UsageError(
            f"{promoted.model} of run {promoted.run} reads {len(promoted.names)} features, the published set has "
            f"{len(feature_set.names)}, not the same ones in the same order: refresh with the run's features.* or promote anew"
        )
    begin = _executable_before(bars, first)
    z = _normalised(store, promoted, feature_set, begin)
    table, rows = bars.iloc[begin:].reset_index(drop=True), (first - begin, len(bars) - begin)
    target[first:] = _model(store, promoted, z, table, rows, terms)[rows[0] :]
    return Scored(target, first, bool(np.asarray(feature_set.valid)[-1]))


def first_row(bars: pd.DataFrame, since: str) -> int:
    """Return the row of the bar that starts at `since`; raise UsageError where it is not there or nothing follows it."""
    moment = pd.Timestamp(since)
    row = int(bars["ts_event"].searchsorted(moment))
    if row >= len(bars) or bars["ts_event"].iloc[row] != moment:
        raise UsageError(
            f"the published set has no bar at {since}, the first test bar of the model: promote a model of a newer run"
        )
    if len(bars) - row < FEWEST_BARS:
        raise UsageError(f"the published set ends at {since}, the first test bar of the model: refresh with newer data")
    return row


def _strategy(promoted: Promoted, bars: pd.DataFrame, first: int, terms: Terms) -> NDArray[np.float64]:
    from kernels.strategies import named_strategy
    from kernels.sweep import sweep
    from pipelines.config.user_code import search_here

    search_here()  # a strategy of the user's own, package.module:name
    result = sweep(
        named_strategy(promoted.model),
        bars,
        grid={name: [value] for name, value in promoted.parameters.items()},
        costs=terms.costs,
        instrument=terms.contract,
        capital=terms.capital,
        execution=terms.execution,
        metrics=["trades"],
        windows=[(first, len(bars))],
        returns="session",
        executor="cpu",
        start=promoted.start,
        threads=1,
    )
    target: NDArray[np.float64] = result.trace(0)["target"].to_numpy(dtype=np.float64)
    return target[first:]


def _normalised(store: Store, promoted: Promoted, feature_set: FeatureSet, begin: int) -> NDArray[np.float32]:
    """The features from row `begin` on, on the scale of the model's own fold."""
    (task,) = (name for name in promoted.artefacts if name.startswith("normalised"))
    key = promoted.artefacts[task]
    normaliser: Normaliser = read_artefact(store, key, NormalisedFeatures, NORMALISED, "normaliser")
    limit = float(read_artefact(store, key, NormalisedFeatures, NORMALISED, "limit"))
    kept = slice(begin, None)
    z, _ = normalise(
        np.asarray(feature_set.features)[kept], normaliser, limit, feature_set.names, None, np.asarray(feature_set.valid)[kept]
    )
    return z


def _model(
    store: Store, promoted: Promoted, z: NDArray[np.float32], bars: pd.DataFrame, rows: tuple[int, int], terms: Terms
) -> NDArray[np.float64]:
    (task,) = (name for name in promoted.artefacts if not name.startswith("normalised"))
    key = promoted.artefacts[task]
    if promoted.kind == LINEAR:
        return linear_positions(read_artefact(store, key, LinearModel, None), z, rows)
    from training.evaluation import policy_positions

    policy: Policy = read_artefact(store, key, Policy, None)
    return policy_positions(policy, z, bars, rows, terms.contract, terms.costs, terms.execution)


def _executable_before(bars: pd.DataFrame, first: int) -> int:
    """The last row up to `first` that could execute: what a position is marked to where `first` itself could not."""
    usable = np.flatnonzero(~bars["masked"].to_numpy()[: first + 1])
    return int(usable[-1]) if len(usable) else 0
