"""A terminal that is closed, a pipe whose reader has left and streams that never were open stop no command and no record."""

import errno
import io
import os
import pty
import subprocess
import sys

import pytest

from kernels.features.errors import FeatureError
from kernels.features.user import load_features
from pipelines.cli import LONGEST, main, shortened
from pipelines.config.user_code import user_object
from pipelines.errors import ConfigurationError
from pipelines.record.records import read_records
from pipelines.storage.store import Store
from tests.pipelines.small_flow import REPOSITORY

pytestmark = pytest.mark.filterwarnings("ignore:a warning that tells:UserWarning")


class Gone(io.StringIO):
    """A stream that nobody reads any more."""

    def __init__(self, code: int = errno.EIO) -> None:
        super().__init__()
        self.code = code

    def write(self, text: str) -> int:
        raise OSError(self.code, os.strerror(self.code))

    def flush(self) -> None:
        raise OSError(self.code, os.strerror(self.code))


def run(own_flow, *words: str) -> int:
    return main(["run", *own_flow.words, *words])


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_a_run_whose_terminal_was_closed_is_done(own_flow, monkeypatch, words):
    monkeypatch.setattr(sys, "stderr", Gone())
    monkeypatch.setattr(sys, "stdout", Gone())
    assert run(own_flow, *words) == 0
    (record,) = read_records(Store(own_flow.folder / "store"))
    assert (record["status"], record["exit_code"], len(record["tasks"])) == ("done", 0, 4)


def test_an_error_nobody_hears_keeps_its_exit_code_and_its_record(own_flow, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Gone(errno.EBADF))
    monkeypatch.setattr(sys, "stdout", Gone(errno.EBADF))
    assert run(own_flow, "options.fail=true", "--json") == 4
    (record,) = read_records(Store(own_flow.folder / "store"))
    assert record["status"] == "node_failed" and "total: ValueError: failed with" in record["error"]
    assert main(["run", "bad word"]) == 2


def test_an_answer_that_a_full_disk_does_not_take_is_an_error(own_flow, monkeypatch, capsys):
    assert run(own_flow, "--quiet") == 0
    monkeypatch.setattr(sys, "stdout", Gone(errno.ENOSPC))
    assert main(["runs"]) == 4
    assert "pipeline runs: the answer cannot be written to standard output: No space left on device" in capsys.readouterr().err


def apart(own_flow, *words: str, **streams: object) -> subprocess.Popen:
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "TERM": "xterm"}
    command = [sys.executable, "-m", "pipelines.cli", *words, *own_flow.words]
    return subprocess.Popen(command, cwd=own_flow.folder, env=environment, start_new_session=True, **streams)


