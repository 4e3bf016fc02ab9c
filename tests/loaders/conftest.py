"""A small healthy file that the damage tests mutate."""

from pathlib import Path

import pytest

from tests.loaders.dbn_builder import MINUTE, bars, mapping, metadata, ns


@pytest.fixture
def head() -> bytes:
    return metadata([mapping("ESH4", ("2024-03-01", "2024-03-16", 101))])


@pytest.fixture
def body() -> bytes:
    return bars((ns("2024-03-04 15:00") + i * MINUTE, 101, 5100 + i) for i in range(50))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "es.ohlcv-1m.dbn.zst"
