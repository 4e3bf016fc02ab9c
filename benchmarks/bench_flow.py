"""What the dataflow costs: planning 1,000 nodes, a node that does nothing on each runner, a sweep of 10,000 chunks, a run with
nothing changed.

    python benchmarks/bench_flow.py [--rounds 3] [--nodes 1000] [--chunks 10000]

The peer is Dask itself: the same functions as `client.submit`, without a store, keys or a record. A chunk sleeps 10 ms, so that
workers and driver do not compete for cores with its work; what is above the sleep is overhead, which does not depend on the
length of the sleep: it is also given as the share of a chunk of 100 ms.
"""

import argparse
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from distributed import Client, LocalCluster

from loaders.sample import write_sample
from pipelines.execution.dask_runner import run_dask
from pipelines.execution.serial_runner import run_serial
from pipelines.graphs.graph import Graph, build_graph
from pipelines.graphs.node import Node
from pipelines.graphs.planning import plan
from pipelines.record.records import RunRecord
from pipelines.storage.store import Store

SMALL = (
    "fold=0", "cluster=serial", "folds.train_bars=6000", "folds.validation_bars=2500", "folds.test_bars=2500",
    "folds.step_bars=2500", "sweep.grid.fast=5:20:5", "sweep.grid.slow=30:90:30", "sweep.grid.window=20,60",
    "sweep.grid.entry=1,2", "sweep.grid.exit=0", "training.seeds=0", "training.dqn.steps=40", "training.dqn.looks=2",
)  # fmt: skip


SLEEP_S = 0.01
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None


@dataclass(frozen=True)
class Rows:
    values: np.ndarray


def nothing(number: int) -> int:
    return number


def further(number: int) -> int:
    return number + 1


def graph(nodes: int) -> Graph:
    """Half of the nodes read nothing, each of the others reads one of them."""
    table = (
        Node("nothing", nothing, per=("place",), axes={"number": "place"}),
        Node("further", further, per=("place",), inputs={"number": "nothing"}),
    )
    return build_graph(table, None, {}, {"place": lambda place: range(nodes // 2)})


def seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def fsync() -> float:
    """Milliseconds until a small file is on the disk: an artefact takes four of them."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"x" * 500)
        file.flush()
        return 1e3 * statistics.median(seconds(lambda: os.fsync(file.fileno())) for _ in range(20))


def planned(nodes: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(Path(folder))
        return seconds(lambda: plan(graph(nodes), store))


def serial(nodes: int, where: str | None = None) -> float:
    with tempfile.TemporaryDirectory(dir=where) as folder:
        store, tasks = Store.open(Path(folder)), graph(nodes).tasks
        return seconds(lambda: run_serial(tasks, store, lambda outcome: None)) / nodes


def on_processes(nodes: int, client: Client, where: str | None = None) -> float:
    with tempfile.TemporaryDirectory(dir=where) as folder:
        store, tasks = Store.open(Path(folder)), graph(nodes).tasks
        return seconds(lambda: run_dask(tasks, store, lambda outcome: None, client)) / nodes


def dask_alone(nodes: int, client: Client, number: int) -> float:
    def work() -> None:
        first = [client.submit(nothing, at, key=f"n-{number}-{at}") for at in range(nodes // 2)]
        client.gather([client.submit(further, one, key=f"f-{number}-{at}") for at, one in enumerate(first)])

    return seconds(work) / nodes


def chunk(number: int, data: np.ndarray) -> float:
    time.sleep(SLEEP_S)
    return float(data[number % 1000])


def rows() -> Rows:
    return Rows(np.arange(1000.0))


def swept(chunks: int, client: Client) -> tuple[float, float]:
    """Seconds above the sleep that a chunk of a sweep takes of its worker: here, with logs and a record, and by Dask alone."""
    table = (Node("rows", rows), Node("chunk", chunk, per=("at",), axes={"number": "at"}, inputs={"data": "rows.values"}))
    tasks = build_graph(table, None, {}, {"at": lambda place: range(chunks)}).tasks
    data, workers = np.arange(1000.0), len(client.nthreads())

    def alone() -> None:
        client.gather([client.submit(chunk, number, data, pure=False) for number in range(chunks)])

    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(Path(folder) / "store")
        record = RunRecord.begin(store, {})
        run_serial(tasks[:1], store, lambda outcome: None)
        here = seconds(lambda: run_dask(
            tasks[1:], store, lambda outcome: record.append("task", **vars(outcome)), client, record.folder / "logs"
        ))  # fmt: skip
    return tuple(taken / chunks * workers - SLEEP_S for taken in (here, seconds(alone)))


def unchanged_run(rounds: int) -> list[float]:
    """Whole processes, imports included."""
    with tempfile.TemporaryDirectory() as folder:
        write_sample(Path(folder) / "sample", sessions=15)
        command = [sys.executable, "-m", "pipelines.cli", "run", *SMALL, "--quiet"]
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])}

        def run() -> None:
            subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)

        run()
        return [seconds(run) for _ in range(rounds)]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--chunks", type=int, default=10_000)
    asked = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} at the start")
    table = {
        f"plan of {asked.nodes} nodes, s": [planned(asked.nodes) for _ in range(asked.rounds)],
        "a node, serial, ms": [1e3 * serial(asked.nodes) for _ in range(asked.rounds)],
        "  without the disk's fsync": [1e3 * serial(asked.nodes, MEMORY) for _ in range(asked.rounds)],
        "  (one fsync here, ms)": [fsync() for _ in range(asked.rounds)],
    }
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "host": "127.0.0.1"}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        on_processes(100, client)  # imports and code checks of the workers
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        here, peer = swept(asked.chunks, client)
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        table[f"overhead of {asked.chunks} chunks, ms each"] = [1e3 * here]
        table["  of Dask alone"] = [1e3 * peer]
        table["  share of chunks of 100 ms, %"] = [1e3 * here]
        table["  driver's memory, MiB more"] = [grown]
        table["a node, processes, ms"] = [1e3 * on_processes(asked.nodes, client) for _ in range(asked.rounds)]
        table["  without the disk's fsync "] = [1e3 * on_processes(asked.nodes, client, MEMORY) for _ in range(asked.rounds)]
        table["a task of Dask alone, ms"] = [1e3 * dask_alone(asked.nodes, client, at) for at in range(asked.rounds)]
    table["run with nothing changed, s"] = unchanged_run(asked.rounds)
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
          f"load {os.getloadavg()[0]:.1f}")  # fmt: skip
    for name, values in table.items():
        print(f"{name:<36} best {min(values):8.3f}   median {statistics.median(values):8.3f}")


if __name__ == "__main__":
    main()
