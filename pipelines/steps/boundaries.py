"""Gates of the artefacts between stages, whole and by field: run before a cache write and whenever one is read."""

from collections import Counter
from typing import Any

import pandas as pd

from loaders.outrights import OutrightBars
from loaders.roll import RolledBars
from pipelines.graphs.reading import Gate
from pipelines.steps.feature_days import DayFeatures, gate_rows
from pipelines.steps.feature_set import FeatureSet, gate_feature_set
from pipelines.steps.fold_rows import gate_limit, gate_normalised, gate_normaliser
from validation.errors import ValidationError
from validation.sanitise import Sanitised
from validation.schemas import TABLES, check_table

SHOWN = 5  # contracts that an error names


def check_outrights(bars: pd.DataFrame, where: str) -> None:
    """Check the outright bars of one file; raises SchemaError naming column, row and check.

    Raises ValidationError for bars without a contract month: no stage has lost it, the file does not say it.
    """
    if "expiry" in bars and len(unknown := bars.loc[bars["expiry"] == 0, "contract"]):
        names = sorted(set(unknown))
        named = ", ".join(names[:SHOWN]) + (" and others" if len(names) > SHOWN else "")
        raise ValidationError(
            f"gate, {where}: {len(unknown)} bars of {named} have no contract month: neither a definition nor the symbol tells "
            "it, as in files of continuous symbols (ES.v.0) and of equities; put the definition files of these days beside the "
            "data, or download the contracts themselves (stype_in raw_symbol or parent)"
        )
    check_table(bars, "outrights")


def check_report(report: dict[str, Any], where: str) -> None:
    """Check that every record of a file was kept or is counted among the dropped; raises ValidationError otherwise."""
    counts = {name: report.get(name) for name in ("records", "outright", "dropped")}
    records, kept, dropped = counts.values()
    if not isinstance(dropped, dict) or records != (kept or 0) + sum(dropped.values()):
        raise ValidationError(
            f"gate, {where}: the report of {report.get('file', 'a file')} counts {counts}; records must be outright plus the "
            "sum of dropped: correct the node that loads the file"
        )


def gate_outrights(value: OutrightBars, where: str) -> None:
    """Check the outright bars of one file and what its report counts."""
    check_outrights(value.bars, where)
    check_report(value.report, where)
    _require_count("outright", value.report["outright"], len(value.bars), where)


def check_rolled(bars: pd.DataFrame, where: str) -> None:
    """Check the rolled bars."""
    check_table(bars, "rolled")


def gate_rolled(value: RolledBars, where: str) -> None:
    """Check the rolled bars and their roles."""
    check_rolled(value.bars, where)


def check_accepted(accepted: pd.DataFrame, where: str) -> None:
    """Check the bars that layer 1 accepted."""
    check_table(accepted, "accepted")


def gate_sanitised(value: Sanitised, where: str) -> None:
    """Check the accepted bars and the findings of layer 1, and that each record is accepted or in quarantine.

    Raises ValidationError where no bar is left.
    """
    if len(value.quarantine) and not len(value.accepted):
        raise ValidationError(
            f"layer 1 rejects all {len(value.quarantine)} bars ({value.report['rejected']}); check the files, and "
            "instrument.bars: its tick_size and allow_nonpositive"
        )
    check_accepted(value.accepted, where)
    check_table(value.findings, "findings")
    _require_count("records", value.report["records"], len(value.accepted) + len(value.quarantine), where)


def check_bars(bars: pd.DataFrame, where: str) -> None:
    """Check the continuous series; columns beside its own, those of exogenous files, may hold anything."""
    check_table(bars[[name for name in TABLES["bars"] if name in bars.columns]], "bars")


def gate_bars(value: pd.DataFrame, where: str) -> None:
    """Check the continuous series and that it has no other columns."""
    check_table(value, "bars")


def gate_day(value: DayFeatures, where: str) -> None:
    """Check the rows of a trade date; its bars are those of the series, its targets are checked with them in the whole set."""
    gate_rows(value.rows, where)


def check_names(names: list[str], where: str) -> None:
    """Check that each feature has a name of its own; raises ValidationError naming one that stands twice."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValidationError(f"gate, {where}: two features are named {twice[0]}; give each a name of its own")


def gate_features_and_targets(value: FeatureSet, where: str) -> None:
    """Check the feature set: its bars, its findings, its targets and the bounds of its features."""
    check_bars(value.bars, where)
    check_table(value.findings, "findings")
    check_names(value.names, where)
    _require_count("features by name", len(value.names), value.features.shape[1], where)
    gate_feature_set(value, where)


def _require_count(name: str, counted: object, there: int, where: str) -> None:
    if counted != there:
        raise ValidationError(
            f"gate, {where}: {counted} {name} are counted, but there are {there}; nothing may vanish or appear: correct the "
            "node that made them"
        )


OUTRIGHTS = Gate(gate_outrights, {"bars": check_outrights, "report": check_report})
ROLLED = Gate(gate_rolled, {"bars": check_rolled})
SANITISED = Gate(gate_sanitised, {"accepted": check_accepted})
BARS = Gate(gate_bars)
FEATURE_DAYS = Gate(gate_day, {"rows": gate_rows})
FEATURE_SET = Gate(gate_features_and_targets, {"bars": check_bars, "names": check_names})
NORMALISED = Gate(gate_normalised, {"normaliser": gate_normaliser, "limit": gate_limit})
