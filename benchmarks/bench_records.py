"""What a record costs: a line, a task, a run, a list of a thousand runs; beside a line of the standard logging."""

import argparse
import json
import logging
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pipelines.execution.measuring import Stopwatch, device_bytes, noted_warnings, peak_bytes, restart_peaks
from pipelines.execution.task_execution import Outcome
from pipelines.record.outputs import output_digest
from pipelines.record.records import RunRecord, read_summaries
from pipelines.record.run_index import write_index
from pipelines.storage.store import Store

TASK = Outcome(
    "sweep[fold=0,strategy=ema_cross,chunk=17]", "a" * 64, 1.25, False, "pid 1234", 2**28,
    {"executor": "cpu", "fallback_reason": None, "combinations": 512, "bar_steps": 10**7, "bar_steps_per_second": 2.5e8},
    {"queue": 0.1, "load": 0.1, "compute": 1.0, "publish": 0.05}, output="b" * 64,
)  # fmt: skip
RUNS = 1000


def measured(call: Callable[[], object], times: int, rounds: int) -> tuple[float, float]:
    """Best and median milliseconds of one call."""
    found = []
    for _ in range(rounds):
        begun = time.perf_counter()
        for _ in range(times):
            call()
        found.append((time.perf_counter() - begun) / times * 1e3)
    return min(found), statistics.median(found)


def of_a_task(store: Store, key: str) -> None:
    """What `perform` does for the record around a node."""
    watch = Stopwatch()
    restart_peaks()
    with noted_warnings():
        for name in ("load", "compute", "publish"):
            with watch.phase(name):
                pass
    peak_bytes()
    device_bytes()
    output_digest(store, store.manifest(key))


def whole_run(store: Store) -> None:
    """A run without tasks, from its first line to its summary."""
    RunRecord.begin(store, {"command": "run"}).end("done", 0, 1.0)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(Path(folder) / "store")
        made = store.begin("c" * 64)
        (made / "values.json").write_text("{}")
        store.publish("c" * 64, made, {"task": "x"})
        record = RunRecord.begin(store, {"command": "run"})
        log = logging.getLogger("peer")
        log.propagate = False
        log.setLevel(logging.INFO)
        log.addHandler(logging.FileHandler(Path(folder) / "peer.jsonl"))
        rows = {
            "peer: the same line by logging": measured(lambda: log.info(json.dumps(vars(TASK))), 200, rounds),
            "a line about a task": measured(lambda: record.append("task", **vars(TASK)), 200, rounds),
            "measuring a task": measured(lambda: of_a_task(store, "c" * 64), 200, rounds),
            "a run without tasks": measured(lambda: whole_run(store), 20, rounds),
        }
        for _ in range(RUNS - len(list((store.root / "runs").iterdir()))):
            whole_run(store)
        rows[f"summaries of {RUNS} runs"] = measured(lambda: read_summaries(store), 1, rounds)
        rows[f"the index of {RUNS} runs"] = measured(lambda: write_index(store), 1, rounds)
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, load {os.getloadavg()[0]:.1f}")
    for name, (best, median) in rows.items():
        print(f"{name:<34} best {best:9.3f} ms   median {median:9.3f} ms")


if __name__ == "__main__":
    main()
