"""The configuration of a run as frozen dataclasses; each package owns the settings of its own nodes."""

import dataclasses
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kernels.execution import Costs, Execution, Instrument
from kernels.features.selection import FeatureSettings
from kernels.metrics import METRICS
from kernels.preparation import EXECUTORS
from loaders.exogenous_rules import ExogenousFile, ExogenousRule
from loaders.layouts import BAR_SCHEMAS
from loaders.partitions import PARTITION_RECORDS
from loaders.roll import RollSettings
from loaders.sessions import SessionRule
from loaders.sessions_calendar import require_own_clock
from pipelines.config.setting_values import require_path
from pipelines.errors import UsageError
from pipelines.execution.cluster_settings import ClusterOptions, is_address
from pipelines.refresh.refresh_settings import RefreshSettings
from pipelines.steps.searching import GRID, SEARCHES
from pipelines.storage.sizes import NO_LIMIT, parse_size
from training.dqn_settings import DqnSettings
from training.folds import FoldSettings
from training.linear import LinearSettings
from validation.bar_rules import BarRules

MOST_MONEY = 1e15  # beyond it float64 no longer resolves a cent
MOST_CONTRACTS = 1_000_000
NO_TRADES = "none"
WALK_FORWARD = "walk_forward"
INTERVALS = tuple(schema.removeprefix("ohlcv-") for schema in BAR_SCHEMAS)
MOST_WORKERS = 4096
FACTS = ("tick_size", "multiplier", "currency", "calendar", "expires")  # of the instrument's file and of definitions
_SYMBOL = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,31}")
CLUSTERS = ("serial", "threads", "processes", "cuda")


@dataclass(frozen=True)
class LimitSettings:
    """The bounds of layers 2, 3 and 4; infinity (`.inf`) switches a layer off."""

    log_return: float = 0.1
    feature: float = 5.0
    zscore: float = 20.0

    def __post_init__(self) -> None:
        """Refuse bounds that leave nothing."""
        for name in ("log_return", "feature", "zscore"):
            if not getattr(self, name) > 0:
                raise ValueError(f"instrument.limits.{name} is {getattr(self, name)}, must be above 0; .inf is no bound")


