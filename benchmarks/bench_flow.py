"""What the dataflow costs: planning 1,000 nodes, a node that does nothing on each runner, a run with nothing changed.

    python benchmarks/bench_flow.py [--rounds 3] [--nodes 1000]

The peer is Dask itself: the same functions as `client.submit`, without a store, keys or a record.
"""

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from distributed import Client, LocalCluster

from loaders.sample import write_sample
from pipelines.dask_runner import run_dask
from pipelines.graph import Graph, build_graph
from pipelines.node import Node
from pipelines.planning import plan
from pipelines.serial_runner import run_serial
from pipelines.store import Store

SMALL = (
    "fold=0", "cluster=serial", "folds.train_bars=6000", "folds.validation_bars=2500", "folds.test_bars=2500",
    "folds.step_bars=2500", "sweep.grid.fast=5:20:5", "sweep.grid.slow=30:90:30", "sweep.grid.window=20,60",
    "sweep.grid.entry=1,2", "sweep.grid.exit=0", "training.seeds=0", "training.dqn.steps=40", "training.dqn.looks=2",
)  # fmt: skip


MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None


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
    asked = parser.parse_args()
    rows = {
        f"plan of {asked.nodes} nodes, s": [planned(asked.nodes) for _ in range(asked.rounds)],
        "a node, serial, ms": [1e3 * serial(asked.nodes) for _ in range(asked.rounds)],
        "  without the disk's fsync": [1e3 * serial(asked.nodes, MEMORY) for _ in range(asked.rounds)],
        "  (one fsync here, ms)": [fsync() for _ in range(asked.rounds)],
    }
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "host": "127.0.0.1"}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        rows["a node, processes, ms"] = [1e3 * on_processes(asked.nodes, client) for _ in range(asked.rounds)]
        rows["  without the disk's fsync "] = [1e3 * on_processes(asked.nodes, client, MEMORY) for _ in range(asked.rounds)]
        rows["a task of Dask alone, ms"] = [1e3 * dask_alone(asked.nodes, client, at) for at in range(asked.rounds)]
    rows["run with nothing changed, s"] = unchanged_run(asked.rounds)
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
          f"load {os.getloadavg()[0]:.1f}")  # fmt: skip
    for name, values in rows.items():
        print(f"{name:<32} best {min(values):8.3f}   median {statistics.median(values):8.3f}")


if __name__ == "__main__":
    main()
