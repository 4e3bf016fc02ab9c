"""What the configuration says of a file of exogenous columns: which columns, at what time, and when they were known."""

import re
import zoneinfo
from dataclasses import dataclass

UNITS = ("s", "ms", "us", "ns")
DUPLICATES = ("error", "last")
_DELAY = re.compile(r"^(\d+)(s|min|h|d)$")
_SECONDS = {"s": 1, "min": 60, "h": 3600}


@dataclass(frozen=True)
class ExogenousRule:
    """How to read a file of exogenous columns.

    time: the column with the time a value is of. available: the column with the time it was known; or delay: how long after
    `time` it was known, as 0s, 15min, 18h (time that passes) or 1d (the same time of the next calendar day on the clock of
    `timezone`); one of the two must be given. columns: the numeric columns to join; prefix: put before their names in the bars.
    timezone: of times without an offset, and of the days of a delay. unit: of times that are integers since 1970.
    duplicates: two rows with the same time and availability are an `error`, or the `last` in the file counts.
    """

    time: str
    columns: tuple[str, ...]
    available: str = ""
    delay: str = ""
    prefix: str = ""
    timezone: str = ""
    unit: str = ""
    duplicates: str = "error"

    def __post_init__(self) -> None:
        """Refuse rules under which it would be open when a value was known."""
        where = f"exogenous columns {', '.join(self.columns)}"
        if not self.columns or len(set(self.columns)) < len(self.columns):
            raise ValueError(f"{where}: name at least one column and each once")
        if bool(self.available) == bool(self.delay):
            raise ValueError(
                f"{where}: say when a value is known, by `available` (a column) or `delay` (e.g. 15min; 0s if at its time)"
            )
        if self.delay and not _DELAY.match(self.delay):
            raise ValueError(f"{where}: delay {self.delay!r} is none; use a whole number and s, min, h or d, e.g. 18h")
        if self.delay_days and not self.timezone:
            raise ValueError(
                f"{where}: delay {self.delay!r} is counted in calendar days, whose length the clock decides; set timezone to "
                f"that of the source, e.g. America/New_York, or write {24 * self.delay_days}h for time that passes"
            )
        for name in self.names:
            if not name.isidentifier():
                raise ValueError(f"{where}: {name!r} cannot be read as col({name!r}); rename it or set a prefix")
        if self.unit and self.unit not in UNITS:
            raise ValueError(f"{where}: unit {self.unit!r} must be one of {', '.join(UNITS)}")
        if self.duplicates not in DUPLICATES:
            raise ValueError(f"{where}: duplicates {self.duplicates!r} must be one of {', '.join(DUPLICATES)}")
        self._check_timezone(where)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names in the bars."""
        return tuple(f"{self.prefix}{column}" for column in self.columns)

    @property
    def delay_ns(self) -> int:
        """The delay in nanoseconds that pass; 0 where it is in days or `available` is given."""
        match = _DELAY.match(self.delay)
        return int(match[1]) * _SECONDS[match[2]] * 1_000_000_000 if match and match[2] in _SECONDS else 0

    @property
    def delay_days(self) -> int:
        """The delay in calendar days on the clock of `timezone`; 0 where it is in another unit or `available` is given."""
        match = _DELAY.match(self.delay)
        return int(match[1]) if match and match[2] not in _SECONDS else 0

    def _check_timezone(self, where: str) -> None:
        if not self.timezone:
            return
        try:
            zoneinfo.ZoneInfo(self.timezone)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError):
            raise ValueError(f"{where}: timezone {self.timezone!r} is not known; use a name like UTC") from None


@dataclass(frozen=True, kw_only=True)
class ExogenousFile(ExogenousRule):
    """A Parquet or CSV file and how to read it."""

    path: str
