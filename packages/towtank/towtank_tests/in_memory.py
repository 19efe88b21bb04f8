"""A cluster without sockets: requests in, answers out."""

import itertools
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from towtank.api_server import ApiServer
from towtank.controllers.manager import ControllerSettings
from towtank.model.requests import ApiRequest, ApiResponse, WatchOptions

DEFINITION: Mapping[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "boats.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "boats", "kind": "Boat"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {"type": "object", "properties": {"masts": {"type": "integer"}}}
                        },
                    }
                },
            }
        ],
    },
}


class InMemoryCluster:
    """Everything between web and store; the controllers work when a test lets them."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        numbers = itertools.count()
        parts = ApiServer(lambda: self.now, lambda: f"uid-{next(numbers)}", ControllerSettings())
        self.catalogue, self.verbs, self.controllers = (
            parts.catalogue,
            parts.verbs,
            parts.controllers,
        )
        self.answering, self.watches, self.tokens = parts.dispatcher, parts.watches, parts.tokens

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.now += timedelta(seconds=seconds)

    def settle(self, seconds: float = 60.0, steps: int = 200) -> None:
        """Let the controllers do what is due within this time, as long as they find something."""
        end = self.now + timedelta(seconds=seconds)
        for _ in range(steps):
            due = self.controllers.due()
            if due is None or due > end:
                return
            self.now = max(due, self.now)
            self.controllers.work(self.now)

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        content_type: str = "application/json",
        **more: Any,
    ) -> ApiResponse:
        """``path`` may have a query; ``body`` is sent as it is when it is bytes."""
        path, _, query = path.partition("?")
        pairs = dict(pair.partition("=")[::2] for pair in query.split("&") if pair)
        data = (
            body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        )
        return self.answering.answer(ApiRequest(method, path, pairs, data, content_type, **more))

    def watching(self, path: str, **more: str) -> WatchOptions:
        """The options of a watch."""
        answer = self.ask("GET", path, **more)
        assert isinstance(answer.body, WatchOptions)
        return answer.body


def content(answer: ApiResponse) -> Any:
    """The body, decoded."""
    assert not isinstance(answer.body, WatchOptions)
    return json.loads(answer.body) if isinstance(answer.body, bytes) else answer.body


def node(name: str, **labels: str) -> dict[str, Any]:
    """A Node."""
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
