"""Ctrl-C, SIGTERM and a closed terminal: each ends a command as an interrupt that nothing on the way can lose."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
PATIENCE_S = 10.0  # that stopping may take; a signal after it interrupts the stopping too


class Interrupts:
    """A handler that raises KeyboardInterrupt once and remembers it: another Ctrl-C must not tear what stops the workers.

    Python drops what a signal raises inside a destructor, and a node may catch it; runners ask `go_on` between nodes.
    """

    def __init__(self) -> None:
        self.raised: float | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Take a signal."""
        now = time.monotonic()
        if self.raised is None or now - self.raised > PATIENCE_S:
            self.raised = now
            raise KeyboardInterrupt


@contextmanager
def heard(to_the_end: bool) -> Iterator[None]:
    """Turn signals into one interrupt; `to_the_end`: the process ends with the command, and none kills it on the way out.

    A signal that the process was started to ignore (`nohup`, a background job of a script) stays ignored.
    """
    taker = Interrupts()
    before = {number: signal.getsignal(number) for number in SIGNALS}
    taken = [number for number, handler in before.items() if handler in (signal.SIG_DFL, signal.default_int_handler)]
    for number in taken:
        signal.signal(number, taker)
    try:
        yield
    finally:
        ending = to_the_end and taker.raised is not None
        for number in taken:
            signal.signal(number, signal.SIG_IGN if ending else before[number])
        if ending:
            # an interrupt within an `exec`, of which imports are full, makes CPython die of SIGINT at its end whatever exit
            # code we return; the next `exec` that ends well clears that
            exec("")


def require_no_interrupt(error: BaseException) -> None:
    """Raise an error that is the person's Ctrl-C, which only the main thread gets, and not a node's own."""
    if isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread():
        raise error


def go_on() -> None:
    """Raise KeyboardInterrupt where an interrupt has been asked for: again, if something has swallowed the first.

    Only in the main thread, the one that signals interrupt.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    for number in SIGNALS:
        taker = signal.getsignal(number)
        if isinstance(taker, Interrupts) and taker.raised is not None:
            raise KeyboardInterrupt
