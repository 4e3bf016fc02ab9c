"""The promoted model's position for the newest bar is, bit for bit, what its backtest over the same days decides there."""

import dataclasses
import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pipelines.cli import main
from pipelines.config.configuration import as_tree, build_settings, load_settings
from pipelines.errors import StoreError, UsageError
from pipelines.models.promotions import find_model, promote, read_promoted
from pipelines.models.score_document import differing, score_document
from pipelines.models.scored_code import code_now
from pipelines.models.scoring import Terms, first_row, score
from pipelines.record.records import read_records
from pipelines.refresh.published_pointer import current_set
from pipelines.report.types import Evaluation
from pipelines.steps.feature_set import FeatureSet
from pipelines.steps.fold_rows import NormalisedFeatures
from pipelines.steps.modelling import LinearResult
from pipelines.storage import artefacts
from pipelines.storage.eviction import evict, inventory
from pipelines.storage.store import Store
from training.evaluation import policy_positions
from training.policy import Policy
from validation.normalise import normalise

MODELS = ("ema_cross", "zscore_reversion", "donchian_breakout", "linear", "dqn seed 0")


@pytest.fixture(scope="module")
def place(serial_store, small_settings, tmp_path_factory) -> Path:
    """A copy of the store of the run, with its feature set published."""
    store = tmp_path_factory.mktemp("scoring") / "store"
    shutil.copytree(serial_store, store)
    assert main(["refresh", f"store={store}", *small_settings, "cluster=serial", "--quiet"]) == 0
    return store


@pytest.fixture(scope="module")
def run(place) -> str:
    return next(row["run"] for row in read_records(Store(place)) if row["command"] == "run")


@pytest.fixture(scope="module")
def published(place) -> FeatureSet:
    store = Store(place)
    return artefacts.read_parts(store.verified(current_set(store, "ES").feature_set), FeatureSet)


def promoted(place: Path, run: str, model: str):
    return find_model(Store(place), run, model, None, "ES", "a test", "now")


def terms(one) -> Terms:
    settings = build_settings(one.configuration)
    return Terms(settings.instrument.contract, settings.instrument.costs, settings.execution, settings.capital)


def until(whole: FeatureSet, rows: int) -> FeatureSet:
    """The set as it was when so many bars were there."""
    return dataclasses.replace(
        whole,
        features=np.asarray(whole.features)[:rows],
        targets=np.asarray(whole.targets)[:rows],
        bars=whole.bars.iloc[:rows].reset_index(drop=True),
        valid=np.asarray(whole.valid)[:rows],
        has_flow=np.asarray(whole.has_flow)[:rows],
    )


def evaluation(place: Path, run: str, model: str) -> Evaluation:
    """What the run itself made of the model on its test rows."""
    store = Store(place)
    tasks = {task["task"]: task["key"] for row in read_records(store) if row["run"] == run for task in row["tasks"]}
    if model == "linear":
        return artefacts.read_parts(store.verified(tasks["linear_evaluation[fold=0]"]), LinearResult).evaluation
    name = f"strategy_evaluation[fold=0,strategy={model}]"
    if model.startswith("dqn"):
        name = f"policy_evaluation[fold=0,seed={model[-1]}]"
    return artefacts.read_parts(store.verified(tasks[name]), Evaluation)


@pytest.mark.parametrize("model", MODELS)
def test_scoring_day_by_day_is_the_backtest_over_the_same_days(place, run, published, model):
    one = promoted(place, run, model)
    whole = score(Store(place), one, published, terms(one))
    session = published.bars["session"].to_numpy()
    ends = np.flatnonzero(np.append(session[1:] != session[:-1], True))
    ends = ends[ends > whole.first]
    assert len(ends) >= 3
    rows = sorted({*ends.tolist(), *range(whole.first + 1, len(session), 2503)})
    targets = []
    for row in rows:
        newest = score(Store(place), one, until(published, row + 1), terms(one))
        assert newest.target[whole.first :].tobytes() == whole.target[whole.first : row + 1].tobytes()
        targets.append(newest.target[-1])
    assert np.array(targets).tobytes() == whole.target[rows].tobytes()
    assert len(set(whole.target[whole.first :].tolist())) > 1, "a model that never moves tests nothing"


@pytest.mark.parametrize("model", MODELS)
def test_the_positions_of_the_runs_own_evaluation_follow_from_the_scores(place, run, published, model):
    one = promoted(place, run, model)
    whole = score(Store(place), one, published, terms(one))
    curve = evaluation(place, run, model).curve
    assert curve["ts_event"].iloc[0] == pd.Timestamp(one.since)
    rows = slice(whole.first, whole.first + len(curve))
    executable = ~published.bars["masked"].to_numpy()[rows] & ~published.bars["filled"].to_numpy()[rows]
    # a target decided at a bar's close is the position at the next bar's
    decided, held = whole.target[rows][:-1], curve["position"].to_numpy()[1:]
    assert np.array_equal(decided[executable[1:]], held[executable[1:]])


