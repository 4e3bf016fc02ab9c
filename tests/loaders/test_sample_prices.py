"""Price process of the sample: what the editions promise, by closed forms and by money earned."""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.optimize import minimize_scalar

from loaders.sample_calendar import first_sessions, minute_grid
from loaders.sample_prices import EDITIONS, autoregression, expected_return, oracle_position, price_path

TICK = 0.25
COST_PER_SIDE = TICK + 2.10 / 50.0  # points: a tick of slippage, 2.10 dollars at 50 dollars a point
BLOCK = 25_000
Prices = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]


@cache
def prices(edge: str, seed: int = 7) -> Prices:
    """Open, close (points, on tick), deviation and session of every minute of the full calendar, one contract."""
    grid = minute_grid(first_sessions(189))
    path = price_path(grid, EDITIONS[edge], np.random.default_rng((seed, 0)), np.random.default_rng((seed, 1)))
    rounded = np.round(path.level / TICK) * TICK
    return rounded[:, 0], rounded[:, -1], path.deviation, grid.session


def session_profit(edge: str, wanted: NDArray[np.float64], seed: int = 7) -> tuple[pd.Series, pd.Series]:
    """Gross and net points a session of a position decided at each close and filled at the next open."""
    opens, closes, _, session = prices(edge, seed)
    table = pd.DataFrame({"open": opens, "close": closes, "wanted": wanted, "session": session})
    held = table["wanted"].shift().fillna(0.0)
    before = held.shift().fillna(0.0)
    gross = before * (table["open"] - table["close"].shift().fillna(table["open"])) + held * (
        table["close"] - table["open"]
    )
    net = gross - (held - before).abs() * COST_PER_SIDE
    return gross.groupby(table["session"]).sum(), net.groupby(table["session"]).sum()


def block_scores(profit: pd.Series) -> NDArray[np.float64]:
    """Profit of every stretch of sessions as long as a test block, in standard errors of its own sessions."""
    length = BLOCK // 1380
    rolling = profit.rolling(length)
    scores = rolling.sum() / (rolling.std() * np.sqrt(length))
    return scores.dropna().to_numpy()


def zscore_reversion(closes: NDArray[np.float64], window: int) -> NDArray[np.float64]:
    series = pd.Series(closes)
    score = (series - series.rolling(window).mean()) / series.rolling(window).std()
    return (-np.sign(score)).where(score.abs() > 1.0).ffill().fillna(0.0).to_numpy()


def lag_one(values: NDArray[np.float64]) -> tuple[float, float]:
    """Autocorrelation at lag one and its standard error without assuming equal variances."""
    left, right = values[:-1], values[1:]
    return float(np.sum(left * right) / np.sum(values**2)), float(
        np.sqrt(np.sum((left * right) ** 2)) / np.sum(values**2)
    )


def test_autoregression_has_the_stated_deviation_and_memory() -> None:
    values = autoregression(np.random.default_rng(1), 400_000, 20.0, 3.0)
    # About count / (2 x time constant) independent values: 10,000, so 1 % is 1.4 standard errors of the deviation.
    assert np.std(values) == pytest.approx(3.0, rel=0.04)
    assert np.corrcoef(values[:-20], values[20:])[0, 1] == pytest.approx(np.exp(-1.0), abs=0.04)


def test_deviation_is_as_large_as_the_edition_says() -> None:
    for edge in ("real", "power"):
        assert np.std(prices(edge)[2]) == pytest.approx(EDITIONS[edge].deviation_sd, rel=0.08)
    assert not prices("0")[2].any()


def test_editions_share_the_fair_value() -> None:
    _, real, deviation, _ = prices("real")
    _, zero, _, _ = prices("0")
    assert np.abs(real / zero - np.exp(deviation)).max() < 2 * TICK / zero.min()


def test_expected_return_is_what_follows_on_average() -> None:
    _, closes, deviation, _ = prices("power")
    realised = np.log(closes[60:] / closes[:-60])
    expected = expected_return(deviation, EDITIONS["power"])[:-60]
    slope = np.sum(realised * expected) / np.sum(expected**2)
    assert slope == pytest.approx(1.0, abs=0.05)
    assert expected_return(np.array([0.001]), EDITIONS["real"])[0] == pytest.approx(0.001 * (np.exp(-1.0) - 1.0))


