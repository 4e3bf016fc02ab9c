"""Clusters of every kind make the same artefacts; a scheduler that is not there, or goes away, is a clear error."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from pipelines.config.configuration import load_settings
from pipelines.errors import ClusterError, ConfigurationError
from pipelines.execution.cluster import connected
from pipelines.execution.cluster_settings import ClusterOptions, SecuritySettings
from pipelines.execution.dask_runner import run_dask
from pipelines.execution.serial_runner import run_serial
from pipelines.storage.store import Store
from tests.pipelines.execution.squares import Squares, expected, graph_of, squares, sum_of
from tests.pipelines.execution.test_cluster import settings

REPOSITORY = Path(__file__).resolve().parents[3]


def dask(*words, path=REPOSITORY):
    """Start a part of a cluster of somebody else's, which finds modules in one more folder."""
    environment = {**os.environ, "PYTHONPATH": f"{REPOSITORY}{os.pathsep}{path}"}
    command = [sys.executable, "-m", "dask", *map(str, words)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def scheduler(file, port=0):
    process = dask("scheduler", "--host", "127.0.0.1", "--port", port, "--scheduler-file", file, "--no-dashboard",
                   "--dashboard-address", "127.0.0.1:0")  # fmt: skip
    until(lambda: file.is_file() and file.read_text().strip())
    return process, json.loads(file.read_text())["address"]


def worker(address, path=REPOSITORY):
    return dask("worker", address, "--host", "127.0.0.1", "--nworkers", 1, "--nthreads", 1, "--no-dashboard",
                "--death-timeout", 5, path=path)  # fmt: skip


def until(condition, seconds=60.0):
    stop = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < stop, "waited in vain"
        time.sleep(0.05)


def stop(*processes):
    for process in processes:
        process.terminate()
    for process in processes:
        process.wait(30)


def at(address, wait_s=30.0):
    return dataclasses.replace(load_settings(), cluster=address, cluster_options=ClusterOptions(wait_s=wait_s))


def test_an_existing_scheduler_runs_the_graph_and_its_loss_is_an_error_that_a_new_run_resumes_from(tmp_path):
    graph = graph_of(squares, Squares(str(tmp_path), seconds=0.3), 12)
    store = Store.open(tmp_path / "store")
    first, address = scheduler(tmp_path / "scheduler.json")
    helper = worker(address)
    reported = []

    def report(outcome):
        reported.append(outcome.task)
        if len(reported) == 3:
            os.kill(first.pid, signal.SIGKILL)

    try:
        with (
            pytest.raises(ClusterError, match="the connection to the scheduler was lost; start it again, then run again"),
            connected(at(str(tmp_path / "scheduler.json"))) as client,
        ):
            run_dask(graph.tasks, store, report, client)
    finally:
        stop(first)
        helper.wait(30)
    done = {path.name for path in tmp_path.glob("ran.*")}
    assert 3 <= len(done) < 12
    (tmp_path / "scheduler.json").unlink()
    second, address = scheduler(tmp_path / "scheduler.json", address.rpartition(":")[2])
    helper = worker(address)
    try:
        with connected(at(address)) as client:
            run_dask([task for task in graph.tasks if store.manifest(task.key) is None], store, lambda outcome: None, client)
    finally:
        stop(second, helper)
    assert sum_of(store, graph) == expected(4, 12)
    runs = [path.stat().st_size for path in tmp_path.glob("ran.*")]
    assert len(runs) == 12 and sum(runs) <= 13, "only the chunk that was running when the scheduler died may run again"


def refusal(address, wait_s=30.0):
    with pytest.raises(ClusterError) as refused, connected(at(address, wait_s)):
        raise AssertionError("connected")
    return str(refused.value)


def test_a_scheduler_that_is_not_there_or_has_no_worker_is_an_error_within_its_time(tmp_path):
    begun = time.monotonic()
    assert "no scheduler answers at tcp://127.0.0.1:9 within 0.5 s" in refusal("tcp://127.0.0.1:9", 0.5)
    assert "missing.json: is no scheduler file (FileNotFoundError)" in refusal(str(tmp_path / "missing.json"))
    process, address = scheduler(tmp_path / "scheduler.json")
    try:
        assert f"the scheduler has no worker after 1 s; start some with `dask worker {address}`" in refusal(address, 1.0)
    finally:
        stop(process)
    assert time.monotonic() - begun < 60


@pytest.mark.parametrize("how", [("threads", 3, 1), ("processes", 1, 3)])
def test_threads_and_processes_with_threads_make_what_one_process_makes(tmp_path, contents, how):
    kind, workers, threads = how
    graph = graph_of(squares, Squares(str(tmp_path)), 30)
    run_serial(graph.tasks, Store.open(tmp_path / "serial"), lambda outcome: None)
    asked = dataclasses.replace(settings(kind, workers), cluster_options=ClusterOptions(threads_per_worker=threads))
    with connected(asked) as client:
        assert client.nthreads() and sum(client.nthreads().values()) == 3
        run_dask(graph.tasks, Store.open(tmp_path / "store"), lambda outcome: None, client)
    assert contents(tmp_path / "store") == contents(tmp_path / "serial")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    key, cert = folder / "key.pem", folder / "cert.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=walkfold"]
    try:
        subprocess.run([*command, "-keyout", key, "-out", cert], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("no openssl to make a certificate with")
    return SecuritySettings(ca_file=str(cert), cert=str(cert), key=str(key))


def listening(process):
    return {connection.laddr.ip for connection in process.net_connections("inet") if connection.status == psutil.CONN_LISTEN}


def test_a_cluster_listens_on_the_loopback_only_and_encrypts_where_it_is_told(tmp_path, certificate):
    from distributed import Client

    asked = dataclasses.replace(settings("processes", 1), cluster_options=ClusterOptions(security=certificate))

    with connected(asked) as client:
        address = client.scheduler.address
        assert address.startswith("tls://127.0.0.1:")
        me = psutil.Process()
        found = [listening(process) for process in (me, *me.children(recursive=True))]
        assert set().union(*found) == {"127.0.0.1"} and sum(map(bool, found)) >= 2
        with pytest.raises((OSError, TypeError)):
            Client(address, timeout=2)
        graph = graph_of(squares, Squares(str(tmp_path)), 3)
        store = Store.open(tmp_path / "store")
        run_dask(graph.tasks, store, lambda outcome: None, client)
        assert sum_of(store, graph) == expected(4, 3)
        assert "is encrypted: give cluster_options.security.ca_file" in refusal(address)



@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("cluster=tcp:/nowhere",), "cluster is 'tcp:/nowhere', must be one of serial, threads, processes, cuda, or"),
        (("cluster_options.threads_per_worker=0",), "threads_per_worker is 0, must be at least 1"),
        (("cluster_options.memory_limit=much",), "memory_limit is 'much', must be a size like 4GiB, or none"),
        (("cluster_options.dashboard=yes please",), "dashboard is 'yes please', must be host:port or none"),
        (("cluster_options.most_deaths=0",), "most_deaths at least 1"),
        (("cluster_options.security.cert=a.pem",), "security has only cert: give ca_file, cert and key, or none"),
        (("cluster_options.hots=a",), "did you mean 'host'"),
    ],
)
def test_cluster_options_that_mean_nothing_are_refused(words, message):
    with pytest.raises(ConfigurationError, match=message):
        load_settings(words)


