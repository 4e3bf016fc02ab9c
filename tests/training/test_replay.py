"""The ring of transitions."""

import numpy as np
import pytest

from training.environment import Portfolios, Step
from training.replay import TRANSITION, Replay, portfolios


def step_of(rows, truncated=False):
    count = len(rows)
    return Step(
        np.array(rows, dtype=np.int32),
        Portfolios(np.full(count, 2, np.int8), np.full(count, 5.0), np.full(count, 3, np.int32)),
        np.zeros(count, np.int8),
        np.arange(count, dtype=np.float32),
        np.full(count, truncated),
    )


def test_case_f03_a_full_ring_pairs_every_transition_with_its_own_next_row():
    replay = Replay(4)
    for row in range(6):
        replay.add(step_of([row]))
    # The next state of a slot is its row + 1, never the neighbouring slot.
    assert [[row, row + 1] for row in replay.slots["row"].tolist()] == [[4, 5], [5, 6], [2, 3], [3, 4]]


def test_case_f03_slots_not_yet_written_are_never_sampled():
    replay = Replay(4)
    for row in range(3):
        replay.add(step_of([row + 10]))
    drawn = replay.sample(1000, np.random.default_rng(0))
    assert set(drawn["row"].tolist()) == {10, 11, 12}
    assert len(replay) == 3


def test_a_step_wraps_around_and_the_draw_is_uniform():
    replay = Replay(5)
    replay.add(step_of([0, 1, 2]))
    replay.add(step_of([3, 4, 5], truncated=True))
    assert replay.slots["row"].tolist() == [5, 1, 2, 3, 4]
    assert replay.slots["flags"].tolist() == [1, 0, 0, 1, 1]
    counts = np.bincount(replay.sample(10_000, np.random.default_rng(1))["row"], minlength=6)[1:]
    assert abs(counts - 2000).max() < 160
    back = portfolios(replay.slots)
    assert (back.position[0], back.unrealised[0], back.held[0]) == (2, 5.0, 3)


def test_a_transition_is_small_and_holds_no_market_row():
    assert TRANSITION.itemsize == 23


def test_refusals():
    with pytest.raises(ValueError, match="capacity = 0"):
        Replay(0)
    with pytest.raises(ValueError, match="replay is empty"):
        Replay(3).sample(1, np.random.default_rng(0))
    with pytest.raises(ValueError, match="3 transitions: larger than the replay's capacity 2"):
        Replay(2).add(step_of([0, 1, 2]))
