"""Artefacts that a number determines, and processes that write, fail and die while they write them."""

import dataclasses
import errno
import hashlib
import itertools
import os
import signal
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from pipelines.storage import artefacts
from pipelines.storage.store import Store


@dataclasses.dataclass(frozen=True)
class Numbered:
    table: pd.DataFrame
    matrix: np.ndarray
    note: dict


def numbered(number: int, rows: int = 500) -> Numbered:
    values = np.random.default_rng(number).random(rows)
    return Numbered(pd.DataFrame({"value": values}), np.outer(values[:50], values[:50]), {"number": number})


def key_of(number: int) -> str:
    return hashlib.sha256(f"artefact {number}".encode()).hexdigest()


def publish(store: Store, number: int, task: str = "numbered", rows: int = 500, needs: tuple[str, ...] = ()) -> str:
    key = key_of(number)
    folder = store.begin(key)
    artefacts.write_parts(numbered(number, rows), folder)
    store.publish(key, folder, {"task": task, **({"needs": list(needs)} if needs else {})})
    return key


def is_whole(store: Store, number: int) -> bool:
    """Whether the artefact is there with the bytes of its number; False where it is not visible at all."""
    if store.manifest(key_of(number)) is None:
        return False
    found, expected = artefacts.read_parts(store.verified(key_of(number)), Numbered), numbered(number)
    pd.testing.assert_frame_equal(found.table, expected.table)
    np.testing.assert_array_equal(found.matrix, expected.matrix)
    assert found.note == expected.note
    return True


def publish_together(store: Store, numbers: range, barrier, said) -> None:
    """In a process: publish numbers at the same moment as others do, and read each back."""
    for number in numbers:
        barrier.wait()
        publish(store, number)
        said.put((number, is_whole(store, number)))


def write_on(store: Store, start: int, said) -> None:
    """In a process: publish one number after the other, saying each when it is published and remembered."""
    for number in itertools.count(start):
        key = publish(store, number)
        store.remember("numbered", {"key": key})
        store.files.append("ledger/numbers.jsonl", str(number))
        said.send(number)


POINTS = ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.scandir", "os.listdir", "shutil.rmtree")
WRITING = ("os.mkdir", "os.rename", "os.remove")


def count_points(root: Path, number: int, said) -> None:
    """In a process: say how many points the writing of one artefact has."""
    passed = []
    sys.addaudithook(lambda event, arguments: passed.append(event) if event in POINTS else None)
    before = len(passed)
    publish(Store(root), number)
    said.send(len(passed) - before)


def die_at(root: Path, number: int, point: int, said) -> None:
    """In a process: publish, and be killed without warning at the given point."""
    passed = itertools.count()

    def hook(event, arguments):
        if event in POINTS and next(passed) == point:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    publish(Store(root), number)
    said.send(number)


def fail_everywhere(root: Path, code: int, said) -> None:
    """In a process: publish again and again, each time with the next call that writes refused by the file system."""
    store, state = Store(root), {"left": -1}
    fsync = os.fsync

    def refuse() -> None:
        if state["left"] == 0:
            state["left"] = -1
            raise OSError(code, os.strerror(code))
        state["left"] -= state["left"] > 0

    def hook(event, arguments):
        writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        if state["left"] >= 0 and (writes or event in WRITING):
            refuse()

    def refusing_fsync(descriptor):
        refuse()
        fsync(descriptor)

    sys.addaudithook(hook)
    os.fsync = refusing_fsync
    for point in itertools.count():
        state["left"] = point
        try:
            publish(store, point)
            finished = state["left"] >= 0  # no call was left to refuse
            state["left"] = -1
            if finished:
                said.send(("end", point))
                return
            said.send(("published all the same", point))
        except OSError as error:
            state["left"] = -1
            assert error.errno == code
            said.send(("refused", point))


NO_SPACE, NO_WRITING, NO_DISK = errno.ENOSPC, errno.EROFS, errno.EIO
