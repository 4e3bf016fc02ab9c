"""Layer 2 for levels: indicators on adjusted prices must not see a price whose return was clamped."""

import numpy as np
import pandas as pd

LEVELS = ("adj_open", "adj_high", "adj_low", "adj_close")


def carry_levels(bars: pd.DataFrame) -> pd.DataFrame:
    """Return the bars with the adjusted levels of masked rows replaced by the last unmasked adjusted close.

    One poisoned close would otherwise stand in a 600-bar channel for 600 bars. Causal: a row reads rows before it only.
    A masked row without an unmasked one before it keeps its levels. The bar's own prices (`open` to `close`) stay as they
    were delivered; nothing trades at them while `masked` is set.

    Args:
        bars: with `masked` (bool) and the four adjusted levels (float64).
    """
    masked = bars["masked"].to_numpy(dtype=bool)
    last = np.maximum.accumulate(np.where(masked, -1, np.arange(len(bars)))) if len(bars) else np.zeros(0, np.intp)
    replaced = masked & (last >= 0)
    carried = bars["adj_close"].to_numpy()[np.maximum(last, 0)]
    return bars.assign(**{name: np.where(replaced, carried, bars[name].to_numpy()) for name in LEVELS})
