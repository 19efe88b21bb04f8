"""Comparing: what the watches have told, beside what the API server has, and what they did not tell put right.

The leader goes through all kinds, slowly: a list by pages of metadata, one after another, then a rest. What differs is looked at again
a moment later, where it may have come by the watch; what differs still is read by name, and what is read goes into the sink as a line
of the watch would. Nothing is deleted, or believed to be there, but by such a read; whatever the sink has that is newer stays.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from moorage.core.objects.meta import ObjectMeta, PartialObject, key, version
from moorage.engine.intake.object_sink import Sink
from moorage.ports.clock import Clock
from moorage.ports.errors import EdgeError, NotFound
from moorage.ports.guards import guard
from moorage.ports.kube import Found, Look, Unreadable
from moorage.ports.repeated_logs import failed
from moorage.ports.telemetry import Telemetry

log = logging.getLogger(__name__)

REST = 60.0
"""Seconds between two rounds."""
PAGE_EVERY = 0.5
"""Seconds from one page (500 objects) to the next: 150,000 pods take two and a half minutes, while their list can be gone on with."""
LOOK_AGAIN = 3.0
"""Seconds until what differs is looked at again."""
READ_EVERY = 0.02
"""Seconds between two reads of single objects."""
UNREAD = 3
"""Reads that fail, one after another, after which the rest of a kind is left for the next round."""

Compared: TypeAlias = tuple[Look[Any], Sink[Any]]
"""The API server's objects of a kind, and where its watch goes."""


class Doubt(NamedTuple):
    """An object that we may have otherwise than the API server: its identity in the sink, and its state there, None for none."""

    identity: str
    metadata: ObjectMeta
    ours: int | None


class Comparison:
    """Compares and mends from ``lead`` on; ``run`` it for as long as the process lives."""

    def __init__(self, compared: Sequence[Compared], clock: Clock, telemetry: Telemetry) -> None:
        self._compared = compared
        self._clock = clock
        self._telemetry = telemetry
        self._leading = asyncio.Event()

    def lead(self) -> None:
        """Begin."""
        self._leading.set()

    async def run(self) -> None:
        """Go round until cancelled."""
        await self._leading.wait()
        while True:
            await self._clock.sleep(REST)
            for look, sink in self._compared:
                if sink.synced:
                    with guard("comparing", resource=look.resource):
                        await self._compare(look, sink)

    async def _compare(self, look: Look[Any], sink: Sink[Any]) -> None:
        """One kind. What fails is left for the next round: a list that took too long, say."""
        try:
            doubts = await self._doubts(look, sink)
        except EdgeError as error:
            if isinstance(error, NotFound) and not sink.known():
                return  # neither has the kind: PodGroups, where nobody has installed their definition
            log.info("%s could not be compared with the API server, next time more: %s", look.resource, error, extra=failed(error))
            return
        if doubts:
            await self._clock.sleep(LOOK_AGAIN)
        unread = 0
        for doubt in doubts:
            if sink.state(doubt.identity) != doubt.ours:
                continue  # it has come, or gone, by the watch
            unread = 0 if await self._settled(doubt, look, sink) else unread + 1
            if unread == UNREAD:
                return
            await self._clock.sleep(READ_EVERY)

    async def _settled(self, doubt: Doubt, look: Look[Any], sink: Sink[Any]) -> bool:
        """Read one object, and put right what differs; False where it cannot be read now, which costs no other its turn."""
        try:
            found = await look.read(doubt.metadata.namespace, doubt.metadata.name)
        except EdgeError as error:
            named = key(PartialObject(doubt.metadata))
            log.info("%s %s could not be read, next time more: %s", look.resource, named, error, extra=failed(error))
            return False
        if difference := put_right(doubt, found, sink):
            self._tell(look.resource, difference, doubt.metadata)
        return True

    async def _doubts(self, look: Look[Any], sink: Sink[Any]) -> list[Doubt]:
        """What differs from a list of one moment."""
        unseen, doubts, token = sink.known(), list[Doubt](), ""
        while True:
            await self._clock.sleep(PAGE_EVERY)
            page = await look.page(token)
            for metadata in page.objects:
                identity = sink.identity(metadata)
                unseen.pop(identity, None)
                ours = sink.state(identity)
                if ours is None or ours < version(metadata):
                    doubts.append(Doubt(identity, metadata, ours))
            token = page.token
            if not token:
                break
        gone = (Doubt(identity, obj.metadata, sink.state(identity)) for identity, obj in unseen.items())
        return doubts + [doubt for doubt in gone if doubt.ours is not None and doubt.ours <= page.version]

    def _tell(self, resource: str, difference: str, metadata: ObjectMeta) -> None:
        self._telemetry.put_right(resource, difference)
        extra = {"object": key(PartialObject(metadata)), "difference": difference}
        log.warning("the watch of %s has not told of an object, which is put right now", resource, extra=extra)


def put_right(doubt: Doubt, found: Found[Any], sink: Sink[Any]) -> str:
    """Have the sink hear what was read, if it is news; which difference that mends: missed, stale or redundant, "" for none."""
    theirs, ours = found.object, sink.state(doubt.identity)
    metadata = ObjectMeta() if theirs is None else theirs.partial.metadata if isinstance(theirs, Unreadable) else theirs.metadata
    if ours != doubt.ours:
        return ""
    if sink.identity(metadata) != doubt.identity:  # it is not there, or another one has its name
        if ours is None or ours > found.version:
            return ""
        sink.delete(PartialObject(doubt.metadata))
        return "redundant"
    if ours is not None and version(metadata) <= ours:
        return ""
    if isinstance(theirs, Unreadable):
        sink.unreadable(theirs, deleted=False)
    else:
        sink.put(theirs)
    return "missed" if ours is None else "stale"
