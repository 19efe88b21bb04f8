"""What the API server was asked, by whom and when: its audit log, decoded."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import msgspec

# Bodies are kept of bindings only, which say which pod and which node. RequestReceived has nothing
# that the later stages lack.
POLICY: Final = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "omitManagedFields": True,
    "rules": [
        {
            "level": "Request",
            "verbs": ["create"],
            "resources": [{"group": "", "resources": ["pods/binding"]}],
        },
        {"level": "Metadata"},
    ],
}


class User(msgspec.Struct, frozen=True):
    """Who asked."""

    username: str
    groups: tuple[str, ...] = ()


class Target(msgspec.Struct, frozen=True, rename="camel"):
    """The object that a request was about."""

    resource: str = ""
    subresource: str = ""
    api_group: str = ""
    namespace: str = ""
    name: str = ""


class Answer(msgspec.Struct, frozen=True):
    """The HTTP status of the response."""

    code: int = 0


class AuditEvent(msgspec.Struct, frozen=True, rename="camel"):
    """One stage of one request; field names are those of audit.k8s.io/v1, times are UTC."""

    stage: str
    verb: str
    user: User
    request_received_timestamp: datetime
    stage_timestamp: datetime
    # The path and query of the URL.
    request_uri: str = msgspec.field(name="requestURI")
    user_agent: str = ""
    # None for requests that are about no object, such as /version.
    object_ref: Target | None = None
    # None when the connection broke before there was a response.
    response_status: Answer | None = None
    request_object: Any = None
    annotations: dict[str, str] = {}

    @property
    def forbidden(self) -> bool:
        """Whether a right was missing; what admission refuses has the same status."""
        return self.annotations.get("authorization.k8s.io/decision") == "forbid"


class Bind(msgspec.Struct, frozen=True):
    """One request to bind a pod."""

    uid: str
    namespace: str
    pod: str
    node: str
    # The HTTP status: 201 is a pod bound.
    code: int
    user_agent: str
    received: datetime


def read(log: Path, about: str = "") -> Iterator[AuditEvent]:
    """The events of an audit log so far, in the order of their ends; a line still being written is
    left out. With ``about`` only lines in which this text stands.
    """
    decoder, wanted = msgspec.json.Decoder(AuditEvent), about.encode()
    with log.open("rb") as lines:
        for line in lines:
            if line.endswith(b"\n") and wanted in line:
                yield decoder.decode(line)


def binds(events: Iterable[AuditEvent]) -> Iterator[Bind]:
    """The requests among `events` that asked for a pod to be bound, refused ones included."""
    for event in events:
        target = event.object_ref
        if (
            target is None
            or (target.resource, target.subresource) != ("pods", "binding")
            or event.verb != "create"
        ):
            continue
        binding = event.request_object or {}
        yield Bind(
            uid=binding.get("metadata", {}).get("uid", ""),
            namespace=target.namespace,
            pod=target.name,
            node=binding.get("target", {}).get("name", ""),
            code=event.response_status.code if event.response_status else 0,
            user_agent=event.user_agent,
            received=event.request_received_timestamp,
        )
