"""What a command writes to: a terminal that is closed meanwhile, and streams that were closed before it began, stop nothing."""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, cast

from pipelines.errors import WalkfoldError, said

READER_GONE = (errno.EPIPE, errno.EIO, errno.EBADF)  # a pipe, a terminal or a descriptor that nobody reads any more
STANDARD = 3  # the descriptors 0 to 2


class UnheardError(WalkfoldError):
    """The answer of a command cannot be written; `gone`: because nobody is there to read it."""

    def __init__(self, error: OSError | ValueError) -> None:
        self.gone = isinstance(error, ValueError) or error.errno in READER_GONE
        why = said(error) if isinstance(error, OSError) else str(error)
        super().__init__(f"the answer cannot be written to standard output: {why}; what was computed stays in the store")


class _Stream:
    """A stream whose failing writes are `failed` at; all else is the stream's own."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write a text."""
        try:
            return int(self._stream.write(text))
        except (OSError, ValueError) as error:
            if isinstance(error, UnicodeError):
                raise
            self.failed(error)
        return len(text)

    def flush(self) -> None:
        """Write out what is held back."""
        try:
            self._stream.flush()
        except (OSError, ValueError) as error:
            self.failed(error)

    def failed(self, error: OSError | ValueError) -> None:
        """Take note that nothing can be written."""


class Notes(_Stream):
    """Standard error: progress and errors, of which nothing depends on being read."""

    def failed(self, error: OSError | ValueError) -> None:
        """Go on in silence."""


class Answers(_Stream):
    """Standard output: the result of a command."""

    def failed(self, error: OSError | ValueError) -> None:
        """Raise UnheardError; what Python still holds back for the stream goes nowhere."""
        with suppress(OSError, ValueError, AttributeError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)
        raise UnheardError(error) from None


@contextmanager
def written() -> Iterator[None]:
    """Let a command write to its streams as they are or were."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = cast(Any, Answers(_opened(sys.stdout))), cast(Any, Notes(_opened(sys.stderr)))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def _opened(stream: Any) -> Any:
    """The stream, or one that leads nowhere in place of one that was closed before Python began.

    Its descriptor is taken too: else the next file of the store would get it, and what a library prints would go there.
    """
    if stream is not None:
        return stream
    descriptor = os.open(os.devnull, os.O_RDWR)
    while descriptor < STANDARD:
        descriptor = os.open(os.devnull, os.O_RDWR)
    return os.fdopen(descriptor, "w", encoding="utf-8")
