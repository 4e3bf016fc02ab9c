"""Where nodes run and why: GPU nodes on workers that hold a GPU, the others beside them, and what cannot be met refused."""

import dataclasses
import json
from functools import cache

import pytest

from kernels.fallback import cuda_refusal
from pipelines.cli import main
from pipelines.config.configuration import load_settings
from pipelines.errors import ClusterError
from pipelines.execution.cluster import add_workers, cpu_workers, described, gpu_refusal
from pipelines.execution.dask_runner import run_dask
from pipelines.execution.machine import Machine, remarks
from pipelines.execution.placement import ANY, CPU, GPU, Pools, placements
from pipelines.execution.preflight import Worker, check, expectation
from pipelines.execution.task_execution import Outcome
from pipelines.execution.window import AHEAD, Window
from pipelines.flow import flow_graph
from pipelines.graphs.graph import build_graph
from pipelines.graphs.node import Node, Resources
from pipelines.steps import sweeping
from pipelines.steps.sweeping import sweep_chunk
from pipelines.storage.store import Store
from tests.pipelines.execution.test_pieces import chunk_arguments  # noqa: F401

LIKES_GPU = Resources(gpu=1, executor="executor")
CARD = Worker("tcp://10.0.0.1:1", "a", 2**36, 8, 1.0)
CORE = Worker("tcp://10.0.0.1:2", "a", 2**36, 8, 0.0, cpus=1.0)
BARE = Worker("tcp://10.0.0.1:3", "a", 2**36, 8, 0.0, slots=4)


@dataclasses.dataclass(frozen=True)
class Asked:
    """Settings of the graph below."""

    executor: str = "auto"
    allow_fallback: bool = False


def swept(chunk: int, executor: str, allow_fallback: bool, machine: Machine) -> int:
    """Notes what its machine said."""
    machine.note(gpu=machine.gpu)
    return chunk


def plain(chunk: int, machine: Machine) -> int:
    """A node for CPUs."""
    machine.note(gpu=machine.gpu)
    return chunk


@cache
def graph_of(asked: Asked, chunks: int = 3):
    """Some chunks that like a GPU, then as many that have no use for one."""
    nodes = (
        Node("swept", swept, per=("chunk",), axes={"chunk": "chunk"}, resources=LIKES_GPU,
             settings={"executor": "executor", "allow_fallback": "allow_fallback"}),
        Node("plain", plain, per=("chunk",), axes={"chunk": "chunk"}),
    )  # fmt: skip
    return build_graph(nodes, asked, {}, {"chunk": lambda place: range(chunks)})


def test_workers_are_parted_by_what_they_announce():
    assert Pools.of([CARD, CORE, CORE]).slots == {GPU: 1, CPU: 2}
    assert Pools.of([CARD, CARD, BARE]).slots == {GPU: 2, ANY: 4}, "CPU workers of a scheduler of yours need announce nothing"
    assert Pools.of([BARE, CORE]).slots == {ANY: 5} and Pools.of([CARD]).slots == {ANY: 1, GPU: 1}


@pytest.mark.parametrize(
    ("asked", "workers", "wanted"),
    [
        (Asked("auto"), [CARD, CORE], {GPU: 1}),
        (Asked("cuda"), [CARD, CORE], {GPU: 1}),
        (Asked("cpu"), [CARD, CORE], {CPU: 1}),
        (Asked("auto"), [CORE], None),
        (Asked("cuda", True), [BARE], None),
        (Asked("auto"), [CARD], {GPU: 1}),
    ],
)
def test_a_node_that_can_use_a_gpu_asks_for_one_where_there_is_one(asked, workers, wanted):
    pools, tasks = Pools.of(workers), graph_of(asked).tasks
    assert pools.resources(tasks[0]) == wanted
    assert pools.resources(tasks[-1]) == ({CPU: 1} if pools.slots.get(CPU) else None)
    check(tasks, workers)


