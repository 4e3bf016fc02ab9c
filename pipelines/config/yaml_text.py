"""YAML without its surprises: no dates, no base-60 numbers, no yes/no, no duplicate keys, never a Python object."""

import re
from pathlib import Path
from typing import Any

import yaml

from pipelines.config.setting_values import is_within
from pipelines.errors import ConfigurationError

MOST_VALUES = 1_000_000  # in a text, aliases counted wherever they are used
LONGEST = 300  # characters of an error of the parser


class _PlainLoader(yaml.SafeLoader):
    """SafeLoader with only null, true/false, decimal integers and floats as implicit types."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key_node, _ in node.value:
            if key_node.value in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key_node.value!r} is given twice", key_node.start_mark
                )
            seen.add(key_node.value)
        return super().construct_mapping(node, deep)


_FLOAT = re.compile(r"^[-+]?((\d+\.\d*|\.\d+)([eE][-+]?\d+)?|\d+[eE][-+]?\d+|\.(inf|nan))$")
_PlainLoader.yaml_implicit_resolvers = {}
_PlainLoader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"^(null|~|)$"), ["n", "~", ""])
_PlainLoader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(true|false)$"), list("tf"))
_PlainLoader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"^[-+]?(0|[1-9]\d*)$"), list("-+0123456789"))
_PlainLoader.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT, list("-+.0123456789"))


def parse_yaml(text: str, source: str) -> Any:
    """Parse YAML text; `source` names it in the ConfigurationError of a syntax error."""
    try:
        value = yaml.load(text, Loader=_PlainLoader)
    except RecursionError:
        raise ConfigurationError(f"{source} is not valid YAML: it is nested too deeply") from None
    except (yaml.YAMLError, TypeError, ValueError) as error:
        raise ConfigurationError(f"{source} is not valid YAML: {' '.join(str(error).split())[:LONGEST]}") from None
    if not is_within(value, MOST_VALUES):
        raise ConfigurationError(f"{source} holds over {MOST_VALUES:,} values, or an alias inside itself: write them out")
    return value


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a mapping from a YAML file; raise ConfigurationError when it is missing or not a mapping."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"cannot read the configuration {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"cannot read the configuration {path}: it is not UTF-8 text") from None
    value = parse_yaml(text, str(path))
    if not isinstance(value, dict):
        raise ConfigurationError(f"{path} must hold a mapping of keys to values, not {type(value).__name__}")
    return value
