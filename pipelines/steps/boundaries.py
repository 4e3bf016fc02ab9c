"""Gates of the tables between stages: pandera schemas, checked on fresh values, before a cache write and after a read."""

import numpy as np
import pandas as pd

from loaders.outrights import OutrightBars
from loaders.roll import RolledBars
from pipelines.steps.feature_set import FeatureSet, gate_feature_set
from validation.errors import ValidationError
from validation.sanitise import Sanitised
from validation.schemas import check_table


def gate_outrights(value: OutrightBars, where: str) -> None:
    """Check the outright bars of one file; raises SchemaError naming column, row and check."""
    check_table(value.bars, "outrights")


def gate_rolled(value: RolledBars, where: str) -> None:
    """Check the rolled bars."""
    check_table(value.bars, "rolled")


def gate_sanitised(value: Sanitised, where: str) -> None:
    """Check the accepted bars and the findings of layer 1; raises ValidationError where no bar is left."""
    if len(value.quarantine) and not len(value.accepted):
        raise ValidationError(
            f"layer 1 rejects all {len(value.quarantine)} bars ({value.report['rejected']}); check the files, and "
            "instrument.bars: its tick_size and allow_nonpositive"
        )
    check_table(value.accepted, "accepted")
    check_table(value.findings, "findings")


def gate_bars(value: pd.DataFrame, where: str) -> None:
    """Check the continuous series."""
    check_table(value, "bars")


def gate_features_and_targets(value: FeatureSet, where: str) -> None:
    """Check the feature set: its table, its findings, its targets and the bounds of its features."""
    table = value.bars[["ts_event", "session", "contract", "expiry", "masked"]]
    check_table(table.assign(valid=np.asarray(value.valid)), "feature set")
    check_table(value.findings, "findings")
    gate_feature_set(value, where)
