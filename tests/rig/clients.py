"""A small client for a rig's API server: one connection, JSON in, JSON out, as the
administrator.
"""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from threading import local
from typing import TYPE_CHECKING, Any, Final

from tests.rig.processes import RigError

if TYPE_CHECKING:
    from tests.rig.base import ControlPlane

Body = Mapping[str, Any]


class Client:
    """Requests one after another. Not for two threads at a time; see `many`."""

    def __init__(self, rig: ControlPlane) -> None:
        """Connects with the first request."""
        self._rig: Final = rig
        context = ssl.create_default_context(cafile=str(rig.authority_file))
        context.load_cert_chain(*rig.credentials)
        host = rig.server.removeprefix("https://")
        self._connection = http.client.HTTPSConnection(host, timeout=60, context=context)

    def request(
        self,
        method: str,
        path: str,
        body: Body | None = None,
        content_type: str = "application/json",
        accept: str = "application/json",
    ) -> Any:
        """Send and return the decoded answer. Raises RigError with the Status' message for 4xx and
        5xx.
        """
        data = None if body is None else json.dumps(body).encode()
        self._connection.request(
            method,
            path,
            data,
            {"Content-Type": content_type, "Accept": accept, "User-Agent": "test"},
        )
        response = self._connection.getresponse()
        answer = json.loads(response.read() or b"{}")
        if response.status >= http.client.BAD_REQUEST:
            raise RigError(f"{method} {path}: {response.status} {answer.get('message', '')}")
        return answer

    def get(self, path: str) -> Any:
        """GET."""
        return self.request("GET", path)

    def post(self, path: str, body: Body) -> Any:
        """POST."""
        return self.request("POST", path, body)

    def merge(self, path: str, body: Body) -> Any:
        """PATCH, as a merge patch."""
        return self.request("PATCH", path, body, "application/merge-patch+json")

    def delete(self, path: str) -> Any:
        """DELETE, at once."""
        return self.request(
            "DELETE", path, {"gracePeriodSeconds": 0, "kind": "DeleteOptions", "apiVersion": "v1"}
        )

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def many(rig: ControlPlane, jobs: Iterable[Callable[[Client], object]], workers: int = 8) -> None:
    """Run the jobs side by side, each with a client of its worker's own. Raises what the first
    failing one raised.
    """
    clients: list[Client] = []
    own = local()

    def run(job: Callable[[Client], object]) -> None:
        if not hasattr(own, "client"):
            own.client = Client(rig)
            clients.append(own.client)
        job(own.client)

    with ThreadPoolExecutor(workers) as pool:
        for done in [pool.submit(run, job) for job in jobs]:
            done.result()
    for client in clients:
        client.close()