def test_tasks_that_wait_for_a_gpu_keep_no_others_back():
    tasks = graph_of(Asked(), chunks=50).tasks
    window = Window(tasks, Pools({GPU: 1, CPU: 3}), 0)
    batches = []
    while batch := window.next_batch():
        batches.append(batch[0].node.name)
    assert batches.count("swept") == AHEAD and batches.count("plain") == 3 * AHEAD
    window.back((tasks[0],))
    window.finished(tasks[0], 9.0)
    assert [one.node.name for one in window.next_batch()] == ["swept"] and window.next_batch() == ()


def test_a_gpu_that_no_worker_announces_is_refused_and_the_workers_that_announce_one_are_asked(tmp_path):
    with pytest.raises(ClusterError, match=r"swept\[chunk=0\]: needs a GPU, but no worker has one \(2 workers without\); use"):
        check(graph_of(Asked("cuda")).tasks, [CORE, BARE])
    store = Store.open(tmp_path / "store")
    asking = {asked: expectation(graph_of(asked).tasks, store, "") for asked in map(Asked, ("auto", "cuda", "cpu"))}
    assert [one.gpu for one in asking.values()] == [True, True, False]
    assert not expectation(graph_of(Asked("cuda", True)).tasks, store, "").gpu


def where(cluster, gpus, executor="auto", fallback=False):
    settings = dataclasses.replace(load_settings(), cluster=cluster)
    return placements(graph_of(Asked(executor, fallback)).tasks, settings, gpus)["swept"]


def test_the_place_of_a_node_is_told_with_its_reason():
    assert where("cuda", 1) == {"where": "GPU worker", "why": "executor=auto"}
    assert where("cuda", 1, "cpu") == {"where": "CPU worker", "why": "executor=cpu"}
    lacking = "and no worker of cluster=processes holds a GPU"
    assert where("processes", 0) == {
        "where": "CPU worker", "why": f"executor=auto, {lacking}; cluster=cuda starts workers that do",
    }  # fmt: skip
    assert where("processes", 0, "cuda")["why"] == f"executor=cuda, {lacking}: the run is refused; use cluster=cuda"
    assert where("threads", None, "cuda", True)["why"].endswith("it falls back, sweep.allow_fallback=true")
    assert where("tcp://h:1", None)["why"] == "executor=auto, if a worker of tcp://h:1 announces a GPU; a CPU worker otherwise"
    assert where("tcp://h:1", None, "cuda")["why"].endswith("refused otherwise")
    assert where("tcp://h:1", 1)["where"] == "GPU worker" and where("tcp://h:1", 0)["where"] == "CPU worker"
    assert "estimated faster here" in where("serial", None)["why"]


def test_with_default_settings_the_sweep_is_for_the_gpu_and_all_else_for_cpus(small_settings):
    settings = load_settings([*small_settings, "cluster=cuda"])
    assert settings.sweep.executor == "auto"
    graph = flow_graph(settings, [0])
    places = {name: row["where"] for name, row in placements(graph.tasks, settings, 1).items()}
    assert {name for name, place in places.items() if place == "GPU worker"} == {"sweep"}
    assert set(places.values()) == {"GPU worker", "CPU worker"} and len(places) == len({one.node.name for one in graph.tasks})


def test_doctor_on_a_machine_with_a_gpu_says_that_these_settings_do_not_use_it(capsys, tmp_path, monkeypatch):
    for name in ("cuda_refusal", "gpu_refusal"):
        monkeypatch.setattr(f"pipelines.commands.doctor.{name}", lambda: None)

    def nodes(*words):
        assert main(["doctor", f"store={tmp_path / 'store'}", *words, "--json"]) == 0
        facts = json.loads(capsys.readouterr().out)
        assert facts["cluster=cuda"] == facts["executor=cuda"] == "can run"
        return facts["nodes"]

    lacking = "sweep.executor=auto, and no worker of cluster=processes holds a GPU; cluster=cuda starts workers that do"
    assert nodes() == [f"sweep: CPU worker ({lacking})", "all others: CPU worker (uses no GPU)"]
    assert nodes("cluster=cuda") == ["sweep: GPU worker (sweep.executor=auto)", "all others: CPU worker (uses no GPU)"]
    assert nodes("cluster=cuda", "sweep.executor=cpu")[0] == "sweep: CPU worker (sweep.executor=cpu)"


