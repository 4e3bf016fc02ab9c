"""What `pipeline score` says of the newest bar: the position, its age, what it is based on, and what to be careful of."""

import time
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import numpy as np
import pandas as pd

from loaders.roll_expiry import expiry_days
from loaders.roll_settings import LISTING
from loaders.sessions import day_numbers
from pipelines.config.settings import Settings
from pipelines.models.promotions import Promoted
from pipelines.models.scoring import Scored, Terms
from pipelines.refresh.freshness import sessions_since
from pipelines.refresh.published_pointer import CurrentSet
from pipelines.refresh.refreshing import OF_DATA
from pipelines.steps.feature_set import FeatureSet

MONEY = (
    "instrument.costs", "instrument.contract.multiplier", "instrument.contract.currency",
    "instrument.contract.fee_per_contract",
)  # fmt: skip
COMPARED = (*OF_DATA, "execution")


def score_document(
    promoted: Promoted, published: CurrentSet, feature_set: FeatureSet, scored: Scored, terms: Terms, settings: Settings
) -> dict[str, Any]:
    """Return the score as JSON values; `settings` are those of the command, with the thresholds of staleness."""
    bars = feature_set.bars
    last = bars.iloc[-1]
    start = pd.Timestamp(last["ts_event"])
    known = start + timedelta(seconds=settings.bar_seconds)
    value = float(scored.target[-1])
    held = _held_since(scored)
    age = sessions_since(start.as_unit("ns").value, time.time_ns(), settings.instrument.session)
    return {
        "name": promoted.name,
        "model": promoted.model,
        "kind": promoted.kind,
        "run": promoted.run,
        "fold": promoted.fold,
        "parameters": promoted.parameters,
        "target": value if np.isfinite(value) else None,
        "contracts": scored.contracts(terms.execution) if np.isfinite(value) else None,
        "contract": str(last["contract"]),
        "close": float(last["close"]),
        "bar": start.isoformat(),
        "known_at": known.isoformat(),
        "session": int(last["session"]),
        "held_since": bars["ts_event"].iloc[held].isoformat(),
        "since": promoted.since,
        "age_sessions": age,
        "feature_set": published.feature_set,
        "published_at": published.at,
        "published_by": published.run,
        "artefacts": promoted.artefacts,
        "beats_flat": promoted.beats_flat,
        "anyway": promoted.anyway,
        "warnings": _warnings(promoted, published, last, scored, age, settings),
    }


def differing(old: Any, new: Any, path: str = "") -> list[str]:
    """Return the dotted names of settings that differ."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        names = sorted({*old, *new})
        return [leaf for name in names for leaf in differing(old.get(name), new.get(name), f"{path}.{name}".lstrip("."))]
    return [] if old == new else [path]


def _warnings(
    promoted: Promoted, published: CurrentSet, last: Any, scored: Scored, age: int, settings: Settings
) -> list[str]:
    from pipelines.config.configuration import as_tree

    limit = settings.refresh.stale_sessions
    tree = as_tree(settings)
    changed = [leaf for name in COMPARED for leaf in differing(promoted.configuration.get(name), tree.get(name), name)]
    apart = [leaf for name, value in published.configuration.items()
             for leaf in differing(promoted.configuration.get(name), value, name)
             if leaf not in changed and not leaf.startswith(MONEY)]  # fmt: skip
    code = sorted(node for node, was in promoted.data_code.items() if published.code.get(node, was) != was)
    found = [
        (age > limit, f"stale data: {age} sessions have ended since the last bar, more than refresh.stale_sessions {limit}"),
        (bool(last["masked"]), "the newest bar is masked by layer 2: its price is doubtful, a backtest would not fill on it"),
        (bool(last["filled"]), "the newest bar is filled forward: nothing traded in it"),
        (not scored.filled, "the look-back of the newest bar is not filled: the model holds what it had"),
        (not np.isfinite(scored.target[-1]), "the model has no target yet: its indicators are not defined on the newest bar"),
        (not promoted.beats_flat, f"promoted anyway ({promoted.anyway}): the report says \"{promoted.words}\""),
        (bool(changed), f"the configuration differs from that of run {promoted.run}: {', '.join(changed)}"),
        (bool(apart), f"the published set was made with another configuration than run {promoted.run}: {', '.join(apart)}"),
        (bool(code), f"the published set was made by other code than that of run {promoted.run}: {', '.join(code)}"),
    ]
    return [text for holds, text in found if holds] + _roll_due(published, last, settings)


def _roll_due(published: CurrentSet, last: Any, settings: Settings) -> list[str]:
    """Whether a later contract out-traded the followed one in the newest session, or its last days have begun."""
    mine, rule = str(last["contract"]), settings.instrument.roll
    volumes = published.volumes
    top = max(volumes, key=lambda name: volumes[name], default=mine)
    if top != mine and volumes[top] > volumes.get(mine, 0):
        return [
            f"roll due: {top} traded {volumes[top]:,} in session {int(last['session'])}, {mine}, which is followed, "
            f"{volumes.get(mine, 0):,}"
        ]
    if rule.expires == LISTING:
        return []
    expiry = int(expiry_days(np.array([last["expiry"]], dtype=np.int32), rule.expires, settings.instrument.session)[0])
    left = expiry - int(day_numbers(np.array([last["session"]], dtype=np.int32))[0])
    return [f"roll due: {mine} stops trading in {left} days"] if left <= rule.days_before else []


def _held_since(scored: Scored) -> int:
    """The row since which the target has been what it is."""
    own = scored.target[scored.first :]
    same = (own == own[-1]) | (np.isnan(own) & np.isnan(own[-1]))
    changes = np.flatnonzero(~same)
    return scored.first + (int(changes[-1]) + 1 if len(changes) else 0)
