"""Text of what the figures rest on: what is traded on which terms, and how a year is counted."""

from collections.abc import Mapping
from typing import Any

from pipelines.report.formats import number, parameter
from pipelines.report.view_tables import Table

FILLS = {"next_open": "decided at a bar's close, filled at the open of the next bar that trades"}


def terms(report: Mapping[str, Any]) -> Table:
    """What is traded and what trading costs, in words and money."""
    instrument, costs, execution = report["instrument"], report["costs"], report["execution"]
    currency, multiplier, tick = report["currency"], instrument["multiplier"], instrument["tick_size"]
    fee = instrument["fee_per_contract"] + costs["fee_per_contract"]
    slippage = costs["slippage_ticks"] * tick * multiplier

    def money(value: float) -> str:
        return number(value, "cents", currency)

    ticks = f"{parameter(float(costs['slippage_ticks']))} {'tick' if costs['slippage_ticks'] == 1 else 'ticks'}"
    fill = execution["fill"]
    rows = [
        ["Capital", money(report["capital"])],
        ["Instrument", f"{instrument['symbol']}, in {currency}"],
        ["Contracts", f"{parameter(execution['contracts'])} at most, long or short"],
        ["Multiplier", f"{money(multiplier)} a point"],
        ["Tick", f"{parameter(tick)} points = {money(tick * multiplier)} a contract"],
        ["Fee", f"{money(fee)} a contract and side{_rate(costs['fee_bps'])}"],
        ["Slippage", f"{ticks} = {money(slippage)} a contract and side{_rate(costs['slippage_bps'])}"],
        ["Fill", FILLS.get(fill, fill.replace("_", " "))],
        ["At a roll", "the old contract is closed and the new one opened: two sides are paid"],
    ]
    return Table(("Term", "Value"), rows, words=(0, 1))


def _rate(basis_points: float) -> str:
    return f" and {parameter(float(basis_points))} basis points of what is traded" if basis_points else ""


def annual_sentences(report: Mapping[str, Any]) -> list[str]:
    """How many sessions make a year here, where the number comes from, and which returns all figures share."""
    yearly, models = report["sessions_per_year"], report["models"]
    if yearly is None or not models:
        return []
    count = len(models[0]["sessions"]["session"])
    swept = {f"{ranking['sessions_per_year']:.1f}": None for ranking in report["rankings"]}
    rankings = f"; the sweeps, of the data up to the last validation row, {' and '.join(swept)}" if swept else ""
    return [
        f"A year is {yearly:.1f} sessions in every annual figure of the models{rankings}. The number is counted from the "
        "calendar of the data up to the last test row: trade dates with bars, as a share of the weekdays they span (of "
        f"all days where a session falls on a weekend), times those of a year. The test rows are {count} sessions, "
        f"{count / yearly:.3f} years; a session that they cut at either end counts as a whole one.",
        "Metrics, intervals, PSR and deflated Sharpe share one series: the net profit of each of these sessions over the "
        "equity it began with.",
        "Open positions are marked to the last close, not liquidated; round trips are closed ones.",
    ]
