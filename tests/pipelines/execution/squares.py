"""A flow of many small chunks whose result is known; its chunks note that they ran and misbehave as they are told."""

import logging
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pipelines.execution.pieces import Pieces
from pipelines.graphs.graph import Graph, build_graph
from pipelines.graphs.node import Node
from pipelines.storage import artefacts
from pipelines.storage.store import Store


@dataclass(frozen=True)
class Squares:
    """Settings: where chunks note that they ran, how long each takes, which of them misbehaves."""

    folder: str
    size: int = 4
    seconds: float = 0.0
    bad: int = -1
    most: int = 1_000_000


@dataclass(frozen=True)
class Values:
    """Some squares."""

    squares: np.ndarray


def squares(chunk: int, size: int, folder: str, seconds: float, bad: int, most: int) -> Values:
    """The squares of the numbers of a chunk."""
    ran(folder, chunk)
    time.sleep(seconds)
    return Values(np.arange(chunk * size, (chunk + 1) * size, dtype=np.int64) ** 2)


def killed_once(chunk: int, size: int, folder: str, seconds: float, bad: int, most: int) -> Values:
    """Chunk `bad` kills its worker on the first try."""
    if chunk == bad and ran(folder, chunk) == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return squares(chunk, size, folder, seconds, bad, most)


def killed_always(chunk: int, size: int, folder: str, seconds: float, bad: int, most: int) -> Values:
    """Chunk `bad` kills its worker on every try, after saying so."""
    if chunk == bad:
        logging.getLogger("squares").warning("chunk %d is about to die", chunk)
        os.kill(os.getpid(), signal.SIGKILL)
    return squares(chunk, size, folder, seconds, bad, most)


def killed_when_large(chunk: int, size: int, folder: str, seconds: float, bad: int, most: int) -> Values:
    """What the system does to a process that takes too much: it is killed, without a word."""
    if size > most:
        os.kill(os.getpid(), signal.SIGKILL)
    return squares(chunk, size, folder, seconds, bad, most)


def refused_when_large(chunk: int, size: int, folder: str, seconds: float, bad: int, most: int) -> Values:
    """What an allocator says that has no more."""
    if size > most:
        raise MemoryError(f"{size} numbers do not fit, {most} would")
    return squares(chunk, size, folder, seconds, bad, most)


def failing(chunk: int, size: int, folder: str, seconds: float, bad: int, most: int) -> Values:
    """Chunk `bad` says what it does, then fails."""
    logging.getLogger("squares").info("quiet note of chunk %d", chunk)
    if chunk == bad:
        logging.getLogger("squares").warning("chunk %d looks odd", chunk)
        raise ValueError(f"chunk {chunk} is odd")
    return squares(chunk, size, folder, seconds, bad, most)


def total(chunks: list[Values]) -> int:
    """The sum of all squares."""
    return int(sum(int(chunk.squares.sum()) for chunk in chunks))


def cut(arguments, count):
    """Cut a chunk in `count` or more pieces of equal size."""
    size = arguments["size"]
    piece = next(one for one in range(max(1, size // count), 0, -1) if size % one == 0)
    first = arguments["chunk"] * size // piece
    return [{**arguments, "chunk": first + number, "size": piece} for number in range(size // piece)]


def join(arguments, pieces):
    return Values(np.concatenate([piece.squares for piece in pieces]))


IN_PIECES = Pieces(cut, join)


def ran(folder: str, chunk: int) -> int:
    """Note one more run of a chunk and return how many there were."""
    with Path(folder, f"ran.{chunk}").open("a") as stream:
        stream.write("x")
    return Path(folder, f"ran.{chunk}").stat().st_size


def graph_of(function, settings: Squares, chunks: int, **how) -> Graph:
    names = {name: name for name in ("size", "folder", "seconds", "bad", "most")}
    node = Node("squares", function, per=("chunk",), axes={"chunk": "chunk"}, settings=names, **how)
    gathered = Node("total", total, inputs={"chunks": "squares"})
    return build_graph((node, gathered), settings, {}, {"chunk": lambda place: range(chunks)})


def sum_of(store: Store, graph: Graph) -> int:
    return artefacts.read_parts(store.verified(graph["total"].key), int)


def expected(size: int, chunks: int) -> int:
    return sum(number * number for number in range(size * chunks))
