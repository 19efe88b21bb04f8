"""The wire: entries as bytes, in MessagePack, and back.

What an entry refers to goes before it, once: the document of a revision, the time. Objects are
written as the API server has them, so far as they are read at all. A change of what stands here is
a new ``FORMAT``.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

import msgspec

from moorage.core.columns import changes
from moorage.core.columns.changes import Entry
from moorage.core.cycle import decisions
from moorage.core.cycle.decisions import Decided, DecidedBy
from moorage.core.framework.extenders import (
    ExtenderAnswer,
    ExtenderFailure,
    ExtenderFilterResult,
    MetaVictims,
)
from moorage.core.framework.revisions import Revision
from moorage.core.objects.meta import HasMetadata
from moorage.core.objects.pods import Pod
from moorage.core.recording.recorded_decisions import RecordedDecision, RecordedOutcome, recorded

FORMAT: Final = 1
Document: TypeAlias = Mapping[str, Any]
"""What a revision is made of: the objects, as data."""


class Header(msgspec.Struct, frozen=True):
    """What a recording says of itself, before all else."""

    moorage: str
    """The version that wrote it."""
    seed: int
    identity: str = ""
    """The replica that wrote it."""
    format: int = FORMAT


class Time(Entry, frozen=True, tag=0):
    """What follows happened then: milliseconds since 1970."""

    milliseconds: int


class Gap(Entry, frozen=True, tag=30):
    """Here so many entries are missing: until the next whole state nothing can be compared."""

    missing: int


class _Object(Entry, frozen=True, tag=3):
    kind: str
    object: msgspec.Raw


class _ObjectRemoved(Entry, frozen=True, tag=4):
    kind: str
    name: str


class _Revision(Entry, frozen=True, tag=20):
    number: int
    document: dict[str, Any]


class _Decided(Entry, frozen=True, tag=24):
    pod: Pod
    revision: int
    by: DecidedBy
    sampled_from: int
    cycle: int
    outcome: RecordedOutcome


class _CycleBegan(Entry, frozen=True, tag=21):
    cycle: int
    pod: Pod
    revision: int
    sampled_from: int


class _Answered(Entry, frozen=True, tag=22):
    cycle: int
    sampled_from: int
    failure: str | None = None
    filtered: ExtenderFilterResult | None = None
    priorities: tuple[tuple[tuple[str, int], ...] | str, ...] | None = None
    victims: dict[str, MetaVictims] | None = None


_Wired: TypeAlias = (
    Time
    | Gap
    | _Object
    | _ObjectRemoved
    | _Revision
    | _Decided
    | _CycleBegan
    | _Answered
    | decisions.ExtenderCycleEnded
    | changes.NodePut
    | changes.NodeRemoved
    | changes.PodWaiting
    | changes.PodObserved
    | changes.PodUnreadable
    | changes.PodRemoved
    | changes.PodStuck
    | changes.PodPreempted
    | changes.PodAssumed
    | changes.PodForgotten
    | changes.Nomination
    | changes.ClaimAssumed
    | changes.ClaimConfirmed
    | changes.ClaimReleased
    | changes.VolumesAssumed
    | changes.VolumesReleased
)


class EntryEncoder:
    """Writes entries. ``document`` gives what a revision is made of; each is written once."""

    def __init__(self, document: Callable[[Revision], Document]) -> None:
        self._document = document
        self._encode = msgspec.msgpack.Encoder().encode
        self._revisions: dict[Revision, int] = {}

    def encode(self, entries: Iterable[Entry]) -> bytes:
        """These entries, with what they refer to and was not written yet."""
        return self._encode([wired for entry in entries for wired in self._wired(entry)])

    def restart(self) -> None:
        """What follows is to be readable by itself."""
        self._revisions.clear()

    def _wired(self, entry: Entry) -> Iterator[Entry]:
        match entry:
            case Decided():
                kept = recorded(entry)
                yield from self._news(entry.outcome.revision)
                number = self._revisions[entry.outcome.revision]
                yield _Decided(
                    kept.pod, number, kept.by, kept.sampled_from, kept.cycle, kept.outcome
                )
            case decisions.ExtenderCycleBegan():
                yield from self._news(entry.revision)
                number = self._revisions[entry.revision]
                yield _CycleBegan(entry.cycle, entry.pod, number, entry.sampled_from)
            case decisions.ExtenderAnswered():
                yield _answered(entry)
            case changes.ObjectPut():
                raw = msgspec.Raw(self._encode(entry.object))
                yield _Object(type(entry.object).__name__, raw)
            case changes.ObjectRemoved():
                yield _ObjectRemoved(entry.kind.__name__, entry.name)
            case _:
                yield entry

    def _news(self, revision: Revision) -> Iterator[Entry]:
        """A revision's document, the first time."""
        if revision not in self._revisions:
            number = self._revisions[revision] = len(self._revisions)
            yield _Revision(number, dict(self._document(revision)))


