"""From YAML files and `key=value` overrides to typed Settings; an unknown key or a wrong value is an error that teaches."""

import dataclasses
import difflib
import math
import re
import typing
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import pydantic

from pipelines.config.setting_values import check_value, shown
from pipelines.config.settings import Settings
from pipelines.config.yaml_text import parse_yaml, read_yaml
from pipelines.errors import ConfigurationError
from pipelines.record.redaction import is_secret, learn, names_withheld, withheld

MOST_VALUES = 1_000_000  # of one axis; a longer range is a mistyped one
CONFIGS = Path(__file__).resolve().parents[2] / "configs"
_RANGE = re.compile(r"^\s*([-+.\deE]+):([-+.\deE]+)(?::([-+.\deE]+))?\s*$")


def load_settings(overrides: Sequence[str] = (), file: Path | None = None, configs: Path = CONFIGS) -> Settings:
    """Resolve the configuration: the file (default configs/default.yaml), then the instrument's file, then overrides.

    Each override is `dotted.key=value`. Raises ConfigurationError with the nearest known key or the wrong value.
    """
    tree = read_yaml(file or configs / "default.yaml")
    pairs = [_split(text) for text in overrides]
    for key, raw in pairs:
        if key == "instrument":
            tree["instrument"] = raw
    tree["instrument"] = _instrument(tree.get("instrument"), configs / "instruments")
    for key, raw in pairs:
        if key != "instrument":
            _apply(tree, key, raw)
    learn(tree, overrides)
    return build_settings(tree)


def recorded_settings(tree: Mapping[str, Any], overrides: Sequence[str], free: Sequence[str]) -> Settings:
    """Return the settings that a record holds, with `free` keys and what the record withholds given anew.

    Raises ConfigurationError for any other key, and for a withheld one that is not given. Options of the store are left out.
    """
    whole = {name: item for name, item in tree.items() if name != "store_options"}
    hidden = names_withheld(whole)
    for key, raw in (_split(text) for text in overrides):
        if key not in (*free, *hidden) and not key.startswith("store"):
            raise ConfigurationError(f"{key}: a run is reproduced with its own configuration; leave {key} out")
        if not key.startswith("store"):
            _apply(whole, key, raw)
    learn(whole, overrides)
    if missing := names_withheld(whole):
        raise ConfigurationError(f"the record withholds {', '.join(missing)}: give it again, {missing[0]}=…")
    return build_settings(whole)


def build_settings(tree: Mapping[str, Any]) -> Settings:
    """Turn a plain mapping into Settings; raise ConfigurationError naming key, value and remedy."""
    return typing.cast(Settings, build(Settings, tree, ""))


def build(kind: type, tree: Any, path: str) -> Any:
    """Turn a plain mapping into a dataclass of settings that lies at a dotted path; raise as `build_settings`."""
    resolved = _resolve(kind, tree, path)
    try:
        return _adapter(kind).validate_python(resolved)
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        where = ".".join([path] * bool(path) + [str(part) for part in first["loc"]])
        if first["type"] == "missing":
            raise ConfigurationError(
                f"configuration {where} is missing: a file given with --config takes the place of configs/default.yaml and "
                "holds every key; copy that file and change the copy"
            ) from None
        reason = first["msg"].removeprefix("Value error, ")
        untold = first["type"] == "value_error" or any(is_secret(part) for part in where.split("."))
        given = "" if untold else f" (given {shown(first['input'])})"
        raise ConfigurationError(f"configuration {where}: {reason}{given}".replace(" : ", ": ")) from None


def as_tree(settings: Any) -> dict[str, Any]:
    """Return the settings as plain JSON values, in declaration order: what a run stores and its keys hash.

    Of `store_options`, which may hold credentials, only the names are kept.
    """
    tree: dict[str, Any] = _adapter(typing.cast(Any, type(settings))).dump_python(settings, mode="json")
    if "store_options" in tree:
        tree["store_options"] = withheld(tree["store_options"])
    return tree


@lru_cache(maxsize=256)
def _adapter(kind: Any) -> pydantic.TypeAdapter[Any]:
    """Build the adapter of a class once: it takes milliseconds, and a graph asks for each task."""
    return pydantic.TypeAdapter(kind)


