"""A table of the page: titles and rows of text."""

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Table:
    """Titles and rows of text cells; `words` are the columns that hold words (set left, the others right)."""

    titles: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: Sequence[int] = field(default=(0,))
