"""Sharpe statistics against scipy, published brackets and values worked by hand."""

import math
import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from training.statistics import (
    deflated_sharpe,
    expected_maximum_sharpe,
    probabilistic_sharpe,
    sharpe_ratio,
)


def test_sharpe_by_hand():
    # mean 2, deviations -1, 0, 1: sample sd 1
    assert sharpe_ratio(np.array([1.0, 2.0, 3.0])) == 2.0
    assert sharpe_ratio(np.zeros(20)) == 0.0
    assert sharpe_ratio(np.full(20, 0.1)) == 0.0
    assert math.isnan(sharpe_ratio(np.array([1.0])))


def test_psr_against_scipy_moments():
    values = np.random.default_rng(3).standard_t(5, size=120) + 0.1
    ratio = values.mean() / values.std(ddof=1)
    g3, g4 = stats.skew(values), stats.kurtosis(values, fisher=False)
    z = (ratio - 0.02) * math.sqrt(119) / math.sqrt(1 - g3 * ratio + (g4 - 1) / 4 * ratio**2)
    assert probabilistic_sharpe(values, 0.02) == pytest.approx(stats.norm.cdf(z), abs=1e-12)
    assert probabilistic_sharpe(np.array([1.0, -1.0, 1.0, -1.0])) == 0.5
    assert probabilistic_sharpe(np.zeros(10)) == 0.5
    assert math.isnan(probabilistic_sharpe(np.array([1.0, 2.0])))


@pytest.mark.parametrize(("trials", "bracket"), [(100, 2.53), (1000, 3.26)])
def test_expected_maximum_of_the_reference_table(trials, bracket):
    assert expected_maximum_sharpe(trials, 1.0) == pytest.approx(bracket, abs=0.005)
    # The formula approximates the mean maximum of that many normals.
    draws = np.random.default_rng(0).standard_normal((4000, trials)).max(axis=1)
    assert expected_maximum_sharpe(trials, 1.0) == pytest.approx(draws.mean(), abs=0.05)
    assert expected_maximum_sharpe(trials, 0.5) == 0.5 * expected_maximum_sharpe(trials, 1.0)


def test_deflated_sharpe_falls_with_trials():
    values = np.random.default_rng(1).normal(0.4, 1.0, size=60)
    assert deflated_sharpe(values, 1) == probabilistic_sharpe(values)
    found = [deflated_sharpe(values, n) for n in (1, 10, 100, 1000)]
    assert found == sorted(found, reverse=True)
    by_hand = probabilistic_sharpe(values, expected_maximum_sharpe(10, 1 / math.sqrt(59)))
    assert found[1] == by_hand
    assert deflated_sharpe(values, 10, 0.0) == probabilistic_sharpe(values)


def test_refusals():
    with pytest.raises(ValueError, match="trials = 0"):
        expected_maximum_sharpe(0, 1.0)
    with pytest.raises(ValueError, match=r"returns\[1\] = nan"):
        sharpe_ratio(np.array([1.0, np.nan, 2.0]))


def test_the_report_step_imports_no_heavy_package():
    code = (
        "import sys, training.statistics, training.verdict, training.bootstrap, training.ranking;"
        "print([m for m in ('torch', 'pandas', 'numba', 'scipy') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
