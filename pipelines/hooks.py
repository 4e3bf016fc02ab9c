"""Commands of the user's that are told how a scheduled job ended: argument lists, no shell, the result on stdin."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

SHOWN = 400  # characters of a failed hook's own words


def run_hook(command: Sequence[str], document: Mapping[str, Any], seconds: float) -> str:
    """Run a hook with the document as JSON on stdin; return what went wrong with it, or "". None is configured: nothing runs.

    What it prints is not passed on: stdout belongs to the command's own result.
    """
    if not command:
        return ""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(
            words, input=json.dumps(document) + "\n", capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return f"hook {words[0]} was stopped after {seconds:g} s (refresh.hook_seconds)"
    except OSError as error:
        return f"hook {words[0]} cannot be run: {error.strerror or error}"
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[-SHOWN:]
        return f"hook {words[0]} ended with {done.returncode}" + (f": {said}" if said else "")
    return ""
