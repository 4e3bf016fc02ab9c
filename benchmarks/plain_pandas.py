"""Layers 1 to 5 and the 42 features as a desk writes them in pandas: one rolling call a term, one frame for everything."""

import numpy as np
import pandas as pd

POINT = 1_000_000_000
PRICES = ["open", "high", "low", "close"]


def sanitise(rolled: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Layer 1: boolean masks and the ratio to the close before."""
    bars = rolled.copy()
    for name in PRICES:
        bars[name] = bars[name].where(bars[name] != 2**63 - 1) / POINT
    bars = bars.sort_values(["expiry", "ts_event"]).reset_index(drop=True)
    bars["reason"] = ""
    ratio = bars["close"] / bars.groupby("expiry")["close"].shift()
    rules = {
        "undefined": bars[PRICES].isna().any(axis=1),
        "nonpositive": (bars[PRICES] <= 0).any(axis=1),
        "high_below_low": bars["high"] < bars["low"],
        "open_outside": (bars["open"] > bars["high"]) | (bars["open"] < bars["low"]),
        "close_outside": (bars["close"] > bars["high"]) | (bars["close"] < bars["low"]),
        "off_tick": ((bars[PRICES] / 0.25) % 1 != 0).any(axis=1),
        "duplicate": bars.duplicated(["expiry", "publisher_id", "ts_event"]),
        "ratio": (ratio < 0.5) | (ratio > 2.0),
    }
    for name, broken in rules.items():
        bars.loc[broken & (bars["reason"] == ""), "reason"] = name
    rejected = bars[bars["reason"] != ""]
    good = bars[bars["reason"] == ""].sort_values("ts_event").reset_index(drop=True)
    return good, rejected


def features(bars: pd.DataFrame) -> tuple[pd.DataFrame, pd.Series]:
    """Layer 2 and the 42 features."""
    r = np.log(bars["close"]).groupby(bars["expiry"]).diff()
    masked = r.abs() > 0.1
    r = r.clip(-0.1, 0.1)
    step = r.fillna(0.0)
    c = np.exp(step.cumsum())
    o, h, low = (bars[name] / bars["close"] * c for name in ("open", "high", "low"))
    v = bars["volume"].astype(float)
    s60 = step.rolling(60).std().clip(lower=1e-6)
    out = pd.DataFrame(index=bars.index)
    for k in (1, 2, 5, 10, 20, 60, 120, 240):
        out[f"ret_{k}"] = (np.log(c / c.shift(k)) / (s60 * np.sqrt(k))).clip(-5, 5)
    out["gap"] = (np.log(o / c.shift(1)) / s60).clip(-5, 5)
    reach = (bars["high"] - bars["low"]) + 1e-12 * bars["close"]
    out["body"] = (bars["close"] - bars["open"]) / reach
    out["upper_wick"] = (bars["high"] - bars[["open", "close"]].max(axis=1)) / reach
    out["clv"] = (2 * bars["close"] - bars["high"] - bars["low"]) / reach
    out["z_20"] = (c - c.rolling(20).mean()) / c.rolling(20).std()
    out["z_240"] = ((c - c.rolling(240).mean()) / c.rolling(240).std()).clip(-5, 5)
    move = c.diff()
    gain, loss = move.clip(lower=0).rolling(14).mean(), (-move).clip(lower=0).rolling(14).mean()
    out["rsi_14"] = (gain - loss) / (gain + loss)
    true_range = pd.concat([h - low, (h - c.shift()).abs(), (low - c.shift()).abs()], axis=1).max(axis=1)
    atr = true_range.rolling(14).mean()
    macd = c.ewm(span=12, adjust=False).mean() - c.ewm(span=26, adjust=False).mean()
    out["macd_hist"] = ((macd - macd.ewm(span=9, adjust=False).mean()) / atr).clip(-5, 5)
    for name, n in (("stoch_14", 14), ("donch_60", 60)):
        bottom, top = low.rolling(n).min(), h.rolling(n).max()
        out[name] = 2 * (c - bottom) / (top - bottom) - 1
    out["eff_ratio_20"] = np.log(c / c.shift(20)) / step.abs().rolling(20).sum()
    up, down = h.diff(), -low.diff()
    plus = up.where((up > down) & (up > 0), 0.0).rolling(14).sum()
    minus = down.where((down > up) & (down > 0), 0.0).rolling(14).sum()
    out["di_diff_14"] = (plus - minus) / (plus + minus)
    s240 = step.rolling(240).std().clip(lower=1e-6)
    out["vol_10_60"] = np.log(step.rolling(10).std().clip(lower=1e-6) / s60).clip(-3, 3)
    out["vol_60_240"] = np.log(s60 / s240).clip(-3, 3)
    natr = (atr / c).clip(lower=1e-6)
    out["natr_rel"] = np.log(natr / natr.rolling(240).mean()).clip(-3, 3)
    hl, co = np.log(h / low), np.log(c / o)
    out["parkinson_20"] = np.log(np.sqrt((hl**2).rolling(20).mean() / (4 * np.log(2))).clip(lower=1e-6) / s60).clip(-3, 3)
    gk = (hl**2 / 2 - (2 * np.log(2) - 1) * co**2).rolling(20).mean().clip(lower=0)
    out["garman_klass_20"] = np.log(np.sqrt(gk).clip(lower=1e-6) / s60).clip(-3, 3)
    rs = np.log(h / c) * np.log(h / o) + np.log(low / c) * np.log(low / o)
    k = 0.34 / (1.34 + 21 / 19)
    yz = np.log(o / c.shift()).rolling(20).var() + k * co.rolling(20).var() + (1 - k) * rs.rolling(20).mean()
    out["yang_zhang_20"] = np.log(np.sqrt(yz.clip(lower=0)).clip(lower=1e-6) / s60).clip(-3, 3)
    size = step.abs()
    out["absret_cv_60"] = (size.rolling(60).std() / size.rolling(60).mean()).clip(0, 5)
    logs = np.log1p(v)
    out["vol_z_60"] = ((logs - logs.rolling(60).mean()) / logs.rolling(60).std()).clip(-5, 5)
    out["relvol_5_240"] = np.log((1 + v.rolling(5).mean()) / (1 + v.rolling(240).mean())).clip(-3, 3)
    vwap = (((h + low + c) / 3) * v).rolling(60).sum() / v.rolling(60).sum()
    out["vwap_dev_60"] = (np.log(c / vwap) / (s60 * np.sqrt(60))).clip(-5, 5)
    out["signed_vol_20"] = (np.sign(step) * v).rolling(20).sum() / (1 + v.rolling(20).sum())
    impact = size / (c * (v + 1))
    out["amihud_60"] = np.log(impact.rolling(60).mean() / impact.rolling(240).mean()).clip(-3, 3)
    out["kyle_corr_60"] = step.rolling(60).corr(np.sign(step) * np.sqrt(c * v)).clip(0, 1)
    covariance = step.rolling(60).cov(step.shift(1))
    out["roll_60"] = (2 * np.sqrt((-covariance).clip(lower=0)) / s60).clip(0, 2)
    out["skew_60"] = step.rolling(60).skew().clip(-5, 5)
    out["exkurt_60"] = step.rolling(60).kurt().clip(-2, 10) / 5
    out["acf1_60"] = step.rolling(60).corr(step.shift(1))
    ten = np.log(c / c.shift(10))
    ratio = ten.rolling(240).var() / (10 * step.rolling(240).var())
    out["hurst_vr_240"] = (0.5 + 0.5 * np.log(ratio) / np.log(10)).clip(0, 1)
    local = bars["ts_event"].dt.tz_convert("America/Chicago")
    minute = local.dt.hour * 60 + local.dt.minute
    weekday = pd.to_datetime(bars["session"].astype(str), format="%Y%m%d").dt.dayofweek
    out["tod_sin"], out["tod_cos"] = np.sin(2 * np.pi * minute / 1440), np.cos(2 * np.pi * minute / 1440)
    out["dow_sin"], out["dow_cos"] = np.sin(2 * np.pi * weekday / 7), np.cos(2 * np.pi * weekday / 7)
    return out, masked


def normalised(matrix: pd.DataFrame, train: slice) -> tuple[pd.DataFrame, list[pd.DataFrame]]:
    """Layers 3, 4 and 5, and what each of them altered."""
    bounded = matrix.replace([np.inf, -np.inf], np.nan).clip(-5, 5)
    found = altered(matrix, 5)
    mean, std = bounded.iloc[train].mean(), bounded.iloc[train].std(ddof=0)
    z = (bounded - mean) / std
    found += altered(z, 20)
    z = z.clip(-20, 20).astype(np.float32)
    rest = z.iloc[254:]
    if not ((rest.abs() <= 20) | rest.isna()).all(axis=None):
        raise ValueError("features out of bounds")
    return z, found


def altered(values: pd.DataFrame, limit: float) -> list[pd.DataFrame]:
    """A finding a value beyond the limit."""
    tables = []
    for name in values:
        hit = values.loc[values[name].abs() > limit, name]
        tables.append(pd.DataFrame({"row": hit.index, "feature": name, "value": hit.to_numpy(), "limit": limit}))
    return tables
