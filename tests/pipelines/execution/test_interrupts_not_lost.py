"""An interrupt that something on the way swallows still ends the run; more of them do not tear the stopping."""

import os
import signal
import time

import pytest

from pipelines.cli import main
from pipelines.execution import interrupts
from pipelines.execution.serial_runner import run_serial
from pipelines.graphs.graph import build_graph
from pipelines.graphs.node import Node
from pipelines.storage.store import Store
from tests.pipelines.execution.test_interrupts import begun, finished, here, start, until  # noqa: F401 (fixtures)


class Dying:
    def __del__(self) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)  # the handler runs in here, and what it raises is dropped


def swallowed(number: int) -> int:
    Dying()
    return number


def caught(number: int) -> int:
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)
    except BaseException:
        return -1
    return number


@pytest.fixture
def from_a_terminal():
    """Ctrl-C is heard as where a person starts Python; a test run in the background may have inherited that it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("from_a_terminal")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("function", [swallowed, caught])
def test_an_interrupt_in_a_destructor_or_caught_by_a_node_ends_the_run_and_publishes_nothing(function, tmp_path):
    table = (Node("made", function, per=("place",), axes={"number": "place"}),)
    graph = build_graph(table, None, {}, {"place": lambda place: range(3)})
    store = Store.open(tmp_path / "store")
    ended = []
    with interrupts.heard(to_the_end=False), pytest.raises(KeyboardInterrupt):
        run_serial(graph.tasks, store, ended.append)
    assert ended == [] and list((store.root / "objects").iterdir()) == []
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_first_signal_raises_and_the_next_ones_do_not_until_stopping_takes_too_long(monkeypatch):
    taker = interrupts.Interrupts()
    with pytest.raises(KeyboardInterrupt):
        taker(signal.SIGTERM, None)
    taker(signal.SIGTERM, None)
    monkeypatch.setattr(interrupts, "PATIENCE_S", -1.0)
    with pytest.raises(KeyboardInterrupt):
        taker(signal.SIGINT, None)


def test_a_signal_that_is_ignored_from_the_start_stays_ignored_and_a_hosts_handlers_come_back(monkeypatch):
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupts.heard(to_the_end=False):
            os.kill(os.getpid(), signal.SIGINT)
            interrupts.go_on()
            assert isinstance(signal.getsignal(signal.SIGTERM), interrupts.Interrupts)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    handlers = [signal.getsignal(number) for number in interrupts.SIGNALS]
    main(["runs", "store=nowhere"])
    assert [signal.getsignal(number) for number in interrupts.SIGNALS] == handlers


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_repeated_while_the_run_stops_is_one_line_and_130(here, start, number):  # noqa: F811
    process = start("cluster=threads", "workers=2")
    until(lambda: begun(here))
    for _ in range(4):
        process.send_signal(number)
        time.sleep(0.05)
    error = process.communicate(timeout=60)[1]
    assert process.returncode == 130, error
    assert "Traceback" not in error and "interrupted: what was finished stays" in error