class EntryDecoder:
    """Reads entries. ``kinds`` are the structs of objects that are neither pods nor nodes;
    ``resolve`` makes a revision of a document, None where it cannot be made here.
    """

    def __init__(
        self,
        kinds: Iterable[type[HasMetadata]],
        resolve: Callable[[Document], Revision | None],
    ) -> None:
        self._kinds = {kind.__name__: (kind, msgspec.msgpack.Decoder(kind)) for kind in kinds}
        self._resolve = resolve
        self._revisions: dict[int, Revision | None] = {}
        self._decode = msgspec.msgpack.Decoder(list[_Wired]).decode

    def decode(self, encoded: bytes) -> Iterator[Entry]:
        """What ``EntryEncoder.encode`` was given. Raises msgspec.DecodeError."""
        for wired in self._decode(encoded):
            entry = self._entry(wired)
            if entry is not None:
                yield entry

    def _entry(self, wired: _Wired) -> Entry | None:
        match wired:
            case _Revision():
                self._revisions[wired.number] = self._resolve(wired.document)
                return None
            case _Decided():
                return RecordedDecision(
                    wired.pod,
                    self._revisions.get(wired.revision),
                    wired.by,
                    wired.sampled_from,
                    wired.cycle,
                    wired.outcome,
                )
            case _CycleBegan():
                revision = self._revisions.get(wired.revision)
                if revision is None:
                    return None
                return decisions.ExtenderCycleBegan(
                    wired.cycle, wired.pod, revision, wired.sampled_from
                )
            case _Answered():
                return decisions.ExtenderAnswered(wired.cycle, _answer(wired), wired.sampled_from)
            case _Object():
                return changes.ObjectPut(self._kinds[wired.kind][1].decode(wired.object))
            case _ObjectRemoved():
                return changes.ObjectRemoved(self._kinds[wired.kind][0], wired.name)
            case _:
                return wired


def _answered(entry: decisions.ExtenderAnswered) -> _Answered:
    answer, cycle, sampled_from = entry.answer, entry.cycle, entry.sampled_from
    if isinstance(answer, ExtenderFailure):
        return _Answered(cycle, sampled_from, failure=answer.text)
    if isinstance(answer, ExtenderFilterResult):
        return _Answered(cycle, sampled_from, filtered=answer)
    if isinstance(answer, Mapping):
        return _Answered(cycle, sampled_from, victims=dict(answer))
    priorities = tuple(
        one.text
        if isinstance(one, ExtenderFailure)
        else tuple((node, value) for node, value in one)
        for one in answer
    )
    return _Answered(cycle, sampled_from, priorities=priorities)


def _answer(wired: _Answered) -> ExtenderAnswer:
    if wired.failure is not None:
        return ExtenderFailure(wired.failure)
    if wired.filtered is not None:
        return wired.filtered
    if wired.priorities is not None:
        return tuple(
            ExtenderFailure(one) if isinstance(one, str) else one for one in wired.priorities
        )
    return wired.victims or {}


_LENGTH: Final = struct.Struct("<I")


def framed(encoded: bytes) -> bytes:
    """What one call of ``encode`` gave, to be put behind others."""
    return _LENGTH.pack(len(encoded)) + encoded


def frames(content: bytes) -> Iterator[bytes]:
    """What was put behind each other by ``framed``."""
    offset = 0
    while offset < len(content):
        (length,) = _LENGTH.unpack_from(content, offset)
        offset += _LENGTH.size
        yield content[offset : offset + length]
        offset += length
