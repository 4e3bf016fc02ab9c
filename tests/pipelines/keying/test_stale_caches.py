"""Case D05: after any change that could change a feature its old numbers never come back; with none nothing is computed."""

import importlib
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from pipelines.keying.arithmetic import arithmetic
from pipelines.keying.content import content_digest
from pipelines.keying.keys import code_digest, code_of
from pipelines.nodes import NODES
from tests.pipelines.day_bars import Workshop, bars_of

MODULE = """
from kernels.features.user import feature

WINDOW = {window}


def average(window):
    def inner(values):
        return values.rolling(window).mean()

    return inner


smooth = average(WINDOW)


@feature("distance", low=-5, high=5, warm_up=28, formula="close against its mean")
def distance(bars, clamped_returns):
    return ((bars["close"] - smooth(bars["close"])) / {scale}).fillna(0.0).to_numpy()
"""


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A store whose feature set has one feature of the user's own; `rewrite` changes its module."""
    monkeypatch.syspath_prepend(str(tmp_path))
    shop = Workshop(tmp_path / "shop", overrides=("features.modules=[my_distance]", "features.names=[distance]"))
    yield shop
    sys.modules.pop("my_distance", None)


def rewrite(folder: Path, window: int = 14, scale: str = "10.0") -> None:
    path = folder / "my_distance.py"
    before = path.stat().st_mtime_ns if path.exists() else 0
    path.write_text(MODULE.format(window=window, scale=scale))
    os.utime(path, ns=(before + 10**9, before + 10**9))
    sys.modules.pop("my_distance", None)
    importlib.invalidate_caches()


def distance(made) -> np.ndarray:
    return np.asarray(made.features)[:, 0]


def test_an_unchanged_rerun_is_a_hit_and_each_change_computes_anew(shop, tmp_path):
    bars = bars_of(days=3, roll_on=None)
    rewrite(tmp_path)
    first, key = distance(shop.build(bars)), shop.key
    assert len(shop.made) == 3
    shop.build(bars)
    assert shop.made == () and shop.key == key  # e: nothing changed

    rewrite(tmp_path, scale="20.0")  # a: one constant inside the function's body, of the same length in the file
    halved = distance(shop.build(bars))
    np.testing.assert_array_equal(halved[480:], (first[480:] / 2).astype(np.float32))

    rewrite(tmp_path, window=28)  # b: the parameter that a closure holds; the closure's source text is the same
    longer = distance(shop.build(bars))
    expected = ((bars["close"] - bars["close"].rolling(28).mean()) / 10.0).to_numpy(np.float32)
    np.testing.assert_allclose(longer[480:], np.clip(expected[480:], -5, 5), atol=1e-6)

    rewrite(tmp_path)
    assert distance(shop.build(bars)).tobytes() == first.tobytes() and shop.key == key  # back to the first, from the store
    assert shop.made == ()


def test_a_changed_bound_is_a_new_entry_and_so_is_a_file_of_the_same_name_and_size(tmp_path):
    bars = bars_of(days=3, roll_on=None)
    shop = Workshop(tmp_path / "shop")
    shop.build(bars)
    wide, key = shop.made, shop.key
    shop.overrides = ("instrument.limits.log_return=0.05",)  # c
    made = shop.build(bars)
    assert len(shop.made) == 3 and not set(shop.made) & set(wide) and shop.key != key
    assert np.nanmax(np.abs(made.targets[:, 0])) == 0.05

    shop.overrides = ()
    path = shop.folder / "bars.parquet"
    shop.write(bars)
    size, stamp = path.stat().st_size, path.stat().st_mtime_ns
    changed = bars.copy()
    changed.loc[450, "volume"] = bars.loc[450, "volume"] ^ 1
    made = shop.build(changed)  # d
    same = path.stat().st_size == size
    os.utime(path, ns=(stamp, stamp))
    assert same and shop.key != key
    assert made.bars["volume"].iloc[450] == changed["volume"].iloc[450]


def test_the_keys_of_days_hold_the_arithmetic_they_were_made_with(tmp_path, monkeypatch):
    """Another back end or another instruction set of numpy's may round otherwise: its days are other days."""
    shop = Workshop(tmp_path / "shop")
    bars = bars_of(days=1, roll_on=None)
    shop.build(bars)
    mine = arithmetic()
    assert mine["back end"] == "numpy" and {"exp", "log"} <= set(mine)
    assert mine.items() <= shop.listed.schema["libraries"].items()
    first = shop.made
    monkeypatch.setattr("pipelines.graphs.graph.arithmetic", lambda libraries: {**mine, "log": "another"})
    shop.build(bars)
    assert len(shop.made) == 1 and shop.made != first


def test_content_digests_see_values_dtypes_and_names_and_nothing_else():
    bars = bars_of(days=1, roll_on=None)
    before = content_digest(bars)
    assert content_digest(bars.set_index(bars.index + 5)) == before
    assert content_digest(bars.copy()) == before
    for change in (
        bars.rename(columns={"open": "opened"}),
        bars.assign(volume=bars["volume"].astype(float)),
        bars.assign(contract=bars["contract"].replace("ESH4", "ESH5")),
        bars.iloc[1:],
        bars[bars.columns[::-1]],
    ):
        assert content_digest(change) != before
    assert content_digest(np.array([0.0])) != content_digest(np.array([-0.0]))
    assert content_digest(np.array([np.nan])) == content_digest(-np.array([np.nan]))
    with pytest.raises(TypeError, match="no content digest"):
        content_digest(np.array([object()]))


def test_the_code_of_every_layer_and_feature_is_in_the_key_of_a_day():
    node = next(node for node in NODES if node.name == "feature_days")
    modules = {name.partition(":")[0] for name in code_of([node.function])}
    layers = {"kernels.features.oscillators", "validation.returns", "validation.clamp", "kernels.features.targets"}
    assert layers <= set(modules)
    assert "pipelines.storage.store" not in modules and len(code_digest(node.function)) == 64
