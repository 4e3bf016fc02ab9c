"""Where bars are missing for so long that a line over time must break there."""

from collections.abc import Sequence
from itertools import pairwise

HOLE = 4 * 86_400 * 10**9  # ns; longer than a weekend with a holiday


def holes(times: Sequence[int]) -> list[int]:
    """Places in rising times (ns) before which nothing was for longer than HOLE and than ten times the median step."""
    steps = [later - earlier for earlier, later in pairwise(times)]
    limit = max(HOLE, 10 * sorted(steps)[len(steps) // 2]) if steps else HOLE
    return [place + 1 for place, step in enumerate(steps) if step > limit]
