"""docs/features.md, written from the table of features: `python -m kernels.features.document > docs/features.md`."""

import sys

from kernels.features.flow_table import FLOW_FEATURES, FLOW_LOOK_BACK
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

The exchange's clock is that of `session.timezone`: 08:30 in Chicago has one tod_sin and tod_cos in summer and in winter. Trade
dates turn at `session.turns_at`: Sunday evening has the dow_sin and dow_cos of Monday, to whose session it belongs.

Your own features: [a tutorial](tutorial-feature.md). Which columns a feature set has: `features` in the configuration.

"""
_FLOW = f"""
# Order-flow features

{len(FLOW_FEATURES)} more columns with `features.include: [market, order_flow]`, from ten-level books (MBP-10) and trades,
summed up to the bar by `kernels.features.book_flow.bar_flow`; `loaders.book` builds such books from order-by-order records
(MBO). A row has order flow when all of the last {FLOW_LOOK_BACK} bars have a book, a mid above zero and a return; any other
row holds nine zeros, and the mask `has_flow` of the feature set says so. Without books the columns are zeros throughout: the
normaliser leaves a constant column as it is.

| sign | meaning |
|---|---|
| Pb Pa qb qa | best bid and ask price and size; with an index, of that level; at the bar's end where not said otherwise |
| e_l | of an event: 1(Pb >= Pb') qb - 1(Pb <= Pb') qb' - 1(Pa <= Pa') qa + 1(Pa >= Pa') qa' of level l, ' the event before; \
a side that is empty before or after gives 0 |
| D_l | time mean of (qb + qa) / 2 of level l over the bar |

A crossed book, as in an auction, is none. e_l and the volumes count whole contracts, so their sums are exact.

"""


def features_markdown() -> str:
    """The text of docs/features.md."""
    lines = ["| # | name | formula | range | warm-up | still | family |", "|---|---|---|---|---|---|---|"]
    lines += [_row(number, feature) for number, feature in enumerate(FEATURES, start=1)]
    flow = [
        *lines[:2],
        *(_row(number, feature) for number, feature in enumerate(FLOW_FEATURES, start=len(FEATURES) + 1)),
    ]
    return _HEAD + "\n".join(lines) + "\n" + _FLOW + "\n".join(flow) + "\n"


def _row(number: int, feature: Feature) -> str:
    formula = feature.formula.replace("|", "\\|")
    still = "" if feature.empty is None else f"{feature.empty:g}"
    bounds = f"{feature.low:g} to {feature.high:g}"
    return f"| {number} | {feature.name} | {formula} | {bounds} | {feature.warm_up} | {still} | {feature.family} |"


if __name__ == "__main__":
    sys.stdout.write(features_markdown())
