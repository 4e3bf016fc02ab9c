"""The tutorial of docs/refresh.md works as it is written."""

import json
import re
import shlex
import subprocess
from pathlib import Path

from pipelines.cli import main
from pipelines.record.records import read_records
from pipelines.storage.store import Store

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "refresh.md").read_text(encoding="utf-8")


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, flags=re.DOTALL)


def test_every_command_does_what_the_page_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("refresh.yaml").write_text(blocks("yaml")[0], encoding="utf-8")
    said = []
    for line in "".join(blocks("console")).splitlines():
        words = shlex.split(line)
        if words[0] != "pipeline":
            subprocess.run(words, check=True)
            continue
        if "RUN" in words:
            run = next(row["run"] for row in reversed(read_records(Store(tmp_path / "store"))) if row["command"] == "run")
            words[words.index("RUN")] = run
        assert main(words[1:]) == 0, line
        said.append((words[1], capsys.readouterr().out))
    assert [command for command, _ in said] == [
        "sample", "refresh", "run", "promote", "score", "refresh", "score", "refresh",
    ]  # fmt: skip
    texts = [text for _, text in said]
    assert "ES: published" in texts[1] and "ES: published" in texts[5] and "ES: nothing new" in texts[7]
    assert "promoted anyway: learning the commands" in texts[3]
    scores = [json.loads(line) for line in Store(tmp_path / "store").files.lines("scores/ES.jsonl")]
    assert [one["bar"][:10] for one in scores] == ["2024-03-11", "2024-03-12"]
    assert scores[0]["feature_set"] != scores[1]["feature_set"] and scores[0]["run"] == scores[1]["run"]
    exec(compile(blocks("python")[0], "refresh.md", "exec"), here := {})
    assert here["features"].key == scores[1]["feature_set"]
