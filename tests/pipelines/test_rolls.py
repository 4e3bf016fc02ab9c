"""Rolls, sessions and gaps in the flow: their settings, their keys, the coverage that the report shows."""

import json
from pathlib import Path

import pytest

from loaders.files import list_data_files
from loaders.outrights import outright_bars
from loaders.roll import RollSettings, rolled_bars
from loaders.sessions import SessionRule
from pipelines.cli import main
from pipelines.config.configuration import load_settings
from pipelines.errors import ConfigurationError, UsageError
from pipelines.execution.serial_runner import run_serial
from pipelines.flow import flow_graph
from pipelines.graphs.planning import plan
from pipelines.storage import artefacts
from pipelines.storage.store import Store
from tests.loaders.dbn_builder import ns
from tests.loaders.statistics_builder import statistic, write_statistics

GROUPS = {"ES": "cme_equity", "NQ": "cme_equity", "CL": "nymex_energy", "GC": "comex_metals", "ZN": "cme_rates"}


def keys(settings: tuple[str, ...], *words: str) -> dict[str, str]:
    graph = flow_graph(load_settings([*settings, *words]), [])
    return {task.name: task.key for task in graph.tasks}


@pytest.mark.parametrize("root", GROUPS)
def test_every_instrument_names_its_exchange_group_and_its_expiry(root: str) -> None:
    instrument = load_settings([f"instrument={root}"]).instrument
    assert instrument.session.calendar == GROUPS[root]
    assert (instrument.roll.rule, instrument.roll.adjustment, instrument.session.fill) == ("volume", "difference", "none")
    assert instrument.roll.expires != "listing"


def test_a_wrong_setting_is_refused_with_its_place(small_settings) -> None:
    with pytest.raises(ConfigurationError, match=r"roll.rule 'oi' is not known; known are volume, open_interest"):
        load_settings([*small_settings, "instrument.roll.rule=oi"])
    closes = load_settings([*small_settings, "instrument.session.exceptions.2024-03-15=12:15"])
    assert closes.instrument.session.exceptions == {"2024-03-15": "12:15"}


def test_the_content_of_a_schedule_file_is_part_of_the_key(small_settings, tmp_path: Path) -> None:
    path = tmp_path / "rolls.csv"
    word = f"instrument.roll.schedule={path}"
    with pytest.raises(UsageError, match=r"instrument\.roll\.schedule=.*rolls\.csv: no such file"):
        keys(small_settings, word)
    path.write_text("session,contract\n20240226,ESH4\n")
    first = keys(small_settings, word)
    path.write_text("session,contract\n20240226,ESM4\n")
    other = keys(small_settings, word)
    changed = {name for name in first if first[name] != other[name]}
    assert {"rolled", "sanitised", "bars", "gaps", "feature_set"} <= changed
    assert not {"outrights[file=0]", "open_interest"} & changed


def test_open_interest_is_read_from_the_statistics_files_of_the_folder(small_settings, small_sample, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    for path in small_sample.iterdir():
        (folder / path.name).symlink_to(path)
    statistics = [statistic("2024-03-04 14:00", number, quantity, ts_ref=ns("2024-03-01"))
                  for number, quantity in ((101, 100), (102, 900))]
    write_statistics(folder / "es.statistics.dbn.zst", *statistics)
    words = [*small_settings, f"data={folder}", "instrument.roll.rule=open_interest"]
    graph, store = flow_graph(load_settings(words), []).needed_for(["rolled"]), Store.open(tmp_path / "store")
    run_serial([row.task for row in plan(graph, store)], store, lambda outcome: None)
    task = graph["rolled"]
    rolled = artefacts.read_parts(store.verified(task.key), task.kind)
    assert rolled.schedule[["session", "contract", "reason"]].to_numpy().tolist() == [
        [20240226, "ESH4", "first session"], [20240305, "ESM4", "open_interest"]]
    assert rolled.schedule_text[2].startswith("20240305,ESM4,202406,")


def test_filling_changes_the_series_and_an_adjustment_does_not_change_what_is_followed(small_settings) -> None:
    plain = keys(small_settings)
    ratio = keys(small_settings, "instrument.roll.adjustment=ratio")
    assert plain["bars"] != ratio["bars"]
    assert plain["outrights[file=0]"] == ratio["outrights[file=0]"]
    assert plain["bars"] != keys(small_settings, "instrument.session.fill=forward")["bars"]


def test_the_report_shows_the_coverage_of_every_session(small_settings, small_sample, tmp_path: Path, capsys) -> None:
    words = [f"store={tmp_path / 'store'}", *small_settings, "cluster=serial", "instrument.session.fill=forward"]
    assert main(["run", "fold=0", *words, "--json", "--quiet"]) == 0
    answer = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
    coverage = json.loads(Path(answer["report"]).with_suffix(".json").read_text())["coverage"]
    sessions = coverage["sessions"]
    assert len(sessions) == 15
    for row in sessions:
        assert row["open"] == 1380 == row["bars"] - row["outside"] + row["no_trade"] + row["missing"]
    assert coverage["outside"] == 0
    assert coverage["minutes"]["maintenance"] == 60 * (15 - 3)
    files = [file.path for file in list_data_files(small_sample) if file.kind == "bars"]
    parts = [outright_bars(path, [], "ES", ordinal) for ordinal, path in enumerate(files)]
    followed = rolled_bars(parts, SessionRule(), RollSettings(months="HMUZ")).bars.query("role == 'followed'")
    assert sum(row["bars"] for row in sessions) == followed["ts_event"].nunique()
