"""What a bar knows of its past: crossings, bars since an event, values carried forward; and filters as scans."""

import math
from typing import Any, NamedTuple

from kernels.expressions import prev
from kernels.opcodes import BOOL
from kernels.scans import build_scan
from kernels.values import ExpressionError, Number, Value, constant, isnan, where
from kernels.windowed import check_source


def cross_above(a: Any, b: Any) -> Value:
    """Whether a is above b and was not above it at the bar before. One bar of warm-up; false where one of both bars
    has a NaN.
    """
    one, other = constant(a), constant(b)
    return (one > other) & (prev(one) <= prev(other))


def cross_below(a: Any, b: Any) -> Value:
    """Whether a is below b and was not below it at the bar before; as ``cross_above``."""
    one, other = constant(a), constant(b)
    return (one < other) & (prev(one) >= prev(other))


def ffill(x: Any) -> Value:
    """The last x that was not NaN; NaN before the first. No warm-up."""
    source = _source("ffill", x)
    return _scan("ffill", lambda last, value: where(isnan(value), last, value), math.nan, source)


def bars_since(condition: Value) -> Value:
    """Bars since the condition last held, 0 on a bar where it holds; NaN before it first did. No warm-up."""
    truth = constant(condition)
    if truth.type != BOOL:
        raise ExpressionError(f"bars_since: {truth!r} is a number, not a condition; compare it, for instance `x != 0`")
    return _scan("bars_since", lambda bars, held: where(held > 0.0, 0.0, bars + 1.0), math.nan, where(truth, 1.0, 0.0))


def obv(close: Any, volume: Any) -> Value:
    """On-balance volume: plus the volume of a bar that closes higher, minus that of one that closes lower.

    Seed: the first bar's volume (TA-Lib). No warm-up. NaN rule: a bar with a NaN in close or volume changes nothing.
    """

    def step(state: tuple[Number, Number], price: Number, traded: Number) -> tuple[Number, Number]:
        total, last = state
        moved = where(price > last, total + traded, where(price < last, total - traded, total))
        unknown = isnan(price) | isnan(traded)
        return where(unknown, total, where(isnan(last), traded, moved)), where(unknown, last, price)

    return _scan("obv", step, (math.nan, math.nan), _source("obv", close), _source("obv", volume))


def anchored_vwap(price: Any, volume: Any, anchor: Any) -> Value:
    """Σ price · volume / Σ volume since ``anchor`` last changed (``col("session")`` for a session's VWAP).

    No warm-up. NaN rule: a bar with a NaN changes nothing; NaN while nothing was traded (0 / 0).
    """

    def step(state: tuple[Number, ...], at: Number, traded: Number, mark: Number) -> tuple[Number, ...]:
        money, total, last = state
        fresh = ~(mark == last)
        unknown = isnan(at) | isnan(traded)
        money, total = where(fresh, 0.0, money), where(fresh, 0.0, total)
        return where(unknown, money, money + at * traded), where(unknown, total, total + traded), mark

    inputs = [_source("anchored_vwap", item) for item in (price, volume, anchor)]
    return _scan("anchored_vwap", step, (0.0, 0.0, math.nan), *inputs, output=lambda state: state[0] / state[1])


class _Level(NamedTuple):
    level: Any
    variance: Any


def kalman_level(x: Any, process_noise: Any, observation_noise: Any) -> Value:
    """Kalman's filter of a local level: l_t = l_t-1 + N(0, process_noise), x_t = l_t + N(0, observation_noise).

    p = P + q, k = p / (p + r), l += k (x - l), P = (1 - k) p. Seed: l the first x that is not NaN, P = r there. No
    warm-up. NaN rule: a NaN bar is predicted, not updated (l stays, P grows by q).
    """
    q, r = constant(process_noise), constant(observation_noise)

    def step(state: _Level, seen: Number) -> _Level:
        predicted = state.variance + q
        gain = predicted / (predicted + r)
        first, unknown = isnan(state.level), isnan(seen)
        level = where(unknown, state.level, where(first, seen, state.level + gain * (seen - state.level)))
        updated = where(first, r, (1.0 - gain) * predicted)
        return _Level(level, where(unknown, where(first, state.variance, predicted), updated))

    source = _source("kalman_level", x)
    return _scan("kalman_level", step, _Level(math.nan, 0.0), source, shown=(source, q, r))


def garch_variance(returns: Any, omega: Any, alpha: Any, beta: Any) -> Value:
    """GARCH(1, 1): the variance expected for the next bar, v = omega + alpha r² + beta v.

    Seed: the long-run variance omega / (1 - alpha - beta), which needs alpha + beta < 1. No warm-up. NaN rule: a NaN
    return changes nothing.
    """
    w, a, b = constant(omega), constant(alpha), constant(beta)

    def step(variance: Number, move: Number) -> Number:
        return where(isnan(move), variance, w + a * (move * move) + b * variance)

    source = _source("garch_variance", returns)
    return _scan("garch_variance", step, w / (1.0 - a - b), source, shown=(source, w, a, b))


def _source(name: str, x: Any) -> Value:
    source = constant(x)
    check_source(name, source)
    return source


def _scan(name: str, step: Any, init: Any, *inputs: Value, output: Any = None, shown: Any = None) -> Value:
    return build_scan(name, step, init, inputs, output, constant(0.0), least=0, shown=shown)
