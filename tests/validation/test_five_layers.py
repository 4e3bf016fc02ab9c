"""One fault a layer; with the other four switched off, the layer still catches its own."""

import numpy as np
import pandas as pd
import pytest

from validation.bar_rules import PRICES, BarRules, price_floats
from validation.errors import GateError
from validation.features import bound_features
from validation.gate import gate_features
from validation.normalise import Normaliser, normalise
from validation.returns import clamp_returns
from validation.sanitise import sanitise_rolled

ROWS = 60
HIGH_BELOW_LOW, SPIKE, USER_FEATURE, DRIFT, MISSING = 10, 20, 30, 40, 50


@pytest.fixture
def rolled(rolled_of):
    """Bars with a fault for layer 1 (high below low) and one for layer 2 (15 % up, which layer 1 must let pass)."""
    closes = np.full(ROWS, 5000.0)
    closes[SPIKE] = 5750.0
    table = rolled_of(closes)
    table.loc[HIGH_BELOW_LOW, "high"] = table.loc[HIGH_BELOW_LOW, "low"] - 1_000_000_000
    return table


def run(rolled, layers):
    """Run the given layers over the bars and three features; returns what each one found, by layer."""
    found = dict.fromkeys(range(1, 6), 0)
    if 1 in layers:
        result = sanitise_rolled(rolled, BarRules(tick_size=0.25))
        bars, found[1] = result.accepted, len(result.quarantine)
    else:
        bars = rolled.assign(**{name: price_floats(rolled[name].to_numpy()) for name in PRICES})
    returns = np.append(np.nan, np.diff(np.log(bars["close"])))
    if 2 in layers:
        returns, findings, masked = clamp_returns(bars, returns)
        found[2] = int(masked.sum())
        assert len(findings) == found[2]
    features = user_features(bars, returns)
    ts = pd.DatetimeIndex(bars["ts_event"]).asi8
    if 3 in layers:
        features, findings = bound_features(features, ["ret", "user", "drift"], ts)
        found[3] = int((findings["column"] == "user").sum())
    z = features.astype(np.float32)
    if 4 in layers:
        fitted = Normaliser(np.zeros(3), np.array([1.0, 1.0, 0.1]), np.full(3, ROWS), 0, ROWS)
        z, findings = normalise(features, fitted, names=["ret", "user", "drift"], ts=ts)
        found[4] = int((findings["column"] == "drift").sum())
    if 5 in layers:
        valid = np.arange(len(z)) == np.flatnonzero(bars["source_row"] == rolled.loc[MISSING, "source_row"])[0]
        with pytest.raises(GateError, match="ret = nan"):
            gate_features(z, valid, names=["ret", "user", "drift"])
        found[5] = 1
    return found


def user_features(bars, returns):
    """A return feature with a hole, a user's feature that returns 1e3 once, one that leaves its train range."""
    at = bars["source_row"].to_numpy() - bars["source_row"].min()
    user, drift = np.zeros(len(bars)), np.zeros(len(bars))
    user[at == USER_FEATURE] = 1e3
    drift[at == DRIFT] = 4.0  # legal as a feature, 40 standard deviations of the train rows
    return np.column_stack([np.where(at == MISSING, np.nan, returns), user, drift])


@pytest.mark.parametrize("layer", [1, 2, 3, 4, 5])
def test_layer_catches_its_fault_alone(rolled, layer):
    found = run(rolled, {layer})
    assert found[layer] == {1: 1, 2: 2, 3: 1, 4: 1, 5: 1}[layer]  # the spike is two returns: up and back


def test_all_layers_together_catch_all(rolled):
    assert run(rolled, {1, 2, 3, 4, 5}) == {1: 1, 2: 2, 3: 1, 4: 1, 5: 1}