@dataclass(frozen=True)
class InstrumentSettings:
    """One root: what a contract is worth, what trading it costs, when it trades, how it rolls, what its data may be.

    `bars` are the rules of layer 1, `limits` the bounds of layers 2 to 4. `accept_differences` names the facts (FACTS) that the
    definitions beside the data may state otherwise.
    """

    root: str
    contract: Instrument
    costs: Costs
    session: SessionRule
    roll: RollSettings
    bars: BarRules
    limits: LimitSettings = field(default_factory=LimitSettings)
    accept_differences: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse names and amounts that no exchange has, and two ticks: one checks prices, one prices slippage.

        Two names too: the root chooses the data, the symbol says whose tick and multiplier these are.
        """
        names = {"root": self.root, "contract.symbol": self.contract.symbol, "contract.currency": self.contract.currency}
        for name, text in names.items():
            if not _SYMBOL.fullmatch(text):
                raise ValueError(f"instrument.{name} is {text!r}, must be letters and digits, as the exchange writes it")
        if self.contract.symbol != self.root:
            raise ValueError(
                f"instrument.contract.symbol is {self.contract.symbol}, but instrument.root is {self.root}: the data of one "
                f"would be priced as the other; choose instrument={self.root}, or give both in a file of your own"
            )
        require_own_clock(self.session)
        for fact in self.accept_differences:
            if fact not in FACTS:
                raise ValueError(f"instrument.accept_differences: {fact!r} is no fact; known are {', '.join(FACTS)}")
        for name, amounts in (("contract", self.contract), ("costs", self.costs)):
            for part, amount in vars(amounts).items():
                if isinstance(amount, float) and amount > MOST_MONEY:
                    raise ValueError(f"instrument.{name}.{part} is {amount:g}, must be at most {MOST_MONEY:g}")
        if self.bars.tick_size != self.contract.tick_size:
            raise ValueError(
                f"instrument.bars.tick_size is {self.bars.tick_size}, but instrument.contract.tick_size is "
                f"{self.contract.tick_size}: give both the exchange's tick"
            )


@dataclass(frozen=True)
class LoadSettings:
    """How bars are read: in pieces of about `partition_records` records, on which the result does not depend.

    `bars_from_trades`: `none`, or the interval of bars made from files of trades instead, and files of bars are not read.
    """

    partition_records: int = PARTITION_RECORDS
    bars_from_trades: str = NO_TRADES

    def __post_init__(self) -> None:
        """Refuse pieces without a record, and intervals that the exchange has no bars of."""
        if self.partition_records < 1:
            raise ValueError(f"load.partition_records is {self.partition_records}, must be at least 1: use 1048576")
        if self.bars_from_trades not in (NO_TRADES, *INTERVALS):
            raise ValueError(
                f"load.bars_from_trades is {self.bars_from_trades!r}, must be {NO_TRADES} or one of {', '.join(INTERVALS)}"
            )

    @property
    def from_trades(self) -> bool:
        """Whether bars are made from trades."""
        return self.bars_from_trades != NO_TRADES


@dataclass(frozen=True)
class SweepSettings:
    """What a sweep tries, how its combinations are ranked, and where it runs: with `executor` auto on the GPU of a worker
    that holds one, with cuda nowhere else, unless it may fall back to the CPU.

    `search`: `grid`, or `samples` combinations of the grid's values, `random` or `sobol`, drawn with `seed`. Of all that
    are tried the `keep` best stay in the store, and session returns of at most `overfitting_combinations`, drawn with
    `seed`, for the probability of overfitting.
    """

    strategies: tuple[str, ...]
    grid: Mapping[str, tuple[float, ...]]
    rank_by: str = "sharpe"
    executor: str = "auto"
    allow_fallback: bool = False
    chunk_combinations: int = 8192
    search: str = GRID
    samples: int = 0
    seed: int = 0
    keep: int = 100
    overfitting_combinations: int = 2000

    def __post_init__(self) -> None:
        """Refuse a sweep that could not run, before anything is loaded."""
        _require_distinct("sweep.strategies", self.strategies)
        if self.rank_by not in METRICS:
            raise ValueError(f"sweep.rank_by is {self.rank_by!r}, must be one of {', '.join(METRICS)}")
        if self.executor not in EXECUTORS:
            raise ValueError(f"sweep.executor is {self.executor!r}, must be one of {', '.join(EXECUTORS)}")
        for name, values in self.grid.items():
            if not values or not all(math.isfinite(value) for value in values):
                raise ValueError(f"sweep.grid.{name} is {values}, must be finite numbers, at least one")
        if self.chunk_combinations < 1:
            raise ValueError(f"sweep.chunk_combinations is {self.chunk_combinations}, must be at least 1: use e.g. 8192")
        if self.search not in SEARCHES:
            raise ValueError(f"sweep.search is {self.search!r}, must be one of {', '.join(SEARCHES)}")
        if (self.search == GRID) != (self.samples == 0) or self.samples < 0:
            raise ValueError(
                f"sweep.samples is {self.samples} with sweep.search={self.search}: give a random or sobol search the number "
                "of combinations to draw, at least 1, and a grid none (0)"
            )
        if self.seed < 0:
            raise ValueError(f"sweep.seed is {self.seed}, must be 0 or more")
        if self.keep < 1:
            raise ValueError(f"sweep.keep is {self.keep}, must be at least 1: the best combinations that are kept")
        if self.overfitting_combinations < 2:
            raise ValueError(
                f"sweep.overfitting_combinations is {self.overfitting_combinations}, must be at least 2: a choice needs two"
            )


@dataclass(frozen=True)
class TrainingSettings:
    """Which policies are trained on a fold and what they are compared with."""

    seeds: tuple[int, ...]
    dqn: DqnSettings
    linear: LinearSettings

    def __post_init__(self) -> None:
        """Refuse seeds that would train nothing or the same twice."""
        _require_distinct("training.seeds", self.seeds)
        if min(self.seeds) < 0:
            raise ValueError(f"training.seeds is {self.seeds}, seeds start at 0")


def _require_distinct(name: str, values: tuple[object, ...]) -> None:
    if not values or len(set(values)) != len(values):
        raise ValueError(f"{name} is {list(values)}, must be at least one, each once")


@dataclass(frozen=True)
class Settings:
    """Everything a run depends on; the resolved form is stored with the run.

    `flow` is walk_forward, or `package.module:name` of the user's own, whose nodes read `options`. `cluster` is where the
    graph runs: `serial`, `threads`, `processes` (local), `cuda` (one process a GPU), or the address or scheduler file of a
    cluster that runs already; `workers` 0 means one a core or a GPU, `cluster_options` is the rest. None of them changes any
    result. `bar_seconds` is the length of a bar: its values, and exogenous ones, are known at `ts_event` plus that. `store` is
    a folder or a URL of an fsspec file system, which gets `store_options`; what is read from a URL is kept in the folder
    `store_cache` (empty: the user's) within `store_cache_budget`, and the store itself within `store_budget` after each run.
    """

    data: str
    store: str
    instrument: InstrumentSettings
    folds: FoldSettings
    execution: Execution
    capital: float
    sweep: SweepSettings
    training: TrainingSettings
    features: FeatureSettings = field(default_factory=FeatureSettings)
    exogenous: tuple[ExogenousFile, ...] = ()
    bar_seconds: int = 60
    load: LoadSettings = field(default_factory=LoadSettings)
    flow: str = WALK_FORWARD
    options: Any = field(default_factory=dict)
    cluster: str = "processes"
    workers: int = 0
    cluster_options: ClusterOptions = field(default_factory=ClusterOptions)
    store_options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    store_budget: str = NO_LIMIT
    store_cache: str = ""
    store_cache_budget: str = "20GB"
    refresh: RefreshSettings = field(default_factory=RefreshSettings)

    def __post_init__(self) -> None:
        """Refuse capital that cannot carry a position and a cluster that does not exist."""
        if not 0 < self.capital <= MOST_MONEY:
            raise ValueError(f"capital is {self.capital}, must be above 0 and at most {MOST_MONEY:g}: use e.g. capital=100000")
        if not self.execution.is_plain:
            raise ValueError(
                f"execution is {self.execution}: the flow trains policies on whole contracts filled at the next open; leave "
                "all but execution.contracts at their defaults, or use kernels.sweep for other fills"
            )
        if self.execution.contracts > MOST_CONTRACTS:
            raise ValueError(f"execution.contracts is {self.execution.contracts}, must be at most {MOST_CONTRACTS}")
        if self.cluster not in CLUSTERS and not is_address(self.cluster):
            raise ValueError(
                f"cluster is {self.cluster!r}, must be one of {', '.join(CLUSTERS)}, or of a scheduler that runs already "
                "tcp://host:port, tls://host:port or its .json file"
            )
        if not 0 <= self.workers <= MOST_WORKERS:
            raise ValueError(f"workers is {self.workers}, must be 0 (one a core or GPU) to {MOST_WORKERS}")
        for name in ("data", "store"):
            require_path(name, getattr(self, name))
        if self.store_cache:
            require_path("store_cache", self.store_cache)
        if re.match(r"\w+://[^/@]*:[^/@]*@", self.store):
            raise ValueError("store holds a password: give it as store_options.password or in the environment")
        for name in ("store_budget", "store_cache_budget"):
            try:
                parse_size(getattr(self, name))
            except UsageError as error:
                raise ValueError(f"{name}: {error}") from None
        if self.bar_seconds < 1:
            raise ValueError(f"bar_seconds is {self.bar_seconds}, must be at least 1: use 60 for minute bars")

    @property
    def exogenous_rules(self) -> tuple[ExogenousRule, ...]:
        """How each exogenous file is read, without its path: the content of a file is in the key, its name is not."""
        names = [field.name for field in dataclasses.fields(ExogenousRule)]
        return tuple(ExogenousRule(**{name: getattr(file, name) for name in names}) for file in self.exogenous)
