"""Fixtures that more than one test package needs."""

from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of real market data beside the repository; it is not shipped (licences), so tests skip without it."""
    folder = REPOSITORY.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("no real market data beside the repository (its licences forbid shipping it)")
    return folder
