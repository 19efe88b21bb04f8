"""Watches: lines of events, from what the store says.

A watch is told of changes within the writes that make them, so it only keeps them then; whoever
reads its chunks gets what has gathered since, in one piece. A reader that is too slow is dropped,
as the API server drops it: it comes again with the last version that it saw.
"""

from __future__ import annotations

import asyncio
import collections
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Final

import msgspec

from towtank.handlers.read_handlers import stored_target, to_served
from towtank.model import object_selectors
from towtank.model.api_errors import expired, too_many_requests
from towtank.model.kinds import Body
from towtank.model.requests import ListOptions, WatchOptions
from towtank.storage.store import StoreChange, Stored, TooOld
from towtank.storage.verbs import Verbs
from towtank.tables import printer

MAX_OPEN_WATCHES: Final = 4096
"""Watches at one time."""
_RETRY_AFTER_SECONDS: Final = 1
MAX_PENDING_CHANGES: Final = 50_000
"""Changes that a reader may be behind."""
MAX_PENDING_BYTES: Final = 64 << 20
"""Of their objects as JSON, together."""
MAX_EVENTS_PER_CHUNK: Final = 512
"""Events in one chunk."""
BOOKMARK_INTERVAL_SECONDS: Final = 60.0
_LAST_BOOKMARK_LEAD_SECONDS: Final = 2.0
_DEFAULT_TIMEOUT_SECONDS: Final = 3600.0
"""Seconds of a watch that does not say how long it wants to be."""
_INITIAL_EVENTS_END: Final = {"k8s.io/initial-events-end": "true"}
_ENCODER: Final = msgspec.json.Encoder()


class Watches:
    """All that are open: a resource that goes ends its own."""

    def __init__(self, verbs: Verbs) -> None:
        self._verbs = verbs
        self._open: dict[str, set[Watch]] = collections.defaultdict(set)

    def open(self, options: WatchOptions) -> Watch:
        """Begin. Raises ApiError 400 for selectors that cannot be read, and 429 when there are too
        many.
        """
        if sum(map(len, self._open.values())) >= MAX_OPEN_WATCHES:
            raise too_many_requests(f"{MAX_OPEN_WATCHES} watches are open", _RETRY_AFTER_SECONDS)
        key = options.target.resource.key
        watch = Watch(self._verbs, options, lambda: self._open[key].discard(watch))
        self._open[key].add(watch)
        return watch

    def end(self, key: str) -> None:
        """End the watches of a resource."""
        for watch in tuple(self._open.pop(key, ())):
            watch.end()

    def end_all(self) -> None:
        """End every watch: the server stops."""
        for key in tuple(self._open):
            self.end(key)


