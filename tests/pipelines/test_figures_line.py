"""Figures of models on the screen."""

from pipelines.commands.figures import figures_line


def test_money_has_its_cents_and_shares_are_per_cent():
    metrics = {"net_profit": -11270.0, "sharpe": -5.1174, "max_drawdown": -0.13694, "trades": 1037.0, "cagr": None}
    assert figures_line(metrics) == "net_profit -11,270.00  sharpe -5.117  max_drawdown -13.7%  trades 1,037"
    assert figures_line(metrics, ("cagr", "sortino", "sharpe")) == "sharpe -5.117"
    assert figures_line({"profit_factor": "Infinity"}, ("profit_factor",)) == "profit_factor inf"
