"""Fixtures that more than one test package needs, and the one folder in which all tests keep compiled code."""

import os
import signal
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent

# One cache of compiled code for every worker process and every command that a test starts, apart from the user's own:
# no text is compiled twice in a run, and no calibration of this machine decides a test.
os.environ["XDG_CACHE_HOME"] = str(REPOSITORY / "build" / "test-cache")

# A run that was started in the background has inherited "ignore Ctrl-C"; what a terminal starts hears it, and tests send it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of real market data beside the repository; it is not shipped (licences), so tests skip without it."""
    folder = REPOSITORY.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("no real market data beside the repository (its licences forbid shipping it)")
    return folder


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write golden files instead of comparing with them")


@pytest.fixture(scope="session")
def expect_golden(request: pytest.FixtureRequest):
    """Compares a text with tests/kernels/golden/<name>; --update-golden writes it instead."""
    folder = REPOSITORY / "tests" / "kernels" / "golden"

    def compare(name: str, text: str) -> None:
        path = folder / name
        if request.config.getoption("--update-golden"):
            path.write_text(text, encoding="utf-8")
            return
        assert path.is_file(), f"{path.name} is missing: run pytest --update-golden and review it"
        assert text == path.read_text(encoding="utf-8"), (
            f"{name} changed: review it, and accept it with --update-golden"
        )

    return compare
