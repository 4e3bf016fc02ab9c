"""What the configuration names in the user's own packages: `package.module:name`, imported from where the command runs too."""

import importlib
import inspect
import sys
from pathlib import Path
from typing import Any

from pipelines.config.configuration import nearest
from pipelines.errors import ConfigurationError


def search_here() -> None:
    """Search the folder the command runs in for modules, last; the workers of a cluster inherit it."""
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))


def user_object(reference: str, key: str) -> Any:
    """Return what `package.module:name` names; raise ConfigurationError naming the configuration key and the remedy."""
    module_name, colon, name = reference.partition(":")
    if not colon or not name.isidentifier():
        raise ConfigurationError(f"{key}={reference}: write package.module:name")
    search_here()
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise ConfigurationError(
            f"{key}={reference}: {module_name} cannot be imported ({error}); run from the folder that holds it, or install it"
        ) from None
    except Exception as error:  # also of a source that is not UTF-8 and does not say what it is
        raise ConfigurationError(
            f"{key}={reference}: importing {module_name} raises {type(error).__name__}: {error}; correct the module"
        ) from error
    if not hasattr(module, name):
        known = [each for each in vars(module) if not each.startswith("_")]
        raise ConfigurationError(f"{key}={reference}: {module_name} has no {name!r}; {nearest(name, known)}")
    return getattr(module, name)


def made_by(reference: str, key: str, kind: type) -> Any:
    """Return the object of a class that `package.module:name` is, or makes when it is called without arguments."""
    found = user_object(reference, key)
    if isinstance(found, kind):
        return found
    needs = "one"
    if callable(found):
        parameters = inspect.signature(found).parameters.values()
        needs = next((one.name for one in parameters if one.default is one.empty), "")
    made = found() if not needs else found
    if not isinstance(made, kind):
        raise ConfigurationError(
            f"{key}={reference}: is no {kind.__module__}.{kind.__name__}, nor a function without parameters that makes one"
        )
    return made
