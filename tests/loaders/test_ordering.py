"""Sort orders against numpy's lexsort."""

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from loaders.ordering import order_by, taken


@settings(max_examples=100, deadline=None, derandomize=True)
@given(rows=st.lists(st.tuples(st.integers(-2, 2), st.integers(0, 2), st.integers(0, 1)), max_size=30))
def test_order_is_lexsort_with_the_first_key_first(rows):
    keys = np.array(rows, np.int64).reshape(-1, 3).T
    np.testing.assert_array_equal(order_by(*keys), np.lexsort(keys[::-1]))
    np.testing.assert_array_equal(order_by(keys[0]), np.argsort(keys[0], kind="stable"))


def test_later_keys_order_only_rows_whose_earlier_ones_are_equal():
    time, expiry, row = np.array([1, 2, 2, 2, 3]), np.array([9, 6, 3, 3, 1]), np.array([0, 1, 3, 2, 4])
    assert order_by(time, expiry, row).tolist() == [0, 3, 2, 1, 4]


def test_a_table_in_order_is_itself_and_another_is_sorted():
    table = pd.DataFrame({"a": [1, 2, 3]}, index=[5, 6, 7])
    pd.testing.assert_frame_equal(taken(table, np.arange(3)), table.reset_index(drop=True))
    assert taken(table, np.array([2, 0]))["a"].tolist() == [3, 1]
