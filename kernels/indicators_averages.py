"""Moving averages of any expression: exponential, Wilder's, double and triple, weighted, Hull's, Kaufman's.

NaN rule of the recursive ones: a NaN bar leaves the average as it is and takes no weight (pandas' ``ignore_na=True``);
leading NaN are not counted. ``seed="first"`` starts from the first value, ``seed="mean"`` from the mean of the first
``window`` values (TA-Lib's convention), NaN until then.
"""

import math
from typing import Any

from kernels.elementary import exp
from kernels.expressions import lag
from kernels.indicators_windows import rolling_sum
from kernels.scans import build_scan
from kernels.values import ExpressionError, Number, Value, absolute, constant, floor, isnan, sqrt, where
from kernels.windowed import check_source, check_window, windowed

SEEDS = ("first", "mean")


def ema(x: Any, span: Any, seed: str = "first") -> Value:
    """Exponential average: e += (x - e) * 2 / (span + 1). Warm-up span - 1 bars.

    ``seed="first"`` equals pandas' ``ewm(span=…, adjust=False, ignore_na=True)``, ``seed="mean"`` TA-Lib's EMA.
    """
    return _average("ema", x, span, 2.0 / (constant(span) + 1.0), seed)


def wilder(x: Any, window: Any, seed: str = "mean") -> Value:
    """Wilder's average: w += (x - w) / window. Warm-up window - 1 bars."""
    return _average("wilder", x, window, 1.0 / constant(window), seed)


def ema_halflife(x: Any, halflife: Any) -> Value:
    """Exponential average whose weights halve every ``halflife`` > 0 bars: e += (x - e) * (1 - exp(-ln 2 / halflife)).

    Seeded with the first x that is not NaN (pandas' ``ewm(halflife=…, adjust=False, ignore_na=True)``). No warm-up.
    """
    source, life = constant(x), constant(halflife)
    check_source("ema_halflife", source)
    check_window("ema_halflife", life)
    weight = 1.0 - exp(-math.log(2.0) / life)

    def step(average: Number, value: Number) -> Number:
        return ema_step(average, value, weight)

    return build_scan(
        "ema_halflife", step, math.nan, (source,), None, constant(0.0), least=0, shown=(source, life)
    )


def ema_step(average: Number, x: Number, weight: Number) -> Number:
    """The next exponential average; a NaN average is seeded with x, a NaN x changes nothing."""
    return where(isnan(x), average, where(isnan(average), x, average + weight * (x - average)))


def dema(x: Any, span: Any) -> Value:
    """2 e1 - e2 with e1 the average of x, e2 that of e1, both seeded with a mean (TA-Lib). Warm-up 2 (span - 1) bars."""
    first = ema(x, span, "mean")
    return 2.0 * first - ema(first, span, "mean")


def tema(x: Any, span: Any) -> Value:
    """3 e1 - 3 e2 + e3, each the average of the one before, seeded with a mean (TA-Lib). Warm-up 3 (span - 1) bars."""
    first = ema(x, span, "mean")
    second = ema(first, span, "mean")
    return 3.0 * first - 3.0 * second + ema(second, span, "mean")


def wma(x: Any, window: Any) -> Value:
    """Mean of the last ``window`` bars with weights window, window - 1, … 1 from the newest on.

    Warm-up window - 1 bars. NaN rule: NaN while the window holds a NaN.
    """
    return windowed("wma", (x,), window)


def hma(x: Any, window: Any) -> Value:
    """Hull's average: wma(2 wma(x, n / 2) - wma(x, n), √n), n = ``window`` >= 2, n / 2 and √n rounded down.

    Warm-up n - 1 + √n - 1 bars. NaN rule: NaN while a window holds a NaN.
    """
    size = constant(window)
    return wma(2.0 * wma(x, floor(size / 2.0)) - wma(x, size), floor(sqrt(size)))


def kama(x: Any, window: Any = 10, fast: Any = 2, slow: Any = 30) -> Value:
    """Kaufman's average: k += c² (x - k), c = E (2 / (fast + 1) - 2 / (slow + 1)) + 2 / (slow + 1), E the share of the
    way of ``window`` bars that was covered on balance, |x - x_window| / Σ|x - x_1|, 1 where nothing moved.

    Seeded with the value before the first full window (TA-Lib's KAMA). Warm-up ``window`` bars. NaN rule: a NaN in the
    window leaves the average as it is.
    """
    source, size = constant(x), constant(window)
    quick, calm = 2.0 / (constant(fast) + 1.0), 2.0 / (constant(slow) + 1.0)
    way = rolling_sum(absolute(source - lag(source, 1)), size)
    ratio = absolute(source - lag(source, size)) / way
    efficiency = where(way == 0.0, 1.0, where(ratio > 1.0, 1.0, ratio))
    rate = efficiency * (quick - calm) + calm

    def step(average: Number, value: Number, before: Number, weight: Number) -> Number:
        base = where(isnan(average), before, average)
        return where(isnan(weight * value), average, base + weight * (value - base))

    inputs = (source, lag(source, 1), rate * rate)
    return build_scan("kama", step, math.nan, inputs, None, constant(0.0), least=0, shown=(source, size))


def _average(name: str, x: Any, window: Any, weight: Number, seed: str) -> Value:
    source, size = constant(x), constant(window)
    check_source(name, source)
    check_window(name, size)
    if seed not in SEEDS:
        raise ExpressionError(f"{name}: seed={seed!r} is unknown: use 'first' or 'mean'")
    if seed == "first":
        return build_scan(
            name, lambda average, value: ema_step(average, value, weight), math.nan, (source,), None, size,
            least=1, offset=-1, shown=(source, size),
        )  # fmt: skip

    def step(state: tuple[Number, Number], value: Number) -> tuple[Number, Number]:
        count, level = state
        counted = count + 1.0
        gathered = level + value  # a sum until the seed is complete
        begun = where(counted == size, gathered / size, gathered)
        following = where(count < size, begun, level + weight * (value - level))
        return where(isnan(value), count, where(count < size, counted, count)), where(isnan(value), level, following)

    def value_of(state: tuple[Number, Number]) -> Number:
        return where(state[0] < size, math.nan, state[1])

    shown = (source, size)
    return build_scan(name, step, (0.0, 0.0), (source,), value_of, size, least=1, offset=-1, shown=shown)


def wilder_sum(x: Any, window: Any) -> Value:
    """Wilder's running sum: s += x - s / window, seeded with the sum of the first ``window`` - 1 values (TA-Lib).

    Exists from the ``window``-th value on. Warm-up window - 1 bars. NaN rule: a NaN bar changes nothing.
    """
    source, size = constant(x), constant(window)
    check_source("wilder_sum", source)
    check_window("wilder_sum", size)

    def step(state: tuple[Number, Number], value: Number) -> tuple[Number, Number]:
        count, total = state
        following = where(count < size - 1.0, total + value, total - total / size + value)
        return where(isnan(value), count, count + 1.0), where(isnan(value), total, following)

    def value_of(state: tuple[Number, Number]) -> Number:
        return where(state[0] < size, math.nan, state[1])

    shown = (source, size)
    return build_scan("wilder_sum", step, (0.0, 0.0), (source,), value_of, size, least=1, offset=-1, shown=shown)
