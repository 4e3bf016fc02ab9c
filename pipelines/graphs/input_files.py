"""The user's files that a run reads: what each is by content, and the pieces a large one is read in."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernels.features.selection import ORDER_FLOW
from loaders.batch import CONDITION
from loaders.errors import DamagedFileError, DataError
from loaders.files import DataFile, list_any_files, list_data_files
from loaders.layouts import BAR_SECONDS, BARS, DEFINITIONS, MBP_10, STATISTICS, TBBO, TRADE_SCHEMAS, TRADES
from loaders.partitions import partitions
from loaders.records import Partition
from loaders.repeats import refuse_repeats
from pipelines.config.settings import Settings
from pipelines.errors import ConfigurationError, RejectedDataError, UsageError
from pipelines.keying import keys

FILE_AXES = {"file": "bars", "flow_file": "flow"}  # axes whose values count the files of a group; any group is one too
FLOW_SCHEMAS = (MBP_10, TBBO, TRADES)
DBN_GROUPS = ("bars", "trades", "definitions", "statistics", "flow")
GROUPS = (*DBN_GROUPS, "conditions", "exogenous", "roll_schedule", "truth")
WHOLE: tuple[Partition | None, ...] = (None,)


@dataclass(frozen=True)
class InputFile:
    """A file of the user's, named by its content: the same bytes under another name are the same input.

    `pieces`: the partitions it is read in, one by one; None is the whole file.
    """

    path: Path
    sha256: str
    pieces: tuple[Partition | None, ...] = WHOLE


def input_files(settings: Settings, groups: Collection[str] = GROUPS) -> Mapping[str, tuple[InputFile, ...]]:
    """List and hash the DBN files of the data folder by what they hold, in the order of their data.

    Only the groups asked for are looked at; the others are empty. A folder without bars is in order where nobody reads them.

    Raises UsageError for a folder without bars (or, where bars are made from them, without trades), and where `bar_seconds` is
    not the length of its bars; RejectedDataError for a damaged file. Books and trades are listed where the feature set has
    order flow and the folder has a book.
    """
    made = settings.load.from_trades
    listed = _listed(settings, groups)
    if "bars" in groups:
        _check_bar_seconds(settings, listed)
    truth, conditions = (Path(settings.data) / name for name in ("truth.json", CONDITION))
    records = settings.load.partition_records
    found: dict[str, Callable[[], tuple[InputFile, ...]]] = {
        "bars": lambda: tuple(_hashed(one.path, _pieces(one.path, records)) for one in listed if one.kind == BARS and not made),
        "trades": lambda: tuple(_hashed(path) for path in _trade_files(listed, settings.data)) if made else (),
        "definitions": lambda: tuple(_hashed(one.path) for one in listed if one.kind == DEFINITIONS),
        "statistics": lambda: tuple(_hashed(one.path) for one in listed if one.schema == STATISTICS),
        "flow": lambda: tuple(_hashed(path) for path in _flow_files(listed, settings.features.include)),
        "conditions": lambda: (_hashed(conditions),) if conditions.is_file() else (),
        "exogenous": lambda: tuple(_exogenous_file(one.path) for one in settings.exogenous),
        "roll_schedule": lambda: _roll_schedule(settings),
        "truth": lambda: (_hashed(truth),) if truth.is_file() else (),
    }
    return {name: make() if name in groups else () for name, make in found.items()}


def hashed_file(path: Path, asked_by: str) -> InputFile:
    """Return a file of the user's by content; raise UsageError, naming who asked for it, where there is none."""
    if not path.is_file():
        raise UsageError(f"{asked_by}: there is no file {path}")
    return _hashed(path)


def file_constant(
    kind: Any, name: str, group: Sequence[InputFile], per: Sequence[str], place: Mapping[str, int | str]
) -> tuple[Any, Any]:
    """Return what a parameter of type `kind` gets of a named group of files at a place of the axes, and its form in the key.

    A Path is the place's file and a Partition the place's piece of it, known by its records; a sequence is all files.
    """
    axis = next((axis for axis in per if FILE_AXES.get(axis, axis) == name), None)
    if axis is not None and kind is Path:
        chosen = group[int(place[axis])]
        return chosen.path, chosen.sha256
    if axis is not None and kind == Partition | None:
        piece = group[int(place[axis])].pieces[int(place["part"])]
        return piece, None if piece is None else [piece.first, piece.records]
    return tuple(item.path for item in group), [item.sha256 for item in group]


