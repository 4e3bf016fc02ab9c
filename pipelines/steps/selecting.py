"""How much the choice of a strategy's best combination is worth: the probability that it overfits its validation rows."""

from dataclasses import dataclass

from pipelines.steps.sweeping import FEWEST_BLOCKS, StrategyRanking
from training.overfitting import OverfittingError, probability_of_backtest_overfitting


@dataclass(frozen=True)
class SelectionOverfitting:
    """The probability of backtest overfitting (CSCV) of choosing the best Sharpe ratio, and what it rests on.

    `probability`: how often the best of one half of the `blocks` of validation sessions ranks in the lower half of all in
    the other half, over all `halves`; `loss`: how often it loses money there. `judged` of the `combinations` tried, drawn
    at random, entered: all where they are equal. None with a `reason` where there is no such number.
    """

    probability: float | None
    loss: float | None
    blocks: int
    sessions: int
    halves: int
    judged: int
    combinations: int
    search: str
    reason: str | None


def selection_overfitting(ranking: StrategyRanking) -> SelectionOverfitting:
    """Judge the choice among a strategy's combinations by their session returns on the validation rows."""
    blocks, sessions, judged = len(ranking.counts), int(ranking.counts.sum()), len(ranking.sums)

    def said(probability: float | None, loss: float | None, halves: int, reason: str | None) -> SelectionOverfitting:
        return SelectionOverfitting(
            probability, loss, blocks, sessions, halves, judged, ranking.trials, ranking.search, reason
        )

    if not blocks:
        return said(None, None, 0, f"the validation rows hold fewer than {2 * FEWEST_BLOCKS} sessions")
    try:
        found = probability_of_backtest_overfitting(ranking.sums, ranking.squares, ranking.counts)
    except OverfittingError as error:
        return said(None, None, 0, str(error))
    return said(found.probability, found.loss, len(found.logits), None)
