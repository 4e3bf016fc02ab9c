"""Inputs of a data report from a seed: forty trade dates with a roll, a half day, a holiday, rejects and a drift."""

from typing import Any

import numpy as np
import pandas as pd

MINUTE = 60_000_000_000
NAMES = ["drifts", "copy", "steady", "atoms", "constant"]
TRAIN = (20, 1_500)
HALF_DAY, HOLIDAY, ROLL = 20240312, 20240329, 20240320
BARS_A_DAY = 120
WARM_UP = 20
STEP = -12.5


def bars() -> pd.DataFrame:
    """The continuous series: 120 bars a date from 17:00 Chicago on, 60 on the half day; row 700 is a masked spike."""
    generator = np.random.default_rng(5)
    days = [day for day in pd.bdate_range("2024-03-04", periods=40) if int(day.strftime("%Y%m%d")) != HOLIDAY]
    pieces = []
    for day in days:
        session = int(day.strftime("%Y%m%d"))
        count = BARS_A_DAY // 2 if session == HALF_DAY else BARS_A_DAY
        begin = (day - pd.Timedelta(hours=7)).tz_localize("America/Chicago").tz_convert("UTC").as_unit("ns").value
        pieces.append(pd.DataFrame({"ts_event": begin + np.arange(count) * MINUTE, "session": session}))
    table = pd.concat(pieces, ignore_index=True)
    table["ts_event"] = pd.to_datetime(table["ts_event"], utc=True).astype("datetime64[ns, UTC]")
    table["session"] = table["session"].astype("int32")
    after = (table["session"] >= ROLL).to_numpy()
    table["contract"] = pd.Series(np.where(after, "ESM4", "ESH4"), dtype="str")
    close = 5_000.0 + np.cumsum(generator.integers(-4, 5, len(table))) * 0.25
    high, low = close + 1.0, close - 1.0
    high[700] += 4_000.0
    shift = np.where(after, STEP, 0.0)
    for name, values in (("open", close), ("high", high), ("low", low), ("close", close)):
        table[name], table[f"adj_{name}"] = values - shift, values
    table["volume"] = generator.integers(1, 900, len(table))
    table["old_price"] = np.nan
    first = int(np.argmax(after))
    table.loc[first, "old_price"] = table["close"].iloc[first - 1]
    table["masked"] = False
    table.loc[700, "masked"] = True
    return table


def features(rows: int) -> np.ndarray:
    """drifts: its mean rises after half of the rows; copy: nearly the same; atoms: -1, 0 or 1 up to the last digits."""
    generator = np.random.default_rng(6)
    matrix = np.empty((rows, len(NAMES)))
    matrix[:, 0] = generator.normal(size=rows) + 1.5 * (np.arange(rows) >= rows // 2)
    matrix[:, 1] = matrix[:, 0] + 0.1 * generator.normal(size=rows)
    matrix[:, 2] = generator.normal(size=rows)
    matrix[:, 3] = generator.integers(-1, 2, rows) * (1.0 - 1e-4 * np.linspace(0.0, 1.0, rows))
    matrix[:, 4] = 0.25
    matrix[:WARM_UP] = np.nan
    return matrix


def quarantine() -> pd.DataFrame:
    """Four rejected records on three trade dates, one of them of the contract that was left."""
    return pd.DataFrame(
        {
            "session": np.array([20240305, 20240305, 20240320, 20240401], dtype=np.int32),
            "role": pd.Series(["followed", "followed", "left", "followed"], dtype="str"),
            "rule": pd.Series(["off_tick", "off_tick", "high_below_low", "undefined_price"], dtype="str"),
        }
    )


def findings() -> pd.DataFrame:
    """One rejecting finding a quarantined record and one of layer 2."""
    rows = [
        ("2024-03-05T01:00Z", "ESH4", 1, "off_tick", "close", 5001.1, 0.25, "rejected", 4),
        ("2024-03-05T01:01Z", "ESH4", 1, "off_tick", "open", 5001.2, 0.25, "rejected", 5),
        ("2024-03-20T01:00Z", "ESH4", 1, "high_below_low", "high", 4999.0, 5000.0, "rejected", 6),
        ("2024-04-01T01:00Z", "ESM4", 1, "undefined_price", "open", float("nan"), float("nan"), "rejected", 7),
        ("2024-03-08T01:00Z", "ESH4", 2, "return_clamp", "return", 0.6, 0.1, "altered", -1),
    ]
    names = ["ts_event", "contract", "layer", "rule", "column", "value", "limit", "action", "source_row"]
    table = pd.DataFrame(rows, columns=names).astype({"layer": "int8", "source_row": "int64"})
    table["ts_event"] = pd.to_datetime(table["ts_event"], utc=True).astype("datetime64[ns, UTC]")
    return table


def inputs() -> dict[str, Any]:
    """Keyword arguments of `data_report_content`."""
    table = bars()
    rows = len(table)
    targets = np.zeros((rows, 6))
    targets[-1, 1] = np.nan
    return {
        "funnel": {
            "records": rows + 503,
            "stages": [
                {"name": "outrights", "rows": rows + 103, "dropped": {"calendar_spread": 400}},
                {"name": "followed contract", "rows": rows + 3, "dropped": {"other contract": 100}},
                {"name": "accepted", "rows": rows, "dropped": {"off_tick": 2, "undefined_price": 1}},
                {"name": "with features", "rows": rows - WARM_UP, "dropped": {"warm-up": WARM_UP}},
            ],
        },
        "bars": table,
        "features": features(rows),
        "names": list(NAMES),
        "targets": targets,
        "findings": findings(),
        "quarantine": quarantine(),
        "rolls": pd.DataFrame(
            {
                "session": np.array([ROLL], dtype=np.int32),
                "left": ["ESH4"],
                "entered": ["ESM4"],
                "volume_left": [100],
                "volume_entered": [200],
            }
        ),
        "train": TRAIN,
        "session_minutes": (np.arange(rows) - np.searchsorted(table["session"], table["session"])).astype(np.int32),
        "session": {"turns_at": "17:00", "timezone": "America/Chicago"},
        "instrument": {"symbol": "ES", "tick_size": 0.25},
        "edge": None,
    }


def run_record() -> dict[str, Any]:
    """The `run` argument of `write_data_report`."""
    return {
        "run": "20240520T101500Z-3f9a",
        "created": "2024-05-20T10:15:00Z",
        "feature_set": "5a0b2c4d9e" * 4,
        "content": "77ab02cd41" * 4,
    }
