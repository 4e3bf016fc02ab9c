"""Log returns of bars, inside a contract only."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray


def log_returns(bars: pd.DataFrame) -> NDArray[np.float64]:
    """ln(close / close of the bar before), float64 [bars].

    NaN on the first bar, on the first bar of another contract (a roll is no return), and where either close is at or
    below zero, as no logarithm exists there.

    Args:
        bars: bars table sorted by time; `expiry` and `close` are read.
    """
    expiry, close = bars["expiry"].to_numpy(), bars["close"].to_numpy(np.float64)
    returns = np.full(len(bars), np.nan)
    inside = (expiry[1:] == expiry[:-1]) & (close[1:] > 0) & (close[:-1] > 0)
    ratio = np.divide(close[1:], close[:-1], out=np.full(len(inside), np.nan), where=inside)
    np.log(ratio, out=returns[1:], where=inside)
    return returns


def path_steps(bars: pd.DataFrame, clamped_returns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Steps of the logarithmic level path, float64 [bars]: the clamped return, 0 on the first bar of another contract.

    So neither a roll nor a clamped spike leaves a jump in the levels of features. NaN on the first bar, which has none
    before it, and wherever else the return is NaN: a feature whose window holds such a step is NaN.
    """
    expiry = bars["expiry"].to_numpy()
    steps = np.array(clamped_returns, np.float64)
    close = bars["close"].to_numpy(np.float64)
    rolled = np.flatnonzero((expiry[1:] != expiry[:-1]) & (close[1:] > 0) & (close[:-1] > 0)) + 1
    steps[rolled] = 0.0
    return steps
