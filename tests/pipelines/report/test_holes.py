import numpy as np

from pipelines.report.figure_curves import broken
from pipelines.report.holes import holes


def nanoseconds(*days: str) -> list[int]:
    return np.array(days, dtype="datetime64[ns]").astype(np.int64).tolist()


def test_a_hole_is_longer_than_any_weekend_and_than_the_usual_step() -> None:
    def places(*days: str) -> list[int]:
        return holes(nanoseconds(*days))

    assert places("2024-03-28T20:00", "2024-03-28T20:59", "2024-04-01T20:00") == []  # Easter: four days less than an hour
    assert places("2024-03-04", "2024-03-05", "2024-03-18", "2024-03-19", "2024-03-20") == [2]
    assert places("2024-01-31", "2024-02-29", "2024-03-29") == places("2024-01-31") == places() == []


def test_a_line_breaks_at_a_hole_and_keeps_its_points() -> None:
    days = nanoseconds("2024-03-04", "2024-03-05", "2024-03-18", "2024-03-19", "2024-03-20")
    times, values = broken(days, [1.0, 2.0, 3.0, 4.0, 5.0])
    np.testing.assert_array_equal(values, [1.0, 2.0, np.nan, 3.0, 4.0, 5.0])
    assert times.astype(np.int64)[~np.isnan(values)].tolist() == days
    assert broken([], [])[1].tolist() == []
