"""Memory and time of reading a file of five million bars, each measured in a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
BENCHMARK = REPOSITORY / "benchmarks" / "bench_ingest.py"

pytestmark = pytest.mark.acceptance


@pytest.fixture(scope="module", params=["dbn", "dbn.zst"])
def large_file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("large") / f"bars.ohlcv-1s.{request.param}"
    script = "import sys; from pathlib import Path; from bench_ingest import write_file; "
    script += "write_file(Path(sys.argv[1]), 5_000_000)"
    subprocess.run([sys.executable, "-c", script, str(path)], check=True, cwd=BENCHMARK.parent)
    return path


@pytest.mark.parametrize("way", ["scan_bars", "outright_bars by partition"])
def test_five_million_records_in_bounded_memory_and_time(large_file: Path, way: str) -> None:
    command = [sys.executable, "-W", "ignore", str(BENCHMARK), "--one", way, str(large_file)]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    answer = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    run = json.loads(answer.stdout)
    assert run["rows"] == 4_000_000
    assert run["peak_mb"] < 400, "imports included"
    assert run["cpu"] < 2.0, "seconds of one core"
