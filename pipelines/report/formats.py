"""Numbers as text: money, fractions, ratios, counts, times; an undefined number is called that, never 0."""

import math
from collections.abc import Callable

UNDEFINED = "undefined"
MINUS = "\N{MINUS SIGN}"
INFINITE = {"Infinity": "infinite", "-Infinity": f"{MINUS}infinite"}
"""Texts of a ranking's infinite numbers, which JSON has no word for."""
_SIGNS = {"USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥"}


def _signed(text: str, value: float, plus: bool) -> str:
    rounded_to_zero = not any(digit in text for digit in "123456789")
    if rounded_to_zero:
        return text
    return (MINUS if value < 0 else "+" if plus else "") + text


def _money(value: float, currency: str, decimals: int, plus: bool) -> str:
    sign = _SIGNS.get(currency, f"{currency} ")
    return _signed(f"{sign}{abs(value):,.{decimals}f}", value, plus)


def _plain(value: float, decimals: int, plus: bool = False, suffix: str = "") -> str:
    return _signed(f"{abs(value):,.{decimals}f}{suffix}", value, plus)


_UNITS: dict[str, Callable[[float, str], str]] = {
    "money": lambda value, currency: _money(value, currency, 0, plus=False),
    "signed_money": lambda value, currency: _money(value, currency, 0, plus=True),
    "cents": lambda value, currency: _money(value, currency, 2, plus=False),
    "signed_cents": lambda value, currency: _money(value, currency, 2, plus=True),
    "fraction": lambda value, _: _plain(value * 100.0, 1, suffix="%"),
    "signed_fraction": lambda value, _: _plain(value * 100.0, 1, plus=True, suffix="%"),
    "ratio": lambda value, _: _plain(value, 2),
    "fine": lambda value, _: _plain(value, 3),
    "count": lambda value, _: _plain(value, 0),
    "seconds": lambda value, _: f"{value:,.2f}\N{NARROW NO-BREAK SPACE}s",
}


def number(value: float | str | None, unit: str, currency: str = "USD") -> str:
    """Text of `value` in `unit`, a name in the table of units (money, fraction, ratio, count, ...).

    "Infinity", as a ranking's document says it, gives "infinite"; None, NaN and infinities give "undefined". Negative
    numbers carry a true minus sign; what rounds to zero, none.
    """
    if isinstance(value, str):
        return INFINITE[value]
    if value is None or not math.isfinite(value):
        return UNDEFINED
    return _UNITS[unit](float(value), currency)


def share(count: int, total: int) -> str:
    """`count` of `total` as a percentage; what would round to zero but is not is "<0.1%"."""
    if total <= 0:
        return UNDEFINED
    return "<0.1%" if 0 < count / total < 0.0005 else number(count / total, "fraction")


def significant(value: float | None, digits: int = 3) -> str:
    """Text of `value` with so many significant digits and a true minus sign: for values of any scale."""
    if value is None or not math.isfinite(value):
        return UNDEFINED
    return f"{value:.{digits}g}".replace("-", MINUS)


def parameter(value: object) -> str:
    """Text of a parameter's value: floats in their shortest form, a whole float without its decimal point."""
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}" if math.isfinite(value) else UNDEFINED
    return str(value)


def instant(text: str) -> str:
    """An ISO 8601 time in UTC as 2024-03-15 09:31Z: to the minute, the seconds of a bar's start being 0."""
    return f"{text[:10]} {text[11:16]}Z"


def session_date(session: int) -> str:
    """yyyymmdd as 2024-03-15."""
    return f"{session // 10000:04d}-{session // 100 % 100:02d}-{session % 100:02d}"
