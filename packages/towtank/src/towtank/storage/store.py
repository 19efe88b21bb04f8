"""The store: all objects, one revision counter, and a log of what changed, as etcd and the watch
cache are together.

Synchronous and without a clock. Bodies that are in the store are never changed in place: a change
is a new body. So a list is a snapshot by itself, and an object is written as JSON once, whoever
reads it.
"""

from __future__ import annotations

import bisect
import collections
import dataclasses
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import msgspec

from towtank.model.kinds import Body

log = logging.getLogger(__name__)

MAX_LOG_CHANGES = 20_000
"""Changes of one resource that watches can resume from; older versions are answered with 410."""

MAX_LOG_BYTES = 64 << 20
"""Of their bodies as JSON, about; the newest change is kept whatever it has."""

_ENCODER = msgspec.json.Encoder()


class Stored:
    """An object at one revision."""

    __slots__ = ("_head", "_text", "body", "key", "revision", "size")

    def __init__(self, key: tuple[str, str], body: Body, revision: int) -> None:
        self.key = key
        """Namespace, "" where there is none, and name."""
        self.body = body
        self.revision = revision
        self.size = len(_ENCODER.encode(body))
        """Of the body as JSON: what is kept of many is bounded by it."""
        self._text: bytes | None = None
        self._head = 0

    @property
    def text(self) -> bytes:
        """The body as JSON; its kind and apiVersion come first."""
        if self._text is None:
            typed = {key: self.body[key] for key in ("kind", "apiVersion") if key in self.body}
            self._text = _ENCODER.encode({**typed, **self.body})
            self._head = len(_ENCODER.encode(typed)) if typed else 0
        return self._text

    @property
    def untyped(self) -> bytes:
        """The same without kind and apiVersion: a list of a built-in kind has its items so."""
        text = self.text
        return b"{" + text[self._head :] if self._head else text


@dataclasses.dataclass(frozen=True, slots=True)
class StoreChange:
    """What a write did: ADDED, MODIFIED or DELETED. ``before`` is what stood there; ``now`` of a
    deletion is the last state.
    """

    type: str
    now: Stored
    before: Stored | None

    @property
    def revision(self) -> int:
        """The revision that the change made."""
        return self.now.revision

    @property
    def bodies(self) -> Sequence[Body]:
        """What stood there, if anything did, and what is there now or was there last."""
        return [stored.body for stored in (self.before, self.now) if stored]

    def alters(self, part: Callable[[Body], object]) -> bool:
        """Whether the object is new, or its ``part`` is another than before."""
        return self.before is None or part(self.before.body) != part(self.now.body)


Listener: TypeAlias = Callable[[str, StoreChange], None]
"""Told of a resource's qualified name, and of a change of one of its objects."""


class TooOld(Exception):
    """The log does not reach back so far; ``oldest`` is the first revision that can be resumed
    from.
    """

    def __init__(self, asked: int, oldest: int) -> None:
        super().__init__(f"too old resource version: {asked} ({oldest})")


