"""docs/features.md, written from the table of features: `python -m kernels.features.document > docs/features.md`."""

import sys

from kernels.features.table import FEATURES, WARM_UP, Feature

_HEAD = f"""# Market features

Written by `python -m kernels.features.document` from `kernels/features/table.py`; a test compares the two.

{len(FEATURES)} features from OHLCV and time, float64, one row a bar. The value at bar t reads bars t - {WARM_UP - 1}
to t and no other, so neither later bars nor the start of the series nor the cut into chunks changes a bit of it. After
its warm-up a feature is a finite number within its bounds, in a market without trades and moves too; "still" is its
value there. Look-back of all features together: {WARM_UP} bars; keep the embargo of folds at least as long.

| sign | meaning |
|---|---|
| O H L C V | open, high, low, close, volume of the bar |
| r | clamped log return ln(C_t / C_t-1) of layer 2; 0 on the first bar of another contract |
| levels | L_t = L_t-1 exp(r_t); O, H, L stand to L as they stand to C in the raw bar: neither a roll nor a clamped \
spike leaves a jump; levels are known up to a constant, and every formula with levels is free of it |
| m_n sum_n var_n sd_n cov_n corr_n | over the n bars that end at t; var, sd and cov are sample ones (n - 1) |
| s60 | max(sd60 r, 1e-6) |
| e | 1e-12 |
| TR | max(H, C_t-1) - min(L, C_t-1) |
| HHn LLn | highest high, lowest low of n bars |
| clip a | cut to [-a, a] |
| 0 / 0 | the value under "still" |

Choices where the sources leave one: volatilities have a floor of 1e-6, about a fiftieth of an ES tick, so that a flat
market is measured with something; standard deviations below 1e-12 are rounding and count as 0; the 1 in amihud_60 is
one contract, not one unit of money, which keeps it free of the level's constant; kyle_corr_60 is negative only where
nearly all returns of the window have one sign, and is cut at 0; a price at or below zero makes the features of levels
NaN while it lies in their windows, and such rows are not valid.

"""


def features_markdown() -> str:
    """The text of docs/features.md."""
    lines = ["| # | name | formula | range | warm-up | still | family |", "|---|---|---|---|---|---|---|"]
    lines += [_row(number, feature) for number, feature in enumerate(FEATURES, start=1)]
    return _HEAD + "\n".join(lines) + "\n"


def _row(number: int, feature: Feature) -> str:
    formula = feature.formula.replace("|", "\\|")
    still = "" if feature.empty is None else f"{feature.empty:g}"
    bounds = f"{feature.low:g} to {feature.high:g}"
    return f"| {number} | {feature.name} | {formula} | {bounds} | {feature.warm_up} | {still} | {feature.family} |"


if __name__ == "__main__":
    sys.stdout.write(features_markdown())
