"""`pipeline refresh --install` shows a timer and a cron line, and writes the timer where it is told to."""

import json
import shlex
import shutil
import subprocess
import sys

import pytest

from pipelines.cli import main
from pipelines.errors import UsageError
from pipelines.refresh.schedules import schedule


def test_it_only_prints_and_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert main(["refresh", "--install", "at=07:15", "data=my data"]) == 0
    shown = capsys.readouterr().out
    assert "nothing was written" in shown and list(tmp_path.iterdir()) == []
    assert "OnCalendar=*-*-* 07:15:00" in shown and "Persistent=true" in shown and "\n15 7 * * * cd " in shown


def test_it_writes_the_units_where_systemd_looks_for_a_users(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert main(["refresh", "--install", "to=systemd", "instrument=NQ", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    folder = tmp_path / "systemd" / "user"
    assert answer["written"] == [str(folder / f"walkfold-refresh-NQ.{kind}") for kind in ("service", "timer")]
    service = (folder / "walkfold-refresh-NQ.service").read_text()
    assert f"ExecStart={sys.executable} -m pipelines.cli refresh instrument=NQ --json" in service
    assert "WantedBy=timers.target" in (folder / "walkfold-refresh-NQ.timer").read_text()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
@pytest.mark.parametrize(("name", "folder"), [("ES", "work"), ("my ES@1", "a $x %h 'q \"folder")])
def test_systemd_finds_nothing_wrong_with_the_units(tmp_path, monkeypatch, name, folder):
    (tmp_path / folder).mkdir()
    words = ["data=a b", "store=100%/$HOME", "refresh.on_failure=['mail','it']"]
    made = schedule(name, "06:30", words, tmp_path / folder)
    units = [str(path) for path in made.write(tmp_path / "units")]
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    done = subprocess.run(["systemd-analyze", "verify", "--user", *units], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_words_with_spaces_and_signs_stay_one_word(tmp_path):
    words = ["data=a b", "store=100%/$HOME", 'refresh.on_failure=["mail","it\'s"]']
    made = schedule("ES", "06:30", words, tmp_path / "my 5% work")
    assert "%" not in made.cron.replace("\\%", ""), "a bare % is the end of a line of a crontab"
    line = made.cron.split("* * * ", 1)[1].replace("\\%", "%")
    begin = ["cd", str(tmp_path / "my 5% work"), "&&", sys.executable, "-m", "pipelines.cli", "refresh"]
    assert shlex.split(line) == [*begin, *words]
    assert '"data=a b"' in made.service and "store=100%%/$$HOME" in made.service


@pytest.mark.parametrize(
    ("at", "words", "said"),
    [
        ("25:00", [], "not a time of the day"),
        ("6:30", [], "HH:MM"),
        ("06:30", ["store_options.secret=abc"], "for others to read"),
    ],
)
def test_what_cannot_be_scheduled_is_told(at, words, said, tmp_path):
    with pytest.raises(UsageError, match=said) as caught:
        schedule("ES", at, words, tmp_path)
    assert "abc" not in str(caught.value)


def test_a_crontab_is_never_written(capsys):
    assert main(["refresh", "--install", "to=cron"]) == 2
    assert "crontab -e" in capsys.readouterr().err
