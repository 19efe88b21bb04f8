"""The reflector: lists and watches one resource, for as long as the process lives.

A list comes page by page, a watch line by line; each object is decoded once, straight into its
struct, and handed to a sink. The loop is never held for longer than ``WATCH_SLICE_SECONDS``:
pods are placed and the lease is renewed between two slices of a long list.

How a stream may end, and what follows:

* without an error (its time is over, or we read too slowly): go on from the last resource version
  at once;
* 410, as the answer or as an ERROR line: the version is too old, list anew;
* 404: the API server may not know the resource; where that is allowed, and its lists of APIs say so
  too, it counts as an empty list and is tried again now and then;
* anything else: wait, longer each time, then go on from the last version.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import AsyncGenerator
from typing import Any, Generic

import msgspec

from moorage.adapters.answers import DECODE_ERRORS, LineSplitter, LineTooLong
from moorage.adapters.reflector.looking import HttpUncachedReader
from moorage.adapters.reflector.messages import (
    BOOKMARK,
    ERROR_EVENT,
    EVENT_OUTLINE,
    ListPage,
    WatchStatus,
    read_page,
)
from moorage.adapters.reflector.pacing import WorkSlice
from moorage.adapters.reflector.version_waiters import VersionWaiters, is_reached
from moorage.adapters.reflector.watched import ListWatch, T, readable_part
from moorage.api.json_depth import shallow
from moorage.ports.clock import Clock
from moorage.ports.errors import EdgeError, NotFound, ResourceExpired, Retryable
from moorage.ports.guards import FAULTS, log_bug
from moorage.ports.http_calls import HttpCall, HttpSession, error_from_response, next_page
from moorage.ports.kube import ReflectorSink
from moorage.ports.repeated_logs import once_per_failure
from moorage.ports.retrying import Backoff, retrying

__all__ = ["HttpUncachedReader", "ListWatch", "Reflector"]

log = logging.getLogger(__name__)

PAGE_SIZE = 500
"""Objects a page. A page is split into objects in one go, about 3 ms for 500 pods of 5 kB."""
PAGE_TIMEOUT_SECONDS = 60.0
WATCH_SECONDS = (300, 600)
"""A watch is asked to end after a random time between these, so that watches spread over the API
servers.
"""
CATCH_UP_SECONDS = 3
"""How long a watch is opened for that has to reach a version: the API server sends a bookmark two
seconds before its end.
"""
MAX_CATCH_UP_STREAMS = 3
"""After so many such watches in vain the resource is listed anew."""
BACKOFF_SECONDS = Backoff(0.1, 10.0, jitter=0.5)
RECHECK_SECONDS = 60.0
"""After so long a resource that the API server did not know is asked for again."""
MIN_STREAM_SECONDS = 1.0
"""A stream that ends sooner than this, with nothing delivered, counts as a failure: going on at
once would be a busy loop.
"""


class Reflector(Generic[T]):
    """``ports.kube.Informer`` for one resource; ``run`` it in a task of its own."""

    def __init__(
        self, session: HttpSession, clock: Clock, watched: ListWatch[T], sink: ReflectorSink[T]
    ) -> None:
        self._session = session
        self._clock = clock
        self._list_watch = watched
        self._sink = sink
        self._reader: HttpUncachedReader[T] = HttpUncachedReader(session, watched)
        self._decode_object = msgspec.json.Decoder(watched.kind).decode
        event = msgspec.defstruct(
            "Event", [("type", str), ("object", watched.kind)], frozen=True, gc=False
        )
        self._decode_event: Any = msgspec.json.Decoder(event).decode
        self._version = ""
        """Of the last thing delivered; "" when a list is needed."""
        self._last_heard = clock.boottime()
        self._waiters = VersionWaiters()
        self._catching_up = 0
        self._scope: asyncio.Timeout | None = None
        """Of a long stream that is open, for ``wait_caught_up`` to cut."""
        self._list_requested = False
        """Whether a list was asked for."""
        self._has_synced = False
        self._failures = 0
        self.lost = 0
        """Lines of which not even the object's name could be read."""

    @property
    def resource(self) -> str:
        """The plural of what is watched."""
        return self._list_watch.resource

    @property
    def optional(self) -> bool:
        """Whether only some profiles need it."""
        return self._list_watch.optional

    @property
    def has_synced(self) -> bool:
        """Whether a whole list has come in."""
        return self._has_synced

    @property
    def age(self) -> float:
        """Seconds since the API server last said anything."""
        return self._clock.boottime() - self._last_heard

    @property
    def failures(self) -> int:
        """Attempts that failed since the API server last delivered something."""
        return self._failures

    async def run(self) -> None:
        """List, watch, resume, relist, until cancelled."""
        while True:
            try:
                if not self._version:
                    await self.list_all()
                await self._watch()
            except EdgeError as error:
                if await self._is_absent(error):
                    await self._wait_until_served(error)
                    continue
                if isinstance(error, ResourceExpired):
                    self._version = ""
                await self._back_off(error)
            except FAULTS as error:
                log_bug("watching", error, resource=self.resource)
                self._version = ""  # what it was about may be lost
                await self._back_off(Retryable(repr(error)))

    async def _back_off(self, error: EdgeError) -> None:
        """Log it, and wait before the next attempt."""
        self._failures += 1
        delay = BACKOFF_SECONDS.seconds(self._failures, error)
        text = "watching %s failed, next attempt in %.1f s: %s"
        log.warning(text, self.resource, delay, error, extra=once_per_failure(error))
        await self._clock.sleep(delay)

    async def _is_absent(self, error: EdgeError) -> bool:
        """Whether the API server does not have the resource, as its lists of APIs say: a 404 alone
        may be a proxy's.
        """
        if not isinstance(error, NotFound) or not self._list_watch.optional:
            return False
        try:
            return not await self._reader.served()
        except EdgeError as unread:
            text = "whether the API server has %s could not be read: %s"
            log.warning(text, self.resource, unread, extra=once_per_failure(unread))
            return False

    async def _wait_until_served(self, error: EdgeError) -> None:
        """The API server does not have the resource, so there are no such objects, until it has."""
        if not self._has_synced or self._version:
            log.info("the API server does not have %s: %s", self.resource, error)
        self._version = ""
        self._last_heard = self._clock.boottime()
        self._sink.list_started(served=False)
        await self._end_list()
        self._waiters.finish(self._waiters.current())
        await self._clock.sleep(RECHECK_SECONDS)

    async def wait_caught_up(self) -> None:
        """Return once the sink has all that the API server held when this was called.

        Before the first list that is whatever it brings.
        """
        target = await self._current_version() if self._list_requested else ""
        if target is None or (self._has_synced and is_reached(self._version, target)):
            return
        waiter = self._waiters.add(target)
        self._catching_up = 0
        # Cut the stream short: the next one is opened so that a bookmark comes soon.
        scope, self._scope = self._scope, None
        if scope is not None:
            scope.reschedule(0)
        try:
            await waiter
        finally:
            self._waiters.discard(waiter)

    async def _current_version(self) -> str | None:
        """The version now, read consistently, however long that takes; None: no such resource."""

        async def read() -> str | None:
            try:
                body = await self._session.call(HttpCall("GET", self._list_watch.url(limit=1)))
                return read_page(self._list_watch.path, body).metadata.resource_version
            except EdgeError as error:
                if await self._is_absent(error):
                    return None
                raise

        def failing(error: EdgeError, delay: float) -> None:
            text = "the version of %s could not be read, next attempt in %.1f s: %s"
            log.warning(text, self.resource, delay, error, extra=once_per_failure(error))

        return await retrying(read, BACKOFF_SECONDS, self._clock, on_failure=failing)

    # ---- listing ---------------------------------------------------------------------------------

    async def list_all(self) -> None:
        """Give the sink everything, from one consistent list. Raises EdgeError; ``run`` asks again
        by itself.
        """
        covered = self._waiters.current()
        self._list_requested = True
        pace = WorkSlice()
        self._sink.list_started()
        version = ""
        async with contextlib.aclosing(self._pages()) as pages:
            async for page in pages:
                version = page.metadata.resource_version
                for raw in page.items or ():
                    self._listed(raw)
                    if pace.due:
                        await pace.rest()
        await self._end_list()
        self._version = version
        self._waiters.finish(covered)
        self._waiters.advance(self._version)

    async def _pages(self) -> AsyncGenerator[ListPage, None]:
        """The API server writes the next page while one is taken in."""
        coming: asyncio.Task[ListPage] | None = asyncio.create_task(self._get_page(""))
        token = ""
        try:
            while coming is not None:
                page = await coming
                following = page.metadata.continue_ or ""
                token = next_page(f"GET {self._list_watch.path}", token, following)
                coming = asyncio.create_task(self._get_page(token)) if token else None
                yield page
        finally:
            if coming is not None:
                coming.cancel()

    async def _end_list(self) -> None:
        """The sink takes out what is gone, and others get their turn in between."""
        pace = WorkSlice()
        while self._sink.list_ended():
            await pace.rest()
        self._has_synced = True

    async def _get_page(self, token: str) -> ListPage:
        url = self._list_watch.url(limit=PAGE_SIZE, **{"continue": token})
        body = await self._session.call(HttpCall("GET", url, timeout=PAGE_TIMEOUT_SECONDS))
        self._last_heard = self._clock.boottime()
        return read_page(self._list_watch.path, body)

    def _listed(self, raw: msgspec.Raw) -> None:
        try:
            obj = self._decode_object(raw)
        except DECODE_ERRORS as error:
            self._unreadable(raw, error, deleted=False)
        else:
            self._sink.put(obj)

    # ---- watching --------------------------------------------------------------------------------

    async def _watch(self) -> None:
        """Follow one stream to its end. Raises EdgeError unless the end was a regular one."""
        if self._waiters:
            self._catching_up += 1
            if self._catching_up > MAX_CATCH_UP_STREAMS:
                self._version = ""
                return
        seconds = CATCH_UP_SECONDS if self._waiters else random.randint(*WATCH_SECONDS)
        url = self._watch_url(seconds)
        opened, version = self._clock.boottime(), self._version
        try:
            async with asyncio.timeout(None) as scope:
                self._scope = scope if seconds > CATCH_UP_SECONDS else None
                await self._follow(url)
        except TimeoutError:
            return  # wait_caught_up cut it
        finally:
            self._scope = None
        if self._version == version and self._clock.boottime() - opened < MIN_STREAM_SECONDS:
            raise Retryable(f"GET {url}: ended at once with nothing delivered")

    def _watch_url(self, seconds: int) -> str:
        return self._list_watch.url(
            watch="true",
            allowWatchBookmarks="true",
            resourceVersion=self._version,
            timeoutSeconds=seconds,
        )

    async def _follow(self, url: str) -> None:
        lines, pace = LineSplitter(), WorkSlice()
        async with contextlib.aclosing(self._session.stream(url)) as chunks:
            async for chunk in chunks:
                self._last_heard = self._clock.boottime()
                try:
                    split = lines.split(chunk)
                except LineTooLong as error:
                    raise Retryable(f"GET {url}: {error}") from error
                for line in split:
                    self._line(line)
                    if pace.due:
                        await pace.rest()
                if pace.due:
                    await pace.rest()

    def _line(self, line: bytes) -> None:
        """One event. Objects of BOOKMARK and ERROR would not decode as what is watched."""
        try:
            if line.startswith(b'{"type":"BOOKMARK"'):
                self._advance(BOOKMARK.decode(line).object.metadata.resource_version)
                return
            if line.startswith(b'{"type":"ERROR"'):
                raise self._reported(ERROR_EVENT.decode(line).object)
            event = self._decode_event(line)
        except RecursionError:
            self._line(shallow(line))
            return
        except DECODE_ERRORS as error:
            self._advance(self._undecodable_line(line, error))
            return
        deliver = self._sink.delete if event.type == "DELETED" else self._sink.put
        deliver(event.object)
        self._advance(event.object.metadata.resource_version)

    def _reported(self, status: WatchStatus) -> EdgeError:
        request = f"watch {self._list_watch.path}"
        return error_from_response(request, status.code or 500, msgspec.json.encode(status))

    def _undecodable_line(self, line: bytes, error: Exception) -> str:
        """An event whose object does not decode; returns its version, "" when that cannot be read
        either.
        """
        try:
            outline = EVENT_OUTLINE.decode(line)
        except DECODE_ERRORS:
            self.lost += 1
            log.error(
                "a line of the watch on %s cannot be read: %s: %r", self.resource, error, line[:200]
            )
            return ""
        return self._unreadable(outline.object, error, deleted=outline.type == "DELETED")

    def _unreadable(self, raw: msgspec.Raw, error: Exception, deleted: bool) -> str:
        """Hand over what can be read of a broken object; returns its version."""
        found = readable_part(raw, error)
        if found is None:
            self.lost += 1
            text = "an object among %s has no readable metadata: %s: %r"
            log.error(text, self.resource, error, bytes(raw)[:200])
            return ""
        self._sink.unreadable(found, deleted)
        return found.partial.metadata.resource_version

    # ---- progress --------------------------------------------------------------------------------

    def _advance(self, version: str) -> None:
        """Note that something was delivered up to this version."""
        self._failures = 0
        if version:
            self._version = version
            self._waiters.advance(version)
