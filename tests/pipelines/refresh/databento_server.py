"""A local server with the answers of Databento's historical HTTP interface, and faults on request.

databento's client speaks TLS only, so the server does too, with a certificate of its own.
"""

import base64
import datetime
import ipaddress
import json
import ssl
import threading
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


@dataclass
class State:
    """`files`: (schema, date) → content; `conditions`: date → text; `faults`: what the next requests for data get instead.

    `said` is the server's message in answers that are errors.
    """

    files: dict = field(default_factory=dict)
    conditions: dict = field(default_factory=dict)
    modified: dict = field(default_factory=dict)
    end: str = "2024-03-12T00:00:00.000000000Z"
    cost_a_day: float = 0.01
    key: str = "db-test-key"
    said: str = "no"
    faults: deque = field(default_factory=deque)
    asked: list = field(default_factory=list)
    url: str = ""


def write_certificate(folder: Path) -> Path:
    """Write a certificate of 127.0.0.1 with its key into one file; clients that trust the file trust the server."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path = folder / "server.pem"
    path.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    return path


@contextmanager
def running_server(certificate: Path):
    """Serve until the block ends."""
    state = State()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *words):
            pass

        def do_GET(self):
            self.answer(parse_qs(urlsplit(self.path).query))

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            self.answer(parse_qs(body))

        def answer(self, values):
            call = urlsplit(self.path).path.rpartition("/")[2]
            given = {name: value[0] for name, value in values.items()}
            state.asked.append((call, given))
            user = base64.b64decode(self.headers.get("Authorization", "Basic ").split()[1] or b"").decode()
            if user != f"{state.key}:":
                return self.fail(401, "auth_authentication_failed")
            return getattr(self, call.replace(".", "_"))(given)

        def metadata_get_dataset_range(self, given):
            self.send(json.dumps({"start": "2010-06-06T00:00:00.000000000Z", "end": state.end,
                                  "schema": {"definition": {"start": "2010-06-06", "end": state.end}}}).encode())

        def metadata_get_dataset_condition(self, given):
            chosen = [day for day in sorted(state.conditions) if given["start_date"] <= day <= given["end_date"]]
            rows = [{"date": day, "condition": state.conditions[day], "last_modified_date": state.modified.get(day, day)}
                    for day in chosen]
            self.send(json.dumps(rows).encode())

        def metadata_get_cost(self, given):
            first, end = given["start"][:10], given["end"][:10]
            days = [day for schema, day in state.files if schema == given["schema"] and first <= day < end]
            self.send(json.dumps(state.cost_a_day * len(days)).encode())

        def timeseries_get_range(self, given):
            fault = state.faults.popleft() if state.faults else None
            content = state.files[given["schema"], given["start"][:10]]
            if isinstance(fault, int):
                return self.fail(fault, "try later", {"Retry-After": "0"})
            if fault == "cut connection":
                self.send_response(200)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                half = content[: len(content) // 2]
                self.wfile.write(f"{len(half):x}\r\n".encode() + half + b"\r\n")
                self.close_connection = True
                return None
            if fault == "short file":
                content = content[: len(content) // 2]
            if isinstance(fault, bytes):
                content = fault
            return self.send(content, "application/octet-stream")

        def fail(self, status, case, headers=None):
            detail = {"case": case, "message": state.said, "status_code": status, "docs": "", "payload": None}
            self.send(json.dumps({"detail": detail}).encode(), status=status, headers=headers)

        def send(self, content, kind="application/json", status=200, headers=None):
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    state.url = f"https://127.0.0.1:{server.server_port}"
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
