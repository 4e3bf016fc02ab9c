"""The 42 market features: one row each, in the order of the matrix."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Feature:
    """A column of the feature matrix.

    name: its name.
    formula: its definition in the notation of docs/features.md.
    low, high: bounds of its values.
    warm_up: bars needed for the first value.
    family: the function that computes it.
    empty: its value on a market that does not move and does not trade.
    """

    name: str
    formula: str
    low: float
    high: float
    warm_up: int
    family: str
    empty: float | None = 0.0


_RETURN_WARM_UPS = {1: 61, 2: 61, 5: 61, 10: 61, 20: 61, 60: 61, 120: 121, 240: 241}

FEATURES: tuple[Feature, ...] = (
    *(
        Feature(f"ret_{k}", f"ln(C_t / C_t-{k}) / (s60 sqrt({k})), clip 5", -5, 5, warm_up, "trend")
        for k, warm_up in _RETURN_WARM_UPS.items()
    ),
    Feature("gap", "ln(O_t / C_t-1) / s60, clip 5", -5, 5, 61, "trend"),
    Feature("body", "(C - O) / (H - L + e |C|)", -1, 1, 1, "trend"),
    Feature("upper_wick", "(H - max(O, C)) / (H - L + e |C|)", 0, 1, 1, "trend"),
    Feature("clv", "(2 C - H - L) / (H - L + e |C|)", -1, 1, 1, "trend"),
    Feature("z_20", "(C - m20 C) / sd20 C", -4.249, 4.249, 20, "oscillators"),
    Feature("z_240", "(C - m240 C) / sd240 C, clip 5", -5, 5, 240, "oscillators"),
    Feature(
        "rsi_14", "(g - l) / (g + l); g, l = m14 of the up and down moves of C (Cutler; RSI / 50 - 1)",
        -1, 1, 15, "oscillators",
    ),
    Feature(
        "macd_hist", "(M - ema9 M) / max(ATR14, 1e-6 C), M = ema12 C - ema26 C; ema weights cut off after 60, 130 and"
        " 45 bars (spans 12, 26, 9) and scaled to sum 1; ATR14 = m14 TR; clip 5", -5, 5, 174, "oscillators",
    ),
    Feature("stoch_14", "2 (C - LL14) / (HH14 - LL14) - 1", -1, 1, 14, "oscillators"),
    Feature("donch_60", "2 (C - LL60) / (HH60 - LL60) - 1", -1, 1, 60, "oscillators"),
    Feature("eff_ratio_20", "ln(C_t / C_t-20) / sum20 |r|", -1, 1, 21, "trend"),
    Feature(
        "di_diff_14", "(P - N) / (P + N), P, N = sum14 of +DM, -DM (Wilder); moves closer than 1e-9 C are equal",
        -1, 1, 15, "oscillators",
    ),
    Feature("vol_10_60", "ln(max(sd10 r, 1e-6) / s60), clip 3", -3, 3, 61, "volatility"),
    Feature("vol_60_240", "ln(s60 / max(sd240 r, 1e-6)), clip 3", -3, 3, 241, "volatility"),
    Feature(
        "natr_rel", "ln(max(N, 1e-6) / max(m240 N, 1e-6)), N = ATR14 / C, clip 3", -3, 3, 254, "volatility"
    ),
    Feature(
        "parkinson_20", "ln(max(sqrt(m20 ln(H/L)^2 / (4 ln 2)), 1e-6) / s60), clip 3", -3, 3, 61, "volatility"
    ),
    Feature(
        "garman_klass_20", "ln(max(sqrt(m20 (ln(H/L)^2 / 2 - (2 ln 2 - 1) ln(C/O)^2)), 1e-6) / s60), clip 3",
        -3, 3, 61, "volatility",
    ),
    Feature(
        "yang_zhang_20", "ln(max(sqrt(var20 ln(O/C_-1) + k var20 ln(C/O) + (1 - k) m20 RS), 1e-6) / s60),"
        " RS = ln(H/C) ln(H/O) + ln(L/C) ln(L/O), k = 0.34 / (1.34 + 21/19), clip 3", -3, 3, 61, "volatility",
    ),
    Feature("absret_cv_60", "sd60 |r| / m60 |r|, clip 5", 0, 5, 61, "volatility"),
    Feature("vol_z_60", "(v - m60 v) / sd60 v, v = ln(1 + V), clip 5", -5, 5, 60, "liquidity"),
    Feature("relvol_5_240", "ln((1 + m5 V) / (1 + m240 V)), clip 3", -3, 3, 240, "liquidity"),
    Feature(
        "vwap_dev_60", "ln(C / VWAP60) / (s60 sqrt(60)), VWAP60 of (H + L + C) / 3; 0 without volume; clip 5",
        -5, 5, 61, "liquidity",
    ),
    Feature("signed_vol_20", "sum20 sign(r) V / (1 + sum20 V)", -1, 1, 21, "liquidity"),
    Feature("amihud_60", "ln(m60 A / m240 A), A = |r| / (C (V + 1)), clip 3", -3, 3, 241, "liquidity"),
    Feature("kyle_corr_60", "corr60(r, sign(r) sqrt(C V)), clip to [0, 1]", 0, 1, 61, "liquidity"),
    Feature("roll_60", "2 sqrt(max(0, -cov60(r, r_-1))) / s60, clip 2", 0, 2, 62, "liquidity"),
    Feature("skew_60", "m60 d^3 / (m60 d^2)^1.5, d = r - m60 r, clip 5", -5, 5, 61, "shape"),
    Feature("exkurt_60", "clip(m60 d^4 / (m60 d^2)^2 - 3, -2, 10) / 5", -0.4, 2, 61, "shape"),
    Feature("acf1_60", "corr60(r, r_-1)", -1, 1, 62, "shape"),
    Feature(
        "hurst_vr_240", "0.5 + 0.5 ln(var240 r10 / (10 var240 r)) / ln 10, r10 = ln(C_t / C_t-10), clip to [0, 1]",
        0, 1, 250, "shape", 0.5,
    ),
    Feature(
        "tod_sin", "sin(2 pi minute / 1440), minute of the day of ts_event by the exchange's clock", -1, 1, 1, "clock", None
    ),
    Feature("tod_cos", "cos(2 pi minute / 1440)", -1, 1, 1, "clock", None),
    Feature("dow_sin", "sin(2 pi weekday / 7), weekday of the trade date, Monday is 0", -1, 1, 1, "clock", None),
    Feature("dow_cos", "cos(2 pi weekday / 7)", -1, 1, 1, "clock", None),
)  # fmt: skip

WARM_UP = max(feature.warm_up for feature in FEATURES)  # bars until every feature has a value


def feature_names() -> tuple[str, ...]:
    """The 42 names in the order of the matrix."""
    return tuple(feature.name for feature in FEATURES)
