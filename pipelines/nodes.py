"""THE table: every node of the walk-forward flow, in the order data meets them."""

from loaders.continuous import continuous_bars
from loaders.exogenous import exogenous_columns
from loaders.gaps_report import gap_report
from loaders.outrights import outright_bars
from loaders.roll import rolled_bars
from loaders.roll_open_interest import open_interest
from loaders.stated_gaps import stated_gaps
from pipelines.graphs.node import Node, Resources
from pipelines.steps import (
    boundaries,
    data_reporting,
    evaluating,
    feature_days,
    fold_rows,
    modelling,
    order_flow,
    outright_sources,
    pooling,
    reporting,
    searching,
    selecting,
    sweep_pieces,
    sweeping,
)
from validation.sanitise import sanitise_rolled

BOUNDS = {"limit": "instrument.limits.feature", "return_limit": "instrument.limits.log_return"}
TRADING = {"contract": "instrument.contract", "costs": "instrument.costs", "execution": "execution"}
MONEY = {**TRADING, "capital": "capital"}
RANKED = {"rank_by": "sweep.rank_by", "keep": "sweep.keep"}
CALENDAR = ("pandas_market_calendars",)
ROWS = {"bars": "feature_set.bars", "fold": "fold"}
MODEL = {**ROWS, "normalised": "normalised"}

