"""What is seen of a cluster, put into a recorder: every minute, and after every loss, there is a
whole state, so that a recording can be opened at any moment of it.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from moorage.adapters.recording import Recorder
from moorage.apps.recordings.gap_marking import GapMarkingSink
from moorage.apps.worlds.observed import ObservedCluster
from moorage.apps.worlds.world import empty_context
from moorage.core.columns.changes import Entry, Journal
from moorage.core.cycle.decisions import ProfileActivated, ProfileDeactivated, ProfileHeld
from moorage.core.framework.holds import Hold
from moorage.core.framework.revisions import Revision
from moorage.core.recording.key_frames import key_frame
from moorage.ports.stored_kinds import StoredKind

KEY_FRAME_SECONDS: Final = 60.0
KEY_FRAME_CHANGES: Final = 20_000
"""Changes between two whole states at most: a second to go through for who opens a moment."""


class ObservedRecording:
    """Sees a cluster (``observed``, by ``sinks``) into a recorder. ``also`` hears all changes."""

    def __init__(
        self, recorder: Recorder, kinds: Iterable[StoredKind], also: tuple[Journal, ...] = ()
    ) -> None:
        self.recorder = recorder
        self._journal = _CountingJournal((recorder, *also))
        self.observed = ObservedCluster(empty_context(journal=self._journal), kinds)
        self.sinks = [
            (what, GapMarkingSink(sink, self._journal)) for what, sink in self.observed.watched()
        ]
        self._revisions: Mapping[str, Revision] = {}
        self._holds: Mapping[str, Hold] = {}
        self._framed = time.monotonic()
        self._framed_gaps = self._framed_changes = 0

    @property
    def changes(self) -> int:
        """How many there were since the first whole state."""
        return self._journal.appended

    @property
    def gaps(self) -> int:
        """How often a watch was lost."""
        return sum(sink.gaps for _, sink in self.sinks)

    def begin(self, kubernetes: str = "") -> None:
        """Everything is listed, and who decides is known: write the first whole state."""
        self._journal.appended = 0
        self.recorder.start(kubernetes)
        self._put_key_frame()

    def decides(self, revisions: Mapping[str, Revision], holds: Mapping[str, Hold]) -> None:
        """These decide, by schedulerName, and of these pods are not tried: write down where that
        has changed.
        """
        before, self._revisions = self._revisions, revisions
        for name in before.keys() - revisions.keys():
            self._journal.append(ProfileDeactivated(name))
        for name, revision in revisions.items():
            if name not in before or before[name].id != revision.id:
                self._journal.append(ProfileActivated(name, revision))
        held, self._holds = self._holds, holds
        for name in sorted(held.keys() | holds.keys()):
            if held.get(name) != holds.get(name):
                self._journal.append(ProfileHeld(name, holds.get(name)))

    @contextlib.contextmanager
    def tried(self) -> Iterator[None]:
        """What is done to the context meanwhile is taken back before the end, and nobody hears of
        it.
        """
        self._journal.deaf = True
        try:
            yield
        finally:
            self._journal.deaf = False

    def go_on(self) -> None:
        """Once a second: hand over what has happened, and a whole state where one is due."""
        self.recorder.flush()
        if self._key_frame_due():
            self._put_key_frame()

    def _key_frame_due(self) -> bool:
        """Whether one is due, and the state is whole."""
        if any(sink.is_listing for _, sink in self.sinks):
            return False
        return (
            self.recorder.key_frame_due
            or self.gaps > self._framed_gaps
            or time.monotonic() - self._framed >= KEY_FRAME_SECONDS
            or self.changes - self._framed_changes >= KEY_FRAME_CHANGES
        )

    def _put_key_frame(self) -> None:
        cache = self.observed.context.cache
        self.recorder.put_key_frame(key_frame(cache, self._revisions, self._holds))
        self._framed, self._framed_gaps = time.monotonic(), self.gaps
        self._framed_changes = self.changes


class _CountingJournal:
    """Counts what it hands on."""

    def __init__(self, journals: Iterable[Journal]) -> None:
        self._journals = tuple(journals)
        self.appended = 0
        self.deaf = False

    def append(self, entry: Entry, /) -> None:
        if self.deaf:
            return
        self.appended += 1
        for one in self._journals:
            one.append(entry)
