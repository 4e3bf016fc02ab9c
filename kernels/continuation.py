"""Sweeps that go on from the state of an earlier one (``kernels.sweep_state``)."""

from dataclasses import replace

import pandas as pd

from kernels.grid import lanes
from kernels.metrics import reads
from kernels.plan import Carried, Plan
from kernels.preparation import SweepError
from kernels.program_result import ProgramResult
from kernels.scoring import Settings, scorer
from kernels.strategy import Strategy
from kernels.sweep_state import SweepState, past_digest, settings_text, states_to_keep, strategy_text


def continued(
    strategy: Strategy,
    bars: pd.DataFrame,
    settings: Settings,
    state: SweepState,
    precision: str,
    **given: object,
) -> ProgramResult:
    """The sweep of the state's window up to the last of ``bars``, computed from the state on.

    ``given``: arguments that the state already decides, which must be None. Raises ``SweepError`` where the state does not
    fit the bars, the strategy, the settings or the metrics.
    """
    for name, value in {**given, "windows": settings.windows, "blocks": settings.blocks or None}.items():
        if value is not None:
            raise SweepError(f"resume goes on with the state's own combinations, start and window: leave out {name}=")
    states_to_keep(settings.metrics, precision)
    _check_bars(bars, state)
    whole = replace(settings, windows=[(state.window_start, len(bars))])
    scoring = scorer(strategy, bars, whole, len(state.combinations), state.start, precision)
    scoring.plan = replace(scoring.plan, resumed_at=state.bar)
    _check(strategy, settings, scoring.plan, state)
    carried = {Carried(name): column for name, column in lanes(state.values).items()}
    table, _ = scoring.score(state.combinations, carried)
    return scoring.result(table, state.combinations, carried=carried)


def _check_bars(bars: pd.DataFrame, state: SweepState) -> None:
    moment = bars["ts_event"].iloc[state.bar] if len(bars) > state.bar else f"absent: there are {len(bars)} bars"
    if moment != state.ts_event:
        raise SweepError(
            f"resume: the state stands before bar {state.bar} of {state.ts_event}; here that bar is {moment}: give the bars of "
            "the first sweep and the new ones below them"
        )


def _check(strategy: Strategy, settings: Settings, plan: Plan, state: SweepState) -> None:
    if (own := strategy_text(strategy)) != state.strategy:
        raise SweepError(
            f"resume: the state is of the strategy {state.strategy}, not {own} (name and digest of what it computes): give "
            "the strategy of the first sweep"
        )
    ours = settings_text(plan.conditions, settings.returns)
    if ours != state.settings:
        raise SweepError(f"resume: the state came to be under {state.settings}, not {ours}: give the same settings")
    if past_digest(plan.columns, state.bar) != state.past:
        raise SweepError(
            f"resume: what the strategy reads of the {state.bar} bars before the state is not what the first sweep read: the "
            "past was revised; sweep again from the start"
        )
    missing = sorted(set(plan.needed(sorted(reads(settings.metrics)))) - set(state.values.columns))
    if missing:
        raise SweepError(
            f"resume: the state lacks {', '.join(missing)}: ask for metrics of the first sweep, or sweep again with these"
        )
