"""What every command gets from the command line."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pipelines.errors import UsageError

MOST_FOLDS = 10_000


@dataclass(frozen=True)
class Options:
    """A parsed command line: words are positional arguments and `key=value` pairs."""

    command: str
    words: tuple[str, ...]
    json: bool
    quiet: bool
    debug: bool
    config: Path | None
    calibrate: bool = False
    fallbacks: bool = False
    dry_run: bool = False
    install: bool = False
    rollback: bool = False
    anyway: bool = False
    reproduce: str = ""
    svg: Path | None = None

    def split(self, *own: str) -> tuple[dict[str, str], list[str]]:
        """Return the command's own `key=value` arguments and the configuration overrides; refuse bare words."""
        mine: dict[str, str] = {}
        overrides: list[str] = []
        for word in self.words:
            key, equals, value = word.partition("=")
            if not equals:
                close = difflib.get_close_matches(word, own, n=1)
                hint = f"did you mean {close[0]}=…?" if close else "write key=value"
                raise UsageError(f"{word!r} is not an argument of `pipeline {self.command}`: {hint}")
            if key in mine:
                raise UsageError(f"{key} is given twice: {mine[key]!r} and {value!r}")
            if key in own:
                mine[key] = value
            else:
                overrides.append(word)
        return mine, overrides


def parse_folds(text: str) -> tuple[int, ...] | None:
    """Return the fold numbers of `0`, `0,2,5` or `1..4`; None for `all`."""
    if text == "all":
        return None
    try:
        folds: list[int] = []
        for part in text.split(","):
            first, dots, last = part.partition("..")
            chosen = range(int(first), int(last) + 1) if dots else range(int(first), int(first) + 1)
            if len(chosen) > MOST_FOLDS:
                raise UsageError(f"fold={text}: {len(chosen)} folds at once; name at most {MOST_FOLDS}")
            folds.extend(chosen)
    except ValueError:
        raise UsageError(f"fold={text}: write a number, a list 0,2,5, a range 0..3 or all") from None
    if not folds or min(folds) < 0:
        raise UsageError(f"fold={text}: fold numbers start at 0")
    return tuple(dict.fromkeys(folds))


def required(arguments: Mapping[str, str], name: str, command: str, example: str) -> str:
    """Return an argument that the command cannot do without."""
    if name not in arguments:
        raise UsageError(f"pipeline {command} needs {name}=…, e.g. pipeline {command} {name}={example}")
    return arguments[name]
