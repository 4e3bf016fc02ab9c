"""A stored feature set opens in pandas, torch, cupy and cudf with the values it was stored with."""

import importlib.util

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.testing import assert_array_equal

from pipelines.errors import CorruptArtefactError, UsageError
from pipelines.feature_sets import open_feature_set
from tests.pipelines.day_bars import Workshop, bars_of


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    shop = Workshop(tmp_path_factory.mktemp("shop"))
    shop.whole = shop.build(bars_of(days=4))
    return shop


@pytest.fixture
def opened(shop):
    return open_feature_set(shop.store.root)


def test_the_last_feature_set_opens_without_a_key_and_any_by_the_start_of_its_key(shop, opened):
    assert opened.key == shop.key and len(opened) == 800
    assert open_feature_set(shop.store, shop.key[:8]).key == shop.key
    assert_array_equal(opened.features, shop.whole.features)
    assert_array_equal(opened.targets, shop.whole.targets)


def test_pandas_gets_bars_validity_and_features(shop, opened):
    table = opened.to_pandas()
    assert table.shape == (800, len(shop.whole.bars.columns) + 1 + 42)
    pd.testing.assert_frame_equal(table[list(shop.whole.bars.columns)], shop.whole.bars)
    assert_array_equal(table["ret_1"], shop.whole.features[:, 0])
    assert table["ret_1"].dtype == np.float32 and table["valid"].sum() == 800 - 253


def test_torch_shares_the_mapped_memory_and_a_write_stays_private(shop, opened):
    tensor = opened.to_torch()
    assert tensor.dtype == torch.float32 and tuple(tensor.shape) == (800, 42)
    assert tensor.data_ptr() == opened.features.ctypes.data
    tensor[700, 3] = 123.0
    assert opened.features[700, 3] == 123.0
    assert open_feature_set(shop.store.root).features[700, 3] == shop.whole.features[700, 3] != 123.0


def test_a_slice_of_rows_and_neighbouring_columns_is_not_copied(opened):
    part = opened.select(columns=["ret_2", "ret_5", "ret_10"], rows=slice(300, 500))
    assert np.shares_memory(part.features, opened.features)
    assert part.to_torch().data_ptr() == opened.features[300:, 1:].ctypes.data
    assert_array_equal(part.to_torch().numpy(), opened.features[300:500, 1:4])
    assert len(part.bars) == len(part.targets) == len(part) == 200
    assert part.bars["ts_event"].iloc[0] == opened.bars["ts_event"].iloc[300]


def test_masks_and_columns_in_any_order_are_selected(opened):
    part = opened.select(columns=["dow_cos", "ret_1"], rows=opened.valid)
    assert part.names == ("dow_cos", "ret_1") and len(part) == 800 - 253
    assert_array_equal(part.features, np.asarray(opened.features)[np.asarray(opened.valid)][:, [41, 0]])
    assert part.to_pandas()["valid"].all()


def test_what_does_not_exist_is_named_with_what_does(shop, opened, tmp_path):
    with pytest.raises(UsageError, match="no column 'ret_3'; did you mean"):
        opened.select(columns=["ret_3"])
    with pytest.raises(UsageError, match="holds no feature set; make one with"):
        open_feature_set(Workshop(tmp_path).store)
    with pytest.raises(UsageError, match="no feature set with key 0123456789"):
        open_feature_set(shop.store, "0123456789")
    with pytest.raises(UsageError, match="too short"):
        open_feature_set(shop.store, shop.key[:7])


def test_a_key_of_another_artefact_opens_nothing(shop):
    with pytest.raises(UsageError, match="no feature set"):
        open_feature_set(shop.store, shop.listed.table["key"].iloc[0])


@pytest.mark.parametrize("method", ["to_cupy", "to_cudf"])
def test_a_missing_gpu_package_names_its_extra(opened, method):
    if importlib.util.find_spec(method.removeprefix("to_")):
        pytest.skip(f"{method.removeprefix('to_')} is installed here")
    with pytest.raises(UsageError, match=r"\[gpu\] extra: pip install walkfold\[gpu\]"):
        getattr(opened, method)()


@pytest.mark.gpu
def test_cupy_and_cudf_hold_the_same_values(opened):
    pytest.importorskip("cupy")
    pytest.importorskip("cudf")
    part = opened.select(columns=["ret_5", "z_20"], rows=slice(300, 500))
    assert_array_equal(part.to_cupy().get(), part.features)
    table = part.to_cudf()
    assert table["ts_event"].dtype.kind == "M"
    pd.testing.assert_frame_equal(table[["ret_5", "z_20"]].to_pandas(), part.to_pandas()[["ret_5", "z_20"]])
    assert_array_equal(table["close"].to_numpy(), part.bars["close"])


def test_changed_bytes_are_refused(tmp_path):
    shop = Workshop(tmp_path)
    shop.build(bars_of(days=2))
    path = shop.store.folder(shop.key) / "features.npy"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(CorruptArtefactError, match=r"features\.npy differ"):
        open_feature_set(shop.store.root)


def test_a_set_is_shown_in_one_line(shop, opened):
    assert repr(opened) == f"OpenFeatureSet({shop.key[:12]}: 800 bars, 42 features, 547 rows valid)"