@pytest.mark.skipif(gpu_refusal() is None, reason="this machine can run cluster=cuda")
def test_without_a_gpu_plan_and_doctor_say_that_cluster_cuda_is_refused(capsys, tmp_path, small_settings):
    assert main(["plan", "fold=0", *small_settings, "cluster=cuda", f"store={tmp_path}", "--json"]) == 0
    places = json.loads(capsys.readouterr().out)["placed"].values()
    assert {row["where"] for row in places} == {"nowhere"} and "cluster=cuda is refused: " in next(iter(places))["why"]
    assert main(["doctor", "cluster=cuda", f"store={tmp_path}", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["nodes"] == [f"all: nowhere (cluster=cuda is refused: {gpu_refusal()})"]


@pytest.fixture(scope="module")
def mixed():
    """A scheduler in this process with one worker that says it holds a GPU and one that does not."""
    from distributed import Client, LocalCluster, Worker

    quiet = {"dashboard_address": "127.0.0.1:0", "silence_logs": 50, "host": "127.0.0.1", "protocol": "tcp://"}
    with LocalCluster(processes=False, n_workers=1, threads_per_worker=1, resources={GPU: 1}, **quiet) as cluster:
        options = {name: value for name, value in cluster.new_spec["options"].items() if name != "resources"}
        cluster.worker_spec["cpu-0"] = {"cls": Worker, "options": {**options, "nthreads": 2, "resources": {CPU: 2}}}
        cluster.scale(2)
        cluster.wait_for_workers(2, timeout=30)
        with Client(cluster) as client:
            yield client


def test_nodes_go_where_the_resources_are_and_know_it(mixed, tmp_path, monkeypatch):
    monkeypatch.setattr("pipelines.execution.preflight.gpu_refusal", lambda: "")
    outcomes = []
    run_dask(graph_of(Asked(), chunks=6).tasks, Store.open(tmp_path / "store"), outcomes.append, mixed)
    workers = mixed.scheduler_info(n_workers=-1)["workers"]
    (card,) = (address for address, info in workers.items() if info["resources"].get(GPU))
    assert len(outcomes) == 12
    assert {row.task: row.worker == card for row in outcomes} == {row.task: row.task.startswith("swept") for row in outcomes}
    assert all(row.facts["gpu"] == row.task.startswith("swept") for row in outcomes)
    about = described(dataclasses.replace(load_settings(), cluster="cuda"), mixed)
    assert (about["workers"], about["gpu_workers"], about["slots"]) == (2, 1, 3)


@pytest.mark.skipif(cuda_refusal() is None, reason="CUDA can run here")
def test_a_worker_that_announces_a_gpu_it_cannot_use_is_refused_before_the_first_node(mixed, tmp_path):
    outcomes = []
    with pytest.raises(ClusterError, match=r"worker tcp://.* it announces a GPU, but cannot run CUDA \(\w+\): .*executor=cpu"):
        run_dask(graph_of(Asked()).tasks, Store.open(tmp_path / "store"), outcomes.append, mixed)
    assert outcomes == []
    run_dask(graph_of(Asked("cpu")).tasks, Store.open(tmp_path / "store"), outcomes.append, mixed)
    assert {row.facts["gpu"] for row in outcomes} == {False}


def test_a_joined_scheduler_without_gpus_refuses_executor_cuda_before_the_first_node(capsys, tmp_path, small_settings):
    from distributed import LocalCluster

    words = [*small_settings, f"store={tmp_path / 'store'}", "sweep.executor=cuda"]
    quiet = {"dashboard_address": "127.0.0.1:0", "silence_logs": 50, "host": "127.0.0.1", "protocol": "tcp://"}
    with LocalCluster(processes=False, n_workers=1, threads_per_worker=1, **quiet) as cluster:
        for folds in ("0", "all"):
            assert main(["run", f"fold={folds}", *words, f"cluster={cluster.scheduler_address}", "--quiet"]) == 4
            assert "sweep[fold=0,strategy=ema_cross,chunk=0]: needs a GPU, but no worker has one" in capsys.readouterr().err
    assert main(["runs", f"store={tmp_path / 'store'}", "--json"]) == 0
    for row in json.loads(capsys.readouterr().out)["runs"]:
        assert row["tasks"] == [] and row["cluster"]["gpu_workers"] == 0
    assert list((tmp_path / "store" / "objects").iterdir()) == []


@pytest.mark.parametrize(
    ("asked", "fallback", "gpu", "runs", "why", "reason"),
    [
        ("auto", False, False, "cpu", "auto: its worker holds no GPU", None),
        ("cuda", True, False, "cpu", "fell back: no worker holds a GPU", "no_gpu_worker"),
        ("cpu", False, True, "cpu", "asked for", None),
    ],
)
def test_a_chunk_runs_on_what_its_worker_holds(chunk_arguments, asked, fallback, gpu, runs, why, reason):  # noqa: F811
    machine = Machine(gpu=gpu)
    arguments = {**chunk_arguments, "executor": asked, "allow_fallback": fallback, "chunk": 0, "chunk_combinations": 8}
    sweep_chunk(**arguments, machine=machine)
    assert (machine.facts["executor"], machine.facts["why"], machine.facts["fallback_reason"]) == (runs, why, reason)


@pytest.mark.parametrize(("asked", "gpu", "runs"), [("auto", True, "cuda"), ("cuda", True, "cuda"), ("auto", None, "auto")])
def test_auto_takes_the_gpu_of_its_worker(chunk_arguments, monkeypatch, asked, gpu, runs):  # noqa: F811
    taken = []
    monkeypatch.setattr(sweeping, "sweep", lambda *positional, **named: taken.append(named["executor"]) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        sweep_chunk(**{**chunk_arguments, "executor": asked}, chunk=0, chunk_combinations=8, machine=Machine(gpu=gpu))
    assert taken == [runs]


def test_chunks_too_small_for_the_gpu_are_told_in_one_line():
    def outcome(**facts):
        return Outcome("sweep", "", 1.0, False, "", 0, facts)

    rows = [outcome(executor="cuda", break_even_combinations=4096), outcome(executor="cuda", break_even_combinations=None)]
    assert remarks([*rows, outcome(executor="cpu", break_even_combinations=99)]) == [
        "1 chunks of sweeps were small for the GPU: below about 4,096 combinations the CPU is estimated faster; raise "
        "sweep.chunk_combinations"
    ]
    assert remarks([outcome(fallback_reason="no_gpu_worker")]) == ["sweeps fell back to the CPU: no_gpu_worker"]


def test_workers_beside_those_with_a_gpu_are_one_a_core_and_see_none():
    settings = dataclasses.replace(load_settings(["cluster_options.threads_per_worker=2"]), cluster="cuda")
    count, options = cpu_workers(settings, 6)
    assert count == 3 and options["nthreads"] == 2 and options["resources"] == {CPU: 2}
    assert options["env"]["CUDA_VISIBLE_DEVICES"] == "" and options["env"]["OMP_NUM_THREADS"] == "1"


def test_added_workers_join_the_same_scheduler_within_the_limits_of_its_own():
    from distributed import Client, LocalCluster

    settings = dataclasses.replace(load_settings(["cluster_options.memory_limit=3GiB"]), cluster="cuda")
    quiet = {"dashboard_address": "127.0.0.1:0", "silence_logs": 50, "host": "127.0.0.1", "protocol": "tcp://"}
    with LocalCluster(processes=False, n_workers=1, threads_per_worker=1, memory_limit="3GiB", **quiet) as cluster:
        add_workers(cluster, *cpu_workers(settings, 1))
        with Client(cluster) as client:
            found = client.scheduler_info(n_workers=-1)["workers"].values()
    assert [(row["memory_limit"], row["host"]) for row in found] == [(3 * 2**30, "127.0.0.1")] * 2
    assert sorted(row["resources"].get(CPU, 0) for row in found) == [0, 1]
