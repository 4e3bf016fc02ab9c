import math

import pytest

from pipelines.report.formats import instant, number, parameter, session_date, share


@pytest.mark.parametrize(
    ("value", "unit", "currency", "text"),
    [
        (1_234_567.4, "money", "USD", "$1,234,567"),
        (-1_234.0, "signed_money", "USD", "−$1,234"),
        (1_234.0, "signed_money", "CHF", "+CHF 1,234"),
        (12.345, "signed_cents", "EUR", "+€12.35"),
        (0.512, "fraction", "USD", "51.2%"),
        (-0.0004, "signed_fraction", "USD", "0.0%"),
        (-0.25, "signed_money", "USD", "$0"),
        (2.345, "ratio", "USD", "2.35"),
        (412_345, "count", "USD", "412,345"),
        (1.5, "seconds", "USD", "1.50\N{NARROW NO-BREAK SPACE}s"),
        (None, "money", "USD", "undefined"),
        (math.nan, "ratio", "USD", "undefined"),
        (-math.inf, "ratio", "USD", "undefined"),
    ],
)
def test_number(value: float | None, unit: str, currency: str, text: str) -> None:
    assert number(value, unit, currency) == text


def test_other_texts() -> None:
    assert [share(3, 412_345), share(0, 5), share(1, 4), share(1, 0)] == ["<0.1%", "0.0%", "25.0%", "undefined"]
    assert [parameter(value) for value in (15.0, 0.02, "x", True, 7)] == ["15", "0.02", "x", "true", "7"]
    assert session_date(20240315) == "2024-03-15"
    assert instant("2024-03-15T09:31:00Z") == "2024-03-15 09:31Z"
