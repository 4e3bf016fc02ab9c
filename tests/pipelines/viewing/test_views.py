"""What a person watches: the pace, lines where there is no terminal, the view where there is one; stdout stays clean."""

import io

import pytest
from rich.console import Console

from pipelines.execution.running import Recorded
from pipelines.execution.task_execution import Outcome
from pipelines.record.records import RunRecord, read_record
from pipelines.storage.store import Store
from pipelines.viewing.machine_load import GpuLoad, machine_memory, parse_gpus, run_memory
from pipelines.viewing.pace import Pace, rate, span
from pipelines.viewing.progress import Lines, Silent, shown
from pipelines.viewing.terminal import Terminal, gpu_text, memory_text


def outcome(task: str, seconds: float, warnings: tuple[str, ...] = (), **facts) -> Outcome:
    return Outcome(task, "k", seconds, False, "", 0, facts, warnings=warnings)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_what_is_left_counts_each_node_at_its_own_pace():
    clock = Clock()
    pace = Pace(["load[0]", "load[1]", "sweep[0]", "sweep[1]", "sweep[2]", "sweep[3]"], clock)
    assert pace.left is None and pace.sweeps.left is None
    clock.now = 10.0
    pace.finished(outcome("load[0]", 10.0))
    assert pace.left == pytest.approx(50.0)  # nothing else is known: five more of ten seconds
    clock.now = 12.0
    pace.finished(outcome("sweep[0]", 2.0, bar_steps=4e8))
    # one load of 10 s and three sweeps of 2 s are to come; 12 s of work took 12 s
    assert pace.left == pytest.approx(16.0)
    assert (pace.sweeps.done, pace.sweeps.total, pace.sweeps.left) == (1, 4, pytest.approx(6.0))
    assert pace.sweeps.rate == pytest.approx(2e8)
    clock.now = 14.0  # on two workers: two sweeps ended in 2 s
    pace.finished(outcome("sweep[1]", 2.0, bar_steps=4e8))
    pace.finished(outcome("sweep[2]", 2.0, bar_steps=4e8))
    assert pace.left == pytest.approx(14.0 * (10 + 2) / 16) and pace.sweeps.rate == pytest.approx(3e8)
    clock.now = 99.0  # what runs after the sweeps does not slow them
    assert pace.sweeps.rate == pytest.approx(3e8)


def test_the_time_that_a_cluster_takes_to_start_is_no_pace():
    clock = Clock()
    pace = Pace([f"load[{number}]" for number in range(11)], clock)
    clock.now = 7.0  # six seconds until there is a worker
    pace.finished(outcome("load[0]", 1.0))
    assert pace.left == pytest.approx(10.0) and pace.elapsed == 7.0


def test_spans_and_rates():
    assert [span(value) for value in (0.4, 59.4, 60, 3599, 7260)] == ["0 s", "59 s", "1:00 min", "59:59 min", "2:01 h"]
    assert [rate(value) for value in (58e3, 2.4e8, 2.56e11)] == ["58 k bar-steps/s", "240 M bar-steps/s", "256 G bar-steps/s"]


def test_lines_of_a_few_tasks(capsys):
    lines = Lines(["sweep[0]", "ranking"])
    lines.finished(outcome("sweep[0]", 1.0, bar_steps=1.0, bar_steps_per_second=250e6))
    lines.retried("ranking", "ranking: ConnectionError: no", 1, 61.0)
    lines.finished(outcome("ranking", 0.5, warnings=("UserWarning: careful",)))
    first, again, warned, last = capsys.readouterr().err.splitlines()
    assert first.startswith("[1/2] sweep[0] 1.0 s, 250 M bar-steps/s, about ") and first.endswith(" s left")
    assert again == "ranking: ConnectionError: no: tried again in 1:01 min" and warned == "ranking: UserWarning: careful"
    assert last == "[2/2] ranking 0.5 s"


def test_ten_thousand_chunks_are_not_ten_thousand_lines(capsys):
    names = [f"sweep[chunk={at}]" for at in range(10_000)]
    lines = Lines(names)
    for name in names:
        lines.finished(outcome(name, 0.1, bar_steps=1e6, bar_steps_per_second=1e7))
    written = capsys.readouterr().err.splitlines()
    assert len(written) < 60 and written[-1].startswith("[10000/10000]")
    assert "sweeps 1/10000, " in written[0] and "bar-steps/s in all, about " in written[0]


def test_lines_without_a_terminal_and_nothing_when_quiet(monkeypatch):
    with shown(["a"], quiet=True) as progress:
        assert isinstance(progress, Silent)
    with shown(["a"], quiet=False) as progress:
        assert isinstance(progress, Lines)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "dumb")
    with shown(["a"], quiet=False) as progress:
        assert isinstance(progress, Lines)


def test_the_view_shows_nodes_pace_memory_and_gpus():
    stream = io.StringIO()
    console = Console(file=stream, width=110, height=40, force_terminal=True)
    view = Terminal(["load", "sweep[0]", "sweep[1]", "sweep[2]"], console)
    view.began("load")
    view.finished(outcome("load", 1.0))
    view.began("sweep[0]")
    view.began("sweep[1]")
    view.finished(outcome("sweep[0]", 1.0, bar_steps=5e8))
    view._gpus.loads = [GpuLoad(45, 2048, 8192)]
    plain = Console(file=io.StringIO(), width=110, color_system=None)
    plain.print(view)
    text = plain.file.getvalue()
    assert "2/4 " in text and "1/3 chunks  " in text and "bar-steps/s" in text and " left" in text
    rows = {line.split()[0]: line for line in text.splitlines()}
    assert "sweep[1]" in rows["running"] and "sweep[0]  1.0 s" in rows["ended"] and "this run " in rows["memory"]
    assert "45 % busy, 2.0 of 8.0 GiB" in rows["GPU"]


def test_the_view_draws_in_a_terminal_and_leaves_it_clean():
    stream = io.StringIO()
    with Terminal(["a", "b"], Console(file=stream, width=80, height=20, force_terminal=True)) as view:
        view.began("a")
        view.say("a line that stays")
        view.finished(outcome("a", 0.1, warnings=("UserWarning: w",)))
    assert "a line that stays" in stream.getvalue() and "a: UserWarning: w" in stream.getvalue()


def test_loads():
    assert parse_gpus("45, 2048, 8192\n[N/A], 1, 2\n\n0, 3, 4\n") == [GpuLoad(45, 2048, 8192), GpuLoad(0, 3, 4)]
    used, total = machine_memory()
    assert 0 < used < total and 10 * 2**20 < run_memory() < total
    assert memory_text(2**30, (2**31, 2**32)) == "this run 1.0 GiB, machine 2.0 of 4.0 GiB"
    assert memory_text(2**30, None) == "this run 1.0 GiB" and gpu_text(GpuLoad(1, 0, 1024)) == "1 % busy, 0.0 of 1.0 GiB"


@pytest.mark.filterwarnings("always")
def test_json_is_all_there_is_on_stdout(own_flow):
    assert own_flow.json("run", *own_flow.words)["status"] == "done"
    assert own_flow.json("graph", *own_flow.words)["nodes"]


def test_a_late_word_that_a_task_began_is_no_news(tmp_path):
    record = RunRecord.begin(Store.open(tmp_path), {})
    watching = Recorded(Silent(), record)
    watching.began("a")
    for name in ("a", "b"):
        record.append("task", **vars(outcome(name, 0.1)))
        watching.finished(outcome(name, 0.1))
    watching.began("b")
    assert read_record(record.folder)["in_hand"] == []
