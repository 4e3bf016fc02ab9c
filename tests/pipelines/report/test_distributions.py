"""Drift statistics against scipy and against their definitions written another way."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pipelines.report.distributions import (
    Sorted,
    bin_counts,
    block_indices,
    compare,
    compare_sketches,
    on_grid,
    quantile_edges,
    quantiles,
    sketch,
    stability_index,
)


def samples(kind: str, rows: int = 4_000) -> np.ndarray:
    generator = np.random.default_rng(3)
    normal = generator.normal(size=rows)
    return {
        "normal": normal,
        "clipped": np.clip(3.0 * normal, -2.0, 2.0),
        "half zero": np.where(generator.random(rows) < 0.5, 0.0, normal),
        "few values": generator.integers(0, 4, rows).astype(float),
        "skewed": np.exp(normal),
    }[kind]


@pytest.mark.parametrize("rows", [3, 16, 100, 1000])
def test_zeros_of_both_signs_read_the_same_wherever_they_stand(rows):
    """Issue 9.4: which of two equal zeros a sort puts first follows the processor's vectors, and a page shows "-0.0"."""
    generator = np.random.default_rng(rows)
    values = np.where(generator.random(rows) < 0.5, -0.0, 0.0) + np.where(generator.random(rows) < 0.3, 1e-9, 0.0)
    values[generator.random(rows) < 0.3] = -0.0
    values[0] = -1e-5  # rounded to the grid of the rest it is -0.0
    one = Sorted.of(values)
    assert not np.signbit(one.values[one.values == 0]).any() and not np.signbit(one.grid[one.grid == 0]).any()
    assert one.order[one.values == 0].tolist() == np.flatnonzero(values == 0).tolist()  # ties in the order of the rows


KINDS = ["normal", "clipped", "half zero", "few values", "skewed"]


def psi_by_pandas(reference: np.ndarray, sample: np.ndarray) -> float:
    """The definition over intervals of pandas, half a row added to each."""
    deciles = np.quantile(reference, np.arange(1, 10) / 10, method="inverted_cdf")
    edges = [-np.inf, *sorted({edge for edge in deciles if edge < reference.max()}), np.inf]
    shares = []
    for values in (reference, sample):
        counts = pd.Series(pd.cut(values, edges)).value_counts(sort=False).to_numpy() + 0.5
        shares.append(counts / counts.sum())
    return float(((shares[1] - shares[0]) * np.log(shares[1] / shares[0])).sum())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reference_rows", [1, 700, 2_000, 3_999])
def test_psi_and_ks_are_what_pandas_and_scipy_say(kind, reference_rows):
    values = samples(kind)
    values[2_500:] += 0.3 if kind != "few values" else 1.0
    member = np.zeros(len(values), dtype=bool)
    member[:reference_rows] = True
    feature = Sorted.of(values)
    found = compare(feature, member)
    rounded = np.empty_like(values)
    rounded[feature.order] = feature.grid
    assert found["ks"] == pytest.approx(stats.ks_2samp(rounded[member], rounded[~member]).statistic, abs=1e-12)
    assert found["psi"] == pytest.approx(psi_by_pandas(rounded[member], rounded[~member]), abs=1e-12)


def test_psi_by_hand():
    shares = np.array([0.5, 0.5]), np.array([0.9, 0.1])
    exact = 0.4 * np.log(0.9 / 0.5) - 0.4 * np.log(0.1 / 0.5)
    assert stability_index(shares[0] * 1e9, shares[1] * 1e9) == pytest.approx(exact, rel=1e-6)
    assert stability_index(np.array([7, 3]), np.array([7, 3])) == 0.0
    assert np.isnan(stability_index(np.array([0, 0]), np.array([1, 2])))


def test_a_split_that_leaves_one_side_empty_is_undefined():
    feature = Sorted.of(np.arange(5.0))
    for member in (np.zeros(5, dtype=bool), np.ones(5, dtype=bool)):
        assert all(np.isnan(value) for value in compare(feature, member).values())
    with pytest.raises(ValueError, match="at least one row"):
        Sorted.of(np.empty(0))