def test_the_dashboard_is_recorded_and_its_report_saved_on_request(tmp_path):
    pytest.importorskip("bokeh")
    (tmp_path / "small_flow.py").write_text(
        "from pipelines.graphs.flow_table import Flow\nfrom pipelines.graphs.node import Node\n\n\n"
        "def one() -> int:\n    return 1\n\n\nFLOW = Flow((Node('one', one),))\n"
    )
    command = [sys.executable, "-m", "pipelines.cli", "run", "flow=small_flow:FLOW", "store=store"]
    command.append("performance_report=report.html")

    def run(*words):
        environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
        return subprocess.run([*command, *words], cwd=tmp_path, env=environment, text=True, capture_output=True, timeout=120)

    refused = run("cluster=serial")
    assert refused.returncode == 2 and "cluster=serial has no scheduler that could report" in refused.stderr
    done = run("cluster=threads", "workers=1")
    assert done.returncode == 0, done.stderr
    assert "<html" in (tmp_path / "report.html").read_text() and "dashboard: http://127.0.0.1:" in done.stderr
    record = next((tmp_path / "store" / "runs").glob("*/record.jsonl")).read_text()
    told = next(json.loads(line) for line in record.splitlines() if '"cluster"' in line and '"scheduler"' in line)
    assert told["dashboard"].startswith("http://127.0.0.1:") and (told["workers"], told["slots"]) == (1, 1)
