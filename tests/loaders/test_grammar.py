"""Symbols of the CME as published in definitions and public lists (reference/dbn.md §4), and their contract months."""

import numpy as np
import pytest

from loaders.grammar import contract_months
from loaders.venues import GRAMMARS

CME = GRAMMARS["GLBX.MDP3"]


@pytest.mark.parametrize(
    ("symbol", "root", "kind"),
    [
        ("ESH4", "ES", "outright"), ("6EM6", "6E", "outright"), ("M2KZ5", "M2K", "outright"),
        ("SR3H7", "SR3", "outright"), ("NGN25", "NG", "outright"), ("CLZ30", "CL", "outright"),
        ("ESTM4", "ES", "other_root"), ("ESQM4", "ES", "other_root"), ("GCTZ6", "GC", "other_root"),
        ("MESH4", "ES", "other_root"), ("ESH4", "E", "other_root"), ("NQU4", "ES", "other_root"),
        ("ESH4-ESM4", "ES", "calendar_spread"), ("ESZ24-ESH25", "ES", "calendar_spread"),
        ("CLF0-BZF0", "CL", "other_spread"), ("SR3U6-TBF3U6", "SR3", "other_spread"),
        ("SR3:BF Z6-H7-M7", "SR3", "butterfly"), ("CL:BF N5-Q5-U5", "CL", "butterfly"),
        ("SR3:CF M6U6Z6H7", "SR3", "other_spread"), ("SR3:DF Z7M8Z8M9", "SR3", "other_spread"),
        ("SR3:AB 01Y U6", "SR3", "other_spread"), ("SR3:SB PK Z7-Z8", "SR3", "other_spread"),
        ("CL:C1 HO-CL F0", "CL", "other_spread"), ("CL:SA 03M F8", "CL", "other_spread"),
        ("UD:1V: VT 2893249", "ES", "user_defined"), ("UD:T$:CFO 2632896", "CL", "user_defined"),
        ("UD:1V: GN 0501234", "ES", "user_defined"), ("ESM4 C4250", "ES", "option"), ("EW2F6 C7000", "ES", "option"),
        ("ESM5 P5000", "ES", "option"), ("ES.v.0", "ES", "other"), ("FDAX.S.JUN25.SEP25.SPD", "FDAX", "other"),
        ("BRN FMJ0024!", "BRN", "other"), ("ESA4", "ES", "other"), ("ESH", "ES", "other"), ("ESH124", "ES", "other"),
    ],
)
def test_kind_of_a_symbol(symbol: str, root: str, kind: str) -> None:
    assert CME.kind(symbol, root) == kind


@pytest.mark.parametrize(
    ("symbol", "date", "expiry"),
    [
        ("ESH4", "2013-10-07", 201403), ("ESH4", "2014-03-21", 201403), ("ESH4", "2023-12-24", 202403),
        ("ESH4", "2014-04-01", 201403),  # a record a day late belongs to the contract that just ended
        ("ESH4", "2014-05-01", 202403), ("ESZ3", "2013-12-20", 201312), ("ESH0", "2020-01-06", 202003),
        ("ESZ9", "2020-01-02", 201912), ("ESF0", "2019-12-31", 202001), ("CLZ30", "2024-03-04", 203012),
        ("NGN25", "2010-06-06", 202507), ("CLZ5", "2016-03-01", 202512), ("CLG6", "2016-03-01", 201602),
    ],
)
def test_contract_month_is_resolved_against_the_date(symbol: str, date: str, expiry: int) -> None:
    day = np.array([np.datetime64(date, "D")]).astype(np.int64)
    assert contract_months([symbol], CME).expiries(np.array([0]), day).tolist() == [expiry]


def test_symbols_that_are_no_outright_have_no_contract_month() -> None:
    months = contract_months(["ESH4-ESM4", "ESM4"], CME)
    assert months.expiries(np.array([0, 1]), np.array([19_800, 19_800])).tolist() == [0, 202406]
