"""Order by several keys equals numpy's, sorted rows or not, ties kept in place."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from validation.ordering import lexical_order


@settings(max_examples=100, deadline=None, derandomize=True)
@given(rows=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 2)), max_size=8), ordered=st.booleans())
def test_order_is_that_of_lexsort(rows, ordered):
    table = np.array(sorted(rows, reverse=False) if ordered else rows, np.int64).reshape(-1, 3)
    keys = [table[:, 2], table[:, 1], table[:, 0]]
    np.testing.assert_array_equal(lexical_order(keys), np.lexsort(keys))


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_sorted_rows_stay_where_they_are(rows):
    np.testing.assert_array_equal(lexical_order([np.zeros(rows, np.int64), np.arange(rows)]), np.arange(rows))
