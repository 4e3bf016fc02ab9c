"""The command line: one-line errors that name the thing and the remedy, exit codes, nothing half-written."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipelines.cli import main

REPOSITORY = Path(__file__).resolve().parents[2]


def fails(capsys, code: int, *words: str) -> str:
    """Run a command that must fail; return its single line on stderr."""
    assert main(list(words)) == code
    error = capsys.readouterr().err
    assert "Traceback" not in error
    assert error.count("\n") == 1, error
    return error


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_help_lists_the_commands_that_exist(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["--help"])
    assert stopped.value.code == 0
    text = capsys.readouterr().out
    for name in ("run", "plan", "graph", "runs", "doctor", "sample"):
        assert name in text
        assert (REPOSITORY / "pipelines" / "commands" / f"{name}.py").is_file()


def test_no_command_at_all_prints_the_help_as_a_usage_error(capsys):
    with pytest.raises(SystemExit) as stopped:
        main([])
    assert stopped.value.code == 2
    text = capsys.readouterr().err
    assert text.startswith("usage: pipeline COMMAND") and "doctor" in text and "required" not in text


def test_a_prefix_is_written_once(capsys, here):
    assert fails(capsys, 2, "sample", "x", "edge=huge").startswith("pipeline sample: edge=huge seed=7: edge is one of")


def test_an_unknown_command_names_the_nearest(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["rum", "fold=0"])
    assert stopped.value.code == 2
    assert "unknown command 'rum': did you mean 'run'?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["run"], 2, "fold=… is missing, e.g. pipeline run fold=0"),
        (["run", "fold=x"], 2, "fold=x: write a number"),
        (["run", "fold=-1"], 2, "fold numbers start at 0"),
        (["run", "fold=0", "swep.rank_by=sharpe"], 2, "unknown key 'swep.rank_by': did you mean 'sweep'?"),
        (["run", "fold=0", "folds.train_bars=many"], 2, "folds.train_bars"),
        (["run", "fold=0", "fodl"], 2, "'fodl' is not an argument of `pipeline run`: did you mean fold=…?"),
        (["run", "fold=0", "cluster=cuda"], 4, "cluster=cuda: "),
        (["run", "fold=0", "data=nowhere"], 2, "nowhere"),
        (
            ["run", "fold=0", "sweep.strategies=[ema_crossing]"],
            2,
            "there is no strategy 'ema_crossing'; did you mean 'ema_cross'?",
        ),
        (
            ["run", "fold=0", "sweep.grid.fats=3"],
            2,
            "no strategy has this parameter; did you mean 'fast'?",
        ),
        (["runs", "2020"], 2, "no single run '2020'"),
        (["graph", "fodl"], 2, "'fodl' is not an argument of `pipeline graph`: did you mean fold=…?"),
        (["sample"], 2, "pipeline sample needs one folder"),
        (["sample", "x", "edge=huge"], 2, "edge is one of real, power, 0"),
    ],
)
def test_a_wrong_word_is_one_line_and_the_right_exit_code(capsys, here, small_sample, words, code, message):
    if words[0] == "run" and not any(word.startswith("data=") for word in words):
        words = [*words, f"data={small_sample}"]
    if "cluster=cuda" in words and _has_gpu():
        pytest.skip("this machine can run cluster=cuda")
    assert message in fails(capsys, code, *words)


def _has_gpu() -> bool:
    from pipelines.execution.cluster import gpu_refusal

    return gpu_refusal() is None


def test_a_folder_without_dbn_files_is_named(capsys, here):
    (here / "empty").mkdir()
    assert "empty" in fails(capsys, 2, "run", "fold=0", "data=empty")


def test_a_truncated_file_is_data_rejected_and_leaves_no_artefact_of_it(capsys, here, small_sample, small_settings):
    broken = here / "broken"
    broken.mkdir()
    for path in small_sample.glob("*.dbn.zst"):
        data = path.read_bytes()
        (broken / path.name).write_bytes(data[: len(data) - 1000] if "ohlcv" in path.name else data)
    error = fails(capsys, 3, "run", "fold=0", *small_settings, f"data={broken}", "cluster=serial", "--quiet")
    assert "outright_parts[file=0,part=0]" in error and "ohlcv-1m.dbn.zst" in error
    assert list((here / "store" / "objects").iterdir()) == []
    assert list((here / "store" / "tmp").iterdir()) == []


def test_a_fold_that_does_not_exist_says_how_many_there_are(capsys, here, small_settings):
    error = fails(capsys, 2, "run", "fold=99", *small_settings, "cluster=serial", "--quiet")
    assert "fold=99: there are" in error


def test_a_failed_run_is_recorded_with_its_error(capsys, here, small_settings):
    fails(capsys, 2, "run", "fold=99", *small_settings, "cluster=serial", "--quiet")
    assert main(["runs", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)["runs"][-1]
    assert record["status"] == "usage" and "fold=99" in record["error"]


def test_a_run_is_shown_as_lines_without_brackets(capsys, here, small_settings):
    fails(capsys, 2, "run", "fold=99", *small_settings, "cluster=serial", "--quiet")
    assert main(["runs", "20"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "status: usage" in lines and "versions:" in lines
    python = ".".join(map(str, sys.version_info[:3]))
    assert lines[lines.index("versions:") + 1] == f"  python: {python}"
    assert not any(mark in line for line in lines if not line.startswith("error") for mark in ("{", "['", "']"))


def test_errors_with_json_are_one_object(capsys, here):
    assert main(["run", "fold=0", "data=nowhere", "--json"]) == 2
    answer = json.loads(capsys.readouterr().out)
    assert (answer["status"], answer["exit_code"]) == ("usage", 2)


def test_the_graph_names_every_node_and_what_it_reads(capsys):
    assert main(["graph", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)["nodes"]}
    assert rows["rolled"]["inputs"] == {"parts": "outrights", "open_interest": "open_interest"}
    assert {row["evaluates"] for row in rows.values()} == {None, "validation", "test"}
    assert main(["graph"]) == 0
    assert "feature_set" in capsys.readouterr().out


def test_doctor_says_what_cannot_run_here_and_why(capsys, here):
    assert main(["doctor", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["versions"]["pandas"].startswith("3.0.")
    assert (
        facts["cluster=cuda"] == "can run" or "walkfold[gpu]" in facts["cluster=cuda"] or "GPU" in facts["cluster=cuda"]
    )


def test_the_sample_command_writes_what_run_reads(capsys, here, monkeypatch):
    import loaders.sample

    whole = loaders.sample.write_sample
    monkeypatch.setattr(loaders.sample, "write_sample", lambda folder, **rest: whole(folder, sessions=15, **rest))
    assert main(["sample", "mine", "seed=3", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["edge"] == "real"
    assert (here / "mine" / "truth.json").is_file()


@pytest.mark.parametrize("cluster", ["serial", "processes"])
def test_an_interrupt_stops_every_process_and_the_next_run_works(here, small_settings, cluster):
    command = [sys.executable, "-m", "pipelines.cli", "run", "fold=0", *small_settings, f"cluster={cluster}", "--quiet"]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    with subprocess.Popen(
        command, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=_hear_interrupts
    ) as process:
        _wait_for(lambda: any((here / "store" / "objects").glob("*/*")))
        os.killpg(process.pid, signal.SIGINT)
        error = process.communicate(timeout=60)[1]
    assert process.returncode == 130, error
    assert "interrupted" in error and "Traceback" not in error
    assert _wait_for(lambda: not _members(process.pid)), "workers were left behind"
    assert main(["run", "fold=0", *small_settings, "cluster=serial", "--quiet"]) == 0
    assert list((here / "store" / "tmp").iterdir()) == []


def _hear_interrupts() -> None:
    """Undo an inherited "ignore SIGINT": a test run started in the background has one, a person's terminal has not."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _wait_for(condition, seconds: float = 60.0) -> bool:
    stop = time.monotonic() + seconds
    while time.monotonic() < stop:
        if condition():
            return True
        time.sleep(0.05)
    return False


def _members(group: int) -> list[int]:
    """Processes of a group that still run."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            fields = (path / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group and fields[0] != "Z":
            found.append(int(path.name))
    return found


def test_the_sample_comes_with_fewer_sessions_and_in_day_files(tmp_path, capsys):
    assert main(["sample", str(tmp_path / "few"), "sessions=3", "files=day", "--json"]) == 0
    names = json.loads(capsys.readouterr().out)["files"]
    assert sum(".ohlcv-1m." in name for name in names) == 4, "the evening before, and three days"
    for wrong, said in (("sessions=two", "a whole number"), ("files=week", "month or day"), ("sessions=1", "outside 3 to")):
        assert main(["sample", str(tmp_path / "other"), wrong]) == 2
        assert said in capsys.readouterr().err