def test_a_strategy_takes_the_warm_up_of_the_whole_grid_along(place, run):
    one = promoted(place, run, "zscore_reversion")
    assert one.parameters["window"] == 20 and one.start == 59, "the grid's longest window has 60 bars"


def test_a_strategy_of_ones_own_is_scored_too(place, run, published, tmp_path, monkeypatch):
    own_module = "from kernels.strategies import ema_cross\n\n\ndef mine():\n    return ema_cross()\n"
    (tmp_path / "own_scored.py").write_text(own_module)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*sys.path])
    one = promoted(place, run, "ema_cross")
    own = score(Store(place), dataclasses.replace(one, model="own_scored:mine"), published, terms(one))
    assert own.target.tobytes() == score(Store(place), one, published, terms(one)).target.tobytes()


def test_what_was_normalised_travels_with_the_fold(place, run, published):
    one = promoted(place, run, "linear")
    moved = dataclasses.replace(published, features=np.asarray(published.features) * np.float32(0.5))
    targets = [score(Store(place), one, features, terms(one)).target for features in (moved, published)]
    assert not np.array_equal(*targets, equal_nan=True)
    with pytest.raises(UsageError, match="not the same ones in the same order"):
        score(Store(place), one, dataclasses.replace(published, names=published.names[::-1]), terms(one))


def test_a_first_bar_that_cannot_be_filled_is_what_it_is_in_the_backtest(place, run, published):
    store, one = Store(place), promoted(place, run, "dqn seed 0")
    first = first_row(published.bars, one.since)
    bars = published.bars.copy()
    bars.loc[first - 3 : first, "masked"] = True
    bars.loc[first - 4, ["open", "high", "low", "close"]] *= 1.05  # what the account is marked to until it can fill
    doubtful = dataclasses.replace(published, bars=bars)
    scored = score(store, one, doubtful, terms(one)).target[first:]
    parts = {task.partition("[")[0]: store.verified(key) for task, key in one.artefacts.items()}
    scale = artefacts.read_parts(parts["normalised"], NormalisedFeatures)
    z, _ = normalise(np.asarray(published.features), scale.normaliser, scale.limit, published.names, None, published.valid)
    policy, rows, money = artefacts.read_parts(parts["policy"], Policy), (first, len(bars)), terms(one)
    backtest = policy_positions(policy, z, bars, rows, money.contract, money.costs, money.execution)
    assert scored.tobytes() == backtest[first:].tobytes()


def test_data_without_the_models_first_bar_is_told(published):
    with pytest.raises(UsageError, match="has no bar at 2031"):
        first_row(published.bars, "2031-01-01T00:00:00+00:00")
    with pytest.raises(UsageError, match="refresh with newer data"):
        first_row(published.bars, published.bars["ts_event"].iloc[-1].isoformat())


def command(capsys, place, small_settings, *words: str) -> tuple[int, dict]:
    code = main([*words, f"store={place}", *small_settings, "cluster=serial", "--json", "--quiet"])
    return code, json.loads(capsys.readouterr().out.strip().splitlines()[-1])


def test_a_model_that_does_not_beat_flat_needs_a_reason(place, run, small_settings, capsys):
    code, answer = command(capsys, place, small_settings, "promote", run, "linear")
    assert code == 2 and "is not promoted" in answer["error"] and "--anyway reason=" in answer["error"]
    assert command(capsys, place, small_settings, "promote", run, "linear", "--anyway")[0] == 2
    assert command(capsys, place, small_settings, "promote", run, "linear", "reason=x")[0] == 2
    code, answer = command(capsys, place, small_settings, "promote", run[:-2], "linear", "--anyway", "reason=on paper only")
    assert (code, answer["promoted"]["anyway"], answer["promoted"]["beats_flat"]) == (0, "on paper only", False)
    code, answer = command(capsys, place, small_settings, "promote", run, "ema_cross", "fold=0", "--anyway", "reason=again")
    assert answer["before"]["model"] == "linear"
    history = [json.loads(line) for line in Store(place).files.lines("promoted/ES.history.jsonl")]
    assert [(row["model"], row["anyway"]) for row in history[-2:]] == [("linear", "on paper only"), ("ema_cross", "again")]


