"""The carry of the close rule: a series judged in pieces gets the verdicts of the whole."""

import numpy as np
import pytest

from validation.bar_rules import BarRules
from validation.close_ratio import CloseCarry, judge_closes


@pytest.mark.parametrize("piece", [1, 2, 7, 400])
def test_pieces_with_the_carry_equal_the_whole(piece):
    closes = np.random.default_rng(0).choice([100.0, 101.0, 250.0, 40.0, 900.0, 950.0], 400)
    verdicts, limits, last = judge_closes(closes, BarRules(), CloseCarry())
    carry, parts = CloseCarry(), []
    for start in range(0, len(closes), piece):
        verdict, limit, carry = judge_closes(closes[start : start + piece], BarRules(), carry)
        parts.append((verdict, limit))
    np.testing.assert_array_equal(np.concatenate([verdict for verdict, _ in parts]), verdicts)
    np.testing.assert_array_equal(np.concatenate([limit for _, limit in parts]), limits)
    assert carry == last
    assert set(verdicts) == {0, 1, 2}
