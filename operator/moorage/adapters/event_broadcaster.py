"""The event broadcaster: events go to the log, and to the API server as events.k8s.io/v1, without
ever holding up who emits them.

* What repeats within ``SERIES_SECONDS`` becomes a series: the first is created, later ones only
  raise its count.
* One that is to be told once has a name made of what it says, so the API server takes no second.
* An object has ``BURST`` events at once and one more each ``REFILL_SECONDS`` (client-go's spam
  filter); what is over that is counted, not sent. A count that could not be sent goes out with the
  next event of its series. The rule holds for every reason.
* What breaks is tried again for ``GIVE_UP_SECONDS``, behind the others.
* The queue is bounded; what does not fit is counted and dropped. All tables forget their oldest
  entries.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import dataclasses
import datetime
import hashlib
import logging
from typing import Any

import msgspec

from moorage.ports.clock import Clock
from moorage.ports.errors import Conflict, EdgeError, NotFound, Retryable
from moorage.ports.event_recorder import Event, ObjectRef
from moorage.ports.http_calls import MERGE_PATCH, HttpCall, HttpSession
from moorage.ports.repeated_logs import once_per_cause, once_per_failure
from moorage.ports.retrying import Backoff
from moorage.ports.telemetry import Telemetry
from moorage.ports.texts import MAX_NAME_CHARACTERS, printable

log = logging.getLogger(__name__)

SERIES_SECONDS = 360.0
BURST = 25
REFILL_SECONDS = 300.0
MAX_QUEUED_EVENTS = 10_000
WORKERS = 2
"""Events that are sent at a time: few, so that what decides and evicts has the API server first
when there is much to tell.
"""
MAX_TABLE_ENTRIES = 4096
"""Entries of the tables of series and of objects, as many as client-go keeps."""
MAX_NOTE_BYTES = 1024
MAX_INSTANCE_CHARACTERS = 128
GIVE_UP_SECONDS = 600.0
"""How long an event is tried again. Its name stays the same, so one that was made by a request
without an answer is not made twice.
"""
BACKOFF = Backoff(0.2, 5.0)
"""After a request that broke."""

_encode = msgspec.json.Encoder().encode


@dataclasses.dataclass(slots=True, eq=False)
class _Series:
    """One event, created once and counted on."""

    event: Event
    name: str
    first: datetime.datetime
    last: datetime.datetime
    last_boot: float
    count: int = 1
    sent: int = 0
    """The count that the API server knows; 0 before it is created."""
    since: float | None = None
    """When it was first tried to send what is being sent."""
    busy: bool = False
    """Queued or being sent: a repetition only raises the count, and what the request did not have
    yet follows it.
    """

    @property
    def path(self) -> str:
        """Of the collection that it is in; events on cluster-scoped objects are in namespace
        default.
        """
        namespace = self.event.regarding.namespace or "default"
        return f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"


@dataclasses.dataclass(slots=True)
class _Bucket:
    tokens: float
    filled: float


class EventBroadcaster:
    """``ports.event_recorder.EventRecorder``. ``run`` sends until cancelled; ``flush`` before that,
    at the end.
    """

    def __init__(
        self,
        session: HttpSession,
        clock: Clock,
        telemetry: Telemetry,
        host: str,
        workers: int = WORKERS,
    ) -> None:
        self._session = session
        self._clock = clock
        self._telemetry = telemetry
        self._host = host
        self._workers = workers
        self._queue: asyncio.Queue[_Series] = asyncio.Queue(MAX_QUEUED_EVENTS)
        self._series: collections.OrderedDict[Any, _Series] = collections.OrderedDict()
        self._buckets: collections.OrderedDict[tuple[str, str], _Bucket] = collections.OrderedDict()
        self._last_stamp = 0
        self._unsent = 0
        """Queued or being sent."""
        self.dropped = 0
        """Events that did not fit into the queue."""

    def record(self, event: Event) -> None:
        """Log it and queue it."""
        event = dataclasses.replace(event, note=printable(event.note))
        kind = event.regarding.kind.lower()
        name = f"{event.regarding.namespace}/{event.regarding.name}".lstrip("/")
        if event.warning:
            cause = f"event {event.reason} {kind} {name} {shortened_note(event.note)}"
            extra = once_per_cause(cause, reason=event.reason, **{kind: name})
            log.warning("event: %s", event.note, extra=extra)
        else:
            log.info("event: %s", event.note, extra={"reason": event.reason, kind: name})
        series = self._series_of(event)
        if series.busy:
            self._telemetry.event("merged")
        else:
            self._submit(series)

    async def run(self) -> None:
        """Send, a few at a time, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(self._workers):
                group.create_task(self._work())

    async def flush(self, seconds: float) -> None:
        """Wait at most so long until all is sent; what is left is told in the log. ``run`` must
        still be running.
        """
        try:
            async with asyncio.timeout(seconds):
                await self._queue.join()
        except TimeoutError:
            log.warning("%d events were not sent before the end", self._unsent)

    # ---- what to send ----------------------------------------------------------------------------

    def _series_of(self, event: Event) -> _Series:
        """The series that the event starts or goes on."""
        boot, now = self._clock.boottime(), self._clock.now()
        while self._series and (
            len(self._series) > MAX_TABLE_ENTRIES
            or boot - next(iter(self._series.values())).last_boot >= SERIES_SECONDS
        ):
            self._series.popitem(last=False)
        series = self._series.get(event)
        if series is None:
            series = self._series[event] = _Series(event, self._name(event, now), now, now, boot)
        else:
            series.count += 1
            series.last, series.last_boot = now, boot
            self._series.move_to_end(event)
        return series

    def _take_token(self, event: Event) -> bool:
        """Take a token of the object's bucket."""
        boot = self._clock.boottime()
        key = (event.regarding.uid or event.regarding.name, event.controller)
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = self._buckets[key] = _Bucket(BURST, boot)
            if len(self._buckets) > MAX_TABLE_ENTRIES:
                self._buckets.popitem(last=False)
        else:
            self._buckets.move_to_end(key)
        bucket.tokens = min(BURST, bucket.tokens + (boot - bucket.filled) / REFILL_SECONDS)
        bucket.filled = boot
        if bucket.tokens < 1:
            return False
        bucket.tokens -= 1
        return True

    def _submit(self, series: _Series) -> None:
        if not self._take_token(series.event):
            self._telemetry.event("limited")
            return
        try:
            self._queue.put_nowait(series)
        except asyncio.QueueFull:
            self.dropped += 1
            self._telemetry.event("dropped")
            if self.dropped == 1 or self.dropped % 1000 == 0:
                log.warning("the queue of events is full, %d were not sent so far", self.dropped)
        else:
            series.busy = True
            self._unsent += 1

    def _name(self, event: Event, now: datetime.datetime) -> str:
        """``<object>.<hex nanoseconds>``, never the same twice; or the hash of what it says."""
        if event.once:
            suffix = f".{_digest(event)}"
        else:
            stamp = int(now.timestamp() * 1_000_000) * 1000
            self._last_stamp = max(stamp, self._last_stamp + 1)
            suffix = f".{self._last_stamp:x}"
        return event.regarding.name[: MAX_NAME_CHARACTERS - len(suffix)].rstrip("-.") + suffix

    # ---- sending ---------------------------------------------------------------------------------

    async def _work(self) -> None:
        failures = 0
        while True:
            series = await self._queue.get()
            try:
                again = await self._send(series)
                if again is not None:
                    # behind the others: what breaks for one need not break for all
                    self._queue.put_nowait(series)
            finally:
                self._queue.task_done()
            if again is None:
                failures = 0
                self._settled(series)
            else:
                failures += 1
                await self._clock.sleep(BACKOFF.seconds(failures, again))

    def _settled(self, series: _Series) -> None:
        """It was sent or given up; what was counted meanwhile is sent next."""
        series.busy, series.since = False, None
        self._unsent -= 1
        if series.count > series.sent > 0:
            self._submit(series)

    async def _send(self, series: _Series) -> Retryable | None:
        """Create or count on, once; why it is to be tried again, None when that is over."""
        now = self._clock.boottime()
        series.since = now if series.since is None else series.since
        try:
            await self._deliver(series)
        except Retryable as error:
            if now < series.since + GIVE_UP_SECONDS and not self._queue.full():
                return error
            self._failed(series, error)
        except EdgeError as error:
            self._failed(series, error)
        else:
            self._telemetry.event("sent")
        return None

    def _failed(self, series: _Series, error: EdgeError) -> None:
        self._telemetry.event("failed")
        log.warning(
            "an event was not sent: %s",
            error,
            extra=once_per_failure(error, "event ", reason=series.event.reason, event=series.name),
        )

    async def _deliver(self, series: _Series) -> None:
        """Bring the API server's copy up to date."""
        count = series.count
        if series.sent:
            body, path = _encode({"series": _counted(series)}), f"{series.path}/{series.name}"
            try:
                await self._session.call(HttpCall("PATCH", path, body, MERGE_PATCH))
                series.sent = count
                return
            except NotFound:
                # It has expired, or somebody deleted it: begin anew.
                series.sent = 0
                series.name = self._name(series.event, self._clock.now())
        # Conflict: an attempt whose answer did not come has created it after all.
        with contextlib.suppress(Conflict):
            await self._session.call(HttpCall("POST", series.path, _encode(self._body(series))))
        series.sent = count

    def _body(self, series: _Series) -> dict[str, Any]:
        event = series.event
        body = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": series.name, "namespace": event.regarding.namespace or "default"},
            "eventTime": _micro_time(series.first),
            "reportingController": event.controller,
            "reportingInstance": f"{event.controller}-{self._host}"[:MAX_INSTANCE_CHARACTERS],
            "action": event.action,
            "reason": event.reason,
            "regarding": _reference(event.regarding),
            "note": shortened_note(event.note),
            "type": "Warning" if event.warning else "Normal",
            "related": _reference(event.related) if event.related is not None else None,
            "series": _counted(series) if series.count > 1 else None,
        }
        return {field: value for field, value in body.items() if value is not None}


def shortened_note(note: str) -> str:
    """At most 1024 bytes of UTF-8, cut between characters; a cut note ends in " ..."."""
    raw = note.encode()
    return (
        note
        if len(raw) <= MAX_NOTE_BYTES
        else raw[: MAX_NOTE_BYTES - 4].decode(errors="ignore") + " ..."
    )


def _digest(event: Event) -> str:
    """Of what an event says, and of which object."""
    said = (event.regarding.uid, event.controller, event.reason, event.note)
    return hashlib.sha256("\0".join(said).encode()).hexdigest()[:16]


def _counted(series: _Series) -> dict[str, Any]:
    return {"count": series.count, "lastObservedTime": _micro_time(series.last)}


def _reference(ref: ObjectRef) -> dict[str, str]:
    full = {
        "apiVersion": ref.api_version,
        "kind": ref.kind,
        "namespace": ref.namespace,
        "name": ref.name,
        "uid": ref.uid,
    }
    return {key: value for key, value in full.items() if value}


def _micro_time(time: datetime.datetime) -> str:
    return time.astimezone(datetime.UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
