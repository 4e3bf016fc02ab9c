"""Features chunk by chunk with a look-back overlap: the bits of the whole series, however it is split."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.features.market import OVERLAP, market_features, market_features_in_chunks
from kernels.features.returns import log_returns
from kernels.features.table import WARM_UP

ROWS = 900


@pytest.fixture(scope="module")
def bars(bars_of):
    table = bars_of(ROWS, seed=17, rolls=(280, 620))
    table.loc[500, ["open", "high", "low", "close"]] = [-1.0, 0.5, -2.0, -1.5]
    return table


@pytest.fixture(scope="module")
def returns(bars):
    return np.clip(log_returns(bars), -0.1, 0.1)


@pytest.fixture(scope="module")
def whole(bars, returns):
    return market_features(bars, returns, "America/Chicago")


def assert_same_bits(left, right):
    np.testing.assert_array_equal(left.view(np.int64), right.view(np.int64))


@settings(max_examples=15, deadline=None, derandomize=True)
@given(cuts=st.lists(st.integers(0, ROWS), max_size=5).map(sorted))
def test_any_split_gives_the_bits_of_the_whole(bars, returns, whole, cuts):
    parts = list(market_features_in_chunks(bars, returns, "America/Chicago", cuts))
    assert [len(part) for part in parts] == np.diff([0, *cuts, ROWS]).tolist()
    assert_same_bits(np.concatenate(parts), whole)


@pytest.mark.parametrize("start", [254, 280, 281, 501, 533, 899])
def test_a_chunk_needs_no_more_than_the_overlap_and_its_own_returns(bars, whole, start):
    """A day's node: bars of the day and OVERLAP before it; the first return of the piece is not even known."""
    part = bars.iloc[start - OVERLAP :].reset_index(drop=True)
    own = np.clip(log_returns(part), -0.1, 0.1)
    assert np.isnan(own[0])
    assert_same_bits(market_features(part, own, "America/Chicago", OVERLAP), whole[start:])
    assert OVERLAP == WARM_UP - 1 == 253


def test_one_bar_less_is_not_enough(bars, whole):
    short = bars.iloc[400 - OVERLAP + 1 :].reset_index(drop=True)
    own = np.clip(log_returns(short), -0.1, 0.1)
    assert np.isnan(market_features(short, own, "America/Chicago", OVERLAP - 1)[0]).any()
    assert np.isfinite(whole[400]).all()


def test_cuts_must_rise_and_overlap_must_exist(bars, returns):
    with pytest.raises(ValueError, match="do not rise"):
        list(market_features_in_chunks(bars, returns, "America/Chicago", [300, 200]))
    with pytest.raises(ValueError, match="overlap 11 of 10 bars"):
        market_features(bars.iloc[:10], returns[:10], "America/Chicago", 11)