NODES = (
    # files → one continuous series of accepted bars
    Node("outright_parts", outright_bars, per=("file", "part"), settings={"root": "instrument.root"}, axes={"ordinal": "file"},
         files={"bars_file": "bars", "partition": "bars", "definition_files": "definitions"}, gate=boundaries.OUTRIGHTS, exact=True),
    Node("traded_bars", outright_sources.traded_bars, per=("traded",), gate=boundaries.OUTRIGHTS,
         settings={"root": "instrument.root", "interval": "load.bars_from_trades"},
         files={"trade_files": "trades", "definition_files": "definitions"}, exact=True),
    Node("outrights", outright_sources.joined_outrights, per=("file",), gate=boundaries.OUTRIGHTS,
         inputs={"parts": "outright_parts", "traded": "traded_bars"}, exact=True),
    Node("open_interest", open_interest, settings={"root": "instrument.root"},
         files={"statistics_files": "statistics", "definition_files": "definitions"}, exact=True),
    Node("rolled", rolled_bars, inputs={"parts": "outrights", "open_interest": "open_interest"}, files={"schedule_files": "roll_schedule"},
         settings={"session": "instrument.session", "roll": "instrument.roll"}, gate=boundaries.ROLLED, libraries=CALENDAR,
         exact=True),
    Node("gaps", gap_report, inputs={"reports": "outrights.report", "rolled": "rolled"},
         settings={"session": "instrument.session"}, libraries=CALENDAR),
    Node("sanitised", sanitise_rolled, inputs={"rolled": "rolled.bars"}, settings={"rules": "instrument.bars"},
         gate=boundaries.SANITISED, exact=True),
    Node("bars", continuous_bars, inputs={"accepted": "sanitised.accepted"}, gate=boundaries.BARS, libraries=CALENDAR,
         settings={"adjustment": "instrument.roll.adjustment", "session": "instrument.session"}, exact=True),
    # bars → feature set
    Node("exogenous", exogenous_columns, inputs={"bars": "bars"}, files={"files": "exogenous"},
         settings={"rules": "exogenous_rules", "bar_seconds": "bar_seconds"}, exact=True),
    Node("file_flow", order_flow.file_flow, per=("flow_file",), settings={"root": "instrument.root", "bar_seconds": "bar_seconds"},
         files={"flow_file": "flow", "definition_files": "definitions"}, exact=True),
    Node("order_flow", order_flow.bar_order_flow, inputs={"files": "file_flow", "bars": "bars"}, exact=True),
    Node("feature_days", feature_days.day_features, split=feature_days.split_days, gate=boundaries.FEATURE_DAYS, modules="features.modules",
         inputs={"bars": "bars", "exogenous": "exogenous.columns", "flow": "order_flow"}, settings={"features": "features", "timezone": "instrument.session.timezone", **BOUNDS}),
    Node("feature_set", feature_days.joined_days, settings={**BOUNDS, "root": "instrument.root"}, gate=boundaries.FEATURE_SET,
         inputs={"days": "feature_days.rows", "bars": "bars", "exogenous": "exogenous.columns"}),
    # feature set → one fold
    Node("folds", fold_rows.fold_table, inputs={"feature_set": "feature_set"}, settings={"settings": "folds"}),
    Node("fold", fold_rows.fold_rows, per=("fold",), inputs={"table": "folds"}, axes={"index": "fold"}),
    Node("normalised", fold_rows.normalised_features, per=("fold",), inputs={"feature_set": "feature_set", "fold": "fold"},
         settings={"limit": "instrument.limits.zscore"}, gate=boundaries.NORMALISED),
    # strategies: chosen on validation rows, the best scored once on test rows
    Node("search", searching.sweep_search, per=("strategy",), axes={"strategy": "strategy"}, libraries=("scipy",),
         settings={"grid": "sweep.grid", "search": "sweep.search", "samples": "sweep.samples", "seed": "sweep.seed",
                   "judged": "sweep.overfitting_combinations"},
         narrowed={"grid": searching.own_grid}),
    Node("sweep", sweeping.sweep_chunk, per=("fold", "strategy", "chunk"), inputs={**ROWS, "searched": "search"},
         axes={"strategy": "strategy", "chunk": "chunk"},
         settings={**MONEY, **RANKED, "grid": "sweep.grid", "chunk_combinations": "sweep.chunk_combinations",
                   "executor": "sweep.executor", "allow_fallback": "sweep.allow_fallback"},
         narrowed={"grid": searching.own_grid}, pieces=sweep_pieces.IN_PIECES, resources=Resources(gpu=1, executor="executor")),
    Node("ranking", sweeping.strategy_ranking, per=("fold", "strategy"), inputs={"chunks": "sweep", "searched": "search"},
         axes={"strategy": "strategy"}, settings=RANKED, evaluates="validation", trials="trials",
         neutral=("keep", "table", "sums", "squares", "counts", "search")),  # how much is kept, not what was tried
    Node("overfitting", selecting.selection_overfitting, per=("fold", "strategy"), inputs={"ranking": "ranking"}),
    Node("strategy_evaluation", evaluating.strategy_evaluation, per=("fold", "strategy"), inputs={**ROWS, "ranking": "ranking"},
         axes={"strategy": "strategy"}, settings=MONEY, evaluates="test", trials=1),
    # policies and the linear baseline
    Node("policy", modelling.policy, per=("fold", "seed"), inputs=MODEL, axes={"seed": "seed"},
         settings={**TRADING, "settings": "training.dqn"}, evaluates="validation", trials="looks", libraries=("torch",)),
    Node("policy_evaluation", modelling.policy_evaluation, per=("fold", "seed"), inputs={**MODEL, "trained": "policy"},
         axes={"seed": "seed"}, settings=MONEY, evaluates="test", trials=1),
    Node("linear", modelling.linear_model, per=("fold",), inputs=MODEL, settings={**TRADING, "settings": "training.linear"},
         evaluates="validation", trials="looks"),
    Node("linear_evaluation", modelling.linear_evaluation, per=("fold",), inputs={**MODEL, "model": "linear"}, settings=MONEY,
         evaluates="test", trials=1),
    # yardsticks: nothing is chosen among them, so they are looks without trials; hindsight scores no model at all
    Node("benchmark_evaluation", evaluating.benchmark_evaluation, per=("fold", "benchmark"), inputs=ROWS,
         axes={"benchmark": "benchmark"}, settings=MONEY, evaluates="test", trials=0),
    Node("hindsight", modelling.hindsight, per=("fold",), inputs=ROWS, settings=TRADING),
    # everything the report says that does not depend on the run that asks for it
    Node("label", reporting.data_label, files={"truth_files": "truth"}),
    Node("stated_gaps", stated_gaps, inputs={"reports": "outrights.report"},
         files={"flow_files": "flow", "statistics_files": "statistics", "definition_files": "definitions", "condition_files": "conditions"}),
    Node("data_report_content", data_reporting.data_report, libraries=("matplotlib", "scipy"),
         inputs={"parts": "outrights", "rolled": "rolled", "coverage": "gaps.coverage", "sanitised": "sanitised",
                 "feature_set": "feature_set", "table": "folds", "label": "label", "stated": "stated_gaps"},
         settings={"contract": "instrument.contract", "session": "instrument.session"}),
    Node("report_content", reporting.fold_report_content, per=("fold",), axes={"fold": "fold"},
         inputs={"parts": "outrights", "rolled": "rolled", "gaps": "gaps", "sanitised": "sanitised", "feature_set": "feature_set", "table": "folds",
                 "normalised": "normalised", "rankings": "ranking", "selections": "overfitting", "strategy_models": "strategy_evaluation", "policies": "policy",
                 "policy_models": "policy_evaluation", "linear": "linear_evaluation", "benchmarks": "benchmark_evaluation",
                 "hindsight": "hindsight", "label": "label", "stated": "stated_gaps"},
         settings={**MONEY, "strategies": "sweep.strategies"}),
    Node("pooled", pooling.pooled_folds, inputs={"documents": "report_content.document"}, libraries=("scipy",)),
)  # fmt: skip

BENCHMARKS = evaluating.BENCHMARKS
