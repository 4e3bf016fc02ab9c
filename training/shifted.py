"""Control without an edge: the same features, moved in time so far that they know nothing of the returns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from training.errors import TrainingError

LOOK_BACKS = 10


def shifted_features(features: NDArray[np.float32], look_back: int, seed: int) -> NDArray[np.float32]:
    """`features` [bars, F] shifted circularly by a random offset of at least ten look-backs, either way round.

    A model trained and evaluated on these sees features of the right distribution and autocorrelation that belong to
    other bars. What it earns it owes to luck and, if it is a policy, to the portfolio's numbers, which are not shifted:
    its own unrealised profit does say something where prices return to a mean. Raises TrainingError when the bars are
    too few for such an offset.
    """
    least = LOOK_BACKS * look_back
    count = len(features)
    if count < 2 * least + 1:
        raise TrainingError(f"{count} bars: a shifted control needs more than 20 look-backs, {2 * least}")
    offset = int(np.random.default_rng(seed).integers(least, count - least + 1))
    return np.roll(features, offset, axis=0)
