"""Events: one set of objects with two faces, core's and that of events.k8s.io."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from towtank.model import object_selectors
from towtank.model.api_errors import StatusCause
from towtank.model.kinds import Body, Strategy
from towtank.strategies.common import at, fill

_OBJECT: Final = object_selectors.field_readers(
    *(
        f"involvedObject.{field}"
        for field in (
            "kind",
            "namespace",
            "name",
            "uid",
            "apiVersion",
            "resourceVersion",
            "fieldPath",
        )
    )
)
_RENAMED: Final = {
    "note": "message",
    "regarding": "involvedObject",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedCount": "count",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
}
_NEW: Final = {old: new for new, old in _RENAMED.items()}
_TIMES: Final = ("eventTime", "firstTimestamp", "lastTimestamp")
_TEXTS: Final = ("reportingComponent", "reportingInstance")
_OMITTED: Final = ("reportingController", "reportingInstance")
GROUP: Final = "events.k8s.io"
GROUP_VERSION: Final = f"{GROUP}/v1"
NEWER: Final = f"events.{GROUP}"


class EventStrategy(Strategy):
    """As they are stored: core's."""

    made_by_update = True
    selectable = (
        _OBJECT
        | object_selectors.field_readers("reason", "type", "reportingComponent")
        | {
            "source": lambda event: (
                at(event, "source.component") or event.get("reportingComponent") or ""
            )
        }
    )

    def default(self, body: Body) -> None:
        """Nobody owns what is shown though it is not said."""
        for field in (*_TIMES, *_TEXTS):
            if not body.get(field):
                body.pop(field, None)
        fill(body, {"involvedObject": {}, "source": {}})

    def prepare_create(self, body: Body) -> None:
        """What is always shown."""
        for time in _TIMES:
            body.setdefault(time, None)
        fill(body, dict.fromkeys(_TEXTS, ""))

    def prepare_update(self, new: Body, old: Body) -> None:
        """As for a new one."""
        self.prepare_create(new)

    def validate(self, body: Body) -> Sequence[StatusCause]:
        """An event is where its object is; one about what is in no namespace is in "default"."""
        namespace, about = (
            body["metadata"].get("namespace"),
            at(body, "involvedObject.namespace") or "",
        )
        if about != namespace and (about or namespace not in {"default", "kube-system"}):
            return (
                StatusCause.invalid(
                    "involvedObject.namespace", about, "does not match event.namespace"
                ),
            )
        return ()


class EventsV1Strategy(EventStrategy):
    """As events.k8s.io shows them: what selectors name is called otherwise. The bodies are the
    stored ones.
    """

    selectable = (
        {name.replace("involvedObject", "regarding"): read for name, read in _OBJECT.items()}
        | object_selectors.field_readers("reason", "type")
        | {"reportingController": lambda event: event.get("reportingComponent") or ""}
    )


def to_stored(body: Body) -> Body:
    """An event of events.k8s.io in core's form."""
    named = {_RENAMED.get(key, key): value for key, value in body.items()}
    return named | {"apiVersion": "v1"} if body.get("apiVersion") == GROUP_VERSION else named


def to_served(body: Body) -> Body:
    """A stored event in the form of events.k8s.io."""
    named = {_NEW.get(key, key): value for key, value in body.items()}
    for key in _OMITTED:
        if not named.get(key):
            named.pop(key, None)
    return named | {"apiVersion": GROUP_VERSION}
