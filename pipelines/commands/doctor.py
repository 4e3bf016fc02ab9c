"""`pipeline doctor`: what this machine has, how fast it is, and where nodes would run on it and why."""

import json
import os
import platform
import shutil
import subprocess
import sys
from typing import Any

from kernels.calibration import this_machine
from kernels.fallback import cuda_refusal
from pipelines.calibrations import calibrate, calibration_file, load, save
from pipelines.commands.options import Options
from pipelines.config.configuration import load_settings
from pipelines.config.settings import Settings
from pipelines.errors import ExitCode, StoreError
from pipelines.execution.cluster import gpu_refusal
from pipelines.execution.placement import placed, told
from pipelines.flow import named_flow
from pipelines.graphs.graph import setting_at
from pipelines.record.records import versions
from pipelines.storage.store_opening import open_store


def execute(options: Options) -> int:
    """Print the machine, its GPUs, where nodes would run and why, the store, the versions; `--calibrate` measures it."""
    _, overrides = options.split()
    settings = load_settings(overrides, options.config)
    facts: dict[str, Any] = {
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, {_memory()}",
        "gpus": _gpus(),
        "cluster=cuda": gpu_refusal() or "can run",
        "executor=cuda": _cuda(),
        "nodes": _nodes(settings),
        "calibration": _calibration(options.calibrate),
        "store": _store(settings),
        "versions": versions(),
    }
    if options.json:
        sys.stdout.write(json.dumps(facts) + "\n")
    else:
        sys.stdout.write("".join(f"{name}: {_text(value)}\n" for name, value in facts.items()))
    return ExitCode.DONE


def _cuda() -> str:
    refusal = cuda_refusal()
    return "can run" if refusal is None else f"cannot run here ({refusal.reason}): {refusal.message}"


def _nodes(settings: Settings) -> list[str]:
    """Where each node of the flow would run with this configuration, and why; those of one place together."""
    if settings.cluster == "cuda" and (refusal := gpu_refusal()):
        return [f"all: nowhere (cluster=cuda is refused: {refusal})"]
    places = {}
    for node in named_flow(settings.flow).nodes:
        constants = {parameter: setting_at(settings, dotted) for parameter, dotted in node.settings.items()}
        places[node.name] = vars(placed(node, constants, settings, None))
    return told(places)


def _calibration(measure: bool) -> str:
    threads, path = os.cpu_count() or 1, calibration_file()
    if measure:
        save(calibrate(threads), path)
    found = load(path, this_machine(threads))
    if found is None:
        return "none for this machine: run `pipeline doctor --calibrate`; executor=auto in one process takes the CPU until then"
    speeds = [f"cpu {found.cpu.work_per_second / 1e9:.3g} G instructions/s on {threads} threads"]
    if found.cuda is not None:
        speeds.append(f"cuda {found.cuda.work_per_second / 1e9:.3g} G on {found.machine.device}")
    return f"{', '.join(speeds)} ({path})"


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {version}" for name, version in value.items())
    return "; ".join(value) or "none" if isinstance(value, list) else str(value)


def _memory() -> str:
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return "unknown memory"
    return f"{size / 2**30:.0f} GiB memory"


def _gpus() -> list[str]:
    """Ask nvidia-smi, which needs no Python package, so that a GPU without the [gpu] extra is seen too."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return []
    command = [tool, "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    return [line.strip() for line in answer.stdout.splitlines() if line.strip()] if answer.returncode == 0 else []


def _store(settings: Settings) -> str:
    try:
        store = open_store(settings)
    except StoreError as error:
        return str(error)
    free = shutil.disk_usage(store.root).free / 2**30
    where = "" if store.location == str(store.root) else f" in {store.root} for what is read from it"
    return f"{store.location} is writable, {free:.1f} GiB free{where}"