def test_a_model_that_the_report_says_beats_flat_needs_none(place, run, tmp_path):
    shutil.copytree(place, tmp_path / "store")
    path = tmp_path / "store" / "runs" / run / "fold-0" / "report.json"
    report = json.loads(path.read_text())
    for row in report["verdict"]["models"]:
        row.update(beats_flat=True, words="beats flat after costs")
    path.write_text(json.dumps(report))
    one = find_model(Store(tmp_path / "store"), run, "linear", None, "ES", "", "now")
    assert (one.beats_flat, one.words, one.anyway) == (True, "beats flat after costs", "")
    path.unlink()
    with pytest.raises(UsageError, match="not judged by a report"):
        find_model(Store(tmp_path / "store"), run, "linear", None, "ES", "", "now")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("linear",), "needs a run and a model"),
        (("RUN", "liner"), "did you mean 'linear'"),
        (("RUN", "flat"), "no model 'flat' that could be promoted"),
        (("nothing", "linear"), "no single run 'nothing'"),
        (("RUN", "linear", "fold=3"), "fold=3 is none of its folds"),
        (("RUN", "linear", "fold=x"), "name one fold"),
    ],
)
def test_what_cannot_be_promoted_is_told(place, run, small_settings, capsys, words, said):
    words = [run if word == "RUN" else word for word in words]
    code, answer = command(capsys, place, small_settings, "promote", *words, "--anyway", "reason=x")
    assert code == 2 and said in answer["error"]


def test_a_score_says_what_it_is_based_on_and_is_kept_once(place, run, published, small_settings, capsys):
    one = promoted(place, run, "zscore_reversion")
    promote(Store(place), one)
    code, answer = command(capsys, place, small_settings, "score")
    assert code == 0
    whole = score(Store(place), one, published, terms(one))
    last = published.bars.iloc[-1]
    assert answer["target"] == whole.target[-1] and answer["contracts"] == int(answer["target"])
    assert (answer["run"], answer["fold"], answer["model"]) == (run, 0, "zscore_reversion")
    assert answer["parameters"] == one.parameters and answer["contract"] == last["contract"] == "ESM4"
    assert answer["bar"] == last["ts_event"].isoformat() and answer["close"] == last["close"]
    assert answer["feature_set"] == current_set(Store(place), "ES").feature_set
    held = published.bars["ts_event"].searchsorted(pd.Timestamp(answer["held_since"]))
    assert (whole.target[held:] == answer["target"]).all() and whole.target[held - 1] != answer["target"]
    assert any("stale data" in text for text in answer["warnings"]) and answer["age_sessions"] > 100
    record = read_records(Store(place))[-1]
    assert (record["run"], record["command"], record["status"]) == (answer["record"], "score", "done")
    lines = Store(place).files.lines("scores/ES.jsonl")
    assert command(capsys, place, small_settings, "score")[1]["target"] == answer["target"]
    assert Store(place).files.lines("scores/ES.jsonl") == lines
    assert main(["score", f"store={place}", *small_settings]) == 0
    assert "ES: target" in capsys.readouterr().out


def test_eviction_leaves_what_a_score_reads(place, run, tmp_path, small_settings, capsys):
    shutil.copytree(place, tmp_path / "store")
    store = Store(tmp_path / "store")
    promote(store, promoted(place, run, "dqn seed 0"))
    evict(store, 0)
    assert {one.node for one in inventory(store)} >= {"policy", "normalised", "feature_set"}
    assert command(capsys, store.root, small_settings, "score")[0] == 0
    with pytest.raises(UsageError, match="is no longer in the store"):
        find_model(store, run, "ema_cross", None, "ES", "x", "now")


def test_without_a_model_or_a_set_a_score_says_which_command_makes_one(tmp_path, small_settings, capsys, place, run):
    code, answer = command(capsys, tmp_path / "none", small_settings, "score")
    assert code == 2 and "pipeline promote RUN MODEL" in answer["error"] and not (tmp_path / "none").exists()
    store = Store.open(tmp_path / "store")
    promote(store, promoted(place, run, "linear"))
    code, answer = command(capsys, store.root, small_settings, "score")
    assert code == 2 and "pipeline refresh" in answer["error"]
    store.files.write("promoted/ES.json", b"{}")
    with pytest.raises(StoreError, match="promote a model again"):
        read_promoted(store, "ES")


