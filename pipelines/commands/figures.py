"""How figures of models stand on the screen: money to the cent, counts whole, shares in per cent."""

from collections.abc import Iterable, Mapping

_FORMS = {
    "net_profit": ",.2f", "gross_profit": ",.2f", "fees": ",.2f", "slippage": ",.2f", "final_equity": ",.2f",
    "expectancy": ",.2f", "trades": ",.0f", "max_drawdown": ".1%", "total_return": ".1%", "cagr": ".1%", "win_rate": ".1%",
    "exposure": ".1%",
}  # fmt: skip
SHOWN = ("net_profit", "sharpe", "max_drawdown", "trades")


def figures_line(metrics: Mapping[str, float | str | None], names: Iterable[str] = SHOWN) -> str:
    """The named metrics in one line; those that are undefined (None) or not there are left out, infinite ones come as text."""
    found = ((name, float(value) if isinstance(value := metrics.get(name), str) else value) for name in names)
    return "  ".join(f"{name} {value:{_FORMS.get(name, '.4g')}}" for name, value in found if value is not None)
