"""Symbols of ICE and Eurex, and the files whose symbols are left alone."""

from pathlib import Path

import databento_dbn as dbn
import numpy as np
import pytest

from loaders.dbn import read_bars
from loaders.grammar import contract_months
from loaders.venues import GRAMMARS, left_alone
from tests.loaders.dbn_builder import POINT, bar, bars, definition, load, mapping, metadata, write, write_definitions

NOON = "2024-03-04 12:00"
MARCH = ("2024-03-01", "2024-04-01")


@pytest.mark.parametrize(
    ("dataset", "symbol", "root", "kind"),
    [
        ("IFEU.IMPACT", "BRN FMJ0024!", "BRN", "outright"), ("IFEU.IMPACT", "BRN FMJ0024", "BRN", "outright"),
        ("IFEU.IMPACT", "BRN FMJ0024_MD1", "BRN", "outright"), ("NDEX.IMPACT", "TFM FMH0024!", "TFM", "outright"),
        ("IFEU.IMPACT", "G   FMZ0020", "G", "outright"), ("IFEU.IMPACT", "G   FMZ0020", "BRN", "other_root"),
        ("IFEU.IMPACT", "BRN FMJ0024-BRN FMK0024", "BRN", "calendar_spread"),
        ("IFEU.IMPACT", "G   FMZ0020-BRN FMZ0020", "BRN", "other_spread"),
        ("IFEU.IMPACT", "BRN  99   5617289", "BRN", "user_defined"), ("IFEU.IMPACT", "BRNFMJ0024!", "BRN", "other"),
        ("IFEU.IMPACT", "BRN OMJ0024C00800", "BRN", "option"),
        ("XEUR.EOBI", "FDAX SI 20250620 CS", "FDAX", "outright"),
        ("XEUR.EOBI", "FGBL SI 20250606 PS", "FGBL", "outright"),
        ("XEUR.EOBI", "FDXM SI 20250620 CS", "FDAX", "other_root"),
        ("XEUR.EOBI", "FDAX.S.JUN25.SEP25.SPD", "FDAX", "calendar_spread"),
        ("XEUR.EOBI", "FGBL.B.JUN25.SEP25.DEC25.SPD", "FGBL", "butterfly"),
        ("XEUR.EOBI", "ODAX SI 20250620 CS C 18000", "FDAX", "option"),
        ("XEUR.EOBI", "FDAX SI 20251320 CS", "FDAX", "other"), ("XEUR.EOBI", "FDAXH5", "FDAX", "other"),
    ],
)
def test_kind_of_a_symbol(dataset: str, symbol: str, root: str, kind: str) -> None:  # dbn.md §8.3
    assert GRAMMARS[dataset].kind(symbol, root) == kind


@pytest.mark.parametrize(
    ("dataset", "symbol", "expiry"),
    [("IFEU.IMPACT", "BRN FMJ0024!", 202404), ("IFEU.IMPACT", "G   FMZ0020", 202012),
     ("XEUR.EOBI", "FDAX SI 20250620 CS", 202506), ("XEUR.EOBI", "FGBL SI 20251208 PS", 202512)],
)
def test_contract_month(dataset: str, symbol: str, expiry: int) -> None:
    day = np.array([np.datetime64("2020-03-04", "D")]).astype(np.int64)
    assert contract_months([symbol], GRAMMARS[dataset]).expiries(np.array([0]), day).tolist() == [expiry]


@pytest.mark.parametrize(
    ("dataset", "root", "symbols", "kept"),
    [
        ("IFEU.IMPACT", "BRN", ["BRN FMJ0024!", "BRN FMJ0024-BRN FMK0024", "G   FMJ0024!"], ["BRN FMJ0024!"]),
        ("XEUR.EOBI", "FDAX", ["FDAX SI 20240621 CS", "FDAX.S.JUN24.SEP24.SPD", "FDXM SI 20240621 CS"],
         ["FDAX SI 20240621 CS"]),
    ],
)
def test_outrights_of_other_venues_by_symbol(
    path: Path, dataset: str, root: str, symbols: list[str], kept: list[str]
) -> None:
    mappings = [mapping(s, (*MARCH, i + 1)) for i, s in enumerate(symbols)]
    head = metadata(mappings, dataset=dataset, symbols=[f"{root}.FUT"])
    table, report = read_bars(write(path, head, bars((NOON, i + 1, 80) for i in range(3))))
    assert table["contract"].tolist() == kept
    assert report.records == 3 == report.outright + sum(report.dropped.values())
    assert (report.root, set(report.dropped)) == (root, {"other_root", "calendar_spread"})


