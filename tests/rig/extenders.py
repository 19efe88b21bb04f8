"""A scheduler extender over HTTPS, which says what it is told to say."""

from __future__ import annotations

import contextlib
import json
import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.rig.base import ControlPlane
from tests.rig.clients import Client


class Extender:
    """Says what a test wants, and remembers what it was asked: ``says[verb]`` makes the answer of
    the question.
    """

    def __init__(self, certificate: tuple[Path, Path]) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.says: dict[str, Callable[[dict[str, Any]], Any]] = {}
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                verb = urlsplit(self.path).path.rpartition("/")[2]
                question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.asked.append((verb, question))
                body = json.dumps(outer.says[verb](question)).encode()
                with contextlib.suppress(OSError):  # who asked has been killed
                    self.send_response(200)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name there
                """No log."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(*certificate)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.url = f"https://127.0.0.1:{self._server.server_port}/scheduler"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        """Listen no more."""
        self._server.shutdown()
        self._server.server_close()

    def about(self, pod: str, verb: str) -> list[dict[str, Any]]:
        """What was asked about a pod."""
        return [
            question
            for asked, question in list(self.asked)
            if asked == verb and question["Pod"]["metadata"]["name"] == pod
        ]


def letting(*nodes: str) -> Callable[[dict[str, Any]], Any]:
    """A filter that lets these nodes through, whether it gets names or nodes."""

    def says(question: dict[str, Any]) -> Any:
        whole = question["Nodes"]
        names = (
            question["NodeNames"]
            if whole is None
            else [item["metadata"]["name"] for item in whole["items"]]
        )
        passed = [name for name in names if name in nodes]
        failed = dict.fromkeys((name for name in names if name not in nodes), "not today")
        if whole is None:
            return {"NodeNames": passed, "FailedNodes": failed}
        return {
            "Nodes": {
                "items": [item for item in whole["items"] if item["metadata"]["name"] in nodes]
            },
            "FailedNodes": failed,
        }

    return says


def binding(rig: ControlPlane) -> Callable[[dict[str, Any]], Any]:
    """A bind verb that does it, as the cluster's administrator."""

    def says(question: dict[str, Any]) -> Any:
        name, place = question["PodName"], question["PodNamespace"]
        metadata = {"name": name, "namespace": place, "uid": question["PodUID"]}
        target = {"apiVersion": "v1", "kind": "Node", "name": question["Node"]}
        made = {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}
        with contextlib.closing(Client(rig)) as client:
            client.post(f"/api/v1/namespaces/{place}/pods/{name}/binding", made)
        return {}

    return says
