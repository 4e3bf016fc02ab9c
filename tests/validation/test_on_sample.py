"""Layers 1 and 2 on the sample data set: exactly the planted faults are found, each under its rule."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from kernels.features.market import market_features
from kernels.features.returns import log_returns
from kernels.features.table import WARM_UP, feature_names
from kernels.features.targets import targets
from loaders.continuous import continuous_bars
from loaders.files import list_data_files
from loaders.outrights import outright_bars
from loaders.roll import RollSettings, rolled_bars
from loaders.sample import write_sample
from loaders.sessions import SessionRule
from validation.bar_rules import BarRules
from validation.features import bound_features
from validation.gate import gate_features, gate_targets
from validation.normalise import fit_normaliser, normalise
from validation.returns import clamp_returns
from validation.sanitise import sanitise_rolled
from validation.schemas import check_table

SESSIONS = 24


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sample") / "data"
    write_sample(folder, sessions=SESSIONS)
    return folder


@pytest.fixture(scope="module")
def rolled(folder: Path):
    files = list_data_files(folder)
    definitions = tuple(file.path for file in files if file.schema == "definition")
    bars = [file.path for file in files if (file.schema or "").startswith("ohlcv")]
    parts = [outright_bars(path, definitions, "ES", ordinal) for ordinal, path in enumerate(bars)]
    return rolled_bars(parts, SessionRule(), RollSettings(months="HMUZ")).bars


@pytest.fixture(scope="module")
def sanitised(rolled):
    return sanitise_rolled(rolled, BarRules(tick_size=0.25))


@pytest.fixture(scope="module")
def planted(folder):
    return json.loads((folder / "truth.json").read_text(encoding="utf-8"))["faults"]


def counted(ts, contracts, rules):
    return Counter(zip(ts, contracts, rules, strict=True))


def test_layer_1_finds_exactly_the_planted_rows(sanitised, planted):
    expected = [fault for fault in planted if fault["expected"]["layer"] == 1]
    findings = sanitised.findings
    assert counted(findings["ts_event"].astype("int64"), findings["contract"], findings["rule"]) == counted(
        [fault["ts_event"] for fault in expected],
        [fault["contract"] for fault in expected],
        [fault["expected"]["rule"] for fault in expected],
    )
    assert len(expected) >= 11  # every kind of fault is planted at least once
    assert sanitised.report["records"] == sanitised.report["accepted"] + sanitised.report["quarantined"]


def test_layer_2_finds_what_layer_1_lets_pass(sanitised, planted):
    expected = [fault for fault in planted if fault["expected"]["layer"] == 2]
    bars = continuous_bars(sanitised.accepted)
    _, findings, masked = clamp_returns(bars, log_returns(bars))
    moments = sorted(moment for fault in expected for moment in (fault["ts_event"], fault["returns_at"]))
    assert findings["ts_event"].astype("int64").tolist() == moments
    assert bars.loc[masked, "ts_event"].tolist() == findings["ts_event"].tolist()
    assert len(moments) >= 4


def test_every_stage_hands_on_what_its_schema_demands(rolled, sanitised):
    assert check_table(rolled, "rolled") is None
    assert check_table(sanitised.accepted, "accepted") is None
    assert check_table(sanitised.findings, "findings") is None
    bars = continuous_bars(sanitised.accepted)
    assert check_table(bars, "bars") is None
    returns, findings, masked = clamp_returns(bars, log_returns(bars))
    assert check_table(findings, "findings") is None
    bars["masked"] = masked
    features, findings = bound_features(market_features(bars, returns, "America/Chicago"), feature_names(), bars["ts_event"])
    assert len(findings) == 0  # the built-in features keep their bounds by construction
    valid = np.arange(len(bars)) >= WARM_UP - 1
    z, _ = normalise(features, fit_normaliser(features, (WARM_UP, len(bars) // 2)))
    assert gate_features(z, valid) is None
    assert gate_targets(targets(bars, returns), bars) is None
