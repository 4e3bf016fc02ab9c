"""What a scheduled refresh may take in, spend and run: thresholds, download, hooks, with the defaults of docs/refresh.md."""

import re
from dataclasses import dataclass, field

from pipelines.storage.store_files import is_plain_name

NO_DOWNLOAD, DATABENTO = "none", "databento"
WEB = ("http://", "https://")  # what a hook that is no command begins with
HOOKS = ("on_success", "on_failure", "on_poisoned", "on_stale")
DAY_SCHEMAS = ("ohlcv-1s", "ohlcv-1m", "ohlcv-1h", "trades", "tbbo", "mbp-10", "definition", "statistics")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True)
class DownloadSettings:
    """Which days are fetched before a refresh: one file a UTC day and schema, from `start` on, into the data folder.

    The key comes from the environment (DATABENTO_API_KEY) and from nowhere else. `gateway` is the server, empty:
    databento's own. A request that fails for a reason that passes is tried `tries` times, `wait_seconds` apart, doubling.
    """

    source: str = NO_DOWNLOAD
    dataset: str = "GLBX.MDP3"
    symbols: tuple[str, ...] = ()
    stype_in: str = "parent"
    schemas: tuple[str, ...] = ("ohlcv-1m", "definition")
    start: str = ""
    gateway: str = ""
    tries: int = 5
    wait_seconds: float = 2.0

    def __post_init__(self) -> None:
        """Refuse a download that could not be asked for."""
        if self.source not in (NO_DOWNLOAD, DATABENTO):
            raise ValueError(f"refresh.download.source is {self.source!r}, must be {NO_DOWNLOAD} or {DATABENTO}")
        if self.tries < 1 or not self.wait_seconds >= 0:
            raise ValueError(
                f"refresh.download.tries is {self.tries} and wait_seconds {self.wait_seconds}: give at least one try, and 0 "
                "seconds or more"
            )
        if self.source == NO_DOWNLOAD:
            return
        if not self.symbols:
            raise ValueError("refresh.download.symbols is empty: name what to fetch, e.g. ES.FUT with stype_in parent")
        if not _DATE.fullmatch(self.start):
            raise ValueError(f"refresh.download.start is {self.start!r}, must be the first day to fetch, e.g. 2024-01-02")
        unknown = [schema for schema in self.schemas if schema not in DAY_SCHEMAS]
        if unknown or not self.schemas:
            raise ValueError(f"refresh.download.schemas is {list(self.schemas)}, must be some of {', '.join(DAY_SCHEMAS)}")


@dataclass(frozen=True)
class RefreshSettings:
    """When new data replaces the published set, and what is told to whom.

    `name` is the pointer that is switched (empty: the instrument's root). Of the delivered sessions, a rule of layer 1 may
    reject up to `max_rejected_share` of the rows or `few_rejected` of them, whichever is more; each may lack up to
    `max_missing_share` of a full session's minutes, and a revision may lose as many of its bars; at most
    `max_lost_sessions` may disappear. `refused` is the folder below the data folder that a refused file is moved to (empty:
    it stays). `stale_sessions`: the newest bar is stale when more sessions than these have ended since. The hooks are
    argument lists, run without a shell, with the result as JSON on stdin, or one address of the web each, which it is sent
    to, for at most `hook_seconds`.
    """

    name: str = ""
    max_rejected_share: float = 0.001
    few_rejected: int = 10
    max_missing_share: float = 0.05
    max_lost_sessions: int = 0
    refused: str = "refused"
    stale_sessions: int = 2
    max_cost_usd: float = 1.0
    download: DownloadSettings = field(default_factory=DownloadSettings)
    on_success: tuple[str, ...] = ()
    on_failure: tuple[str, ...] = ()
    on_poisoned: tuple[str, ...] = ()
    on_stale: tuple[str, ...] = ()
    hook_seconds: float = 60.0

    def __post_init__(self) -> None:
        """Refuse thresholds that mean nothing and names that would lead out of their folder."""
        for name in ("max_rejected_share", "max_missing_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"refresh.{name} is {getattr(self, name)}, must be a share from 0 to 1; 1 switches it off")
        for name in ("few_rejected", "max_lost_sessions", "stale_sessions"):
            if getattr(self, name) < 0:
                raise ValueError(f"refresh.{name} is {getattr(self, name)}, must be 0 or more")
        for name in ("name", "refused"):
            if getattr(self, name) and not is_plain_name(getattr(self, name)):
                raise ValueError(f"refresh.{name} is {getattr(self, name)!r}, must be a plain name without / and leading dots")
        if not self.max_cost_usd >= 0:
            raise ValueError(f"refresh.max_cost_usd is {self.max_cost_usd}, must be 0 or more")
        for name in HOOKS:
            hook = getattr(self, name)
            if len(hook) > 1 and hook[0].startswith(WEB):
                raise ValueError(f"refresh.{name} has {len(hook)} words, must be one where the first is an address of the web")
        if not self.hook_seconds > 0:
            raise ValueError(f"refresh.hook_seconds is {self.hook_seconds}, must be above 0")
