"""Outcome tables against the portfolio step on floats and values worked by hand."""

import numpy as np
import pytest

from kernels.bars import bar_inputs
from kernels.portfolio import START, BarInputs, portfolio_step, terms
from training.errors import TrainingError
from training.market import FLAT, market, money_scale, path_profit, switching_costs


def stepped(bars, rows, setting, actions):
    """The account after every decision, by the scalar portfolio step, bar after bar."""
    columns = bar_inputs(bars)
    state, states = START, []
    agreed = terms(setting.costs, setting.instrument, setting.execution)
    for row, action in zip(range(rows[0], rows[1] - 1), actions, strict=True):
        bar = BarInputs(*(column[row + 1].item() for column in columns))
        state = portfolio_step(state, bar, float(action - 1), agreed)
        states.append(state)
    return states


def test_outcomes_by_hand(make_bars, es):
    bars = make_bars([10.0, 11.0, 12.0], [10.5, 13.0, 12.5])
    table = market(bars, (0, 3), *es.all())
    # Row 0, decided at 10.5, filled at 11, closed at 13: long from flat earns 2 points, 100 dollars; costs 14.60.
    assert table.gross[0, FLAT].tolist() == [-100.0, 0.0, 100.0]
    assert table.costs[0, FLAT] == pytest.approx([14.6, 0.0, 14.6])
    # Short turned long: loses 0.5 from 10.5 to 11 short, then earns 2; two contracts trade.
    assert table.gross[0, 0, 2] == 75.0
    assert table.costs[0, 0, 2] == pytest.approx(29.2)
    # Long kept: 10.5 to 13.
    assert (table.gross[0, 2, 2], table.costs[0, 2, 2]) == (125.0, 0.0)
    assert table.decisions == 2
    assert np.array_equal(table.after[1], [[0, 1, 2]] * 3)


def test_case_f09_the_action_earns_the_bar_after_it(make_bars, free):
    bars = make_bars([100.0, 100.0, 110.0, 121.0], [100.0, 110.0, 121.0, 121.0])
    table = market(bars, (0, 4), *free.all())
    assert table.gross[0, FLAT, 2] == 10.0 and table.gross[0, FLAT, FLAT] == 0.0
    assert table.gross[1, 2, 2] == 11.0


def test_a_roll_closes_the_old_contract_at_its_own_price(make_bars, es):
    # The new contract is 50 points higher; a held long earns 1 point in the old (100 -> 101), 2 in the new.
    bars = make_bars([100.0, 151.0, 153.0], [100.0, 153.0, 153.0], (1,), (101.0,))
    table = market(bars, (0, 3), *es.all())
    assert table.gross[0, 2, 2] == 150.0
    assert table.costs[0, 2, 2] == pytest.approx(29.2)  # both legs
    assert table.gross[0, FLAT, FLAT] == table.costs[0, FLAT, FLAT] == 0.0


def test_a_masked_bar_fills_nothing_and_books_nothing(make_bars, es):
    bars = make_bars([100.0, 500.0, 101.0], [100.0, 500.0, 102.0], masked_at=(1,))
    table = market(bars, (0, 3), *es.all())
    assert not table.gross[0].any() and not table.costs[0].any()
    assert np.array_equal(table.after[0], [[0, 0, 0], [1, 1, 1], [2, 2, 2]])
    assert table.gross[1, 2, 2] == 100.0  # from the last close that counted, 100, to 102


@pytest.mark.parametrize("rows", [(0, 400), (60, 330)])
def test_every_path_equals_the_portfolio_step_bar_by_bar(rough_bars, es, rows):
    table = market(rough_bars, rows, *es.all())
    for seed in range(5):
        actions = np.random.default_rng(seed).integers(0, 3, size=table.decisions).astype(np.int8)
        gross, paid = path_profit(table, actions)
        states = stepped(rough_bars, rows, es, actions)
        assert np.cumsum(gross) == pytest.approx([one.profit for one in states], abs=1e-6)
        assert np.cumsum(paid) == pytest.approx([one.costs for one in states], abs=1e-6)


def test_different_actions_earn_differently_and_the_mirror_earns_the_opposite(rough_bars, es):
    table = market(rough_bars, (0, 400), *es.all())
    actions = np.random.default_rng(1).integers(0, 3, size=table.decisions).astype(np.int8)
    gross, paid = path_profit(table, actions)
    mirrored, paid_mirrored = path_profit(table, (2 - actions).astype(np.int8))
    assert np.array_equal(mirrored, -gross) and np.array_equal(paid, paid_mirrored)
    other = actions.copy()
    other[200] = (other[200] + 1) % 3
    assert not np.array_equal(path_profit(table, other)[0], gross)


def test_flat_earns_nothing_and_held_earns_the_rolled_move(rough_bars, es):
    table = market(rough_bars, (0, 400), *es.all())
    gross, paid = path_profit(table, np.full(table.decisions, FLAT, dtype=np.int8))
    assert not gross.any() and not paid.any()
    gross, paid = path_profit(table, np.full(table.decisions, 2, dtype=np.int8))
    opened, close = rough_bars["open"], rough_bars["close"]
    old = rough_bars["old_price"].dropna().tolist()
    # Row 300's roll is masked: it happens on row 301, at the old contract's price of row 300.
    points = (old[0] - opened[1]) + (old[1] - opened[150]) + (close[399] - opened[301])
    assert gross.sum() == pytest.approx(50.0 * points)
    assert paid.sum() == pytest.approx(14.6 * 5)  # entry, and two legs at each roll


def test_costs_only_lower_profit_and_in_proportion(rough_bars, es, free):
    dear = market(rough_bars, (0, 400), *es.all())
    cheap = market(rough_bars, (0, 400), es.instrument, free.costs, es.execution)
    assert np.array_equal(dear.gross, cheap.gross) and not cheap.costs.any()
    assert (dear.costs >= 0.0).all()


def test_scale_and_switching_costs(rough_bars, es):
    table = market(rough_bars, (0, 400), *es.all())
    assert money_scale(table) == pytest.approx(np.std([one[2, 2] for one in table.gross]))
    mean = switching_costs(table)
    executed = table.after[:, 0, 2] == 2
    assert mean[0, 2] == pytest.approx(29.2)
    # A held position pays two legs on each of the two rolls.
    assert mean[2, 2] == pytest.approx(2 * 29.2 / executed.sum())
    assert mean[FLAT, FLAT] == 0.0


def test_nothing_after_the_last_row_is_read(rough_bars, es):
    whole = market(rough_bars, (10, 200), *es.all())
    cut = market(rough_bars.iloc[:200], (10, 200), *es.all())
    assert whole.gross.tobytes() == cut.gross.tobytes() and whole.costs.tobytes() == cut.costs.tobytes()


def test_refusals(make_bars, es):
    bars = make_bars(np.full(5, 10.0), np.full(5, 10.0))
    for rows in ((0, 6), (-1, 3), (3, 4), (4, 4)):
        with pytest.raises(TrainingError, match=rf"rows {rows[0]}:{rows[1]}: .*inside the bars table's 5"):
            market(bars, rows, *es.all())
    with pytest.raises(TrainingError, match="prices never move"):
        money_scale(market(bars, (0, 5), *es.all()))
    masked = make_bars(np.full(5, 10.0), np.full(5, 10.0), masked_at=range(5))
    with pytest.raises(TrainingError, match="are masked"):
        switching_costs(market(masked, (0, 5), *es.all()))
    with pytest.raises(TrainingError, match="one for each of the 4 decisions"):
        path_profit(market(bars, (0, 5), *es.all()), np.zeros(5, dtype=np.int8))
