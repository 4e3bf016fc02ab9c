"""Definitions decide by id and date what an outright is, whatever a symbol looks like."""

from pathlib import Path

import pytest

from loaders.definitions import read_definitions
from loaders.errors import DamagedFileError, DataError
from loaders.venues import GRAMMARS
from tests.loaders.dbn_builder import (
    bars,
    definition,
    frame,
    load,
    mapping,
    metadata,
    ns,
    write,
    write_definitions,
)

NOON = "2024-03-04 12:00"
DAY = "2024-03-04"


@pytest.mark.parametrize(("root", "kept"), [("ES", ["ESM5"]), ("6E", ["6EM5"]), ("CL", ["CLN5"])])
def test_outrights_are_class_f_of_the_asset(path: Path, tmp_path: Path, root: str, kept: list[str]) -> None:  # case C16
    rows = [("ESM5", "F", "ES"), ("ESM5-ESU5", "S", "ES"), ("6EM5", "F", "6E"), ("CLN5", "F", "CL"),
            ("CL:BF N5-Q5-U5", "S", "CL"), ("UD:1V: GN 0501234", "S", "ES"), ("ESM5 P5000", "P", "ES")]
    head = metadata([mapping(symbol, ("2025-03-01", "2025-04-01", i)) for i, (symbol, _, _) in enumerate(rows)])
    body = bars(("2025-03-04 12:00", i, -1.5 if kind == "S" else 100) for i, (_, kind, _) in enumerate(rows))
    defined = write_definitions(tmp_path / "d.dbn.zst", *(
        definition("2025-03-04", i, symbol, asset, kind) for i, (symbol, kind, asset) in enumerate(rows)))
    for definitions in ([defined], []):
        loaded = load(write(path, head, body), root, definitions)
        assert loaded.bars["contract"].tolist() == kept
        assert (loaded.bars["close"] > 0).all(), "a spread's negative price is no price of the outright"
        assert loaded.report["dropped"] == {
            "other_root": 2, "calendar_spread": 1, "butterfly": 1, "user_defined": 1, "option": 1
        }
        assert loaded.report["by_definition"] == (7 if definitions else 0)


def test_a_spread_that_looks_like_an_outright_is_dropped(path: Path, tmp_path: Path) -> None:
    defined = write_definitions(tmp_path / "d.dbn", definition(DAY, 1, "ESM4", "ES", "F"),
                                definition(DAY, 2, "ESU4", "ES", "S"), definition(DAY, 3, "ESZ4", "EST", "F"))
    head = metadata([mapping(s, ("2024-03-01", "2024-04-01", i + 1)) for i, s in enumerate(("ESM4", "ESU4", "ESZ4"))])
    loaded = load(write(path, head, bars((NOON, i, 5000) for i in (1, 2, 3))), definitions=[defined])
    assert loaded.bars["contract"].tolist() == ["ESM4"]
    assert loaded.report["dropped"] == {"other_root": 1, "other_spread": 1}


def test_an_id_is_defined_by_date_and_the_last_definition_of_a_day_counts(path: Path, tmp_path: Path) -> None:
    defined = write_definitions(
        tmp_path / "d.dbn.zst",
        definition("2024-03-05 08:00", 7, "ESM4", "ES", "F"),
        definition("2024-03-05 00:00", 7, "ESH4-ESM4", "ES", "S"),
        definition("2024-03-04 00:00", 7, "ESH4-ESM4", "ES", "S"),
    )
    loaded = load(write(path, metadata(), bars([("2024-03-04 23:59", 7, 50), ("2024-03-05 00:00", 7, 5100)])),
                  definitions=[defined])
    assert loaded.bars["contract"].tolist() == ["ESM4"]
    assert loaded.report["dropped"] == {"calendar_spread": 1}


def test_an_older_definition_holds_while_the_id_keeps_its_symbol(path: Path, tmp_path: Path) -> None:
    defined = write_definitions(tmp_path / "d.dbn.zst", definition("2024-03-04", 7, "ESM4", "ES", "F"))
    head = metadata([mapping("ESM4", ("2024-03-01", "2024-03-10", 7)),
                     mapping("ESH4-ESM4", ("2024-03-10", "2024-04-01", 7))])
    rows = bars([("2024-03-03 12:00", 7, 5000), ("2024-03-06 12:00", 7, 5100), ("2024-03-11 12:00", 7, 50)])
    loaded = load(write(path, head, rows), definitions=[defined])
    assert len(loaded.bars) == 2
    assert loaded.report["dropped"] == {"calendar_spread": 1}
    assert loaded.report["by_definition"] == 1, "before its first definition the symbol decides"


