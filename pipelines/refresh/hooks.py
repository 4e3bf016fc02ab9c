"""What is told how a scheduled job ended: a command of the user's, or a server by a web request, with the result as JSON."""

import json
import os
import signal
import string
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from pipelines.record.redaction import current
from pipelines.refresh.refresh_settings import WEB

SHOWN = 400  # characters of a failed hook's own words


def run_hook(hook: Sequence[str], document: Mapping[str, Any], seconds: float) -> str:
    """Run a hook with the document as JSON; return what went wrong with it, without secrets, or "".

    None is configured: nothing runs. One word that is an address of the web is sent the document; anything else is an
    argument list, which no shell reads, with the document on stdin. What it prints is not passed on: stdout belongs to the
    command's own result.
    """
    if not hook:
        return ""
    text = (json.dumps(document) + "\n").encode()
    told = _posted if hook[0].startswith(WEB) else _started
    return current().text(told([str(word) for word in hook], text, seconds))


def _started(words: Sequence[str], text: bytes, seconds: float) -> str:
    # files instead of pipes: what a hook leaves running in the background may hold a pipe open, and nobody waits for it
    with tempfile.TemporaryFile() as told, tempfile.TemporaryFile() as said:
        try:
            told.write(text)
            told.seek(0)
            process = subprocess.Popen(words, stdin=told, stdout=said, stderr=said, start_new_session=True)
        except (OSError, ValueError) as error:
            return f"hook {words[0]} cannot be run: {getattr(error, 'strerror', None) or error}"
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            return f"hook {words[0]} was stopped after {seconds:g} s (refresh.hook_seconds)"
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        said.seek(max(0, said.seek(0, os.SEEK_END) - 4 * SHOWN))
        ending = said.read().decode(errors="replace").strip()[-SHOWN:]
    return f"hook {words[0]} ended with {code}" + (f": {ending}" if ending else "") if code else ""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirected request would lose its body, or take it to a server that nobody named."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _posted(words: Sequence[str], text: bytes, seconds: float) -> str:
    """Send the document; `$NAME` in the address is taken from the environment, and no message holds more than its host."""
    host = f"hook {urlsplit(words[0]).scheme}://{urlsplit(words[0]).hostname}"
    try:
        address = string.Template(words[0]).substitute(os.environ)
    except KeyError as error:
        return f"{host} needs {error.args[0]} in the environment: its address in the configuration names it"
    except ValueError:
        return f"{host}: a $ in its address is followed by no name; write $NAME or $$"
    try:
        request = urllib.request.Request(address, data=text, headers={"Content-Type": "application/json"}, method="POST")
        urllib.request.build_opener(_NoRedirect).open(request, timeout=seconds).close()
    except urllib.error.HTTPError as error:
        with error:
            return f"{host} answered {error.code}"
    except urllib.error.URLError as error:
        return f"{host} cannot be told: {error.reason}"
    except (OSError, ValueError) as error:  # an answer that does not come, or is none
        return f"{host} cannot be told: {type(error).__name__}"
    return ""
