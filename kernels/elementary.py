"""exp and log as fixed sequences of exactly rounded operations, and small functions composed of the opcodes.

A library's exp and log differ between executors in the last digit. Here the argument is reduced by a power of two, which
is exact, and a polynomial of fixed order is evaluated on the rest, so that every executor gives the same bits. All
functions take a float, a float64 array or a traced value.
"""

import math

from kernels.values import Number, exponent, floor, maximum, minimum, scale, where

_LN2_HIGH = float.fromhex("0x1.62e42fee00000p-1")
"""The upper bits of ln 2: its product with any exponent of a float64 is exact."""
_LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
"""ln 2 less its upper bits."""

_EXP_TERMS = tuple(1.0 / math.factorial(n) for n in range(14, 1, -1))
"""Taylor's coefficients of (e^r - 1 - r) / r², the highest first; |r| <= ln 2 / 2 leaves out less than 2^-60."""

_LOG_TERMS = tuple(2.0 / n for n in range(25, 2, -2))
"""Coefficients of 2 artanh(s) / s - 2 in powers of s², the highest first; |s| < 0.1716 leaves out less than 2^-60."""


def exp(a: Number) -> Number:
    """e^a within 1 ulp, the same bits on every executor; inf above 709.78, 0 below -745.13, NaN stays NaN.

    a = k ln 2 + r with |r| <= ln 2 / 2 and e^a = 2^k · (1 + r + r² p(r)); the rounding error of r is added back.
    """
    a = minimum(maximum(a, -746.0), 710.0)
    k = floor(a * (1.0 / math.log(2.0)) + 0.5)
    high, low = a - k * _LN2_HIGH, k * _LN2_LOW
    r = high - low
    lost = (high - r) - low
    tail = _polynomial(r, _EXP_TERMS) * (r * r)
    return scale(1.0 + (r + (tail + (lost + lost * r))), k)


def log(a: Number) -> Number:
    """Natural logarithm within 1 ulp, the same bits on every executor; -inf at 0, NaN below, NaN stays NaN.

    a = 2^k (1 + f) with 1 + f in [√½, √2), s = f / (2 + f): ln(1 + f) = f - (f²/2 - s (f²/2 + R(s²))).
    """
    positive = where(a > 0.0, a, 1.0)
    finite = where(positive < math.inf, positive, 1.0)
    k = exponent(finite)
    mantissa = scale(finite, -k)
    upper = mantissa > math.sqrt(2.0)
    k = where(upper, k + 1.0, k)
    f = where(upper, mantissa * 0.5, mantissa) - 1.0
    s = f / (2.0 + f)
    square = s * s
    half = 0.5 * f * f
    rest = _polynomial(square, _LOG_TERMS) * square
    found = k * _LN2_HIGH - ((half - (s * (half + rest) + k * _LN2_LOW)) - f)
    return where(a > 0.0, where(a < math.inf, found, a), where(a < 0.0, math.nan, where(a < math.inf, -math.inf, a)))


def sign(a: Number) -> Number:
    """1 above zero, -1 below, a zero as it is; NaN stays NaN."""
    return where(a > 0.0, 1.0, where(a < 0.0, -1.0, a))


def clip(a: Number, low: Number, high: Number) -> Number:
    """``a`` within [low, high]; NaN if any of the three is NaN; ``high`` where low > high."""
    return minimum(maximum(a, low), high)


def _polynomial(x: Number, coefficients: tuple[float, ...]) -> Number:
    """By Horner's scheme; the last coefficient is the constant one."""
    total: Number = coefficients[0]
    for coefficient in coefficients[1:]:
        total = total * x + coefficient
    return total
