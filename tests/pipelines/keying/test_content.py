"""Digests of tables by content: equal whatever their index or how their texts are stored, different otherwise."""

import numpy as np
import pandas as pd
import pytest

from pipelines.keying.content import content_digest


def contracts(*names):
    return pd.DataFrame({"contract": pd.Series(list(names), dtype="str"), "row": np.arange(len(names))})


def test_equal_texts_have_an_equal_digest_whatever_table_they_were_cut_from():
    long = contracts("ESZ3", "ESH4", "ESH4", "ESM4")
    cut = long.iloc[1:].assign(row=np.arange(3))
    assert content_digest(cut) == content_digest(contracts("ESH4", "ESH4", "ESM4"))


@pytest.mark.parametrize("other", [("ESM4", "ESH4", "ESH4"), ("ESH4", "ESM4", "ESM4"), ("ESH4", "ESH4", "ESU4"), ("ESH4",)])
def test_other_texts_have_another_digest(other):
    assert content_digest(contracts("ESH4", "ESH4", "ESM4")) != content_digest(contracts(*other))


def test_a_missing_text_is_neither_empty_nor_its_name():
    digests = {content_digest(contracts("ESH4", text)) for text in (None, "", "nan", "None")}
    assert len(digests) == 4