def test_every_doubt_about_the_newest_bar_is_a_warning(place, run, published, small_settings):
    store = Store(place)
    one, settings = promoted(place, run, "linear"), load_settings([*small_settings, "instrument.costs.slippage_ticks=3"])
    pointer = dataclasses.replace(current_set(store, "ES"), volumes={"ESM4": 10, "ESU4": 11})
    last = len(published.bars) - 1
    bars = published.bars.copy()
    bars.loc[last, ["masked", "filled"]] = True
    valid = np.array(published.valid)
    valid[last] = False
    doubtful = dataclasses.replace(published, bars=bars, valid=valid)
    document = score_document(one, pointer, doubtful, score(store, one, doubtful, terms(one)), terms(one), settings)
    said = "\n".join(document["warnings"])
    for text in (
        "stale data",
        "masked by layer 2",
        "filled forward",
        "look-back of the newest bar is not filled",
        "promoted anyway (a test)",
        "the configuration differs from that of run",
        "instrument.costs.slippage_ticks",
        "roll due: ESU4 traded 11 in session 20240315",
    ):
        assert text in said
    fresh = load_settings([*small_settings, "refresh.stale_sessions=100000"])
    plain = score_document(
        dataclasses.replace(one, beats_flat=True, configuration=as_tree(fresh)), dataclasses.replace(pointer, volumes={}),
        published, score(store, one, published, terms(one)), terms(one), fresh,
    )  # fmt: skip
    assert plain["warnings"] == []
    near = bars.assign(session=np.int32(20240614), masked=False, filled=False)
    whole = score(store, one, published, terms(one))
    quiet, last_week = dataclasses.replace(pointer, volumes={"ESM4": 12}), dataclasses.replace(published, bars=near)
    late = score_document(one, quiet, last_week, whole, terms(one), settings)
    assert "roll due: ESM4 stops trading in 7 days" in late["warnings"]


@pytest.mark.parametrize(
    ("model", "changed"),
    [
        ("donchian_breakout", "kernels.strategies:donchian_breakout"),
        ("dqn seed 1", "validation.normalise:normalise"),
        ("linear", "training.linear:linear_positions"),
    ],
)
def test_a_model_whose_code_changed_since_its_run_is_neither_promoted_nor_scored(
    place, run, small_settings, capsys, tmp_path, model, changed
):
    store = Store(tmp_path / "store")
    shutil.copytree(place, store.root)
    promote(store, promoted(store.root, run, model))
    assert command(capsys, store.root, small_settings, "score")[0] == 0
    for code in read_promoted(store, "ES").code.values():
        was = json.loads(store.files.read(f"code/{code}.json"))
        other = {**was, "kernels.opcodes:nobody_asked": "0", **({changed: "0" * 64} if changed in was else {})}
        store.files.write(f"code/{code}.json", json.dumps(other).encode())
    positions = store.files.lines("scores/ES.jsonl")
    for words in (("score",), ("promote", run, model, "--anyway", "reason=x")):
        code, answer = command(capsys, store.root, small_settings, *words)
        assert code == 2 and f"the code of {model} is not that which run {run} evaluated: {changed};" in answer["error"]
    assert store.files.lines("scores/ES.jsonl") == positions
    promote(store, dataclasses.replace(read_promoted(store, "ES"), code={}))
    code, answer = command(capsys, store.root, small_settings, "score")
    assert code == 2 and f"which code run {run} evaluated {model} by is no longer known" in answer["error"]


def test_the_code_of_ones_own_strategy_counts_with_all_it_calls_and_comments_do_not(tmp_path, monkeypatch):
    (tmp_path / "own_coded.py").write_text("from own_called import made\n\n\ndef mine():\n    return made()\n")
    called = "from kernels.strategies import ema_cross\n\n\ndef made():\n    return ema_cross()\n"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*sys.path])
    seen = []
    for text in (called, f"# why\n{called}", called.replace("ema_cross", "donchian_breakout")):
        (tmp_path / "own_called.py").write_text(text)
        seen.append(code_now("strategy", "own_coded:mine"))
    assert seen[0] == seen[1] != seen[2]
    assert {name for name in seen[0] if seen[0][name] != seen[2].get(name)} >= {"own_called:made"}


def test_a_set_of_other_code_or_configuration_than_the_models_run_is_told(place, run, published, small_settings):
    store, settings = Store(place), load_settings(list(small_settings))
    one, pointer = promoted(place, run, "linear"), current_set(store, "ES")
    whole = score(store, one, published, terms(one))

    def said(pointer) -> str:
        return "\n".join(score_document(one, pointer, published, whole, terms(one), settings)["warnings"])

    assert "feature_days" in pointer.code and "the published set" not in said(pointer)
    assert f"by other code than that of run {run}: feature_days" in said(
        dataclasses.replace(pointer, code={**pointer.code, "feature_days": "0", "new_node": "1"})
    )
    other = load_settings([*small_settings, "instrument.limits.feature=4.5", "instrument.costs.slippage_ticks=3"])
    made = {name: as_tree(other)[name] for name in pointer.configuration}
    text = said(dataclasses.replace(pointer, configuration=made))
    assert f"the published set was made with another configuration than run {run}: instrument.limits.feature" in text
    assert "slippage" not in text


def test_differences_of_configurations_are_named():
    assert differing({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3, "d": 4}}) == ["a.c", "a.d"]
