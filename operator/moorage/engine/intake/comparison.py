"""The comparison: what the watches have brought, beside what the API server has; what they missed
is put right.

The leader goes through all kinds, slowly: a list by pages of metadata, one after another, then a
rest. What differs is compared again a moment later, where it may have come by the watch; what
differs still is read by name, and what is read goes into the sink as a line of the watch would.
Nothing is deleted, or believed to be there, but by such a read; whatever the sink has that is newer
stays.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from moorage.core.objects.meta import HasMetadata, ObjectMeta, PartialObject, key, version
from moorage.engine.intake.object_sink import ObjectSink
from moorage.ports.clock import Clock
from moorage.ports.errors import EdgeError, NotFound
from moorage.ports.guards import guard
from moorage.ports.kube import ObjectAtVersion, UncachedReader, UnreadableObject
from moorage.ports.repeated_logs import once_per_failure
from moorage.ports.telemetry import Telemetry

log = logging.getLogger(__name__)

ROUND_INTERVAL_SECONDS = 60.0
"""Seconds between two rounds."""
PAGE_INTERVAL_SECONDS = 0.5
"""Seconds from one page (500 objects) to the next: 150,000 pods take two and a half minutes, while
their list can be gone on with.
"""
RECHECK_DELAY_SECONDS = 3.0
"""Seconds until what differs is compared again: it may come by the watch."""
READ_INTERVAL_SECONDS = 0.02
"""Seconds between two reads of single objects."""
MAX_FAILED_READS = 3
"""Reads that fail, one after another, after which the rest of a kind is left for the next round."""

Compared: TypeAlias = tuple[UncachedReader[Any], ObjectSink[Any]]
"""The API server's objects of a kind, and where its watch goes."""


class SuspectedDifference(NamedTuple):
    """An object that we may have otherwise than the API server: its identity in the sink, and its
    state there, None for none.
    """

    identity: str
    metadata: ObjectMeta
    ours: int | None


class CacheComparison:
    """Compares and mends from ``lead`` on; ``run`` it for as long as the process lives."""

    def __init__(self, compared: Sequence[Compared], clock: Clock, telemetry: Telemetry) -> None:
        self._compared = compared
        self._clock = clock
        self._telemetry = telemetry
        self._leading = asyncio.Event()

    def lead(self) -> None:
        """Begin: this replica leads."""
        self._leading.set()

    async def run(self) -> None:
        """Go round until cancelled."""
        await self._leading.wait()
        while True:
            await self._clock.sleep(ROUND_INTERVAL_SECONDS)
            for reader, sink in self._compared:
                if sink.synced:
                    with guard("comparing", resource=reader.resource):
                        await self._compare(reader, sink)

    async def _compare(self, reader: UncachedReader[Any], sink: ObjectSink[Any]) -> None:
        """One kind. What fails is left for the next round: a list that took too long, say."""
        try:
            doubts = await self._suspected(reader, sink)
        except EdgeError as error:
            if isinstance(error, NotFound) and not sink.known():
                # neither has the kind: PodGroups, where nobody has installed their definition
                return
            text = "%s could not be compared with the API server, next time more: %s"
            log.info(text, reader.resource, error, extra=once_per_failure(error))
            return
        if doubts:
            await self._clock.sleep(RECHECK_DELAY_SECONDS)
        await self._resolve_all(doubts, reader, sink)

    async def _resolve_all(
        self,
        doubts: Sequence[SuspectedDifference],
        reader: UncachedReader[Any],
        sink: ObjectSink[Any],
    ) -> None:
        """Read what differs still, until too many reads fail."""
        unread = 0
        for doubt in doubts:
            if sink.state(doubt.identity) != doubt.ours:
                continue  # it has come, or gone, by the watch
            unread = 0 if await self._resolve(doubt, reader, sink) else unread + 1
            if unread == MAX_FAILED_READS:
                return
            await self._clock.sleep(READ_INTERVAL_SECONDS)

    async def _resolve(
        self, doubt: SuspectedDifference, reader: UncachedReader[Any], sink: ObjectSink[Any]
    ) -> bool:
        """Read one object, and put right what differs; False where it cannot be read now, which
        costs no other its turn.
        """
        try:
            found = await reader.read(doubt.metadata.namespace, doubt.metadata.name)
        except EdgeError as error:
            named, extra = key(PartialObject(doubt.metadata)), once_per_failure(error)
            text = "%s %s could not be read, next time more: %s"
            log.info(text, reader.resource, named, error, extra=extra)
            return False
        if difference := put_right(doubt, found, sink):
            self._report(reader.resource, difference, doubt.metadata)
        return True

    async def _suspected(
        self, reader: UncachedReader[Any], sink: ObjectSink[Any]
    ) -> list[SuspectedDifference]:
        """What differs from a list of one moment."""
        unseen, doubts, token = sink.known(), list[SuspectedDifference](), ""
        while True:
            await self._clock.sleep(PAGE_INTERVAL_SECONDS)
            page = await reader.page(token)
            for metadata in page.objects:
                identity = sink.identity(metadata)
                unseen.pop(identity, None)
                ours = sink.state(identity)
                if ours is None or ours < version(metadata):
                    doubts.append(SuspectedDifference(identity, metadata, ours))
            if not page.token:
                return [*doubts, *_suspected_gone(unseen, sink, page.version)]
            token = page.token

    def _report(self, resource: str, difference: str, metadata: ObjectMeta) -> None:
        self._telemetry.repaired(resource, difference)
        extra = {"object": key(PartialObject(metadata)), "difference": difference}
        log.warning(
            "the watch of %s has not shown a change of an object, which is put right now",
            resource,
            extra=extra,
        )


def _suspected_gone(
    unseen: Mapping[str, HasMetadata], sink: ObjectSink[Any], listed: int
) -> Iterator[SuspectedDifference]:
    """Of the objects that a list of this version did not have, those that it should have had."""
    for identity, obj in unseen.items():
        ours = sink.state(identity)
        if ours is not None and ours <= listed:
            yield SuspectedDifference(identity, obj.metadata, ours)


def put_right(
    doubt: SuspectedDifference, found: ObjectAtVersion[Any], sink: ObjectSink[Any]
) -> str:
    """Take in what was read, if it is news; what that mends: missed, stale, redundant or ""."""
    theirs, ours = found.object, sink.state(doubt.identity)
    partial = theirs.partial if isinstance(theirs, UnreadableObject) else theirs
    metadata = ObjectMeta() if partial is None else partial.metadata
    if ours != doubt.ours:
        return ""
    if sink.identity(metadata) != doubt.identity:  # it is not there, or another one has its name
        return _delete_if_older(doubt, found.version, sink)
    if ours is not None and version(metadata) <= ours:
        return ""
    if isinstance(theirs, UnreadableObject):
        sink.unreadable(theirs, deleted=False)
    else:
        sink.put(theirs)
    return "missed" if ours is None else "stale"


def _delete_if_older(doubt: SuspectedDifference, read: int, sink: ObjectSink[Any]) -> str:
    """Have an object deleted that is not there, unless ours is newer than what was read."""
    if doubt.ours is None or doubt.ours > read:
        return ""
    sink.delete(PartialObject(doubt.metadata))
    return "redundant"
