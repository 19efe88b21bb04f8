"""Recording: when whole states are put between what the journal hears, and what is told of a
recorder that cannot keep up, in the log and by events on the Lease, as the leader records.

Who leads records: decisions are made there. The first state is put in the step in which this
replica begins to lead, so that each of its decisions can be made again.
"""

from __future__ import annotations

import enum
import logging
import math
from typing import Final, Literal

from moorage.core.columns.cache import Cache
from moorage.core.recording.key_frames import key_frame
from moorage.engine.live_revisions import LiveRevisions
from moorage.ports.clock import Clock
from moorage.ports.event_recorder import Event, EventRecorder, ObjectRef
from moorage.ports.guards import guard
from moorage.ports.repeated_logs import once_per_cause
from moorage.ports.state_recorder import StateRecorder

log = logging.getLogger(__name__)

KEY_FRAME_SECONDS: Final = 60.0
KEY_FRAME_CHANGES: Final = 50_000
"""After so many, or so long, a whole state: any moment is at most so far behind one."""
FLUSH_SECONDS: Final = 1.0
RETRY_SECONDS: Final = 10.0
"""Between key frames, where what came after the one before could not be written."""


class RecordingState(enum.StrEnum):
    """What becomes of what happens now."""

    STANDBY = "Standby"
    """Nothing: another replica leads."""
    RECORDING = "Recording"
    """It is written."""
    LAGGING = "Lagging"
    """It is left out, until a key frame: the disk is too slow."""
    FAILED = "Failed"
    """It is left out: nothing can be written."""


_INCOMPLETE: Final = (RecordingState.LAGGING, RecordingState.FAILED)


class LeaseEvents:
    """Events on the Lease of this name."""

    def __init__(self, events: EventRecorder, namespace: str, name: str) -> None:
        self._events = events
        self._lease = ObjectRef("Lease", name, "", namespace, "coordination.k8s.io/v1")

    def tell(
        self,
        reason: Literal["RecordingInterrupted", "RecordingResumed"],
        note: str,
        *,
        warning: bool = False,
    ) -> None:
        """Record one."""
        self._events.record(Event(self._lease, reason, note, "Recording", "moorage", warning))


class StateRecording:
    """Puts key frames when they are due. ``run`` it in a task of its own."""

    def __init__(
        self,
        recorder: StateRecorder,
        cache: Cache,
        live: LiveRevisions,
        clock: Clock,
        lease: LeaseEvents,
    ) -> None:
        self._recorder = recorder
        self._cache = cache
        self._live = live
        self._clock = clock
        self._lease = lease
        self._put_at = -math.inf
        self.state = RecordingState.STANDBY
        self.since = 0.0
        """From when on all is recorded, in seconds since 1970; 0 while something is missing."""
        self.gaps = 0
        """How often something began to be missing."""

    def lead(self) -> None:
        """This replica leads, and has decided nothing yet."""
        with guard("recording"):
            self._put_key_frame()
            self._report()

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            await self._clock.sleep(FLUSH_SECONDS)
            with guard("recording"):
                self._tick()

    def _tick(self) -> None:
        if not self._live.answering:
            return
        self._recorder.flush()
        if self._is_due():
            self._put_key_frame()
        self._report()

    def _is_due(self) -> bool:
        recorder, seconds = self._recorder, self._clock.boottime() - self._put_at
        return (
            seconds >= KEY_FRAME_SECONDS
            or recorder.changes >= KEY_FRAME_CHANGES
            or (recorder.key_frame_due and seconds >= RETRY_SECONDS)
        ) and not recorder.key_frame_waits

    def _put_key_frame(self) -> None:
        self._put_at = self._clock.boottime()
        self._recorder.put_key_frame(key_frame(self._cache, self._live, self._live.holds))

    def _report(self) -> None:
        """Say what has become of the recording, when that changes."""
        before, self.state = self.state, self._state()
        if self.state is not before:
            self._note(before)
        self._log(before)

    def _note(self, before: RecordingState) -> None:
        """Keep from when on it is so, and have it told on the Lease."""
        recorder = self._recorder
        if self.state is RecordingState.RECORDING:
            self.since = self._clock.now().timestamp()
            if before is not RecordingState.STANDBY:
                lost = f"{recorder.lost} entries are missing in all"
                self._lease.tell("RecordingResumed", f"The recording is whole from now on: {lost}.")
        elif before not in _INCOMPLETE:
            self.since, self.gaps = 0.0, self.gaps + 1
            why = "the disk is too slow" if recorder.failure is None else str(recorder.failure)
            text = f"What happens is not recorded, all else goes on: {why}."
            self._lease.tell("RecordingInterrupted", text, warning=True)

    def _log(self, before: RecordingState) -> None:
        """A failure each time, as the next may be another."""
        failure = self._recorder.failure
        if failure is not None:
            text = "recording has failed, nothing else has; next attempt within %.0f s: %s"
            # not its text: that may name a file, and each attempt has another
            cause = f"recording {type(failure).__name__} {getattr(failure, 'errno', '')}"
            log.error(text, RETRY_SECONDS, failure, extra=once_per_cause(cause))
        elif self.state is before:
            return
        elif self.state is RecordingState.LAGGING:
            text = "the disk is too slow for the recording: %d entries are left out by now"
            log.warning(text, self._recorder.lost, extra=once_per_cause("recording lags"))
        else:
            log.info("recording goes on", extra={"lost": self._recorder.lost})

    def _state(self) -> RecordingState:
        if self._recorder.failure is not None:
            return RecordingState.FAILED
        return RecordingState.RECORDING if self._recorder.is_whole else RecordingState.LAGGING
