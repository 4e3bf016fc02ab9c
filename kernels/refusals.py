"""What an expression cannot be used as: each misuse raises ``ExpressionError`` with the rewrite.

An expression stands for every bar and combination at once, so it has no truth value, no length, no number; and what numpy
or pandas would compute of it belongs to the language (``kernels.expressions``, ``kernels.indicators``).
"""

from typing import NoReturn


class ExpressionError(TypeError):
    """A traced value was used as if it were a number; the message shows the rewrite."""


_WORDS = {
    "sqrt": "sqrt(x)", "abs": "abs(x)", "absolute": "abs(x)", "fabs": "abs(x)", "sign": "sign(x)", "floor": "floor(x)",
    "ceil": "-floor(-x)", "trunc": "trunc(x)", "exp": "exp(x)", "log": "log(x)", "log1p": "log(1 + x)",
    "log2": "log(x) / log(2)", "log10": "log(x) / log(10)", "maximum": "max(a, b)", "fmax": "max(a, b)",
    "minimum": "min(a, b)", "fmin": "min(a, b)", "isnan": "isnan(x)", "clip": "clip(x, low, high)",
    "square": "x * x", "power": "x * x, or exp(power * log(x)) for x > 0", "negative": "-x", "where": "where(c, x, y)",
    "logical_and": "a & b", "logical_or": "a | b", "logical_not": "~a",
}  # fmt: skip
"""What numpy calls by that name → how the language says it."""

_SERIES = {
    "shift": "lag(x, n)", "diff": "x - lag(x, n)", "pct_change": "roc(x, n) / 100", "rolling": "sma(x, n), …",
    "mean": "sma(x, n)", "sum": "rolling_sum(x, n)", "std": "rolling_std(x, n)", "var": "rolling_var(x, n)",
    "min": "rolling_min(x, n)", "max": "rolling_max(x, n)", "ewm": "ema(x, n)", "ffill": "ffill(x)",
    "fillna": "where(isnan(x), value, x)", "isna": "isnan(x)", "clip": "clip(x, low, high)", "abs": "abs(x)",
    "where": "where(condition, x, other)", "rank": "rolling_rank(x, n)", "median": "rolling_median(x, n)",
    "corr": "rolling_corr(x, y, n)",
}  # fmt: skip
"""A pandas method → the function of the language."""


class Refusals:
    """The operators and protocols that an expression does not have."""

    __slots__ = ()

    def _refuse(self, use: str, remedy: str) -> NoReturn:
        raise ExpressionError(f"the expression {self!r} cannot be {use}: {remedy}")

    def refuse_numpy(self, name: str) -> NoReturn:
        """Raises ``ExpressionError`` for a function of numpy's."""
        word = _WORDS.get(name)
        remedy = (
            f"write {word} with the words of kernels.expressions" if word else "use the words of kernels.expressions"
        )
        self._refuse(f"given to numpy's {name}", remedy)

    def __array__(self, *_: object, **__: object) -> NoReturn:
        self._refuse("made an array", "use where, min, max, … of kernels.expressions in place of numpy's")

    def __getattr__(self, name: str) -> NoReturn:
        if name in _SERIES:
            raise ExpressionError(f"the expression {self!r} is no Series and has no .{name}: write {_SERIES[name]}")
        raise AttributeError(f"an expression has no attribute {name!r}")

    def __pow__(self, power: object) -> NoReturn:
        self._refuse("raised with `**`", "write x * x, sqrt(x), or exp(power * log(x)) for x > 0")

    def __rpow__(self, base: object) -> NoReturn:
        self._refuse("used as a power with `**`", "write exp(x * log(base))")

    def __floordiv__(self, other: object) -> NoReturn:
        self._refuse("divided with `//`", "write floor(a / b)")

    __rfloordiv__ = __floordiv__

    def __mod__(self, other: object) -> NoReturn:
        self._refuse("used with `%`", "write a - b * floor(a / b)")

    __rmod__ = __mod__

    def __divmod__(self, other: object) -> NoReturn:
        self._refuse("used with divmod()", "write floor(a / b) and a - b * floor(a / b)")

    __rdivmod__ = __divmod__

    def __xor__(self, other: object) -> NoReturn:
        self._refuse("used with `^`", "write (a & ~b) | (~a & b)")

    __rxor__ = __xor__

    def __round__(self, digits: object = None) -> NoReturn:
        self._refuse("rounded", "write floor(x + 0.5), or floor(x / tick + 0.5) * tick")

    def __bool__(self) -> NoReturn:
        raise ExpressionError(
            f"{self!r} has no truth value: it stands for every bar and combination at once. "
            "Write `a & b`, `a | b`, `~a` for `and`, `or`, `not`; `where(condition, x, y)` for `if`; "
            "`(low < x) & (x < high)` for `low < x < high`; `min(a, b)`, `max(a, b)` of kernels.expressions for Python's; "
            "put comparisons in parentheses."
        )

    def __float__(self) -> NoReturn:
        self._refuse("converted to a number", "keep it inside the expression; sqrt, exp, … are in kernels.expressions")

    def __int__(self) -> NoReturn:
        self._refuse("converted to a whole number", "use floor(x) of kernels.expressions")

    def __index__(self) -> NoReturn:
        self._refuse("used as an index or a count", "windows take a whole number or param(...)")

    def __iter__(self) -> NoReturn:
        self._refuse("iterated", "use min and max of kernels.expressions for Python's")

    def __len__(self) -> NoReturn:
        self._refuse("measured with len()", "its length is the number of bars, known to the sweep only")

    def __contains__(self, item: object) -> NoReturn:
        self._refuse("searched with `in`", "write (x == a) | (x == b)")

    def __getitem__(self, key: object) -> NoReturn:
        self._refuse("indexed", "write prev(x) for the value of the bar before; later bars do not exist")

    def __hash__(self) -> NoReturn:
        self._refuse("hashed (used as a dict key or set member)", "use a name as the key")

    def __format__(self, spec: str) -> str:
        if spec:
            self._refuse(f"formatted with {spec!r}", "it has no number yet; {x} alone prints the expression")
        return repr(self)
