"""Statistics and definitions as tables, in every DBN version."""

from pathlib import Path

import databento_dbn as dbn
import numpy as np
import pandas as pd
import pytest

from loaders.dbn import read_definitions, read_statistics
from loaders.definition_tables import DEFINITION_COLUMNS
from loaders.errors import DataError
from loaders.statistics import STATISTIC_COLUMNS
from tests.loaders.dbn_builder import POINT, definition, mapping, metadata, ns, write, write_definitions
from tests.loaders.tick_builder import MARCH, UNDEF_PRICE, client_frame

_MESSAGES = {1: dbn.StatMsgV1, 2: dbn.StatMsgV1, 3: dbn.StatMsg}


def statistics_file(path: Path, version: int) -> Path:
    rows = np.zeros(5, dtype=np.dtype(_MESSAGES[version]._dtypes))
    rows["length"], rows["rtype"], rows["publisher_id"] = rows.itemsize // 4, 24, 1
    rows["instrument_id"] = [1, 1, 2, 1, 9]
    rows["ts_event"] = rows["ts_recv"] = ns("2024-03-05 01:00") + np.arange(5)
    rows["ts_ref"] = [ns("2024-03-04"), 2**64 - 1, ns("2024-03-04"), ns("2024-03-04"), 0]
    undefined = np.iinfo(rows["quantity"].dtype).max
    rows["price"] = [5123 * POINT + POINT // 4, UNDEF_PRICE, UNDEF_PRICE, UNDEF_PRICE, 0]
    rows["quantity"] = [undefined, 2_000_000, 5, 7, 0]
    rows["stat_type"] = [3, 9, 6, 999, 9]
    rows["update_action"] = [1, 1, 1, 2, 1]
    head = metadata([mapping("ESH4", (*MARCH, 1)), mapping("ESH4-ESM4", (*MARCH, 2))], schema=dbn.Schema.STATISTICS,
                    version=version)
    return write(path, head, rows.tobytes())


@pytest.mark.parametrize("version", [1, 2, 3])
def test_statistics_of_outrights(tmp_path: Path, version: int) -> None:
    table, report = read_statistics(statistics_file(tmp_path / "s.dbn.zst", version))
    assert {name: str(dtype) for name, dtype in table.dtypes.items()} == STATISTIC_COLUMNS
    assert table["statistic"].tolist() == ["settlement_price", "open_interest", "type_999"]
    assert table["price"].iloc[0] == 5123.25 and table["price"].iloc[1:].isna().all()
    assert np.isnan(table["quantity"].iloc[0]) and table["quantity"].iloc[1] == 2_000_000
    assert table["ts_ref"].isna().tolist() == [False, True, False]
    assert table["update_action"].tolist() == [1, 1, 2]
    assert (table["expiry"] == 202403).all()
    assert report.dropped == {"calendar_spread": 1, "unmapped": 1}
    assert report.records == 5 == report.outright + sum(report.dropped.values())


@pytest.mark.parametrize("version", [1, 2, 3])
def test_definitions_come_with_their_sentinels_cleaned(tmp_path: Path, version: int) -> None:
    rows = [
        definition("2024-03-04", 1, "ESH4", "ES", "F", version, maturity_year=2024, maturity_month=3,
                   expiration=ns("2024-03-15 13:30"), min_price_increment=POINT // 4, unit_of_measure_qty=50 * POINT,
                   high_limit_price=UNDEF_PRICE, currency="USD"),
        definition("2024-03-04", 2, "NQH4", "NQ", "F", version),
    ]
    path = write_definitions(tmp_path / "d.dbn.zst", *rows, version=version)
    table = read_definitions(path)
    assert {name: str(dtype) for name, dtype in table.dtypes.items()} == DEFINITION_COLUMNS
    first = table.iloc[0]
    assert first[["contract", "asset", "instrument_class", "expiry"]].tolist() == ["ESH4", "ES", "F", 202403]
    assert (first["min_price_increment"], first["unit_of_measure_qty"], first["currency"]) == (0.25, 50.0, "USD")
    assert np.isnan(first["high_limit_price"])
    assert first["expiration"] == pd.Timestamp("2024-03-15 13:30", tz="UTC")
    assert table["expiry"].tolist() == [202403, 0] and pd.isna(table["expiration"].iloc[1])
    assert read_definitions(path, "NQ")["contract"].tolist() == ["NQH4"]
    assert len(read_definitions(path, "CL")) == 0


def test_definitions_must_be_there(tmp_path: Path) -> None:
    statistics_file(tmp_path / "s.dbn", 3)
    with pytest.raises(DataError, match="holds no DBN file of schema definition"):
        read_definitions(tmp_path)


def test_real_statistics_equal_the_clients(shared_data: Path) -> None:
    folder = shared_data / "dbn" / "databento-python"
    for name, root in (("GLBX.MDP3", "ES"), ("IFEU.IMPACT", "BRN")):
        path = folder / name / "test_data.statistics.dbn.zst"
        theirs = client_frame(path)
        table, report = read_statistics(path, root)
        assert report.records == len(theirs) == len(table) == 4
        for column in ("price", "ts_recv", "ts_ref", "sequence"):
            pd.testing.assert_series_equal(table[column], theirs[column], check_dtype=False)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_real_statistics_without_mappings_are_no_outrights(shared_data: Path, version: int) -> None:
    with pytest.raises(DataError, match=r"none of its 2 records is an outright of .*; symbols seen: unmapped"):
        read_statistics(shared_data / "dbn" / "dbn" / f"test_data.statistics.v{version}.dbn.zst", "ES")
