"""One fact in two places: the instrument's file against the definitions beside the data."""

import re
from pathlib import Path

import pytest

from loaders.contract_facts import contract_facts
from pipelines.cli import main
from pipelines.config.configuration import load_settings
from pipelines.config.instrument_facts import require_agreement
from pipelines.errors import ConfigurationError
from pipelines.flow import flow_graph
from tests.loaders.dbn_builder import POINT, bars, definition, mapping, metadata, ns, write, write_definitions

ES = {"min_price_increment": POINT // 4, "unit_of_measure_qty": 50 * POINT, "currency": "USD", "exchange": "XCME"}
JUNE = {"maturity_year": 2024, "maturity_month": 6}


def folder_with(data: Path, *records: bytes) -> Path:
    """ES minutes of ESM4, instrument 7, with definitions beside them."""
    data.mkdir()
    head = metadata([mapping("ESM4", ("2024-03-01", "2024-04-01", 7))])
    write(data / "es.dbn", head, bars([("2024-03-05 15:00", 7, 5000.0, 9), ("2024-03-06 15:00", 7, 5001.0, 9)]))
    write_definitions(data / "es.definition.dbn", *records)
    return data


def outright(day: str, symbol: str = "ESM4", **changes: object) -> bytes:
    return definition(day, 7, symbol, "ES", "F", **{**JUNE, **ES, **changes})  # type: ignore[arg-type]


def refused(tmp_path: Path, *records: bytes, root: str = "ES", words: tuple[str, ...] = ()) -> str:
    """What an instrument is refused with for definitions; '' where it is not."""
    path = write_definitions(tmp_path / f"{root}.definition.dbn", *records)
    try:
        require_agreement(load_settings([f"instrument={root}", *words]).instrument, [path])
    except ConfigurationError as error:
        return str(error)
    return ""


def test_a_tick_and_a_multiplier_that_the_definitions_contradict_stop_the_run(tmp_path: Path, capsys) -> None:
    """T03: definitions say 0.10 and 5 a point, the configuration 0.25 and 50."""
    wrong = {"min_price_increment": POINT // 10, "unit_of_measure_qty": 5 * POINT}
    data, store = folder_with(tmp_path / "data", outright("2024-03-05", **wrong)), tmp_path / "store"
    assert main(["run", "fold=0", f"data={data}", f"store={store}", "cluster=serial"]) == 2
    said = capsys.readouterr().err
    assert "ESM4 on 2024-03-05 in es.definition.dbn: min_price_increment is 0.1, but" in said
    assert "but instrument.contract.tick_size is 0.25" in said
    assert "a point is worth 5, but instrument.contract.multiplier is 50" in said
    assert "instrument.accept_differences=[multiplier,tick_size]" in said
    assert not store.exists(), "nothing was computed"
    accepted = "instrument.accept_differences=[multiplier,tick_size]"
    assert flow_graph(load_settings([f"data={data}", accepted]), ()).tasks
    with pytest.raises(ConfigurationError, match=r"a point is worth 5(?!.*tick_size is)"):
        flow_graph(load_settings([f"data={data}", "instrument.accept_differences=[tick_size]"]), ())


def test_a_tick_that_the_exchange_changed_is_refused_with_its_first_date(tmp_path: Path) -> None:
    """T03: the tick differs on some dates only."""
    changed = [outright("2024-03-07", min_price_increment=POINT // 2), outright("2024-03-06", min_price_increment=POINT // 2)]
    said = refused(tmp_path, outright("2024-03-04"), outright("2024-03-05"), *changed)
    assert "ESM4 on 2024-03-06 in ES.definition.dbn: min_price_increment is 0.5" in said and "2024-03-07" not in said


def test_definitions_that_agree_or_say_nothing_are_silent(tmp_path: Path) -> None:
    """T03: undefined fields are nothing to compare, nor are spreads, options and other roots."""
    nothing = dict.fromkeys(("min_price_increment", "unit_of_measure_qty"), 2**63 - 1) | {"currency": "", "exchange": ""}
    spread = definition("2024-03-05", 8, "ESM4-ESU4", "ES", "S", min_price_increment=POINT // 20, currency="USD")
    option = definition("2024-03-05", 9, "ESM4 C5000", "ES", "C", min_price_increment=POINT // 20)
    other = definition("2024-03-05", 10, "MESM4", "MES", "F", min_price_increment=POINT // 4, unit_of_measure_qty=5 * POINT)
    assert refused(tmp_path, outright("2024-03-05"), outright("2024-03-06", **nothing), spread, option, other) == ""


@pytest.mark.parametrize(("root", "changes"), [
    ("ES", {"min_price_increment_amount": POINT // 8, "display_factor": POINT // 100}),  # as real files have it
    ("NQ", {"min_price_increment_amount": POINT // 20, "display_factor": POINT // 100, "unit_of_measure_qty": 20 * POINT}),
    ("GC", {"min_price_increment": POINT // 10, "unit_of_measure_qty": 100 * POINT, "exchange": "XCEC"}),
    ("CL", {"min_price_increment": POINT // 100, "unit_of_measure_qty": 1000 * POINT, "exchange": "XNYM"}),
    # percent of a face of 100,000 in halves of 1/32
    ("ZN", {"min_price_increment": POINT // 64, "unit_of_measure_qty": 100_000 * POINT, "exchange": "XCBT",
            "main_fraction": 64}),
])  # fmt: skip
def test_every_shipped_instrument_agrees_with_its_exchange(tmp_path: Path, root: str, changes: dict[str, object]) -> None:
    record = definition("2024-03-05", 7, f"{root}M4", root, "F", **{**ES, **JUNE, **changes})  # type: ignore[arg-type]
    assert refused(tmp_path, record, root=root) == ""
    halved = refused(tmp_path, record, root=root, words=("instrument.contract.multiplier=7",))
    assert re.search(r"a point is worth (50|20|100|1000), but instrument\.contract\.multiplier is 7", halved)


def test_prices_in_cents_are_told_by_the_value_of_a_tick(tmp_path: Path) -> None:
    """Live cattle: 40,000 pounds, 0.025 cents a pound are 10 dollars."""
    record = definition("2024-03-05", 7, "LEM4", "LE", "F", min_price_increment=POINT // 40, unit_of_measure_qty=40_000 * POINT,
                        min_price_increment_amount=POINT // 10, display_factor=POINT // 100)  # fmt: skip
    facts = contract_facts([write_definitions(tmp_path / "le.dbn", record)], "LE")
    assert facts[["tick", "multiplier"]].to_numpy().tolist() == [[0.025, 400.0]]


@pytest.mark.parametrize(("changes", "said"), [
    ({"currency": "EUR"}, "currency is EUR, but instrument.contract.currency is USD"),
    ({"exchange": "XNYM"}, "exchange is XNYM, but instrument.session.calendar cme_equity is of XCME and XCBT"),
    ({"expiration": ns("2024-06-20 13:30")}, "2024-06-20, but instrument.roll.expires third_friday says 2024-06-21"),
    ({"expiration": ns("2024-06-21 13:30")}, ""),
])  # fmt: skip
def test_currency_calendar_and_last_trading_day_are_compared(tmp_path: Path, changes: dict[str, object], said: str) -> None:
    found = refused(tmp_path, outright("2024-03-15", **changes))
    assert said in found and bool(said) == bool(found)


def test_only_the_newest_definition_near_the_end_says_when_trading_ends(tmp_path: Path) -> None:
    """A holiday decided since moves the last day: what was said a year before is no contradiction, what is said now is."""
    early, late = ns("2024-06-20 13:30"), ns("2024-06-21 13:30")
    assert refused(tmp_path, outright("2023-06-15", expiration=early)) == ""
    assert refused(tmp_path, outright("2024-05-15", expiration=early), outright("2024-06-03", expiration=late)) == ""
    assert "expiration is 2024-06-20" in refused(tmp_path, outright("2024-05-15", expiration=late),
                                                 outright("2024-06-03", expiration=early))  # fmt: skip
    notice = ("instrument.roll.expires=first_notice",)  # the last business day of May: before trading ends
    assert refused(tmp_path, outright("2024-06-03", expiration=late), words=notice) == ""
    before = outright("2024-05-15", expiration=ns("2024-05-30 18:00"))
    assert "first_notice says 2024-05-31" in refused(tmp_path, before, words=notice)
    assert refused(tmp_path, before, words=("instrument.roll.expires=listing",)) == ""


@pytest.mark.parametrize(("words", "said"), [
    (("instrument.root=NQ",), "symbol is ES, but instrument.root is NQ: the data of one would be priced as the other"),
    (("instrument.session.timezone=America/New_York", "instrument.session.turns_at=18:00"), "cme_equity are Chicago's"),
    (("instrument.accept_differences=[ticks]",), "'ticks' is no fact; known are tick_size, multiplier, currency"),
    (("instrument.bars.tick_size=0.5",), "give both the exchange's tick"),
])  # fmt: skip
def test_facts_that_stand_twice_in_the_configuration_must_agree(words: tuple[str, ...], said: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(said)):
        load_settings(list(words))


def test_the_definitions_of_real_files_agree_with_the_shipped_instruments(shared_data: Path) -> None:
    files = sorted(shared_data.rglob("*futures*definition.dbn.zst"))
    for root, contracts in (("ES", {"ESZ5", "ESH6", "ESU4", "ESM4"}), ("NQ", {"NQU4", "NQM4"})):
        assert set(contract_facts(files, root)["contract"]) == contracts
        require_agreement(load_settings([f"instrument={root}"]).instrument, files)
