"""From the artefacts of a data set to the content of its data report."""

from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from kernels.execution import Instrument
from loaders.outrights import OutrightBars
from loaders.roll import RolledBars
from loaders.sessions import SessionRule, session_minutes
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
    sanitised: Sanitised,
    feature_set: FeatureSet,
    table: FoldTable,
    label: dict[str, Any],
    contract: Instrument,
    session: SessionRule,
) -> ReportContent:
    """Gather a data set's artefacts into its report; raises ReportError when a record is unaccounted for.

    The train rows of the first fold are compared with all others.
    """
    return data_report_content(
        funnel=data_funnel(parts, rolled, sanitised, feature_set),
        bars=feature_set.bars,
        features=np.asarray(feature_set.features),
        names=feature_set.names,
        targets=np.asarray(feature_set.targets),
        findings=pd.concat([sanitised.findings, feature_set.findings], ignore_index=True),
        quarantine=sanitised.quarantine,
        rolls=rolls(rolled),
        train=table.folds[0].train,
        session_minutes=session_minutes(nanoseconds(feature_set.bars["ts_event"]), session),
        session={"turns_at": session.turns_at, "timezone": session.timezone},
        instrument=asdict(contract),
        edge=label["label"],
    )