def test_values_that_differ_in_the_last_digits_only_do_not_drift():
    atoms = np.tile([-1.0, 0.0, 1.0], 500)
    scaled = atoms * np.where(np.arange(1_500) < 750, 0.9998, 0.9999)
    assert stats.ks_2samp(scaled[:750], scaled[750:]).statistic > 0.3  # to the last digit they are different
    assert compare(Sorted.of(scaled), np.arange(1_500) < 750) == {"psi": 0.0, "ks": 0.0}


def test_the_grid_is_a_power_of_ten_between_a_3000th_and_a_300th_of_the_range():
    for scale in (1e-6, 0.02, 1.0, 37.0, 1e5):
        values = np.sort(samples("normal")) * scale
        low, high = np.quantile(values, [0.01, 0.99])
        step = np.diff(np.unique(on_grid(values))).min()
        assert np.log10(step) == pytest.approx(round(np.log10(step)), abs=1e-4)
        assert (high - low) / 3_000 <= step * 1.0001 and step <= (high - low) / 300 * 1.0001
    assert on_grid(np.full(4, 0.123456789)).tolist() == [0.123456789] * 4


@pytest.mark.parametrize("kind", KINDS)
def test_bins_of_equal_weight(kind):
    values = np.sort(samples(kind))
    edges = quantile_edges(values, 10)
    counts = bin_counts(values, edges)
    assert counts.sum() == len(values) and (counts > 0).all()
    assert counts.tolist() == [int(((values > low) & (values <= high)).sum())
                               for low, high in zip([-np.inf, *edges], [*edges, np.inf], strict=True)]
    if kind == "normal":
        assert counts.tolist() == [400] * 10


def test_each_block_is_compared_with_all_rows():
    values = samples("normal", 3_000)
    values[1_000:2_000] += 1.0
    blocks = np.repeat([0, 1, 2], 1_000)
    feature = Sorted.of(values)
    rounded = np.empty_like(values)
    rounded[feature.order] = feature.grid
    expected = [psi_by_pandas(rounded, rounded[blocks == block]) for block in range(3)]
    assert block_indices(feature, blocks, 3) == pytest.approx(expected, abs=1e-12)
    assert int(np.argmax(expected)) == 1


def test_quantiles_are_numpys():
    values = np.sort(samples("skewed", 101))
    at = (0.0, 0.013, 0.5, 0.99, 1.0)
    assert quantiles(values, at) == pytest.approx(np.quantile(values, at), rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("moved", [0.0, 0.2, 3.0])
def test_sketches_give_the_statistics_of_the_whole_samples(kind, moved):
    first, second = samples(kind), samples(kind, 3_000) + moved
    found = compare_sketches(sketch(on_grid(np.sort(first))), sketch(on_grid(np.sort(second))))
    first, second = on_grid(np.sort(first)), on_grid(np.sort(second))
    assert found["ks"] == pytest.approx(stats.ks_2samp(first, second).statistic, abs=0.02)
    exact = psi_by_pandas(first, second)
    assert found["psi"] == pytest.approx(exact, abs=0.01, rel=0.1)


def test_a_sketch_keeps_the_step_of_a_frequent_value_exactly():
    first, second = np.repeat([-1.0, 0.0, 2.0], [10, 70, 20]), np.repeat([-1.0, 0.0, 2.0], [40, 40, 20])
    found = compare_sketches(sketch(first), sketch(second))
    assert found["ks"] == pytest.approx(0.3, abs=1e-12)
    assert found["psi"] == pytest.approx(psi_by_pandas(first, second), abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-5, 5, width=16), min_size=1, max_size=60))
def test_a_sample_does_not_drift_from_itself(values):
    ordered = np.sort(np.array(values))
    assert compare_sketches(sketch(ordered), sketch(ordered)) == {"psi": 0.0, "ks": 0.0}