def _listed(settings: Settings, groups: Collection[str]) -> list[DataFile]:
    """The DBN files of the data folder, none of which need be bars where no node reads bars."""
    bars = "bars" in groups and not settings.load.from_trades
    if not set(DBN_GROUPS) & set(groups):
        return []
    try:
        return (list_data_files if bars else list_any_files)(Path(settings.data))
    except DamagedFileError as error:
        raise RejectedDataError(str(error)) from None
    except DataError as error:
        if {"bars", "trades"} & set(groups):
            raise UsageError(f"data={settings.data}: {error}") from None
        return []


def _hashed(path: Path, pieces: tuple[Partition | None, ...] = WHOLE) -> InputFile:
    return InputFile(path, keys.file_digest(path), pieces)


def _check_bar_seconds(settings: Settings, listed: Sequence[DataFile]) -> None:
    """Refuse a length that is not that of the bars: exogenous values and order flow would be taken from another time."""
    made = f"ohlcv-{settings.load.bars_from_trades}"
    schema = made if settings.load.from_trades else next(str(one.schema) for one in listed if one.kind == BARS)
    length = BAR_SECONDS[schema]
    if settings.bar_seconds != length:
        source = f"load.bars_from_trades={settings.load.bars_from_trades}" if settings.load.from_trades else settings.data
        raise ConfigurationError(
            f"bar_seconds is {settings.bar_seconds}, but the bars of {source} are {schema}, {length} seconds long: "
            f"set bar_seconds={length}"
        )


def _pieces(path: Path, records: int) -> tuple[Partition | None, ...]:
    """Cut a file by its size or its frames' headers; one that is a single piece, or damaged, is left whole.

    The node that reads a damaged file tells what is wrong with it, and nothing of the other files is lost.
    """
    try:
        found = partitions(path, records)
    except DamagedFileError:
        return WHOLE
    return tuple(found) if len(found) > 1 else WHOLE


def _flow_files(listed: Sequence[DataFile], include: Iterable[str]) -> list[Path]:
    """Books and files of trades, where order flow is wanted; trades without any book measure nothing."""
    found = [one for one in listed if one.schema in FLOW_SCHEMAS]
    wanted = ORDER_FLOW in include and any(one.schema == MBP_10 for one in found)
    if wanted:
        _refuse_repeats(found)
    return [one.path for one in found] if wanted else []


def _trade_files(listed: Sequence[DataFile], folder: str) -> list[Path]:
    """The files of the first schema with trades that there is, so that no trade counts twice."""
    for schema in TRADE_SCHEMAS:
        if found := [one for one in listed if one.schema == schema]:
            _refuse_repeats(found)
            return [one.path for one in found]
    raise UsageError(
        f"load.bars_from_trades: {folder} holds no file of {', '.join(TRADE_SCHEMAS)}; put one there, or use none"
    )


def _refuse_repeats(files: Sequence[DataFile]) -> None:
    try:
        refuse_repeats(files)
    except DataError as error:
        raise RejectedDataError(str(error)) from None


def _exogenous_file(name: str) -> InputFile:
    path = Path(name)
    if not path.is_file():
        raise UsageError(f"exogenous: there is no file {name}; give the path of a Parquet or CSV file")
    return _hashed(path)


def _roll_schedule(settings: Settings) -> tuple[InputFile, ...]:
    """The user's own roll schedule, if there is one: its content, not its name, is what the rolled bars depend on."""
    if not settings.instrument.roll.schedule:
        return ()
    path = Path(settings.instrument.roll.schedule)
    if not path.is_file():
        raise UsageError(f"instrument.roll.schedule={path}: no such file; give a CSV file with columns session, contract")
    return (_hashed(path),)
