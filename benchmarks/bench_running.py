"""What scheduling costs: overhead per node of each runner, and of a sweep of 10,000 chunks; beside plain Dask futures.

    python benchmarks/bench_running.py [--nodes 1000] [--chunks 10000] [--milliseconds 10] [--workers 2]

A chunk sleeps, so that workers and driver do not compete for cores with its work; what is above the sleep is overhead:
reading one small input with its checksum, writing and syncing the artefact and its references, the log of the try, the run's
record, and everything that Dask does. "in 100 ms" is the overhead of a chunk as the share of a chunk of 100 ms that it would
be: the overhead does not depend on the length of the sleep.
"""

import argparse
import dataclasses
import os
import platform
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import distributed
import numpy as np

from pipelines.cluster import connected
from pipelines.configuration import load_settings
from pipelines.dask_runner import run_dask
from pipelines.graph import Graph, build_graph
from pipelines.node import Node
from pipelines.records import RunRecord
from pipelines.serial_runner import run_serial
from pipelines.store import Store
from pipelines.task_execution import Outcome


@dataclasses.dataclass(frozen=True)
class Sleep:
    seconds: float


@dataclasses.dataclass(frozen=True)
class Rows:
    values: np.ndarray


def rows() -> Rows:
    return Rows(np.arange(1000.0))


def chunk(number: int, data: np.ndarray, seconds: float) -> float:
    time.sleep(seconds)
    return float(data[number % 1000])


def total(values: list[float]) -> float:
    return sum(values)


NODES = (
    Node("rows", rows),
    Node("chunk", chunk, per=("number",), axes={"number": "number"}, inputs={"data": "rows.values"},
         settings={"seconds": "seconds"}),
    Node("total", total, inputs={"values": "chunk"}),
)  # fmt: skip


def graph_of(chunks: int, seconds: float) -> Graph:
    return build_graph(NODES, Sleep(seconds), {}, {"number": lambda place: range(chunks)})


def seconds_of(graph: Graph, run: Callable[..., None]) -> float:
    """Run all chunks of a graph in a new store and return how long that took; the other nodes are not counted."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(Path(folder) / "store")
        record = RunRecord.begin(store, {})

        def report(outcome: Outcome) -> None:
            record.append("task", **vars(outcome))

        run_serial(graph.tasks[:1], store, report)
        begun = time.perf_counter()
        run(graph.tasks[1:-1], store, report, record.folder / "logs")
        return time.perf_counter() - begun


def row(name: str, chunks: int, seconds: float, workers: int, taken: float) -> None:
    overhead = taken / chunks * workers - seconds
    share = overhead / 0.1
    print(f"{name:<42} {chunks:>7,} {taken:>9.2f} {taken / chunks * 1e3:>9.2f} {overhead * 1e3:>13.2f} {share:>9.1%}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--chunks", type=int, default=10_000)
    parser.add_argument("--milliseconds", type=float, default=10.0)
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    seconds, workers = asked.milliseconds / 1e3, asked.workers
    print(f"{platform.platform()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {platform.python_version()}, "
          f"distributed {distributed.__version__}")  # fmt: skip
    print(f"{'':<42} {'chunks':>7} {'seconds':>9} {'ms/chunk':>9} {'overhead ms':>13} {'in 100 ms':>9}")
    idle = graph_of(asked.nodes, 0.0)
    row("serial, nodes that do nothing", asked.nodes, 0.0, 1, seconds_of(
        idle, lambda tasks, store, report, logs: run_serial(tasks, store, report, logs=logs)))  # fmt: skip
    settings = dataclasses.replace(load_settings(), cluster="processes", workers=workers)
    with connected(settings) as client:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

        def dask(tasks, store, report, logs):
            run_dask(tasks, store, report, client, logs)

        seconds_of(graph_of(50, 0.0), dask)  # imports and code checks of the workers
        row("processes, nodes that do nothing", asked.nodes, 0.0, 1, seconds_of(idle, dask))
        sweep = graph_of(asked.chunks, seconds)
        row(f"processes, chunks of {asked.milliseconds:g} ms", asked.chunks, seconds, workers, seconds_of(sweep, dask))
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        begun = time.perf_counter()
        data = np.arange(1000.0)
        futures = [client.submit(chunk, number, data, seconds, pure=False) for number in range(asked.chunks)]
        assert len(client.gather(futures)) == asked.chunks
        row("plain futures, nothing kept, all at once", asked.chunks, seconds, workers, time.perf_counter() - begun)
        print(f"driver: {grown / 1024:.0f} MiB more at its peak for {asked.chunks:,} chunks, the graph itself among them")


if __name__ == "__main__":
    main()
