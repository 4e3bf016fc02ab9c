"""Compiled functions: numba's, kept between processes where there is a folder to keep them in."""

from collections.abc import Callable
from typing import Any

from numba import njit


def compiled(function: Callable[..., Any]) -> Any:
    """The function compiled by numba: arithmetic in the order it is written, division as numpy's, without the GIL.

    Its machine code is cached beside the source or in the user's cache folder; where neither can be written, each
    process compiles its own.
    """
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError as error:
        if "cannot cache" not in str(error):
            raise
    return njit(**options)(function)
