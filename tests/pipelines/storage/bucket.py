"""A real S3-compatible server in a process of its own (moto), with one bucket."""

import contextlib
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines.storage.remote_store import RemoteStore

BUCKET = "artefacts"
SERVE = (
    "import sys, logging; logging.disable(logging.CRITICAL)\n"
    "from moto.server import DomainDispatcherApplication, create_backend_app\n"
    "from werkzeug.serving import run_simple\n"
    "app = DomainDispatcherApplication(create_backend_app)\n"
    "run_simple('127.0.0.1', int(sys.argv[1]), app, threaded=True)\n"
)


@dataclass
class Bucket:
    """A running server; `store(folder, prefix)` is a store below a prefix of its bucket, with its local folder."""

    port: int
    process: subprocess.Popen[bytes]

    @property
    def options(self) -> dict[str, Any]:
        return {"key": "someone", "secret": "not-to-be-seen", "endpoint_url": f"http://127.0.0.1:{self.port}"}

    def url(self, prefix: str) -> str:
        return f"s3://{BUCKET}/{prefix}"

    def store(self, folder: Path, prefix: str) -> RemoteStore:
        return RemoteStore.connect(self.url(prefix), self.options, folder)


@contextlib.contextmanager
def running_bucket() -> Iterator[Bucket]:
    """Start the server, make the bucket, stop it in the end."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-W", "ignore", "-c", SERVE, str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _make_bucket(port)
        yield Bucket(port, process)
    finally:
        process.kill()
        process.wait()


def _make_bucket(port: int) -> None:
    until = time.monotonic() + 60
    request = urllib.request.Request(f"http://127.0.0.1:{port}/{BUCKET}", method="PUT")
    request.add_header("Authorization", "AWS4-HMAC-SHA256 Credential=someone/20260101/us-east-1/s3/aws4_request")
    while True:
        try:
            urllib.request.urlopen(request, timeout=10).close()
            return
        except (urllib.error.URLError, ConnectionError):
            if time.monotonic() > until:
                raise
            time.sleep(0.1)
