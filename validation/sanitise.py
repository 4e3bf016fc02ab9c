"""Layer 1: bars in, legal bars out, every other record in quarantine with its reason."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from validation.bar_rules import NON_FINITE, PRICE_SCALE, PRICES, BarRules, price_floats, row_verdicts
from validation.close_ratio import CloseCarry, Verdict, judge_closes
from validation.duplicates import EQUAL_COPY, KEPT, judge_duplicates
from validation.findings import findings_table, joined_findings, minute_text
from validation.judgement import REJECTING_RULES, RULES, Judgement, Records, in_time, no_judgement, reject
from validation.ordering import lexical_order

LARGEST_FLOAT_PRICE = 9.2e9  # the next power of ten does not fit fixed point


@dataclass(frozen=True)
class Sanitised:
    """What layer 1 makes of a table.

    accepted: the input's columns, prices as float64 (integer / 1e9), sorted by ts_event, expiry, publisher.
    findings: one row a rejected or noted record (see validation.findings).
    quarantine: the rejected records as they came (fixed-point prices) with columns `rule` and `layer`.
    report: {"records", "accepted", "quarantined", "rejected": {rule: n}, "noted": {rule: n}}.
    """

    accepted: pd.DataFrame
    findings: pd.DataFrame
    quarantine: pd.DataFrame
    report: dict[str, Any]


@dataclass(frozen=True)
class ContractCarry:
    """What layer 1 remembers of a contract between two chunks: its expiry, its last time (ns) and the close rule's carry."""

    expiry: int
    last: int
    reference: float
    low: float
    high: float
    rejects: int


@dataclass(frozen=True)
class SanitisedChunk:
    """A chunk after layer 1, and the carry for the chunk that follows: contracts by expiry."""

    sanitised: Sanitised
    carry: tuple[ContractCarry, ...]


def sanitise_rolled(rolled: pd.DataFrame, rules: BarRules) -> Sanitised:
    """Judge rolled bars by every rule of layer 1, each contract (`expiry`) by itself and causally.

    Every record ends in `accepted` or in `quarantine`. A record whose time lies before an earlier record of its file
    stays, at its place in time, and is noted. The result does not depend on the order of the rows.

    Args:
        rolled: rolled bars, prices int64 fixed point.
        rules: the instrument's rules.
    """
    return sanitise_chunk(rolled, rules).sanitised


def sanitise_chunk(rolled: pd.DataFrame, rules: BarRules, carry: tuple[ContractCarry, ...] = ()) -> SanitisedChunk:
    """Judge one chunk of a longer table (a trade date, a file): chunk after chunk gives what the whole gives.

    Chunks are cut between timestamps: records of one bar stand in one chunk.

    Args:
        rolled: rolled bars of the chunk, prices int64 fixed point; `expiry`, `source_row` and `backwards` must be there
            where more than one chunk is judged, as they are numbered over the whole.
        rules: the instrument's rules.
        carry: of the chunk before; empty for the first.

    Raises:
        ValueError: a contract's accepted record is not later than the chunk before: the cut went through a timestamp.
    """
    records = _records(rolled)
    judgement, carried = _judgement(records, rules, {contract.expiry: contract for contract in carry})
    return SanitisedChunk(_outcome(rolled, records, judgement), carried)


def _outcome(rolled: pd.DataFrame, records: Records, judgement: Judgement) -> Sanitised:
    accepted = _accepted(rolled, in_time(records, judgement.rule == 0))
    kept_out = in_time(records, judgement.rule != 0)
    quarantine = rolled.take(kept_out).reset_index(drop=True)
    quarantine["rule"] = pd.Series(np.array(RULES)[judgement.rule[kept_out]], dtype="str")
    quarantine["layer"] = np.int8(1)
    findings = _findings(records, judgement)
    return Sanitised(accepted, findings, quarantine, _report(len(rolled), quarantine, findings))


def _accepted(rolled: pd.DataFrame, at: NDArray[np.int64]) -> pd.DataFrame:
    """The records at these rows, fixed-point prices as floats; none of them is a sentinel."""
    columns: dict[str, Any] = {}
    for name in rolled.columns:
        fixed = name in PRICES and rolled[name].dtype == np.int64
        columns[name] = rolled[name].to_numpy()[at] / PRICE_SCALE if fixed else rolled[name].array.take(at)
    return pd.DataFrame(columns, copy=False)


