"""Bars of short trade dates, and a store that makes feature sets of them through the nodes of the flow."""

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd

from pipelines.config.configuration import load_settings
from pipelines.execution.serial_runner import run_serial
from pipelines.graphs.graph import Graph, build_graph
from pipelines.graphs.input_files import InputFile
from pipelines.graphs.node import Node
from pipelines.graphs.parts import PartList
from pipelines.graphs.planning import plan
from pipelines.keying.keys import file_digest
from pipelines.nodes import NODES
from pipelines.storage import artefacts
from pipelines.storage.store import Store

MINUTES = 200  # bars of a trade date: shorter than the look-back of 254, so that a change reaches two days on


def read_bars(files: tuple[Path, ...]) -> pd.DataFrame:
    """Node: the bars of a Parquet file."""
    return pd.read_parquet(files[0])


def bars_of(days: int = 8, roll_on: int | None = 4, seed: int = 1) -> pd.DataFrame:
    """Trade dates of MINUTES minutes each, with one roll, a return beyond the clamp on day 2 and falling volumes."""
    draw = np.random.default_rng(seed)
    dates = pd.bdate_range("2024-03-01", periods=days)
    ts = np.concatenate([np.arange(MINUTES) * 60_000_000_000 + date.value + 14 * 3_600_000_000_000 for date in dates])
    rows = len(ts)
    close = 5000.0 + 0.25 * np.cumsum(draw.integers(-6, 7, rows))
    if days > 2:
        close[2 * MINUTES + 50] *= 1.2
    opened = np.append(close[0], close[:-1])
    prices = {
        "open": opened,
        "high": np.maximum(opened, close) + 0.25,
        "low": np.minimum(opened, close) - 0.25,
        "close": close,
    }
    new = np.arange(rows) >= (roll_on if roll_on is not None else days) * MINUTES
    old_price = np.full(rows, np.nan)
    if new.any():
        old_price[int(new.argmax())] = opened[int(new.argmax())] - 3.0
    return pd.DataFrame({
        "ts_event": pd.DatetimeIndex(ts.view("datetime64[ns]"), tz="UTC"),
        "session": np.repeat(dates.strftime("%Y%m%d").astype(np.int32), MINUTES),
        "contract": pd.Series(np.where(new, "ESM4", "ESH4"), dtype="str"),
        "expiry": np.where(new, 202406, 202403).astype(np.int32),
        **prices,
        "volume": draw.integers(1, 500, rows),
        "old_price": old_price,
        **{f"adj_{name}": column - 3.0 * new for name, column in prices.items()},
        "masked": np.zeros(rows, bool),
        "filled": np.zeros(rows, bool),
    })


@dataclasses.dataclass
class Workshop:
    """Feature sets of given bars in one store; `made` are the keys of the parts that the last `build` computed."""

    folder: Path
    overrides: tuple[str, ...] = ()
    made: tuple[str, ...] = ()
    listed: PartList | None = None
    key: str = ""
    whole: object = None

    @property
    def store(self) -> Store:
        return Store.open(self.folder / "store")

    def graph(self) -> Graph:
        settings = load_settings([f"store={self.folder / 'store'}", *self.overrides])
        bars = Node("bars", read_bars, files={"files": "table"})
        wanted = {"exogenous", "file_flow", "order_flow", "feature_days", "feature_set"}
        nodes = (bars, *(node for node in NODES if node.name in wanted))
        path = self.folder / "bars.parquet"
        exogenous = tuple(InputFile(Path(one.path), file_digest(Path(one.path))) for one in settings.exogenous)
        files = {"table": (InputFile(path, file_digest(path)),), "exogenous": exogenous, "flow": (), "definitions": ()}
        return build_graph(nodes, settings, files, {"flow_file": lambda place: []})

    def write(self, bars: pd.DataFrame) -> None:
        self.folder.mkdir(exist_ok=True, parents=True)
        bars.to_parquet(self.folder / "bars.parquet")

    def build(self, bars: pd.DataFrame):
        """Run the flow on the bars and read the feature set back."""
        self.write(bars)
        graph, store = self.graph(), self.store
        before = self.part_keys()
        run_serial([row.task for row in plan(graph, store) if not row.cached], store, lambda outcome: None)
        days, whole = graph["feature_days"], graph["feature_set"]
        self.listed = artefacts.read_parts(store.verified(days.key), PartList)
        self.made = tuple(sorted(self.part_keys() - before))
        self.key = whole.key
        return artefacts.read_parts(store.verified(whole.key), whole.kind)

    def part_keys(self) -> set[str]:
        """Names of the trade dates in the store, each with its key."""
        groups = (self.store.root / "objects").iterdir()
        found = [self.store.manifest(path.name) for group in groups for path in group.iterdir()]
        return {f"{row['about']['session']} {row['key']}" for row in found if row and "about" in row}

    def sessions_made(self) -> list[int]:
        """Trade dates that the last `build` computed."""
        return sorted(int(name.split()[0]) for name in self.made)