def test_a_real_terminal_that_is_closed_meanwhile(own_flow):
    """The view draws on it in a thread of its own; SIGHUP goes to the session that owns the terminal, which this is not."""
    ours, theirs = pty.openpty()
    process = apart(own_flow, "run", stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    os.close(ours)
    assert process.wait(60) == 0
    (record,) = read_records(Store(own_flow.folder / "store"))
    assert record["status"] == "done"


def test_streams_that_were_closed_before_the_command_began(own_flow):
    """Their descriptors are not given to a file of the store: what a library prints would go there."""
    shell = 'exec "$@" <&- >&- 2>&-'
    module = own_flow.code.read_text().replace(
        "def total(", "def loud():\n    import os\n    [os.write(at, b'noise') for at in (1, 2)]\n\n\ndef total("
    ).replace("    if fail:", "    loud()\n    if fail:")  # fmt: skip
    own_flow.code.write_text(module)
    command = [sys.executable, "-m", "pipelines.cli", "run", *own_flow.words]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(["sh", "-c", shell, "sh", *command], cwd=own_flow.folder, env=environment, check=False)
    assert done.returncode == 0
    store = Store(own_flow.folder / "store")
    (record,) = read_records(store)
    assert record["status"] == "done"
    assert all(store.verified(key) for key, _ in store.stored())
    kept = [path for path in store.root.rglob("*") if path.is_file() and path.suffix != ".json"]
    assert kept and not [path for path in kept if b"noise" in path.read_bytes()]


def test_a_reader_that_takes_one_line_and_leaves(own_flow):
    assert run(own_flow, "--quiet") == 0
    read, write = os.pipe()
    os.close(read)
    with apart(own_flow, "plan", stdout=write, stderr=subprocess.PIPE) as process:
        os.close(write)
        assert process.stderr is not None and process.stderr.read() == b""
    assert process.returncode == 0


LONG = "y" * 2000
WORDS = [
    ("plan", LONG), ("plan", f"fold={LONG}"), ("plan", f"{LONG}=1"), ("plan", f"sweep.{LONG}=1"),
    ("plan", f"instrument={LONG}"),
    ("plan", f"data={LONG}"), ("plan", f"store={LONG}", "data=data"), ("plan", f"flow={LONG}:{LONG}"),
    ("plan", f"sweep.strategies={LONG},{LONG}"), ("plan", f"features.modules={LONG}"), ("plan", f"workers={LONG}"),
    ("plan", f"sweep.grid.fast={LONG}"), ("plan", f"store_budget={LONG}"), ("plan", " ".join(["word"] * 500)),
    ("runs", LONG), ("runs", LONG, LONG), ("clean", f"budget={LONG}"), ("promote", LONG, "model"), ("promote", "run", LONG),
    ("run", f"only={LONG}"), ("run", "--reproduce", LONG), ("sample", "x", f"edge={LONG}"),
    ("refresh", "--install", f"at={LONG}"),
    ("plan", "--config", LONG), ("plan", f"--{LONG}"), (LONG,), ("plan", "\t" * 2000), ("graph", "--svg", LONG),
]  # fmt: skip


@pytest.mark.parametrize("words", WORDS, ids=lambda words: " ".join(word[:20] for word in words))
def test_an_error_about_a_long_argument_can_be_read(own_flow, words):
    with_flow = words[0] in ("plan", "run") and not any(word.startswith(("flow", "data", "--")) for word in words)
    try:
        done = own_flow.command(*words, *(own_flow.words if with_flow else ()))
        code, text = done.code, done.err
    except SystemExit as error:
        code, text = int(str(error.code)), own_flow.capsys.readouterr().err
    assert code == 2 or words[0] in ("runs", "clean", "graph", "refresh", "promote", "sample", "run")
    assert len(text) < 1200 and "y" * (LONGEST + 1) not in text, len(text)
    assert code != 0


def test_what_is_cut_says_how_long_it_was_and_short_words_stay():
    assert shortened(f"'{LONG}' is nothing", [LONG]) == f"'{'y' * 80}… (2000 characters)' is nothing"
    assert shortened(f"fold={LONG}: no", [f"fold={LONG}"]) == f"fold={'y' * 75}… (2005 characters): no"
    path = f"/{'deep/' * 60}leases"
    assert shortened(f"cannot list {path}", ["store=/short"]) == f"cannot list {path}"


@pytest.mark.parametrize("source", [b"name = '\xe9'\n", b"name = (\n", b"raise ValueError('wrong')\n"])
def test_a_module_that_cannot_be_imported_is_named_with_what_names_it(own_flow, source):
    module = f"bad_{os.urandom(4).hex()}"
    (own_flow.folder / f"{module}.py").write_bytes(source)
    error = own_flow.json("plan", "data=data", f"flow={module}:FLOW", code=2)["error"]
    assert error.startswith(f"flow={module}:FLOW: importing {module} raises ") and error.endswith("; correct the module")
    with pytest.raises(ConfigurationError, match=f"sweep.strategies={module}:made: importing {module} raises"):
        user_object(f"{module}:made", "sweep.strategies")
    with pytest.raises(FeatureError, match=f"features.modules: importing {module} raises"):
        load_features([module])