def test_returns_without_edge_are_uncorrelated_but_for_the_tick() -> None:
    closes = prices("0")[1]
    changes = np.diff(closes)
    found, error = lag_one(changes)
    # Rounding adds noise of variance tick^2 / 12 to each price, which the next change takes back.
    rounding = -(TICK**2 / 12.0) / np.var(changes)
    assert -0.02 < rounding < 0.0
    assert abs(found - rounding) < 4.0 * error


@pytest.mark.parametrize("window", [20, 60, 240])
def test_reversion_without_edge_earns_nothing_before_costs(window: int) -> None:
    gross, net = session_profit("0", zscore_reversion(prices("0")[1], window))
    error = gross.std() * np.sqrt(gross.size)
    assert abs(gross.sum()) < 3.0 * error
    assert net.sum() < gross.sum()


def test_volatility_has_a_daily_pattern_and_clusters() -> None:
    closes, session = prices("0")[1], prices("0")[3]
    changes = pd.Series(np.diff(np.log(closes), prepend=np.log(closes[0])))
    minute = pd.Series(session).groupby(session).cumcount()
    by_minute = changes.groupby(minute).std()
    assert by_minute[935:945].mean() > 4.0 * by_minute[100:300].mean()
    calm = (changes / minute.map(by_minute)).abs()
    assert 0.02 < calm.autocorr(30) < 0.3
    daily = np.log(closes)[np.append(np.diff(session) > 0, True)]
    assert np.std(np.diff(daily)) == pytest.approx(0.0075, rel=0.3)


@pytest.mark.parametrize("edge", ["real", "power"])
def test_band_is_the_best_for_the_costs(edge: str) -> None:
    edition = EDITIONS[edge]
    cost = COST_PER_SIDE / 5_100.0

    def loss(band: float) -> float:
        passage = (
            edition.time_constant
            * np.sqrt(2 * np.pi)
            * quad(lambda x: np.exp(x * x / 2), 0, band / edition.deviation_sd)[0]
        )
        return float(-2.0 * (band - cost) / passage)

    best = minimize_scalar(loss, bounds=(cost, 4 * edition.deviation_sd), method="bounded")
    assert loss(edition.band) <= 0.99 * best.fun


def test_oracle_position_holds_between_the_bands() -> None:
    deviation = np.array([0.5, -1.5, -0.5, 0.9, 1.1, 0.0, -0.9, -1.1])
    assert oracle_position(deviation, 1.0).tolist() == [0, 1, 1, 1, -1, -1, -1, 1]
    assert oracle_position(np.zeros(3), 0.0).tolist() == [0, 0, 0]


def test_power_edition_pays_the_oracle_on_every_block_and_a_simple_rule_a_good_part() -> None:
    _, closes, deviation, _ = prices("power")
    gross, net = session_profit("power", oracle_position(deviation, EDITIONS["power"].band).astype(float))
    assert block_scores(net).min() >= 6.0
    simple_gross, simple_net = session_profit("power", zscore_reversion(closes, 60))
    assert simple_gross.sum() > 0.5 * gross.sum()
    assert block_scores(simple_net).mean() > 6.0


def test_real_edition_is_not_distinguishable_even_for_the_oracle() -> None:
    means = []
    for seed in range(7, 11):
        deviation = prices("real", seed)[2]
        _, net = session_profit("real", oracle_position(deviation, EDITIONS["real"].band).astype(float), seed)
        means.append(block_scores(net).mean())
    # Twelve independent blocks a seed: the mean of four seeds has a standard error of about 0.15.
    assert -0.45 < np.mean(means) < 0.95


def test_every_label_says_first_that_no_price_is_real() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "sample.md").read_text(encoding="utf-8")
    for name, edition in EDITIONS.items():
        prefix, _, rest = edition.label.partition("no price is real: ")
        assert prefix == "generated data, "
        assert f"| `{name}` | {rest} |" in page
    assert "an edge of realistic size" in EDITIONS["real"].label
    assert "power" in EDITIONS["power"].label and "not realistic" in EDITIONS["power"].label
    assert "no edge" in EDITIONS["0"].label
