"""Deliveries: which state of each object has reached the engine, whoever brought it.

Kopf brings most of them. It has two gaps that nobody would notice: a watcher that has died says
nothing, and a list that it makes anew (after a 410) tells of no object that vanished meanwhile. So
``delivery_check`` lists both kinds from time to time and hands over what Kopf owes. Both ways end
here, and an older state never follows a newer one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Protocol, cast

import kopf

from moorage.api.bodies import Body, kept
from moorage.ports.guards import guard

MAX_DELETED = 1000
"""Deleted objects whose last version is remembered, so that no older state of theirs follows."""
LARGE = ("spec", "status", "annotations", "labels", "managedFields")
"""Parts of an object, and of its metadata, that Kopf does not look at."""


class ProfileReceiver(Protocol):
    """The part of the engine that handlers talk to. All of it is synchronous, cheap and
    level-triggered.
    """

    def profile_changed(self, name: str, body: Body | None) -> None:
        """A SchedulerProfile is in this state; None: it is gone."""

    def plugin_config_changed(self, name: str, body: Body | None) -> None:
        """A PluginConfig is in this state; None: it is gone."""

    def listed(self) -> None:
        """Every object of both kinds has been seen once."""


@dataclasses.dataclass(frozen=True, slots=True)
class ObjectListing:
    """Objects of one kind at one moment, perhaps no more of them than metadata, and that moment's
    resource version.
    """

    version: int
    objects: Mapping[str, Body]


class Deliveries:
    """What Kopf delivered of one kind. ``plural`` is its name in paths; ``notify(name, body)`` is
    the engine's method for it.
    """

    def __init__(self, plural: str, notify: Callable[[str, Body | None], None]) -> None:
        self.plural = plural
        self._notify = notify
        self._delivered: dict[str, int] = {}
        """The version of each object that is there."""
        self._deleted: dict[str, int] = {}
        """The version at which objects went; the newest last."""

    def heard(self, event: kopf.RawEvent) -> None:
        """Kopf tells of an event.

        Its views of a body are cycles, which the collector frees late: so what is large is taken
        out of it.
        """
        body: dict[str, Any] = {**event["object"]}
        self.deliver(body, deleted=event["type"] == "DELETED")
        for part in (event["object"], event["object"]["metadata"]):
            for name in LARGE:
                cast(dict[str, Any], part).pop(name, None)

    def deliver(self, body: Body, deleted: bool) -> None:
        """An object is in this state, or was until it was deleted."""
        self._hand_over(body["metadata"]["name"], version_of(body), None if deleted else body)

    def missing(self, listing: ObjectListing) -> list[str]:
        """Names of objects whose state at the time of ``listing``, or a later one, has not been
        delivered.
        """
        changed = [
            name for name, body in listing.objects.items() if version_of(body) > self._version(name)
        ]
        vanished = [
            name
            for name, version in self._delivered.items()
            if version <= listing.version and name not in listing.objects
        ]
        return changed + vanished

    def redeliver(self, name: str, listing: ObjectListing) -> None:
        """Deliver the object as a list of it alone has it."""
        body = listing.objects.get(name)
        self._hand_over(name, listing.version if body is None else version_of(body), body)

    def _hand_over(self, name: str, version: int, body: Body | None) -> None:
        if version <= self._version(name):
            return
        self._delivered.pop(name, None)
        self._deleted.pop(name, None)
        (self._deleted if body is None else self._delivered)[name] = version
        if len(self._deleted) > MAX_DELETED:
            del self._deleted[next(iter(self._deleted))]
        with guard("taking in an object", resource=self.plural, object=name):
            self._notify(name, None if body is None else kept(body))

    def _version(self, name: str) -> int:
        return self._delivered.get(name) or self._deleted.get(name, 0)


def version_of(body: Body) -> int:
    """The object's resourceVersion: the API promises that those of one resource can be compared as
    integers.
    """
    return int(body["metadata"]["resourceVersion"])
