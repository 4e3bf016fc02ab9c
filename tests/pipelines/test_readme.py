"""What the README shows works: its Python runs on a run's store, its pages and pictures exist."""

import re
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")


def test_the_python_example_runs_on_the_store_of_a_run(serial_store, monkeypatch, capsys):
    monkeypatch.chdir(serial_store.parent)
    (example,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    exec(compile(example, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "sharpe" in printed and "fast" in printed


def test_every_page_and_picture_it_names_exists():
    names = re.findall(r"\]\(([^)]+)\)", README)
    assert len(names) > 10
    assert [name for name in names if not (REPOSITORY / name.partition("#")[0]).is_file()] == []
