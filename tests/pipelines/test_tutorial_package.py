"""The package of docs/tutorial-package.md is written out as it stands on the page and run."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
PAGE = (REPOSITORY / "docs" / "tutorial-package.md").read_text(encoding="utf-8")
COMMANDS = [line.split() for line in re.search(r"```sh\n(.*?)```", PAGE, flags=re.DOTALL)[1].splitlines()]


def python(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "PYTHONWARNINGS": "ignore"}
    return subprocess.run([sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True)


def pipeline(folder: Path, *words: str) -> dict:
    answer = python(folder, "-m", "pipelines.cli", *words, "--json", "--quiet")
    assert answer.returncode == 0, answer.stderr + answer.stdout
    return json.loads(answer.stdout.strip().splitlines()[-1])


@pytest.fixture(scope="module")
def folder(tmp_path_factory, small_sample) -> Path:
    """The files of the page, beside a sample."""
    folder = tmp_path_factory.mktemp("desk")
    (folder / "sample").symlink_to(small_sample)
    for name, text in re.findall(r"```(?:python|yaml)\n# (\S+)\n(.*?)```", PAGE, flags=re.DOTALL):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    made = python(folder, "make_csv.py")
    assert made.returncode == 0, made.stderr
    return folder


def command(verb: str, until: str | None) -> list[str]:
    """The command of the page with this verb, whole or until something."""
    wanted = [] if until is None else [f"until={until}"]
    (found,) = [line[1:] for line in COMMANDS if line[1] == verb and [w for w in line if w.startswith("until=")] == wanted]
    return found


def test_the_package_loads_computes_and_reruns_what_changed(folder):
    planned = pipeline(folder, *command("plan", "range_table"))
    names = [row["name"] for row in planned["nodes"]]
    assert {"outrights[csv=0]", "outrights[csv=1]", "session_ranges[window=5]", "range_table"} <= set(names)
    assert not any(name.startswith(("outright_parts", "traded_bars", "sweep")) for name in names)

    made = pipeline(folder, *command("run", "range_table,ranking"))
    assert {row["name"] for row in made["artefacts"]} == {
        "range_table", "ranking[fold=0,strategy=ema_cross]", "ranking[fold=0,strategy=desk.strategies:long_cross]",
    }  # fmt: skip

    def to_run(*words):
        rows = pipeline(folder, "plan", "fold=0", "--config", "desk.yaml", "until=range_table,ranking", *words)["nodes"]
        return {row["name"]: row["reason"] for row in rows if not row["cached"]}

    assert set(to_run("options.windows=5,10,15")) == {"session_ranges[window=15]", "range_table"}
    path = folder / "desk" / "strategies.py"
    text = path.read_text()
    path.write_text(text.replace("1.0, 0.0", "1.0, -0.5"))
    changed = to_run()
    assert changed and all("long_cross" in name for name in changed), changed
    assert changed["ranking[fold=0,strategy=desk.strategies:long_cross]"].startswith("code changed")
    path.write_text(text)


def test_mistakes_are_found_before_anything_runs(folder):
    def refused(*words):
        answer = python(folder, "-m", "pipelines.cli", "plan", "fold=0", "--config", "desk.yaml", *words)
        assert answer.returncode == 2 and "Traceback" not in answer.stderr, answer.stderr
        return answer.stderr

    assert "desk.flow has no 'dsk'; did you mean 'desk'?" in refused("flow=desk.flow:dsk")
    assert "dusk.flow cannot be imported" in refused("flow=dusk.flow:desk")
    assert "is no pipelines.graphs.flow_table.Flow" in refused("flow=desk.flow:csv_bars")
    assert "options.windos': did you mean 'windows'?" in refused("options.windos=3")
    assert "desk.strategies has no 'long_cros'; did you mean 'long_cross'?" in refused(
        "sweep.strategies=[desk.strategies:long_cros]"
    )


@pytest.mark.acceptance
def test_the_whole_flow_of_the_package_ends_in_a_report(folder):
    best = pipeline(folder, *command("sweep", None))["sweeps"]
    assert [row["strategy"] for row in best] == ["ema_cross", "desk.strategies:long_cross"]
    answer = pipeline(folder, *command("run", None))
    assert Path(folder, answer["report"]).is_file()
    assert {"desk.strategies:long_cross", "dqn seed 0", "linear"} <= set(answer["metrics"])
