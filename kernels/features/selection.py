"""Which columns a feature set has: groups of built-in features and modules of the user's, and a choice among them."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernels.features.causality import checked_column
from kernels.features.errors import FeatureError
from kernels.features.flow_table import FLOW_FEATURES, FLOW_LOOK_BACK
from kernels.features.market import market_features
from kernels.features.order_flow import BarFlow, flow_features
from kernels.features.table import FEATURES
from kernels.features.user import UserFeature, load_features

MARKET, ORDER_FLOW = "market", "order_flow"
GROUPS = {MARKET: FEATURES, ORDER_FLOW: FLOW_FEATURES}


@dataclass(frozen=True)
class FeatureSettings:
    """The columns of a feature set.

    include: groups of built-in features: `market` (42), `order_flow` (9).
    modules: importable modules with functions decorated with `kernels.features.user.feature`.
    names: the columns and their order; empty for all of the groups, then all of the modules.
    """

    include: tuple[str, ...] = (MARKET,)
    modules: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse unknown groups, repetitions and a feature set without columns."""
        for group in self.include:
            if group not in GROUPS:
                raise ValueError(f"features.include: {group!r} is no group; choose from {', '.join(GROUPS)}")
        for field in ("include", "modules", "names"):
            values = getattr(self, field)
            if len(set(values)) < len(values):
                raise ValueError(f"features.{field}: {', '.join(values)} repeats a name; give each once")
        if not self.include and not self.modules:
            raise ValueError("features: neither include nor modules name any feature; use include: [market]")


@dataclass(frozen=True)
class Selection:
    """The chosen columns: names in order, the longest look-back among them in bars, and the user's features."""

    names: tuple[str, ...]
    look_back: int
    user: tuple[UserFeature, ...]


@dataclass(frozen=True)
class FeatureColumns:
    """Computed columns: values float64 [bars, F], their names, look-back in bars, and the rows with order flow."""

    values: NDArray[np.float64]
    names: list[str]
    look_back: int
    has_flow: NDArray[np.bool_]


def select_features(settings: FeatureSettings) -> Selection:
    """Resolve the settings; imports the user's modules.

    Raises:
        FeatureError: a module cannot be imported, a name exists twice or not at all.
    """
    user = load_features(settings.modules)
    warm_ups: dict[str, int] = {}
    built_in = {feature.name for group in GROUPS.values() for feature in group}
    for group in settings.include:
        look_back = FLOW_LOOK_BACK if group == ORDER_FLOW else 0
        warm_ups |= {row.name: max(row.warm_up, look_back) for row in GROUPS[group]}
    for made in user:
        if made.name in built_in or made.name in warm_ups:
            raise FeatureError(
                f"feature {made.name} of {made.function.__module__} exists already; give it another name"
            )
        warm_ups[made.name] = made.warm_up
    names = settings.names or tuple(warm_ups)
    for name in names:
        if name not in warm_ups:
            raise FeatureError(f"features.names: there is no feature {name!r}; {_nearest(name, warm_ups)}")
    chosen = tuple(made for made in user if made.name in names)
    return Selection(names, max(warm_ups[name] for name in names), chosen)


def feature_columns(
    bars: pd.DataFrame,
    clamped_returns: NDArray[np.float64],
    settings: FeatureSettings,
    timezone: str,
    flow: BarFlow | None = None,
) -> FeatureColumns:
    """Compute the chosen columns.

    Args:
        bars: bars table sorted by time.
        clamped_returns: float64 [bars] of layer 2.
        settings: the choice.
        timezone: where the exchange's clock hangs (`session.timezone`).
        flow: order flow of the bars; without it the nine columns are zeros and no row has flow.

    Raises:
        FeatureError: the choice is inconsistent, or a user's feature gives no number a bar or reads later bars.
    """
    selection = select_features(settings)
    places = {name: index for index, name in enumerate(selection.names)}
    values = np.empty((len(bars), len(places)))
    if any(row.name in places for row in FEATURES):
        _place(values, places, [row.name for row in FEATURES], market_features(bars, clamped_returns, timezone))
    has_flow = np.zeros(len(bars), bool)
    if any(row.name in places for row in FLOW_FEATURES):
        matrix, has_flow = flow_features(bars, clamped_returns, flow)
        _place(values, places, [row.name for row in FLOW_FEATURES], matrix)
    for made in selection.user:
        values[:, places[made.name]] = checked_column(made, bars, clamped_returns)
    return FeatureColumns(values, list(selection.names), selection.look_back, has_flow)


def _place(
    values: NDArray[np.float64], places: dict[str, int], names: Sequence[str], matrix: NDArray[np.float64]
) -> None:
    """Copy the chosen columns of a group into their places."""
    for index, name in enumerate(names):
        if name in places:
            values[:, places[name]] = matrix[:, index]


def _nearest(name: str, known: dict[str, int]) -> str:
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else "docs/features.md lists the built-in ones"