@pytest.mark.parametrize("versions", [(1, 3), (3, 1), (2, 3)])
def test_definitions_of_several_versions_go_together(path: Path, tmp_path: Path, versions: tuple[int, int]) -> None:
    files = [
        write_definitions(tmp_path / f"{i}.dbn.zst", definition(DAY, i, symbol, "ES", "F", version), version=version)
        for i, (symbol, version) in enumerate(zip(("ESM4", "ESU4"), versions, strict=True))
    ]  # dbn.md §8.10
    head = metadata([])
    loaded = load(write(path, head, bars([(NOON, 0, 5000), (NOON, 1, 5060)])), definitions=files)
    assert loaded.bars[["contract", "expiry"]].to_numpy().tolist() == [["ESM4", 202406], ["ESU4", 202409]]


def test_maturity_and_expiration_come_from_the_definition(path: Path, tmp_path: Path) -> None:
    record = definition(DAY, 7, "XY2", "ES", "F", maturity_year=2024, maturity_month=6,
                        expiration=ns("2024-06-21 13:30"))
    defined = write_definitions(tmp_path / "d.dbn", record)
    head = metadata([mapping("XY2", ("2024-03-01", "2024-04-01", 7))])
    loaded = load(write(path, head, bars([(NOON, 7, 5000)])), definitions=[defined])
    assert loaded.listed.to_numpy().tolist() == [[202406, "XY2", 20240304, 20240621]]
    unknown = write_definitions(tmp_path / "e.dbn", definition(DAY, 7, "XY2", "ES", "F"))
    with pytest.raises(DataError, match="outright XY2: neither its definition nor its symbol"):
        load(path, definitions=[unknown])


def test_bars_given_as_definitions_and_damaged_definitions_are_refused(path: Path, tmp_path: Path, body: bytes) -> None:
    bar_file = write(path, metadata(), body)
    with pytest.raises(DataError, match="has schema ohlcv-1m where definitions were expected"):
        read_definitions([bar_file])
    healthy = write_definitions(tmp_path / "d.dbn.zst", definition(DAY, 7, "ESM4", "ES", "F"))
    healthy.write_bytes(healthy.read_bytes()[:-1])
    with pytest.raises(DamagedFileError, match=r"d\.dbn\.zst: is truncated"):
        read_definitions([healthy])
    healthy.write_bytes(frame(b"nothing"))
    with pytest.raises(DamagedFileError):
        read_definitions([healthy])


def test_kinds_without_a_grammar_follow_the_class(tmp_path: Path) -> None:
    rows = [("A", "F"), ("B", "S"), ("C", "C"), ("D", "P"), ("E", "T"), ("F", "M"), ("G", "K")]
    file = write_definitions(tmp_path / "d.dbn", *(definition(DAY, i, s, "BRN", k) for i, (s, k) in enumerate(rows)))
    kinds = read_definitions([file]).kinds("BRN", None)
    assert kinds == ["outright", "other_spread", "option", "option", "other_spread", "other_spread", "other"]
    assert read_definitions([file]).kinds("ES", GRAMMARS["GLBX.MDP3"])[0] == "other_root"


@pytest.mark.parametrize("changes", [{"maturity_month": 6}, {"instrument_class": "S"}])
def test_definitions_of_one_symbol_that_contradict_each_other_are_refused(tmp_path: Path, changes: dict[str, object]) -> None:
    kind = str(changes.pop("instrument_class", "F"))
    first = write_definitions(tmp_path / "a.dbn", definition(DAY, 1, "ESH4", "ES", "F", maturity_year=2024, maturity_month=3))
    month = changes.get("maturity_month", 3)
    second = write_definitions(
        tmp_path / "b.dbn", definition(DAY, 1, "ESH4", "ES", kind, maturity_year=2024, maturity_month=month)
    )
    with pytest.raises(DataError, match=r"definitions of ESH4 \(id 1\) on 2024-03-04: .* remove the file that is wrong"):
        read_definitions([first, second])