def test_tas_and_btic_have_roots_of_their_own(path: Path) -> None:
    symbols = ["ESM4", "ESTM4", "ESQM4", "GCTZ6", "GCZ6"]
    head = metadata([mapping(s, (*MARCH, i + 1)) for i, s in enumerate(symbols)])
    rows = bars((NOON, i + 1, 0.25) for i in range(5))
    for root, kept in (("ES", ["ESM4"]), ("EST", ["ESTM4"]), ("GCT", ["GCTZ6"]), ("GC", ["GCZ6"])):
        loaded = load(write(path, head, rows), root)
        assert (loaded.bars["contract"].tolist(), loaded.report["dropped"]) == (kept, {"other_root": 4})


def test_equities_are_left_alone(path: Path) -> None:  # dbn.md §8.3: BAC-L is a preferred share, no spread
    symbols = ["BAC", "BAC-L", "BRK.B", "ESH4"]
    head = metadata([mapping(s, (*MARCH, i + 1)) for i, s in enumerate(symbols)], dataset="XNAS.ITCH",
                    stype_in=dbn.SType.RAW_SYMBOL, symbols=symbols)
    table, report = read_bars(write(path, head, bars((NOON, i, 30) for i in (1, 2, 3, 4, 9))))
    assert table["contract"].tolist() == [*symbols, "unmapped"]
    assert (report.root, report.records, report.outright, report.dropped) == ("", 5, 5, {})
    assert report.files[0]["unfiltered"] == "dataset XNAS.ITCH holds equities"


def test_four_publishers_of_one_minute_are_four_bars(path: Path) -> None:  # dbn.md §8.11
    head = metadata([mapping("AAPL", (*MARCH, 1))], dataset="EQUS.MINI", stype_in=dbn.SType.RAW_SYMBOL,
                    symbols=["AAPL"])
    rows = b"".join(bar(NOON, 1, 170 + i, publisher_id=20 + i).tobytes() for i in range(4))
    table, _ = read_bars(write(path, head, rows))
    assert table["publisher_id"].tolist() == [20, 21, 22, 23]
    assert (table["close"] // POINT).tolist() == [170, 171, 172, 173]


def test_continuous_symbols_are_left_alone_and_definitions_name_the_contract(path: Path, tmp_path: Path) -> None:
    head = metadata([mapping("ES.v.0", ("2024-03-01", "2024-03-12", 1), ("2024-03-12", "2024-04-01", 2))],
                    stype_in=dbn.SType.CONTINUOUS, symbols=["ES.v.0"])
    rows = bars([("2024-03-11 12:00", 1, 5100), ("2024-03-12 12:00", 2, 5150)])
    table, report = read_bars(write(path, head, rows))
    assert table["contract"].tolist() == ["ES.v.0", "ES.v.0"]
    assert (table["expiry"].tolist(), report.dropped) == ([0, 0], {})
    assert report.files[0]["unfiltered"].startswith("symbols are continuous")
    records = [definition("2024-03-11", 1, "ESH4", "ES", "F", maturity_year=2024, maturity_month=3),
               definition("2024-03-12", 2, "ESM4", "ES", "F", maturity_year=2024, maturity_month=6)]
    known, _ = read_bars([path, write_definitions(tmp_path / "d.dbn", *records)])
    assert known[["contract", "expiry"]].to_numpy().tolist() == [["ESH4", 202403], ["ESM4", 202406]]


def test_what_is_left_alone() -> None:
    assert left_alone("GLBX.MDP3", "parent") is None
    assert left_alone("OPRA.PILLAR", "raw_symbol") is None
    assert left_alone("DBEQ.BASIC", None) is not None
    assert left_alone("IFEU.IMPACT", "continuous") is not None


def test_the_month_of_the_symbol_counts_beside_the_month_in_which_trading_ends(path: Path, tmp_path: Path) -> None:
    """Brent for April stops trading at the end of February: its definition says February, its symbol April."""
    head = metadata([mapping("BRN FMJ0024!", (*MARCH, 1)), mapping("CLF5", (*MARCH, 2))], dataset="IFEU.IMPACT",
                    symbols=["BRN.FUT"])
    record = definition("2024-03-04", 1, "BRN FMJ0024!", "BRN", "F", maturity_year=2024, maturity_month=2)
    defined = write_definitions(tmp_path / "d.dbn", record)
    assert load(write(path, head, bars([(NOON, 1, 80)])), "BRN", [defined]).bars["expiry"].tolist() == [202404]
    head = metadata([mapping("CLF5", (*MARCH, 1))])
    record = definition("2024-03-04", 1, "CLF5", "CL", "F", maturity_year=2034, maturity_month=12)
    defined = write_definitions(tmp_path / "d.dbn", record)
    assert load(write(path, head, bars([(NOON, 1, 80)])), "CL", [defined]).bars["expiry"].tolist() == [203501]