class Watch:
    """One. It listens from the moment it is made, so nothing is missed between that and the first
    chunk.
    """

    def __init__(self, verbs: Verbs, options: WatchOptions, closed: Callable[[], None]) -> None:
        self._verbs = verbs
        self._options = options
        self._closed = closed
        target = stored_target(options.target)
        self._key, self._namespace, self._name = target.resource.key, target.namespace, target.name
        self._wanted = object_selectors.object_filter(
            options.target.resource, options.label_selector, options.field_selector
        )
        self._form = _EventEncoder(verbs, options)
        self._changes: collections.deque[StoreChange] = collections.deque()
        self._waiting = 0
        """Bytes of them."""
        self._woken = asyncio.Event()
        self._ended = False
        self._first = self._begin()
        self._unsubscribe = verbs.store.subscribe(self._key, self._on_change)

    def end(self) -> None:
        """No more chunks after what is there."""
        self._ended = True
        self._woken.set()

    def close(self) -> None:
        self._unsubscribe()
        self._closed()

    async def chunks(self) -> AsyncIterator[bytes]:
        """Lines, several together. Ends by itself at the time that was asked for."""
        started = time.monotonic()
        ends = started + min(
            self._options.timeout_seconds or _DEFAULT_TIMEOUT_SECONDS, _DEFAULT_TIMEOUT_SECONDS
        )
        bookmark = _next_bookmark(started, ends) if self._options.since is None else started
        if self._first:
            yield b"".join(self._first)
        while not self._ended:
            if lines := list(self._lines()):
                yield b"".join(lines)
                continue
            now = time.monotonic()
            if now >= ends:
                return
            if self._options.bookmarks and now >= bookmark:
                bookmark = _next_bookmark(now, ends)
                yield self._form.bookmark(self._verbs.store.revision)
            await self._sleep(
                min(ends, bookmark if self._options.bookmarks else ends) - time.monotonic()
            )

    async def _sleep(self, seconds: float) -> None:
        self._woken.clear()
        if not self._changes and not self._ended:
            try:
                await asyncio.wait_for(self._woken.wait(), max(seconds, 0.001))
            except TimeoutError:
                return

    # ---- what there was --------------------------------------------------------------------------

    def _begin(self) -> list[bytes]:
        """The first lines: what is there now, or what has changed since; or that this is too long
        ago, which ends it.
        """
        since = self._options.since
        if since is None:
            return list(self._initial())
        try:
            self._changes.extend(
                change
                for change in self._verbs.store.since(self._key, since)
                if self._is_selected(change)
            )
            self._waiting = sum(change.now.size for change in self._changes)
        except TooOld as fault:
            self._ended = True
            return [_line("ERROR", _ENCODER.encode(expired(str(fault)).status()))]
        return []

    def _initial(self) -> Iterator[bytes]:
        options = self._options
        which = ListOptions(
            label_selector=options.label_selector, field_selector=options.field_selector
        )
        page = self._verbs.list(stored_target(options.target), which)
        for stored in page.items:
            yield self._form.event("ADDED", stored)
        if options.bookmarks:
            yield self._form.bookmark(page.revision, _INITIAL_EVENTS_END)

    # ---- what there is ---------------------------------------------------------------------------

    def _on_change(self, change: StoreChange) -> None:
        if not self._is_selected(change):
            return
        if len(self._changes) >= MAX_PENDING_CHANGES or (
            self._changes and self._waiting + change.now.size > MAX_PENDING_BYTES
        ):
            self.end()
            return
        self._changes.append(change)
        self._waiting += change.now.size
        self._woken.set()

    def _is_selected(self, change: StoreChange) -> bool:
        namespace, name = change.now.key
        return (not self._namespace or namespace == self._namespace) and (
            not self._name or name == self._name
        )

    def _lines(self) -> Iterator[bytes]:
        for _ in range(min(len(self._changes), MAX_EVENTS_PER_CHUNK)):
            change = self._changes.popleft()
            self._waiting -= change.now.size
            if line := self._event(change):
                yield line

    def _event(self, change: StoreChange) -> bytes | None:
        """A change as its watcher sees it: what stops or starts matching goes or comes."""
        wanted = self._wanted
        if wanted is None:
            return self._form.event(change.type, change.now)
        before = change.before is not None and wanted(change.before.body)
        now = change.type != "DELETED" and wanted(change.now.body)
        if now:
            return self._form.event("MODIFIED" if before else "ADDED", change.now)
        if not before or change.before is None:
            return None
        return self._form.event(
            "DELETED",
            change.now if change.type == "DELETED" else _gone(change.before, change.revision),
        )


class _EventEncoder:
    """How events are written: objects, Tables or metadata alone."""

    def __init__(self, verbs: Verbs, options: WatchOptions) -> None:
        self._target = options.target
        self._metadata_only = options.metadata_only
        self._whole = not options.as_table and not options.metadata_only
        self._plain = self._whole and options.target.resource.mapping is None
        self._clock = verbs.clock
        self._printer = (
            printer.TablePrinter(options.target.resource, options.include_object)
            if options.as_table
            else None
        )
        self._headers = True
        self._meta = options.meta

    def event(self, kind: str, stored: Stored) -> bytes:
        """One line; the text of an object is written once for all who watch it."""
        return _line(
            kind, stored.text if self._plain else self._shown(to_served(self._target, stored.body))
        )

    def bookmark(self, revision: int, annotations: Body | None = None) -> bytes:
        """A line that says how far this watch has come."""
        metadata: Body = {"resourceVersion": str(revision)}
        if annotations:
            metadata["annotations"] = annotations
        resource = self._target.resource
        return _line(
            "BOOKMARK",
            self._shown(
                {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}
            ),
        )

    def _shown(self, body: Body) -> bytes:
        shown: Any = printer.partial(body) if self._metadata_only else body
        if self._printer:
            meta = {"resourceVersion": body["metadata"].get("resourceVersion", "")}
            shown = self._printer.table([body], self._clock(), meta, headers=self._headers)
            self._headers = False
        return _ENCODER.encode(shown if self._whole else printer.of_version(shown, self._meta))


def _line(kind: str, text: bytes) -> bytes:
    return b'{"type":"%b","object":%b}\n' % (kind.encode(), text)


def _gone(before: Stored, revision: int) -> Stored:
    """An object that is there and does not match any more: what it was, at the version of its
    change.
    """
    metadata = {**before.body["metadata"], "resourceVersion": str(revision)}
    return Stored(before.key, {**before.body, "metadata": metadata}, revision)


def _next_bookmark(now: float, ends: float) -> float:
    """About once a minute, and shortly before the end."""
    last = ends - _LAST_BOOKMARK_LEAD_SECONDS
    return min(now + BOOKMARK_INTERVAL_SECONDS, last) if now < last else ends + 1