class _ResourceHistory:
    """The objects of one resource and their latest changes."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], Stored] = {}
        self.log: collections.deque[StoreChange] = collections.deque()
        self.size = 0
        """Of what the log holds, in bytes."""
        self.keys: list[tuple[str, str]] = []
        """Of the objects, in order."""
        self.compacted = 0
        """Revision of the youngest change that the log has lost."""
        self.listeners: list[Listener] = []

    def remember(self, change: StoreChange) -> None:
        """Write it into the log, which loses the oldest when it has too much."""
        self.log.append(change)
        self.size += change.now.size
        while len(self.log) > MAX_LOG_CHANGES or (self.size > MAX_LOG_BYTES and len(self.log) > 1):
            lost = self.log.popleft()
            self.size -= lost.now.size
            self.compacted = lost.revision


class RevisionStore:
    """``resource`` is a qualified plural name everywhere."""

    def __init__(self) -> None:
        self.revision = 1
        self._histories: dict[str, _ResourceHistory] = {}
        self._everything: list[Listener] = []
        self._not_notified: collections.deque[tuple[str, StoreChange]] = collections.deque()

    def get(self, resource: str, namespace: str, name: str) -> Stored | None:
        """The object, if any."""
        return self._history(resource).objects.get((namespace, name))

    def list(self, resource: str, namespace: str = "") -> Sequence[Stored]:
        """All objects, or one namespace's, by namespace and name; a snapshot."""
        history = self._history(resource)
        keys = history.keys
        if namespace:
            keys = keys[
                bisect.bisect_left(keys, (namespace, "")) : bisect.bisect_left(
                    keys, (f"{namespace}\0", "")
                )
            ]
        return [history.objects[key] for key in keys]

    def put(self, resource: str, namespace: str, body: Body) -> Stored:
        """Create or replace; the store owns the body from now on and writes its
        metadata.resourceVersion.
        """
        history, key = self._history(resource), (namespace, body["metadata"]["name"])
        before = history.objects.get(key)
        stored = self._stored(key, body)
        history.objects[key] = stored
        if before is None:
            bisect.insort(history.keys, key)
        self._notify(
            resource, history, StoreChange("MODIFIED" if before else "ADDED", stored, before)
        )
        return stored

    def remove(
        self, resource: str, namespace: str, name: str, last: Body | None = None
    ) -> Stored | None:
        """Remove; returns the last state, at the removal's revision: ``last``, or what stood there.
        None when there was nothing.
        """
        history = self._history(resource)
        before = history.objects.pop((namespace, name), None)
        if before is None:
            return None
        del history.keys[bisect.bisect_left(history.keys, before.key)]
        shown = before.body if last is None else last
        removed = self._stored(before.key, {**shown, "metadata": dict(shown["metadata"])})
        self._notify(resource, history, StoreChange("DELETED", removed, before))
        return removed

    def since(self, resource: str, revision: int) -> Iterator[StoreChange]:
        """Changes after a revision, oldest first. Raises TooOld."""
        history = self._history(resource)
        if revision < history.compacted:
            raise TooOld(revision, history.compacted)
        newer: list[StoreChange] = []
        for change in reversed(history.log):
            if change.revision <= revision:
                break
            newer.append(change)
        return reversed(newer)

    def subscribe(
        self, resource: str, listener: Callable[[StoreChange], None]
    ) -> Callable[[], None]:
        """Have ``listener`` called with every change from now on, within the write; returns what
        ends that.
        """
        listeners = self._history(resource).listeners

        def told(_: str, change: StoreChange) -> None:
            listener(change)

        listeners.append(told)
        return lambda: listeners.remove(told)

    def subscribe_to_all(self, listener: Listener) -> None:
        """Likewise, for every resource."""
        self._everything.append(listener)

    def _history(self, resource: str) -> _ResourceHistory:
        history = self._histories.get(resource)
        if history is None:
            history = self._histories[resource] = _ResourceHistory()
        return history

    def _stored(self, key: tuple[str, str], body: dict[str, Any]) -> Stored:
        self.revision += 1
        body["metadata"]["resourceVersion"] = str(self.revision)
        return Stored(key, body, self.revision)

    def _notify(self, resource: str, history: _ResourceHistory, change: StoreChange) -> None:
        history.remember(change)
        self._not_notified.append((resource, change))
        # a listener wrote: all are told in order, so of this when they know what came before
        if len(self._not_notified) > 1:
            return
        while self._not_notified:
            self._notify_next()

    def _notify_next(self) -> None:
        resource, change = self._not_notified[0]
        notify_each((*self._history(resource).listeners, *self._everything), resource, change)
        self._not_notified.popleft()


def notify_each(listeners: Iterable[Listener], resource: str, change: StoreChange) -> None:
    """The write was made: who fails at hearing of it is no reason to refuse it, or to tell nobody
    else.
    """
    for listener in listeners:
        try:
            listener(resource, change)
        except Exception:
            log.exception(
                "a change was not followed",
                extra={"resource": resource, "key": "/".join(change.now.key)},
            )
