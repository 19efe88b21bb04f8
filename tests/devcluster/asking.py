"""A cluster without sockets: requests in, answers out."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from moorage.devcluster import built_in
from moorage.devcluster.answering import Answering
from moorage.devcluster.catalogue import Catalogue
from moorage.devcluster.definitions import Definitions
from moorage.devcluster.discovery import Discovery
from moorage.devcluster.openapi import OpenApi
from moorage.devcluster.requests import Answer, Request, Target, WatchOptions, WriteOptions
from moorage.devcluster.store import Store
from moorage.devcluster.subresources import Subresources
from moorage.devcluster.tokens import IssuedTokens
from moorage.devcluster.verbs import Verbs

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
                        "properties": {"spec": {"type": "object", "properties": {"masts": {"type": "integer"}}}},
                    }
                },
            }
        ],
    },
}


class Asked:
    """Everything between web and store."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self.catalogue = Catalogue(built_in.resources())
        self._numbers = iter(range(10**9))
        self.verbs = Verbs(Store(), lambda: self.now, lambda: f"uid-{next(self._numbers)}")
        subresources = Subresources(IssuedTokens(lambda: self.now))
        discovery = Discovery(self.catalogue, subresources, OpenApi(self.catalogue, self.verbs.find))
        self.answering = Answering(self.verbs, self.catalogue, subresources, discovery)
        Definitions(self.verbs, self.catalogue, lambda _: None)
        for body in built_in.initial_objects():
            resource = self.catalogue.of_kind(body["apiVersion"], body["kind"])
            assert resource
            self.verbs.create(Target(resource), body, WriteOptions())

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.now += timedelta(seconds=seconds)

    def ask(self, method: str, path: str, body: Any = None, content_type: str = "application/json", **more: Any) -> Answer:
        """``path`` may have a query; ``body`` is sent as it is when it is bytes."""
        path, _, query = path.partition("?")
        pairs = dict(pair.partition("=")[::2] for pair in query.split("&") if pair)
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        return self.answering.answer(Request(method, path, pairs, data, content_type, **more))

    def watching(self, path: str, **more: str) -> WatchOptions:
        """The options of a watch."""
        answer = self.ask("GET", path, **more)
        assert isinstance(answer.body, WatchOptions)
        return answer.body


def content(answer: Answer) -> Any:
    """The body, decoded."""
    assert not isinstance(answer.body, WatchOptions)
    return json.loads(answer.body) if isinstance(answer.body, bytes) else answer.body


def node(name: str, **labels: str) -> dict[str, Any]:
    """A Node."""
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
