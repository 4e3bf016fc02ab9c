"""Keeps secrets out of records, reports and messages: by the name they stand under, by their value, and in URLs.

What a process knows to be secret is learnt when its configuration is read; `current()` is what everything that writes asks.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

HIDDEN = "(redacted)"
SHORTEST = 6  # characters of a value that is looked for in running text; a shorter one would be found everywhere
WORDS = frozenset({
    "key", "keys", "apikey", "accesskey", "secretkey", "token", "tokens", "secret", "secrets", "password", "passwords",
    "passwd", "pwd", "passphrase", "credential", "credentials", "authorization", "bearer",
})  # fmt: skip
NOT_SECRET = frozenset({"PWD", "OLDPWD"})  # of the environment: folders
TREES = frozenset({"store_options"})  # below these everything is withheld, whatever it is called
_NAME = r"[\w.-]*(?:api_?key|access_?key|secret|passw(?:or)?d|passphrase|token|credential)[\w-]*"
_PATTERNS = (
    (re.compile(r"(\b[A-Za-z][A-Za-z0-9+.-]*://)(?:[^/\s\"']*@|[^/\s\"':]*:[^\s\"']*@)"), rf"\1{HIDDEN}@"),
    (re.compile(rf"([?&](?:{_NAME}|[\w-]*(?:signature|sig|key)[\w-]*)=)[^&\s\"'#]+", re.I), rf"\1{HIDDEN}"),
    (re.compile(rf"(\b{_NAME}=)(?!\(redacted|…)[^\s,;&\"'}})]+", re.I), rf"\1{HIDDEN}"),
    (re.compile(r"\bdb-[A-Za-z0-9]{20,}\b"), HIDDEN),
    (re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"), HIDDEN),
)
_CONTENT_KEY = re.compile(r"[0-9a-f]{64}")
_MARKS = ("://", "=", "db-", "AKIA", "ASIA")  # no pattern matches a text without one of them
_PAIR = re.compile(r"([\w.-]+)(['\"]?\s*[:=]\s*)(?![{\s])(\"[^\"]*\"|'[^']*'|\[[^\]]*\]|[^\s,'\"}\]]+)")


@dataclass(frozen=True)
class Redactor:
    """Takes secrets out of texts and trees; `values` are secrets known by value, the longest first."""

    values: tuple[str, ...] = field(default=(), repr=False)

    def text(self, text: str) -> str:
        """Return running text without known secrets, credentials in URLs and values of names that say what they are."""
        for value in self.values:
            text = text.replace(value, HIDDEN)
        if any(mark in text for mark in _MARKS):
            for pattern, replacement in _PATTERNS:
                text = pattern.sub(replacement, text)
        return text

    def word(self, word: str) -> str:
        """Return a word of a command line: of `key=value` with a secret key only the key, and no secret in a YAML value."""
        key, equals, value = word.partition("=")
        if equals and any(is_secret(part) for part in key.split(".")):
            return f"{key}={HIDDEN}"
        hidden = _PAIR.sub(lambda found: f"{found[1]}{found[2]}{HIDDEN}" if is_secret(found[1]) else found[0], value)
        return self.text(f"{key}{equals}{hidden}")

    def tree(self, value: Any, content_keys: bool = False) -> Any:
        """Return JSON values with every leaf below a secret name withheld and every text cleaned.

        `content_keys`: what stands under `key` and looks like the key of an artefact is one, and is kept.
        """
        if isinstance(value, Mapping):
            return {
                self.text(str(name)): withheld(item)
                if is_secret(str(name)) and not (content_keys and _is_content_key(name, item))
                else self.tree(item, content_keys)
                for name, item in value.items()
            }
        if isinstance(value, list | tuple):
            return [self.tree(item, content_keys) for item in value]
        return self.text(value) if isinstance(value, str) else value


_LEARNT: ContextVar[frozenset[str]] = ContextVar("secrets of the configuration", default=frozenset())


def current() -> Redactor:
    """Return what is known to be secret here: the environment's secrets, and those of the configuration once it was read."""
    return Redactor(_longest_first(_LEARNT.get() | _of_environment()))


def learn(tree: Any, words: Iterable[str] = ()) -> None:
    """Take note of the secrets in a configuration, as nested plain values, and in the words of a command line."""
    found = set(_secrets(tree, False))
    for word in words:
        key, _, value = word.partition("=")
        found.update([value] if any(is_secret(part) for part in key.split(".")) else [])
        found.update(match[3].strip("'\"[]") for match in _PAIR.finditer(value) if is_secret(match[1]))
    _LEARNT.set(frozenset(found))


@lru_cache(maxsize=4096)
def is_secret(name: str) -> bool:
    """Say whether a value of this name is withheld: one of its words is `key`, `token`, `secret`, `password` or the like."""
    plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    return plain in TREES or not WORDS.isdisjoint(re.split(r"[^a-z0-9]+", plain))


def withheld(value: Any) -> Any:
    """Return a value with every leaf replaced but null, true and false: its shape stays."""
    if isinstance(value, Mapping):
        return {str(name): withheld(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [withheld(item) for item in value]
    return value if value is None or isinstance(value, bool) or value == "" else HIDDEN


def names_withheld(tree: Any, path: str = "") -> list[str]:
    """Return the dotted names of the leaves that were withheld from a recorded tree."""
    if isinstance(tree, Mapping):
        return [leaf for name, item in tree.items() for leaf in names_withheld(item, f"{path}.{name}".lstrip("."))]
    if isinstance(tree, list):
        return [leaf for at, item in enumerate(tree) for leaf in names_withheld(item, f"{path}[{at}]")]
    return [path] if isinstance(tree, str) and HIDDEN in tree else []


def _of_environment() -> set[str]:
    return {value for name, value in os.environ.items() if is_secret(name) and name not in NOT_SECRET}


def _is_content_key(name: Any, value: Any) -> bool:
    return name == "key" and isinstance(value, str) and _CONTENT_KEY.fullmatch(value) is not None


def _secrets(value: Any, secret: bool) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _secrets(item, secret or is_secret(str(name)))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _secrets(item, secret)
    elif isinstance(value, str):
        if secret:
            yield value
        for found in re.finditer(r"://([^/\s]*)@", value):
            yield from found[1].split(":", 1)
    elif secret and isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)


def _longest_first(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({one for one in values if len(one) >= SHORTEST}, key=lambda one: (-len(one), one)))
