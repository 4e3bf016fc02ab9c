"""Back-adjusted levels of a continuous series: for charts only.

The newest contract is drawn at its own price and the past is moved to meet it, so every roll rewrites all that came before:
a signal on such levels knows of rolls to come, and a fill at them pays prices that nobody could. Hence a table of its
own whose columns carry names that no fill, mark or adjusted level has: a sweep or an environment refuses it.
"""

import numpy as np
import pandas as pd

from loaders.continuous import factors, shifts
from loaders.continuous_rolls import PRICES, series_of
from loaders.roll_settings import CHART_ADJUSTMENTS, require_adjustment
from loaders.types import PRICE_SCALE, TIMESTAMP, table

CHART_COLUMNS = {
    "chart_time": TIMESTAMP, "chart_session": "int32", "chart_contract": "str",
    "chart_open": "float64", "chart_high": "float64", "chart_low": "float64", "chart_close": "float64",
    "chart_volume": "int64",
}


def chart_bars(accepted: pd.DataFrame, method: str) -> pd.DataFrame:
    """Table CHART_COLUMNS of ``accepted`` (as for continuous_bars), adjusted backward: the last contract as it is.

    ``method`` is 'back_difference', whose old levels may go through zero, or 'back_ratio', whose levels keep percent
    returns but no ticks. Raises DataError for an unknown method, and as continuous_bars.
    """
    require_adjustment(method, CHART_ADJUSTMENTS)
    series = series_of(accepted)
    if method == "back_difference":
        shift = shifts(series)
        shift = shift - shift[-1:].sum()  # of an empty series: nothing
        levels = {name: (series.prices[name] + shift) / PRICE_SCALE for name in PRICES}
    else:
        factor = factors(series)
        factor = factor / np.prod(factor[-1:])
        levels = {name: series.prices[name] / PRICE_SCALE * factor for name in PRICES}
    return table(CHART_COLUMNS, {
        "chart_time": series.times,
        "chart_session": series.bars["session"].to_numpy(),
        "chart_contract": series.bars["contract"],
        "chart_volume": series.bars["volume"].to_numpy(),
        **{f"chart_{name}": levels[name] for name in PRICES},
    })
