"""Configuration: typed, overridable, and an error for everything that is not exactly right."""

import dataclasses

import pytest

from pipelines.config.configuration import CONFIGS, as_tree, build_settings, load_settings
from pipelines.config.yaml_text import parse_yaml, read_yaml
from pipelines.errors import ConfigurationError


def test_the_default_configuration_resolves_to_real_contracts():
    settings = load_settings()
    assert settings.instrument.root == "ES"
    assert settings.instrument.contract.tick_size == 0.25
    assert settings.instrument.contract.multiplier == 50.0
    assert settings.execution.fill == "next_open"
    assert settings.cluster == "processes"


def test_a_default_that_stands_in_the_file_and_in_the_code_is_one_number():
    """A run of the shipped file and a class made in Python cut the same folds, draw and train the same."""
    settings = load_settings()

    def otherwise(value, path):
        for one in dataclasses.fields(value):
            found = getattr(value, one.name)
            made = one.default_factory() if one.default_factory is not dataclasses.MISSING else one.default
            if dataclasses.is_dataclass(found):
                yield from otherwise(found, f"{path}{one.name}.")
            elif made is not dataclasses.MISSING and made != found:
                yield f"{path}{one.name}"

    assert [name for name in otherwise(settings, "") if not name.startswith("instrument.")] == []
    assert settings.folds.purge_bars >= max(settings.training.linear.horizons), "as the docstring of FoldSettings asks"


@pytest.mark.parametrize(
    ("root", "tick", "multiplier", "nonpositive"),
    [
        ("ES", 0.25, 50, False),
        ("NQ", 0.25, 20, False),
        ("CL", 0.01, 1000, True),
        ("GC", 0.1, 100, False),
        ("ZN", 1 / 64, 1000, False),
    ],
)
def test_every_instrument_file_holds_its_exchange_values(root, tick, multiplier, nonpositive):
    instrument = load_settings([f"instrument={root}"]).instrument
    assert (instrument.root, instrument.contract.symbol) == (root, root)
    assert instrument.contract.tick_size == instrument.bars.tick_size == tick
    assert instrument.contract.multiplier == multiplier
    assert instrument.bars.allow_nonpositive is nonpositive


def test_a_range_excludes_its_stop_and_keeps_decimals():
    grid = load_settings(["sweep.grid.fast=5:50:5", "sweep.grid.slow=0.5:0.8:0.1"]).sweep.grid
    assert grid["fast"] == (5, 10, 15, 20, 25, 30, 35, 40, 45)
    assert grid["slow"] == (0.5, 0.6, 0.7)


def test_lists_and_single_values_become_axes():
    grid = load_settings(["sweep.grid.fast=3,8", "sweep.grid.slow=[50,60]"]).sweep.grid
    assert grid["fast"] == (3, 8)
    assert grid["slow"] == (50, 60)
    assert load_settings(["training.seeds=4"]).training.seeds == (4,)


def test_an_override_reaches_into_the_instrument():
    settings = load_settings(["instrument=NQ", "instrument.costs.slippage_ticks=2"])
    assert settings.instrument.costs.slippage_ticks == 2.0
    assert settings.instrument.contract.multiplier == 20.0


