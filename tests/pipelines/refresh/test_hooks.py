"""What a hook does wrong is said and changes nothing: no shell, no wait without end, no secret in any message."""

import json
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from pipelines.config.configuration import load_settings
from pipelines.errors import ConfigurationError
from pipelines.refresh.hooks import run_hook


@contextmanager
def listening(status: int = 200, wait: float = 0.0):
    """A server that notes what it is sent and answers with a status."""
    got = []

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *words):
            pass

        def do_POST(self):
            got.append((self.path, self.headers["Content-Type"], self.rfile.read(int(self.headers["Content-Length"]))))
            time.sleep(wait)
            self.send_response(status)
            self.send_header("Location", "/elsewhere")
            self.end_headers()

        def do_GET(self):
            self.do_POST()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", got
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def program(text: str) -> list[str]:
    return [sys.executable, "-c", text]


@pytest.mark.parametrize(
    ("hook", "said"),
    [
        (["/no/such/program"], "hook /no/such/program cannot be run: No such file"),
        (["true", "a\0b"], "cannot be run: embedded null byte"),
        (program("import sys; sys.exit('no mail server')"), "ended with 1: no mail server"),
        (program("import os, sys; os.write(2, b'\\xff\\xfe no text'); sys.exit(3)"), "ended with 3: \ufffd\ufffd no text"),
        (program("import time; time.sleep(60)"), "was stopped after 0.5 s (refresh.hook_seconds)"),
        (program("import os; os.abort()"), "ended with -6"),
    ],
)
def test_a_hook_that_fails_is_a_warning(hook, said):
    assert said in run_hook(hook, {"status": "published"}, 0.5)


def test_a_hook_that_never_reads_a_long_result_is_no_trouble():
    assert run_hook(["true"], {"reasons": ["x" * 1_000_000]}, 20) == ""


def test_what_a_hook_leaves_running_is_not_waited_for_and_what_is_late_ends_with_its_children(tmp_path):
    started = time.perf_counter()
    assert run_hook(["sh", "-c", "sleep 30 & echo $! > " + str(tmp_path / "left")], {}, 20) == ""
    assert time.perf_counter() - started < 10
    subprocess.run(["kill", (tmp_path / "left").read_text().strip()], check=True)
    late = "sleep 30 & echo $! > " + str(tmp_path / "child") + "; wait"
    assert "was stopped" in run_hook(["sh", "-c", late], {}, 0.5)
    child = (tmp_path / "child").read_text().strip()
    until = time.monotonic() + 10
    while subprocess.run(["kill", "-0", child], stderr=subprocess.DEVNULL).returncode == 0 and time.monotonic() < until:
        time.sleep(0.05)
    assert time.monotonic() < until, "the child of a stopped hook ends with it"


def test_what_a_hook_says_is_told_without_secrets(monkeypatch):
    monkeypatch.setenv("DATABENTO_API_KEY", "db-very-secret")
    said = run_hook(program("import os, sys; sys.exit('key ' + os.environ['DATABENTO_API_KEY'])"), {}, 20)
    assert "ended with 1: key (redacted)" in said and "very-secret" not in said


def test_an_address_is_sent_the_result():
    with listening() as (address, got):
        assert run_hook([f"{address}/told?x=1"], {"hook": "on_stale", "status": "published"}, 20) == ""
    ((path, kind, body),) = got
    assert (path, kind, json.loads(body)) == ("/told?x=1", "application/json", {"hook": "on_stale", "status": "published"})


def test_a_secret_of_an_address_comes_from_the_environment_and_is_said_nowhere(monkeypatch):
    monkeypatch.setenv("CHAT", "T0/B1/hush")
    with listening(500) as (address, got):
        said = run_hook([f"{address}/$CHAT"], {}, 20)
    assert got[0][0] == "/T0/B1/hush" and said == "hook http://127.0.0.1 answered 500"
    monkeypatch.delenv("CHAT")
    assert run_hook(["https://example.invalid/$CHAT"], {}, 20).startswith("hook https://example.invalid needs CHAT in the env")
    assert "followed by no name" in run_hook(["https://example.invalid/$"], {}, 20)


def test_an_address_that_is_moved_late_or_dead_is_a_warning():
    with listening(302) as (address, got):
        assert run_hook([address], {}, 20) == "hook http://127.0.0.1 answered 302"
        assert len(got) == 1, "a redirection would lose the result on its way"
    assert "hook http://127.0.0.1 cannot be told: " in run_hook([f"{address}/secret"], {}, 20)
    with listening(200, wait=1.0) as (address, _):
        assert "cannot be told" in run_hook([f"{address}/secret"], {}, 0.2)


def test_an_address_stands_alone():
    with pytest.raises(ConfigurationError, match=r"refresh\.on_stale has 2 words, must be one"):
        load_settings(["refresh.on_stale=['https://example.invalid', 'more']"])
    assert load_settings(["refresh.on_stale=['https://example.invalid']"]).refresh.on_stale == ("https://example.invalid",)
