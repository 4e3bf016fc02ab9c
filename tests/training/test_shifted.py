"""The shifted control."""

import numpy as np
import pytest

from training.errors import TrainingError
from training.shifted import shifted_features


def test_features_move_around_the_circle_by_ten_look_backs_or_more():
    features = np.arange(2_000, dtype=np.float32).reshape(1_000, 2)
    offsets = set()
    for seed in range(200):
        moved = shifted_features(features, 25, seed)
        offset = int(np.flatnonzero(moved[:, 0] == 0.0)[0])
        assert np.array_equal(moved, np.concatenate([features[-offset:], features[:-offset]]))
        assert 250 <= offset <= 750
        offsets.add(offset)
    assert len(offsets) > 100
    assert np.array_equal(shifted_features(features, 25, 3), shifted_features(features, 25, 3))


def test_refuses_too_few_bars():
    with pytest.raises(TrainingError, match="500 bars: a shifted control needs more than 20 look-backs, 500"):
        shifted_features(np.zeros((500, 2), np.float32), 25, 0)