def test_text_stays_text_even_when_it_looks_like_a_number():
    assert load_settings(["data=2024"]).data == "2024"
    assert load_settings(["data=null"]).data == "null"


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("sweep.gird.fast=1", r"unknown key 'sweep.gird.fast': did you mean 'grid'\?"),
        ("capitol=1", r"unknown key 'capitol': did you mean 'capital'\?"),
        ("capital.amount=1", r"capital is a single value"),
        ("capital=many", r"configuration capital: .*number.*given 'many'"),
        ("capital=0", r"capital is 0.0, must be above 0"),
        ("capital=true", r"capital: must be a number, given true"),
        ("folds.train_bars=1.5", r"folds.train_bars: .*integer.*1.5"),
        ("folds.train_bars=-1", r"train_bars"),
        ("cluster=cloud", r"cluster is 'cloud', must be one of serial, threads, processes, cuda"),
        ("instrument=EX", r"there is no EX.yaml among the instruments CL, ES, GC, NQ, ZN; .*instrument=PATH\.yaml"),
        ("instrument=absent/EX.yaml", r"absent/EX\.yaml: there is no such file"),
        ("sweep.grid.fast=50:5:5", r"range '50:5:5' is empty"),
        ("execution.fill=vwap", r"fill='vwap' is unknown"),
        ("fold", r"'fold' is not an override: write key=value"),
        ("sweep=3", r"configuration sweep: must hold keys, given 3"),
        ("capital=inf", r"capital is .*inf.*|given 'inf'"),
        ("capital=1e400", r"capital is inf, must be above 0 and at most"),
        ("execution.contracts=99999999999", r"execution.contracts is 99999999999, must be at most 1000000"),
        ("sweep.rank_by=sharp", r"sweep.rank_by is 'sharp', must be one of .*sharpe"),
        ("sweep.executor=gpu", r"sweep.executor is 'gpu', must be one of"),
        ("sweep.grid.fast=.nan", r"sweep.grid.fast is .*must be finite numbers"),
        ("sweep.grid.fast=[]", r"sweep.grid.fast is .*at least one"),
        ("sweep.grid.fast=1:1e10:1", r"the range '1:1e10:1' has over 1,000,000 values"),
        ("sweep.strategies=[ema_cross,ema_cross]", r"sweep.strategies is .*each once"),
        ("sweep.strategies=[]", r"sweep.strategies is \[\], must be at least one"),
        ("training.seeds=1,1", r"training.seeds is .*each once"),
        ("training.seeds=-1", r"seeds start at 0"),
        ("instrument.limits.zscore=-1", r"instrument.limits.zscore is -1.0, must be above 0"),
    ],
)
def test_a_wrong_override_is_one_line_that_names_it_and_the_remedy(override, message):
    with pytest.raises(ConfigurationError, match=message) as caught:
        load_settings([override])
    assert "\n" not in str(caught.value)


def test_an_unknown_key_in_a_file_is_refused_with_the_nearest(tmp_path):
    text = (CONFIGS / "default.yaml").read_text().replace("  rank_by:", "  rank_buy:")
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(ConfigurationError, match=r"unknown key 'sweep.rank_buy': did you mean 'rank_by'\?"):
        load_settings([], path)


def test_the_resolved_configuration_builds_the_same_settings_again():
    settings = load_settings(["sweep.grid.fast=5:50:5", "instrument=CL"])
    assert build_settings(as_tree(settings)) == settings


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5:50:5", "5:50:5"),
        ("2024-01-01", "2024-01-01"),
        ("yes", "yes"),
        ("007", "007"),
        ("1e3", 1000.0),
        ("12", 12),
        ("-0.5", -0.5),
        ("true", True),
        ("null", None),
        ("[1, 2.5]", [1, 2.5]),
    ],
)
def test_yaml_has_no_base_60_dates_or_yes(text, value):
    assert parse_yaml(text, "test") == value


@pytest.mark.parametrize("text", ["a: 1\na: 2\n", "a: [1\n", "!!python/object/apply:os.system ['true']\n"])
def test_yaml_that_is_ambiguous_broken_or_code_is_refused(text, tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text(text)
    with pytest.raises(ConfigurationError, match=r"x.yaml is not valid YAML"):
        read_yaml(path)


def test_a_missing_configuration_file_is_named(tmp_path):
    with pytest.raises(ConfigurationError, match=r"cannot read the configuration .*none.yaml: No such file"):
        load_settings([], tmp_path / "none.yaml")


def test_a_file_that_holds_only_some_keys_is_told_what_to_copy(tmp_path):
    (tmp_path / "mine.yaml").write_text("data: x\nstore: y\ninstrument: ES\n")
    with pytest.raises(ConfigurationError, match=r"configuration \w+ is missing: a file given with --config .* copy that file"):
        load_settings(file=tmp_path / "mine.yaml")
