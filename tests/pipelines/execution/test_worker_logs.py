"""What tasks log: a file a try in the run's folder, the last lines in the error, warnings to the driver."""

import logging
import pickle
import threading

import pytest

from pipelines.errors import NodeError
from pipelines.execution.serial_runner import run_serial
from pipelines.execution.worker_logs import MOST_FORWARDED, TAIL, last_lines, log_file, task_log
from pipelines.storage.store import Store
from tests.pipelines.execution.squares import Squares, failing, graph_of

LOG = logging.getLogger("squares")


@pytest.fixture(autouse=True)
def infos():
    before = logging.getLogger().level
    logging.getLogger().setLevel(logging.INFO)
    yield
    logging.getLogger().setLevel(before)


def test_a_failed_node_carries_its_place_and_the_last_lines_of_its_log(tmp_path):
    said = []
    logs = tmp_path / "logs"
    graph = graph_of(failing, Squares(str(tmp_path), bad=1), 3)
    with pytest.raises(NodeError) as failed:
        run_serial(graph.tasks, Store.open(tmp_path / "store"), lambda outcome: None, logs=logs, say=said.append)
    error = pickle.loads(pickle.dumps(failed.value))
    assert (error.node, error.partition, error.key) == ("squares", "chunk=1", graph["squares[chunk=1]"].key)
    assert [line.partition(" ")[2] for line in error.log] == [
        "INFO squares: quiet note of chunk 1", "WARNING squares: chunk 1 looks odd",
    ]  # fmt: skip
    assert said == ["squares[chunk=1]: warning: chunk 1 looks odd"]
    text = log_file(logs, "squares[chunk=1]", 0).read_text()
    assert text.startswith(f"squares[chunk=1] begins, key {error.key}") and "ValueError: chunk 1 is odd" in text
    assert "quiet note of chunk 0" in log_file(logs, "squares[chunk=0]", 0).read_text()
    assert "done in" in log_file(logs, "squares[chunk=0]", 0).read_text()


def test_tasks_of_one_process_do_not_hear_each_other(tmp_path):
    heard = {}

    def work(name):
        with task_log(name, None, lambda text: None) as log:
            together.wait(10)
            LOG.warning("I am %s", name)
            together.wait(10)
            heard[name] = list(log.tail)

    together = threading.Barrier(2)
    threads = [threading.Thread(target=work, args=(name,)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    words = {name: [line.rpartition(" ")[2] for line in lines] for name, lines in heard.items()}
    assert words == {"one": ["one"], "two": ["two"]}


def test_a_task_that_says_too_much_or_cannot_write_stops_nothing(tmp_path):
    said = []
    with task_log("task", tmp_path / "missing" / "logs" / "task.log", said.append) as log:
        for number in range(100):
            LOG.warning("number %d", number)
    assert len(said) == MOST_FORWARDED and len(log.tail) == TAIL and log.tail[-1].endswith("number 99")
    assert not (tmp_path / "missing").exists(), "the folder of a run that is gone is not made anew"
    assert last_lines(tmp_path / "missing.log") == ()
