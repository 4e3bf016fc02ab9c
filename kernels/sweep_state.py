"""The state of a sweep: its accounts as they stand before one bar, so that a later sweep can go on from there.

The last bar is left to the sweep that goes on, for only the bar after it tells whether it ends a session. Indicators are no
part of the state: they are computed from the bars, of which the longer table holds the past too, and so are the same to
the bit.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from kernels.canonical_nan import with_canonical_nan
from kernels.metrics import ordered, reads
from kernels.preparation import SweepError
from kernels.rows import Columns
from kernels.simulation import Conditions
from kernels.strategy import Strategy
from kernels.walks import nodes

TRACED = ("position", "profit", "costs", "solvent")
"""States that are kept whatever metrics were asked for: a trace needs them."""


@dataclass(frozen=True, eq=False)
class SweepState:
    """Accounts before bar ``bar``, whose time is ``ts_event``; ``start`` and ``window_start`` are those of the sweep.

    ``combinations``: a row each, its parameters; ``values``: a row each, a column a state of the account, its pending
    orders and its tallies; both can be stored as Parquet. ``strategy`` and ``settings`` say under what they came to be,
    ``past`` over which bars.
    """

    strategy: str
    settings: str
    bar: int
    ts_event: pd.Timestamp
    window_start: int
    start: int
    past: str
    combinations: pd.DataFrame
    values: pd.DataFrame


def states_to_keep(metrics: Sequence[str], precision: str) -> list[str]:
    """The states that a sweep of these metrics goes on with; raises ``SweepError`` for what cannot go on."""
    if precision != "fp64":
        raise SweepError(f"precision={precision!r}: a state is kept, and gone on with, in 'fp64' alone")
    needed = reads(metrics)
    if ordered(sorted(needed)):
        raise SweepError("var_95, cvar_95 and tail_ratio need all returns, which no state holds: sweep without them")
    return sorted(needed | set(TRACED))


def settings_text(conditions: Conditions, returns: str) -> str:
    """What decides an account, as text: a state is gone on with under the same alone."""
    return f"{conditions.terms}, capital {conditions.capital!r}, {conditions.execution}, {conditions.sizing}, {returns}"


def past_digest(columns: Columns, bar: int) -> str:
    """A digest of what the sweep read of the bars before ``bar``: one that was revised since changes it."""
    found = hashlib.sha256()
    for name in sorted(columns, key=repr):
        found.update(repr(name).encode() + with_canonical_nan(columns[name][:bar]).tobytes())
    return found.hexdigest()


def strategy_text(strategy: Strategy) -> str:
    """The strategy's name with a digest of what it computes: two that differ in any operation differ in it."""
    parts = [part for part in (strategy.target, strategy.stop_loss, strategy.take_profit) if part is not None]
    which = tuple(getattr(strategy, field) is not None for field in ("stop_loss", "take_profit"))
    place: dict[int, int] = {}
    lines = []
    for node in nodes(*parts):
        place[id(node)] = len(place)
        lines.append(f"{node.op} {node.detail!r} {[place[id(operand)] for operand in node.operands]}")
    text = "\n".join([repr(which), *lines, repr([place[id(part)] for part in parts])])
    return f"{strategy.name} {hashlib.sha256(text.encode()).hexdigest()[:12]}"
