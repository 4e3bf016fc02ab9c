"""The instrument's file against the definitions beside the data: where they differ, nothing is computed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kernels.execution import Instrument
from loaders.contract_facts import contract_facts
from loaders.errors import DataError
from loaders.grammar import MONTH_CODES
from loaders.roll_expiry import expiry_days
from loaders.roll_settings import LISTING
from loaders.sessions import ALWAYS_OPEN
from pipelines.config.settings import InstrumentSettings
from pipelines.errors import ConfigurationError

NEAR_DAYS = 100  # before its last trading day a contract's definition knows of every holiday
FIRST_NOTICE = "first_notice"
EXCHANGES = {
    "cme_equity": ("XCME", "XCBT"), "cme_rates": ("XCBT", "XCME"),
    "nymex_energy": ("XNYM", "XCEC"), "comex_metals": ("XCEC", "XNYM"),
}  # fmt: skip
"""Exchanges (MIC) whose products keep the hours of a calendar; energy and metals keep the same."""


@dataclass(frozen=True)
class Difference:
    """A fact that a definition states otherwise than the configuration: both as text, the configuration's with its key."""

    fact: str
    contract: str
    day: int
    file: str
    defined: str
    configured: str

    def __str__(self) -> str:
        """Name contract, date, both values and where each comes from."""
        date = np.datetime64(self.day, "D")
        return f"{self.contract} on {date} in {self.file}: {self.defined}, but {self.configured}"


def require_agreement(instrument: InstrumentSettings, definition_files: Sequence[Path]) -> None:
    """Refuse an instrument that the outrights' definitions contradict; fields they leave undefined say nothing.

    Compared are tick size, money a point, currency, the exchange with the calendar, and the last trading day of contracts near
    it with the rule `roll.expires`. Facts named in `accept_differences` may differ.

    Raises ConfigurationError naming the first difference of each fact. Files that cannot be read are left to the nodes.
    """
    try:
        facts = contract_facts(definition_files, instrument.root)
    except DataError:
        return
    first: dict[str, Difference] = {}
    for difference in differences(instrument, facts):
        if difference.fact not in instrument.accept_differences:
            first.setdefault(difference.fact, difference)
    if first:
        names = ",".join(sorted({*first, *instrument.accept_differences}))
        raise ConfigurationError(
            f"the definitions contradict the instrument: {'; '.join(map(str, first.values()))}. Correct the instrument's file; "
            f"if it is right, or the exchange changed this within the data, instrument.accept_differences=[{names}] goes on "
            "with its values"
        )


def differences(instrument: InstrumentSettings, facts: pd.DataFrame) -> Iterator[Difference]:
    """Yield what the facts of definitions state otherwise, by fact and then by date."""
    contract, calendar = instrument.contract, instrument.session.calendar
    for name, column, field in (("tick_size", "tick", "min_price_increment"), ("multiplier", "multiplier", "a point is worth")):
        configured = float(getattr(contract, name))
        stated = facts[column].to_numpy()
        for row in np.flatnonzero(~np.isnan(stated) & ~np.isclose(stated, configured, rtol=1e-9, atol=0.0)):
            words = f"{field} {stated[row]:g}" if name == "multiplier" else f"{field} is {stated[row]:g}"
            yield _difference(name, facts, row, words, f"instrument.contract.{name} is {configured:g}")
    yield from _currencies(contract, facts)
    if calendar != ALWAYS_OPEN:
        wrong = (facts["exchange"] != "") & ~facts["exchange"].isin(EXCHANGES[calendar])
        for row in np.flatnonzero(wrong):
            yield _difference("calendar", facts, row, f"exchange is {facts['exchange'].iloc[row]}",
                              f"instrument.session.calendar {calendar} is of {' and '.join(EXCHANGES[calendar])}")
    yield from _expiries(instrument, facts)


def _currencies(contract: Instrument, facts: pd.DataFrame) -> Iterator[Difference]:
    for row in np.flatnonzero((facts["currency"] != "") & (facts["currency"] != contract.currency)):
        yield _difference("currency", facts, row, f"currency is {facts['currency'].iloc[row]}",
                          f"instrument.contract.currency is {contract.currency}")


def _expiries(instrument: InstrumentSettings, facts: pd.DataFrame) -> Iterator[Difference]:
    """Last trading days by the rule against those of the last definition of each contract of the cycle that is near its own."""
    rule = instrument.roll.expires
    if rule == LISTING:
        return
    months = [MONTH_CODES.index(code) + 1 for code in instrument.roll.months]
    near = (facts["last"] >= 0) & (facts["last"] - facts["until"] <= NEAR_DAYS) & (facts["expiry"] % 100).isin(months)
    last = facts[near & (facts["expiry"] > 0)].sort_values("until", kind="stable").drop_duplicates("expiry", keep="last")
    days = expiry_days(last["expiry"].to_numpy(np.int32), rule, instrument.session)
    stated = last["last"].to_numpy()
    wrong = stated < days if rule == FIRST_NOTICE else stated != days
    for row in np.flatnonzero(wrong):
        day = np.datetime64(int(days[row]), "D")
        yield _difference("expires", last, row, f"expiration is {np.datetime64(int(stated[row]), 'D')}",
                          f"instrument.roll.expires {rule} says {day} (listing takes the definitions' days)")


def _difference(fact: str, facts: pd.DataFrame, row: np.integer[Any], defined: str, configured: str) -> Difference:
    one = facts.iloc[int(row)]
    return Difference(fact, str(one["contract"]), int(one["day"]), str(one["file"]), defined, configured)
