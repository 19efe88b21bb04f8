"""Clusters that cannot be asked, as kubeconfigs."""

from __future__ import annotations

import contextlib
import http.server
import json
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

HTML: Final = b"<html><body>It works!</body></html>"


class Refusing(http.server.BaseHTTPRequestHandler):
    """Answers everything with the server's ``status``; 200 is a page of a web server. Where it has
    ``lists``, /version is answered as an API server does, and all else with that: a body, or a
    Status of this message.
    """

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        status: int = self.server.status  # type: ignore[attr-defined]
        reason = {401: "Unauthorized", 403: "Forbidden"}.get(status, "")
        told = {"kind": "Status", "code": status, "reason": reason, "message": reason}
        body = HTML if status == 200 else json.dumps(told).encode()
        lists: str | dict[str, Any] | None = self.server.lists  # type: ignore[attr-defined]
        if lists is not None and self.path == "/version":
            status, body = 200, b'{"gitVersion": "v1.36.1"}'
        elif isinstance(lists, str):
            body = json.dumps({**told, "message": lists}).encode()
        elif lists is not None:
            body = json.dumps(lists).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as its base has it
        """Nothing."""


class _Server(http.server.ThreadingHTTPServer):
    status = 200
    lists: str | dict[str, Any] | None = None

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Who does not trust us goes."""


@contextlib.contextmanager
def serving(
    status: int,
    tls: ssl.SSLContext | None = None,
    lists: str | dict[str, Any] | None = None,
) -> Iterator[str]:
    """The address of such a server."""
    with _Server(("127.0.0.1", 0), Refusing) as server:
        server.status, server.lists = status, lists
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        looking = (
            0.01  # seconds between two looks at whether to end: else each test lasts half a one
        )
        threading.Thread(target=server.serve_forever, args=(looking,), daemon=True).start()
        yield f"http{'s' if tls else ''}://127.0.0.1:{server.server_port}"
        server.shutdown()


def kubeconfig(file: Path, url: str) -> Path:
    """A file with one context, by the name of harbor, of a user with a token."""
    document = {
        "current-context": "harbor",
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": {"token": "old"}}],
        "contexts": [{"name": "harbor", "context": {"cluster": "c", "user": "u"}}],
    }
    file.write_text(json.dumps(document))
    return file
