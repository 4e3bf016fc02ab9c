"""From the artefacts of a data set to the content of its data report."""

from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from kernels.execution import Instrument
from kernels.features.flow_table import FLOW_FEATURES
from loaders.outrights import OutrightBars
from loaders.roll import RolledBars
from loaders.sessions import SessionRule, session_minutes
from loaders.stated_gaps import StatedGaps
from pipelines.report.curves import nanoseconds
from pipelines.report.data_content import data_report_content
from pipelines.report.document import ReportContent
from pipelines.steps.feature_set import FeatureSet
from pipelines.steps.fold_rows import FoldTable
from pipelines.steps.reporting import data_funnel, rolls
from validation.sanitise import Sanitised


def data_report(
    parts: list[OutrightBars],
    rolled: RolledBars,
    coverage: pd.DataFrame,
    sanitised: Sanitised,
    feature_set: FeatureSet,
    table: FoldTable,
    label: dict[str, Any],
    stated: StatedGaps,
    contract: Instrument,
    session: SessionRule,
) -> ReportContent:
    """Gather a data set's artefacts into its report; raises ReportError when a record is unaccounted for.

    The train rows of the first fold are compared with all others.
    """
    recorded = ~feature_set.bars["filled"].to_numpy()  # filled rows are no records
    bars = feature_set.bars[recorded].reset_index(drop=True)
    features = np.asarray(feature_set.features)
    start, stop = (int(np.count_nonzero(recorded[:row])) for row in table.folds[0].train)
    return data_report_content(
        funnel=data_funnel(parts, rolled, sanitised, feature_set),
        bars=bars,
        features=features if recorded.all() else features[recorded],
        names=feature_set.names,
        targets=np.asarray(feature_set.targets)[recorded],
        findings=pd.concat([sanitised.findings, feature_set.findings], ignore_index=True),
        quarantine=sanitised.quarantine,
        rolls=rolls(rolled),
        train=(start, stop),
        session_minutes=session_minutes(nanoseconds(bars["ts_event"]), session),
        session={"turns_at": session.turns_at, "timezone": session.timezone},
        instrument=asdict(contract),
        edge=label["label"],
        stated_gaps=stated.lines,
        calendar=coverage[["session", "open", "missing"]],
        has_flow=np.asarray(feature_set.has_flow)[recorded] if _has_flow_columns(feature_set.names) else None,
    )


def _has_flow_columns(names: list[str]) -> bool:
    return any(row.name in names for row in FLOW_FEATURES)
