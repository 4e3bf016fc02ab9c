"""A flow of the user's own in a folder: two CSV files, three nodes, options with a secret; it runs in a moment."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pipelines.cli import main

REPOSITORY = Path(__file__).resolve().parents[2]

CODE = '''
import logging
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

from pipelines.graphs.flow_table import Flow
from pipelines.execution.machine import Machine
from pipelines.graphs.node import Node, Retries


@dataclass(frozen=True)
class Options:
    factor: float = 2.0
    api_token: str = ""
    source: str = ""
    again: bool = False
    fail: bool = False


@dataclass(frozen=True)
class Numbers:
    values: list[float]


def numbers(path: Path, source: str) -> Numbers:
    return Numbers([float(line) for line in path.read_text().splitlines()])


def scaled(parts: list[Numbers], factor: float, api_token: str, machine: Machine) -> Numbers:
    warnings.warn(f"a warning that tells {api_token}", UserWarning, stacklevel=1)
    logging.getLogger("own").warning("logged %s", api_token)
    machine.note(token=api_token, told=f"noted {api_token}")
    return Numbers([value * factor for part in parts for value in part.values])


def total(table: Numbers, again: bool, fail: bool, api_token: str) -> Numbers:
    if fail:
        raise ValueError(f"failed with {api_token}")
    return Numbers([sum(table.values) + (time.monotonic() if again else 0.0)])


def files(settings):
    return sorted(Path(settings.data).glob("*.csv"))


FLOW = Flow(
    nodes=(
        Node("numbers", numbers, per=("csv",), files={"path": "csv"}, settings={"source": "options.source"}),
        Node("scaled", scaled, inputs={"parts": "numbers"},
             settings={"factor": "options.factor", "api_token": "options.api_token"}),
        Node("total", total, inputs={"table": "scaled"},
             settings={"again": "options.again", "fail": "options.fail", "api_token": "options.api_token"}),
    ),
    files={"csv": files},
    options=Options,
)
'''


@dataclass(frozen=True)
class Answer:
    """What a command ended with and wrote."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class OwnFlow:
    """The flow in its folder, in which commands run: in this process, or in one of their own."""

    folder: Path
    module: str
    capsys: pytest.CaptureFixture[str]

    @property
    def words(self) -> tuple[str, ...]:
        """What every command needs to know."""
        return ("data=data", f"flow={self.module}:FLOW", "cluster=serial")

    @property
    def code(self) -> Path:
        """The file of the module."""
        return self.folder / f"{self.module}.py"

    def command(self, *words: str) -> Answer:
        """Run one command."""
        self.capsys.readouterr()
        code = main(words)
        written = self.capsys.readouterr()
        return Answer(code, written.out, written.err)

    def json(self, *words: str, code: int = 0) -> dict[str, Any]:
        """The one object a command answers with; nothing else may be on stdout."""
        done = self.command(*words, "--json")
        assert done.code == code, done.err
        assert done.out.count("\n") == 1, done.out
        found: dict[str, Any] = json.loads(done.out)
        return found

    def apart(self, *words: str) -> subprocess.Popen[str]:
        """Start a command in a process of its own."""
        return subprocess.Popen(
            [sys.executable, "-m", "pipelines.cli", *words],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )


def write_flow(folder: Path, capsys: pytest.CaptureFixture[str]) -> OwnFlow:
    """Write the module, under a name of its own, and its data."""
    module = f"own_flow_{os.urandom(4).hex()}"
    (folder / f"{module}.py").write_text(CODE, encoding="utf-8")
    (folder / "data").mkdir()
    (folder / "data" / "a.csv").write_text("1\n2\n", encoding="utf-8")
    (folder / "data" / "b.csv").write_text("3.5\n", encoding="utf-8")
    return OwnFlow(folder, module, capsys)
