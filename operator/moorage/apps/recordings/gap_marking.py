"""Sinks that mark in a journal where a watch was lost: what a later list shows to be otherwise did
not happen when it was listed.
"""

from __future__ import annotations

from typing import Any

from moorage.core.columns.changes import Gap, Journal
from moorage.engine.intake.object_sink import ObjectSink
from moorage.ports.kube import UnreadableObject


class GapMarkingSink:
    """``ReflectorSink`` that hands everything on to another one."""

    def __init__(self, sink: ObjectSink[Any], journal: Journal) -> None:
        self._sink = sink
        self._journal = journal
        self._lists_anew = False
        """Whether a list has begun after another one, and brought nothing yet: it may fail."""
        self.gaps = 0
        """How often the watch was lost."""
        self.is_listing = False
        """Whether a part of a list is in: the state is not whole before its end."""

    def list_started(self, served: bool = True) -> None:
        self._lists_anew = self._sink.synced
        self._sink.list_started(served)

    def put(self, obj: Any) -> None:
        self._mark()
        self._sink.put(obj)

    def delete(self, obj: Any) -> None:
        self._sink.delete(obj)

    def unreadable(self, obj: UnreadableObject, deleted: bool) -> None:
        self._mark()
        self._sink.unreadable(obj, deleted)

    def list_ended(self) -> bool:
        if self._sink.objects:
            self._mark()  # all of them may be gone
        self._lists_anew = False
        self.is_listing = self._sink.list_ended()
        return self.is_listing

    def _mark(self) -> None:
        """A list that is not the first one brings something: nobody knows how much is missing."""
        if self._lists_anew:
            self._lists_anew = False
            self.is_listing = True
            self.gaps += 1
            self._journal.append(Gap(0))
