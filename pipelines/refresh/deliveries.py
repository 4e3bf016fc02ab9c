"""What a delivery brings, against what is published: facts counted from artefacts, and the reasons to refuse it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from loaders.types import nanoseconds as times
from pipelines.graphs.graph import Graph
from pipelines.graphs.parts import PartList
from pipelines.graphs.reading import read_artefact, read_task
from pipelines.refresh.published_pointer import CurrentSet
from pipelines.refresh.refresh_settings import RefreshSettings
from pipelines.storage.store import Store
from validation.sanitise import Sanitised

NEEDED = ("gaps", "sanitised", "feature_days", "feature_set")  # nodes that a set is made and judged by
TOGETHER = 0  # in place of a session


@dataclass(frozen=True)
class Delivery:
    """The sessions that are new or changed, and what is wrong with them.

    `changed`: sessions computed anew, in order. `rows`: their rows of followed contracts; `rejected`: rule of layer 1 → how
    many of them; `ordinals`: rule → number of the file → rows of it, to name files. `missing`: session → minutes
    that the data itself shows to be lost, more than were when it was published (of a first delivery all sessions TOGETHER: an
    archive may have a bad day). `lost`: published sessions that are gone. `shrunk`: session → bars that a revision took away.
    Both are shares of a full session. `newest`: where the newest bar starts, int64 ns UTC.
    """

    changed: tuple[int, ...]
    rows: int
    rejected: Mapping[str, int]
    ordinals: Mapping[str, Mapping[int, int]]
    missing: Mapping[int, float]
    lost: tuple[int, ...]
    shrunk: Mapping[int, float]
    newest: int


def delivery(graph: Graph, store: Store, before: CurrentSet | None) -> Delivery:
    """Count what the computed tasks of a graph bring, beyond the published set."""
    new = days_of(store, graph["feature_days"].key)
    old = days_of(store, before.feature_days) if before and store.manifest(before.feature_days) else None
    known = set() if old is None else set(old["key"])
    changed = new.loc[~new["key"].isin(known), "session"]
    rows = {} if old is None else dict(zip(old["session"].tolist(), old["rows"].tolist(), strict=True))
    now = dict(zip(new["session"].tolist(), new["rows"].tolist(), strict=True))
    full = max(rows.values(), default=1)
    sanitised: Sanitised = read_task(store, graph["sanitised"])
    rejected = sanitised.quarantine[sanitised.quarantine["session"].isin(changed)]
    return Delivery(
        changed=tuple(changed.tolist()),
        rows=int(sanitised.accepted["session"].isin(changed).sum()) + len(rejected),
        rejected={str(rule): int(count) for rule, count in rejected["rule"].value_counts().sort_index().items()},
        ordinals=_by_file(rejected),
        missing=_missing(graph, store, before),
        lost=tuple(session for session in rows if session not in now),
        shrunk={at: (rows[at] - now[at]) / full for at in rows if at in now and now[at] < rows[at]},
        newest=int(times(read_task(store, graph["feature_set"], "bars")["ts_event"])[-1]),
    )


def reasons_against(found: Delivery, limits: RefreshSettings) -> list[str]:
    """Say why a delivery must not replace the published set; nothing where it may."""
    said = []
    for rule, count in found.rejected.items():
        allowed = max(limits.few_rejected, limits.max_rejected_share * found.rows)
        if count > allowed:
            said.append(
                f"{count} of {found.rows:,} delivered rows rejected as {rule} ({count / found.rows:.2%}): more than "
                f"refresh.max_rejected_share {limits.max_rejected_share:.2%} and refresh.few_rejected {limits.few_rejected}"
            )
    if lacking := {at: share for at, share in found.missing.items() if share > limits.max_missing_share}:
        said.append(f"{_sessions(lacking)} of a full session's minutes lost: more than {_share(limits)}")
    if len(found.lost) > limits.max_lost_sessions:
        said.append(
            f"{len(found.lost)} published sessions are gone, first {found.lost[0]}: more than refresh.max_lost_sessions "
            f"{limits.max_lost_sessions}"
        )
    if fewer := {at: share for at, share in found.shrunk.items() if share > limits.max_missing_share}:
        said.append(f"{_sessions(fewer)} of a full session's bars fewer than published: more than {_share(limits)}")
    return said


def ahead_of(newest: int, clock: int) -> str:
    """Say why bars that start after now (both int64 ns UTC) are refused."""
    bar, now = (str(np.datetime64(moment // 10**9, "s")) + "Z" for moment in (newest, clock))
    return f"the newest bar starts at {bar}, and it is {now} by this machine: its clock is wrong, or that of the data"


def _share(limits: RefreshSettings) -> str:
    return f"refresh.max_missing_share {limits.max_missing_share:.1%}"


def _sessions(found: Mapping[int, float]) -> str:
    """Name the first session and its share, and how many more there are."""
    first = min(found)
    named = "the first delivery as a whole" if first == TOGETHER else f"session {first}"
    others = f" (and {len(found) - 1} more up to {max(found)})" if len(found) > 1 else ""
    return f"{named}{others} has {found[first]:.1%}"


def files_to_blame(found: Delivery, limits: RefreshSettings, names: Sequence[str], new: set[str]) -> list[str]:
    """Return the new files whose own rows exceed what a rule may reject, by the order the flow numbers files in."""
    blamed = set()
    for rule, counts in found.ordinals.items():
        if found.rejected[rule] > max(limits.few_rejected, limits.max_rejected_share * found.rows):
            blamed |= {names[at] for at, count in counts.items() if at < len(names) and count > limits.few_rejected}
    return sorted(blamed & new)


def days_of(store: Store, key: str) -> pd.DataFrame:
    """Return the list of a set's trade dates: session, rows and the key of each."""
    table: pd.DataFrame = read_artefact(store, key, PartList, None, "table")
    return table


def _by_file(rejected: pd.DataFrame) -> dict[str, dict[int, int]]:
    from loaders.types import SOURCE_SHIFT

    counts: dict[str, dict[int, int]] = {}
    ordinals = rejected["source_row"].to_numpy() >> SOURCE_SHIFT
    for (rule, ordinal), count in Counter(zip(rejected["rule"].tolist(), ordinals.tolist(), strict=True)).items():
        counts.setdefault(str(rule), {})[int(ordinal)] = count
    return counts


def missing_shares(graph: Graph, store: Store) -> dict[int, float]:
    """Return session → minutes that the data itself shows to be lost, as a share of a full session's open minutes.

    Of a full one, because of a session that has only begun a few minutes would be a large share. Sessions that lost none are
    left out.
    """
    table = _coverage(graph, store)
    full = max(1, int(table["open"].max()))
    lacking = table[table["missing"] > 0]
    return {int(at): int(count) / full for at, count in zip(lacking["session"], lacking["missing"], strict=True)}


def _missing(graph: Graph, store: Store, before: CurrentSet | None) -> dict[int, float]:
    """Shares of the sessions that lack more than they lacked when they were published; of a first delivery of all together."""
    if before is None:
        table = _coverage(graph, store)
        return {TOGETHER: float(table["missing"].sum() / max(1, table["open"].sum()))}
    shares = missing_shares(graph, store)
    return {session: share for session, share in shares.items() if share > before.missing.get(str(session), 0.0)}


def _coverage(graph: Graph, store: Store) -> pd.DataFrame:
    table: pd.DataFrame = read_task(store, graph["gaps"], "coverage")
    return table