def nearest(name: str, known: typing.Iterable[str]) -> str:
    """Return a hint naming the known word nearest to a mistyped one, or all of them."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else f"known: {', '.join(names)}"


def _split(text: str) -> tuple[str, str]:
    key, equals, raw = text.partition("=")
    if not equals or not key.strip():
        raise ConfigurationError(f"{text!r} is not an override: write key=value, e.g. sweep.grid.fast=5:50:5")
    return key.strip(), raw.strip()


def _instrument(value: Any, folder: Path) -> Any:
    if not isinstance(value, str):
        return value
    if value.endswith(".yaml"):
        if not Path(value).is_file():
            raise ConfigurationError(f"instrument={value}: there is no such file; it is looked for from {Path.cwd()}")
        return read_yaml(Path(value))
    known = sorted(path.stem for path in folder.glob("*.yaml"))
    if value not in known:
        raise ConfigurationError(
            f"instrument={value}: there is no {value}.yaml among the instruments {', '.join(known)}; for another one give a "
            f"changed copy of a file of {folder}: instrument=PATH.yaml"
        )
    return read_yaml(folder / f"{value}.yaml")


def _apply(tree: dict[str, Any], key: str, raw: str) -> None:
    """Set one dotted key; text stays text where the declared type is text."""
    parts = key.split(".")
    kind = _declared(Settings, parts, key)
    branch = tree
    for part in parts[:-1]:
        child = branch.get(part)
        if child is None:
            child = branch[part] = {}
        if not isinstance(child, dict):
            raise ConfigurationError(f"{key}: {part} holds a single value, not keys")
        branch = child
    keep_text = kind is str or _RANGE.match(raw) is not None
    branch[parts[-1]] = raw if keep_text else parse_yaml(raw, f"the value of {key}")


def _declared(kind: Any, parts: Sequence[str], key: str) -> Any:
    """Return the declared type at a dotted key; raise with the nearest key where there is none."""
    for position, part in enumerate(parts):
        if dataclasses.is_dataclass(kind):
            hints = typing.get_type_hints(kind)
            if part not in hints:
                prefix = ".".join(parts[:position])
                raise ConfigurationError(
                    f"unknown key {key!r}: {nearest(part, hints)}{f' (in {prefix})' if prefix else ''}"
                )
            kind = hints[part]
        elif kind is Any:
            return Any
        elif _is_mapping(kind):
            kind = typing.get_args(kind)[1]
        elif kind is not Any:
            raise ConfigurationError(f"unknown key {key!r}: {'.'.join(parts[:position])} is a single value")
    return kind


def _resolve(kind: Any, value: Any, path: str) -> Any:
    """Check keys against the declared types and expand ranges, recursively."""
    if dataclasses.is_dataclass(kind):
        if value is None:
            value = {}
        if not isinstance(value, Mapping):
            raise ConfigurationError(f"configuration {path}: must hold keys, given {shown(value)}")
        hints = typing.get_type_hints(kind)
        for name in value:
            if name not in hints:
                raise ConfigurationError(f"unknown key {_join(path, str(name))!r}: {nearest(str(name), hints)}")
        return {name: _resolve(hints[name], item, _join(path, name)) for name, item in value.items()}
    if _is_mapping(kind) and isinstance(value, Mapping):
        item_kind = typing.get_args(kind)[1]
        return {name: _resolve(item_kind, item, _join(path, name)) for name, item in value.items()}
    if typing.get_origin(kind) is tuple:
        item_kind = typing.get_args(kind)[0]
        items = _sequence([value] if isinstance(value, Mapping) else value, path)
        return tuple(_resolve(item_kind, item, f"{path}[{at}]") for at, item in enumerate(items))
    check_value(kind, value, path)
    return value


def _sequence(value: Any, path: str) -> Any:
    """Expand `start:stop:step` (stop excluded) and `a,b,c`; wrap a single value."""
    if not isinstance(value, str):
        return tuple(value) if isinstance(value, list | tuple) else (value,)
    match = _RANGE.match(value)
    if match is None:
        return tuple(parse_yaml(part, path) for part in value.split(","))
    try:
        start, stop, step = (float(part) for part in (match[1], match[2], match[3] or "1"))
    except ValueError:
        raise ConfigurationError(f"configuration {path}: {shown(value)} is not a range start:stop:step") from None
    if step == 0 or (stop - start) / step <= 0:
        raise ConfigurationError(f"configuration {path}: the range {shown(value)} is empty: start:stop:step excludes stop")
    # the small allowance keeps 0.5:3:0.1 from ending in a 26th value that only rounding makes smaller than 3
    count = math.ceil((stop - start) / step - 1e-9) if math.isfinite((stop - start) / step) else MOST_VALUES + 1
    if count > MOST_VALUES:
        raise ConfigurationError(
            f"configuration {path}: the range {shown(value)} has over {MOST_VALUES:,} values; widen its step"
        )
    return tuple(round(start + index * step, 12) for index in range(count))


def _is_mapping(kind: Any) -> bool:
    origin = typing.get_origin(kind)
    return isinstance(origin, type) and issubclass(origin, Mapping)


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
