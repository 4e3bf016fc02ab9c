"""Layer 5: what it refuses and what must pass, for features and for targets."""

import pickle

import numpy as np
import pytest

from validation.errors import GateError, TargetGateError, ValidationError
from validation.gate import PLACES, gate_features, gate_targets

VALUES = [1.0, np.nan, -6.0, 6.0, np.inf, -np.inf, 5.0, -5.0]
PASSES = [True, False, False, False, False, False, True, True]


@pytest.mark.parametrize(("value", "passes"), list(zip(VALUES, PASSES, strict=True)))
def test_only_finite_values_within_the_bound_pass(value, passes):
    """Case D01."""
    matrix = np.array([[0.0], [value]])
    if passes:
        assert gate_features(matrix, np.ones(2, bool), limit=5.0) is None
    else:
        with pytest.raises(GateError, match=r"row 1, feature 0 = .* is not within ±5 \(1 such values in 1 rows\)"):
            gate_features(matrix, np.ones(2, bool), limit=5.0)


@pytest.mark.parametrize("limit", [0.1, 5.0, 20.0])
def test_clamped_float32_passes_its_own_gate(limit):
    """Case D04: float32(0.1) is above 0.1."""
    clamped = np.clip(np.array([[0.25 * limit * 10, -0.3 * limit * 10, 0.05]]), -limit, limit).astype(np.float32)
    assert limit != 0.1 or np.float64(clamped[0, 0]) > 0.1
    assert gate_features(clamped, np.ones(1, bool), limit) is None


def test_rows_that_are_not_valid_may_be_missing():
    matrix = np.array([[np.nan, np.nan], [1.0, 2.0]])
    assert gate_features(matrix, np.array([False, True])) is None
    with pytest.raises(GateError, match="after cache read: row 0, body = nan"):
        gate_features(matrix, np.array([True, True]), where=PLACES[2], names=("body", "clv"))


def test_shapes_and_kinds_must_fit():
    with pytest.raises(GateError, match="valid rows"):
        gate_features(np.zeros((3, 2)), np.ones(2, bool))
    with pytest.raises(GateError, match="valid rows int64"):
        gate_features(np.zeros((3, 2)), np.array([0, 1, 2]))


def test_errors_survive_a_pickle_and_are_value_errors():
    with pytest.raises(GateError) as caught:
        gate_features(np.full((1, 1), 30.0), np.ones(1, bool))
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again)) == (GateError, str(caught.value))
    assert issubclass(TargetGateError, GateError)
    assert issubclass(ValidationError, ValueError)


@pytest.fixture
def bars(bars_of):
    """Six bars of two contracts, three each."""
    table = bars_of([5000, 5010, 5020, 5100, 5090, 5080])
    table.loc[3:, "expiry"] = np.int32(202406)
    return table


@pytest.fixture
def legal(bars):
    """The targets of `bars`, by hand."""
    close, opened, nan = bars["close"].to_numpy(), bars["open"].to_numpy(), np.nan
    into = [nan, np.log(5010 / 5000), np.log(5020 / 5010), nan, np.log(5090 / 5100), np.log(5080 / 5090)]
    ahead = [into[1], into[2], nan, into[4], into[5], nan]
    following = [close[1], close[2], nan, close[4], close[5], nan]
    next_open = [opened[1], opened[2], nan, opened[4], opened[5], nan]
    return np.array([into, ahead, close, following, next_open, next_open]).T


def test_targets_by_hand_pass(bars, legal):
    assert gate_targets(legal, bars) is None
    assert gate_targets(legal[:0], bars.iloc[:0]) is None


@pytest.mark.parametrize(
    ("row", "column", "value", "message"),
    [
        (1, 0, 5010.0, r"target 0 \(log return into this close\) 5010.00 is beyond ±0.1: a price in a return column"),
        (0, 1, 5010.0, r"ESH4: target 1 .* 5010.00 is beyond ±0.1"),
        (0, 1, 0.001, r"target 1 .* is not ln\(next close / close\)"),
        (1, 0, 0.001, "target 0 .* is not the return to the next close of the bar before"),
        (0, 0, 0.001, "target 0 .* is not the return to the next close of the bar before"),
        (0, 1, np.nan, "target 1 .* nan is missing inside a contract"),
        (2, 1, 0.01, "is a return across contracts"),
        (3, 0, 0.01, "target 0 .* is not the return to the next close of the bar before"),
        (4, 2, 5090.25, "target 2 .* is not the close of the bar"),
        (4, 2, np.nan, "target 2 .* is not the close of the bar"),
        (0, 3, 5020.0, r"bar 2024-03-15T09:31Z ESH4: target 3 \(next close\) 5020.00 is not the price of the next bar"),
        (2, 3, 5100.0, "target 3 .* is not the price of the next bar of the contract"),
        (0, 4, np.nan, "target 4 .* is not the price of the next bar"),
        (2, 5, 5100.0, "target 5 .* reaches into another contract"),
        (0, 5, np.nan, "target 5 .* is missing"),
        (0, 1, np.inf, "is beyond"),
    ],
)
def test_one_wrong_target_is_named(bars, legal, row, column, value, message):
    legal[row, column] = value
    with pytest.raises(TargetGateError, match=f"gate, before cache write: .*{message}"):
        gate_targets(legal, bars, PLACES[1])


def test_targets_of_other_bars_are_refused(bars, legal):
    with pytest.raises(TargetGateError, match=r"shape \(5, 6\), the bars need \(6, 6\)"):
        gate_targets(legal[:-1], bars)
    shifted = legal.copy()
    shifted[:, 1] = legal[:, 0]  # the past return as label, case E06
    with pytest.raises(TargetGateError, match="target 1"):
        gate_targets(shifted, bars)


def test_clamped_return_into_a_masked_bar_is_legal_and_an_unmasked_one_is_not(bars, legal):
    bars.loc[1, "close"] = 5750.0
    legal[1, 2] = legal[0, 3] = 5750.0
    legal[0, 1] = legal[1, 0] = 0.1  # of ln 1.15 = 0.1398
    legal[1, 1] = legal[2, 0] = -0.1
    bars.loc[[1, 2], "masked"] = True
    assert gate_targets(legal, bars) is None
    bars["masked"] = False
    with pytest.raises(TargetGateError, match=r"is not ln\(next close / close\)"):
        gate_targets(legal, bars)


def test_price_below_zero_has_no_return(bars, legal):
    bars.loc[1, "close"] = -37.63
    legal[1, 2] = legal[0, 3] = -37.63
    legal[0, 1] = legal[1, 0] = legal[1, 1] = legal[2, 0] = np.nan
    assert gate_targets(legal, bars) is None
    legal[0, 1] = legal[1, 0] = 0.05
    with pytest.raises(TargetGateError, match="beside a price at or below zero"):
        gate_targets(legal, bars)