def sanitise_bars(bars: pd.DataFrame, rules: BarRules | None = None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Layer 1 for one table of bars: (the good rows, the findings).

    Args:
        bars: `ts_event` (UTC), `open high low close` (int64 fixed point, or floats, of which accepted ones stay as they
            are), `volume`; `contract`, `expiry`, `publisher_id`, `source_row`, `backwards` where there are any.
        rules: without them a bar may have any tick, and prices at or below zero are rejected.

    Raises:
        ValueError: a column is missing, `ts_event` holds no times in UTC or lacks one, a volume is missing or below zero.
    """
    _require_usable(bars)
    result = sanitise_rolled(bars, BarRules() if rules is None else rules)
    return result.accepted, result.findings


def _require_usable(bars: pd.DataFrame) -> None:
    """Refuse what no rule of layer 1 judges."""
    missing = [name for name in ("ts_event", *PRICES, "volume") if name not in bars.columns]
    if missing:
        raise ValueError(f"bars have no column {', '.join(missing)}; give ts_event, open, high, low, close and volume")
    times = bars["ts_event"]
    if str(getattr(times.dtype, "tz", None)) != "UTC":
        raise ValueError(f"ts_event is {times.dtype}, not UTC times; use pd.to_datetime(…, utc=True), or .dt.tz_convert('UTC')")
    without = np.flatnonzero(times.isna().to_numpy())
    if len(without):
        raise ValueError(f"row {without[0]} has no ts_event ({len(without)} such rows); drop these rows")
    volume = bars["volume"].to_numpy()
    wrong = np.flatnonzero(~(volume >= 0))
    if len(wrong):
        raise ValueError(f"row {wrong[0]} has volume {volume[wrong[0]]} ({len(wrong)} such rows); a volume is 0 or more, 0 if "
                         "it is not known")


def _records(table: pd.DataFrame) -> Records:
    rows = len(table)
    ts = pd.DatetimeIndex(table["ts_event"]).as_unit("ns").asi8
    labels = table["contract"] if "contract" in table else pd.Series([""], dtype="str").repeat(rows)
    if "expiry" in table:
        contract = table["expiry"].to_numpy().astype(np.int64)
    else:
        contract = np.unique(labels.to_numpy().astype(str), return_inverse=True)[1].astype(np.int64)
    backwards = table["backwards"].to_numpy() if "backwards" in table else ts < np.maximum.accumulate(ts)
    return Records(
        ts=ts,
        contract=contract,
        publisher=_integers(table, "publisher_id", np.zeros(rows, np.int64)),
        prices={name: _fixed_point(table[name].to_numpy()) for name in PRICES},
        volume=_integers(table, "volume", np.zeros(rows, np.int64)),
        source_row=_integers(table, "source_row", np.arange(rows)),
        backwards=backwards,
        labels=labels.reset_index(drop=True),
    )


def _integers(table: pd.DataFrame, name: str, default: NDArray[np.int64]) -> NDArray[np.int64]:
    integers: NDArray[np.int64] = table[name].to_numpy(np.int64) if name in table else default
    return integers


def _fixed_point(prices: NDArray[Any]) -> NDArray[np.int64]:
    if prices.dtype == np.int64:
        return prices
    floats = prices.astype(np.float64)
    legal = np.abs(floats) < LARGEST_FLOAT_PRICE  # False for NaN
    fixed: NDArray[np.int64] = np.rint(np.where(legal, floats, 0.0) * PRICE_SCALE).astype(np.int64)
    fixed[~legal] = NON_FINITE
    return fixed


def _judgement(
    records: Records, rules: BarRules, carry: dict[int, ContractCarry]
) -> tuple[Judgement, tuple[ContractCarry, ...]]:
    rows = row_verdicts(records.prices, rules)
    judgement = no_judgement(len(records.ts))
    rule = np.array([RULES.index(name) for name in rows.rule.tolist()], np.int8)
    column = np.array([PRICES.index(name) for name in rows.column.tolist()], np.int8)
    reject(judgement, rows.at, rule, rows.value, rows.limit, column)
    standing = np.flatnonzero(judgement.rule == 0)
    keys = (records.publisher, records.ts, records.contract)
    standing = standing[lexical_order([key[standing] for key in keys])]
    standing = _without_duplicates(records, judgement, standing, keys)
    carry = carry | _judge_levels(records, judgement, standing, rules, carry)
    return judgement, tuple(carry[expiry] for expiry in sorted(carry))


def _without_duplicates(
    records: Records, judgement: Judgement, standing: NDArray[np.int64], keys: tuple[NDArray[np.int64], ...]
) -> NDArray[np.int64]:
    same = np.zeros(len(standing), bool)
    if len(standing):
        same[1:] = np.logical_and.reduce([key[standing[1:]] == key[standing[:-1]] for key in keys])
    if not same.any():
        return standing
    prices = records.prices
    preference = [records.volume, prices["close"], prices["high"], prices["low"], prices["open"]]
    verdict, kept = judge_duplicates(same, [values[standing] for values in preference], records.source_row[standing])
    out = np.flatnonzero(verdict != KEPT)
    rules = np.where(verdict[out] == EQUAL_COPY, RULES.index("duplicate_row"), RULES.index("duplicate_key"))
    close = price_floats(prices["close"][standing])
    reject(judgement, standing[out], rules, close[out], close[kept[out]])
    single: NDArray[np.int64] = standing[verdict == KEPT]
    return single


def _judge_levels(
    records: Records,
    judgement: Judgement,
    standing: NDArray[np.int64],
    rules: BarRules,
    carry: dict[int, ContractCarry],
) -> dict[int, ContractCarry]:
    """Judge the closes of each contract in time order; returns the carry of the contracts that were seen."""
    after: dict[int, ContractCarry] = {}
    contract, close = records.contract[standing], price_floats(records.prices["close"][standing])
    edges = np.append(np.flatnonzero(np.diff(contract, prepend=contract[:1] - 1)), len(standing))
    for start, stop in pairwise(edges.tolist()):
        at = standing[start:stop]
        if not len(at):
            continue
        before = carry.get(int(contract[start]))
        _check_order(records, at, before)
        begun = CloseCarry() if before is None else CloseCarry(before.reference, before.low, before.high, before.rejects)
        verdict, limit, ended = judge_closes(close[start:stop], rules, begun)
        after[int(contract[start])] = ContractCarry(int(contract[start]), int(records.ts[at[-1]]), *ended)
        rejected = np.flatnonzero(verdict == Verdict.REJECTED)
        reject(judgement, at[rejected], RULES.index("close_ratio"), close[start:stop][rejected], limit[rejected])
        level = np.flatnonzero(verdict == Verdict.NEW_LEVEL)
        judgement.new_level[at[level]] = True
        judgement.value[at[level]], judgement.limit[at[level]] = close[start:stop][level], limit[level]
    return after


def _check_order(records: Records, at: NDArray[np.int64], before: ContractCarry | None) -> None:
    if before is not None and records.ts[at[0]] <= before.last:
        raise ValueError(
            f"bar {minute_text(pd.Timestamp(int(records.ts[at[0]]), tz='UTC'))} {records.labels[int(at[0])]} is not after "
            f"the chunk before, which ends at {minute_text(pd.Timestamp(before.last, tz='UTC'))}; cut between timestamps"
        )


def _findings(records: Records, judgement: Judgement) -> pd.DataFrame:
    def found(mask: NDArray[np.bool_], rule: Any, column: Any, action: str, with_values: bool) -> pd.DataFrame:
        at = in_time(records, mask)
        nothing = np.full(len(at), np.nan)
        return findings_table(
            ts_event=records.ts[at],
            contract=records.labels.take(at),
            layer=1,
            rule=rule if isinstance(rule, str) else np.array(RULES)[rule[at]],
            column=column if isinstance(column, str) else np.array(PRICES)[column[at]],
            value=judgement.value[at] if with_values else nothing,
            limit=judgement.limit[at] if with_values else nothing,
            action=action,
            source_row=records.source_row[at],
        )

    tables = [
        found(judgement.rule != 0, judgement.rule, judgement.column, "rejected", True),
        found(judgement.new_level, "level_accepted", "close", "noted", True),
        found(records.backwards, "backwards_time", "ts_event", "noted", False),
    ]
    return joined_findings(tables).sort_values(["ts_event", "source_row"], kind="stable", ignore_index=True)


def _report(records: int, quarantine: pd.DataFrame, findings: pd.DataFrame) -> dict[str, Any]:
    rejected = quarantine["rule"].value_counts()
    noted = findings.loc[findings["action"] == "noted", "rule"].value_counts()
    return {
        "records": records,
        "accepted": records - len(quarantine),
        "quarantined": len(quarantine),
        "rejected": {rule: int(rejected[rule]) for rule in REJECTING_RULES if rule in rejected},
        "noted": {rule: int(noted[rule]) for rule in sorted(noted.index)},
    }
