"""The wire: entries as bytes, and back.

JSON, as Kubernetes' numbers may be larger than what MessagePack has room for. What a revision is
made of goes before the first entry that refers to it. Tags, and the order of fields, are what
recordings have: neither changes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias, get_args
from weakref import WeakKeyDictionary

import msgspec

from moorage.core.columns import changes
from moorage.core.columns.changes import Entry
from moorage.core.cycle.decisions import (
    Decided,
    DecidedBy,
    ExtenderAnswered,
    ExtenderCycleBegan,
    ExtenderCycleEnded,
    GroupAttemptBegan,
    GroupAttemptEnded,
    GroupDecided,
    GroupExtenderAnswered,
    GroupMoment,
    ProfileActivated,
    ProfileDeactivated,
    ProfileHeld,
)
from moorage.core.framework.placement_contract import Placement
from moorage.core.framework.revisions import Revision
from moorage.core.objects.meta import HasMetadata
from moorage.core.objects.pods import Pod
from moorage.core.recording.recorded_decisions import RecordedDecision, RecordedOutcome, recorded
from moorage.core.recording.wired_answers import (
    AnyAnswer,
    WiredFailure,
    WiredFilterResult,
    WiredPriorities,
    WiredVictims,
    read_answer,
    wired_answer,
)
from moorage.core.recording.wired_groups import LastPlacedMembers, WiredGroup, WiredWholeGroup

_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"

Document: TypeAlias = Mapping[str, Any]
"""What a revision is made of: the objects, as data."""


class _Object(Entry, frozen=True, tag=3):
    kind: str
    object: msgspec.Raw


class _ObjectRemoved(Entry, frozen=True, tag=4):
    kind: str
    name: str


class _Revision(Entry, frozen=True, tag=20):
    number: int
    document: dict[str, Any]


class _CycleBegan(Entry, frozen=True, tag=21):
    cycle: int
    pod: Pod
    revision: int
    sampled_from: int
    placement: tuple[str, str] | None = None
    makes_room: bool = True


class _Decided(Entry, frozen=True, tag=24):
    pod: Pod
    revision: int
    by: DecidedBy
    sampled_from: int
    cycle: int
    outcome: RecordedOutcome
    placement: tuple[str, str] = ("", "")
    makes_room: bool = True


class _GroupAnswered(Entry, frozen=True, tag=37):
    attempt: int
    answer: AnyAnswer


class _Activated(Entry, frozen=True, tag=30):
    scheduler_name: str
    revision: int


_Wired: TypeAlias = (
    _Object
    | _ObjectRemoved
    | _Revision
    | _CycleBegan
    | WiredFailure
    | WiredFilterResult
    | WiredPriorities
    | WiredVictims
    | _Decided
    | _Activated
    | WiredGroup
    | WiredWholeGroup
    | _GroupAnswered
    | GroupMoment
    | GroupAttemptEnded
    | ProfileDeactivated
    | ProfileHeld
    | ExtenderCycleEnded
    | changes.NodePut
    | changes.NodeRemoved
    | changes.NodesOrdered
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
    | changes.DeviceSearchGivenUp
    | changes.VolumesAssumed
    | changes.VolumesReleased
    | changes.Time
    | changes.Gap
)


_DECIDED_FACTS: Final = ("pod", "by", "sampled_from", "cycle", "outcome", "makes_room")
_AS_THEY_ARE: Final = frozenset(
    {
        changes.Time,
        changes.PodWaiting,
        changes.PodObserved,
        changes.PodRemoved,
        changes.PodAssumed,
        changes.PodForgotten,
    }
)
"""Those that come most often, and go on the wire unchanged."""


class EntryEncoder:
    """Writes entries. ``document`` gives what a revision is made of; each is written once."""

    def __init__(self, document: Callable[[Revision], Document]) -> None:
        self._document = document
        self._encode = msgspec.json.Encoder().encode
        self._numbers = WeakKeyDictionary[Revision, int]()
        self._announced_count = 0
        self._placed = LastPlacedMembers()

    def restart(self) -> None:
        """What comes from now on is to be read without what was before."""
        self._placed.clear()
        self._numbers.clear()
        self._announced_count = 0

    def encode(self, entries: Iterable[Entry]) -> bytes:
        """These entries, with what they refer to and was not written yet."""
        wired = list[Entry]()
        for entry in entries:
            if type(entry) in _AS_THEY_ARE:
                wired.append(entry)
            else:
                wired += self._wired(entry)
        return self._encode(wired)

    def _wired(self, entry: Entry) -> Iterator[Entry]:
        match entry:
            case Decided() | GroupDecided():
                kept = recorded(entry)
                if kept.revision is not None:
                    yield from self._announced(kept.revision)
                number = -1 if kept.revision is None else self._numbers[kept.revision]
                where = kept.placement.key, kept.placement.name
                known = {name: getattr(kept, name) for name in _DECIDED_FACTS}
                yield _Decided(**known, revision=number, placement=where)
            case ExtenderCycleBegan():
                yield from self._announced(entry.revision)
                number = self._numbers[entry.revision]
                on = (
                    None if entry.placement is None else (entry.placement.key, entry.placement.name)
                )
                yield _CycleBegan(
                    entry.cycle, entry.pod, number, entry.sampled_from, on, entry.makes_room
                )
            case GroupAttemptBegan():
                yield from self._announced(entry.revision)
                yield self._placed.wired(entry, self._numbers[entry.revision])
            case ProfileActivated() if entry.revision is not None:
                yield from self._announced(entry.revision)
                yield _Activated(entry.scheduler_name, self._numbers[entry.revision])
            case ExtenderAnswered():
                yield wired_answer(entry.answer, entry.cycle, entry.sampled_from, entry.makes_room)
            case GroupExtenderAnswered():
                yield _GroupAnswered(entry.attempt, wired_answer(entry.answer))
            case _:
                yield self._wired_change(entry)

    def _wired_change(self, entry: Entry) -> Entry:
        match entry:
            case changes.NodePut():
                return changes.NodePut(_kept(entry.node))
            case changes.ObjectPut():
                raw = msgspec.Raw(self._encode(_kept(entry.object)))
                return _Object(_recorded_name(type(entry.object)), raw)
            case changes.ObjectRemoved():
                return _ObjectRemoved(_recorded_name(entry.kind), entry.name)
            case changes.ClaimAssumed():
                return changes.ClaimAssumed(_kept(entry.claim), entry.group)
            case changes.ClaimConfirmed() | changes.ClaimReleased():
                return type(entry)(_kept(entry.claim))
            case changes.VolumesAssumed():
                volumes, claims = map(_kept, entry.volumes), map(_kept, entry.claims)
                return changes.VolumesAssumed(tuple(volumes), tuple(claims))
            case _:
                return entry

    def _announced(self, revision: Revision) -> Iterator[Entry]:
        """A revision's document, the first time."""
        if revision not in self._numbers:
            number = self._numbers[revision] = self._announced_count
            self._announced_count += 1
            yield _Revision(number, dict(self._document(revision)))


class EntryDecoder:
    """Reads entries. ``kinds`` are the structs of objects that are neither pods nor nodes; objects
    of others are left out, as only plugins that are not here read them. ``resolve`` makes a
    revision of a document, None where it cannot be made here.
    """

    def __init__(
        self,
        kinds: Iterable[type[HasMetadata]],
        resolve: Callable[[Document], Revision | None],
    ) -> None:
        self._kinds = {_recorded_name(kind): kind for kind in kinds}
        self._decoders: dict[str, msgspec.json.Decoder[Any]] = {
            name: msgspec.json.Decoder(kind) for name, kind in self._kinds.items()
        }
        self._resolve = resolve
        self._revisions: dict[int, Revision | None] = {}
        self._placed = LastPlacedMembers()
        self._decode = msgspec.json.Decoder(list[_Wired]).decode

    def decode(self, encoded: bytes) -> Iterator[Entry]:
        """What ``EntryEncoder.encode`` was given. Raises msgspec.DecodeError, which names the first
        entry that is not known here.
        """
        try:
            entries = self._decode(encoded)
        except msgspec.DecodeError as error:
            raise msgspec.DecodeError(_named(encoded) or str(error)) from error
        for wired in entries:
            entry = self._entry(wired)
            if entry is not None:
                yield entry

    def _entry(self, wired: _Wired) -> Entry | None:
        """None for what only says something about entries to come, or cannot be gone on with."""
        match wired:
            case _Revision():
                self._revisions[wired.number] = self._resolve(wired.document)
                return None
            case _Decided():
                known = {name: getattr(wired, name) for name in _DECIDED_FACTS}
                revision, where = self._revisions.get(wired.revision), Placement(*wired.placement)
                return RecordedDecision(**known, revision=revision, placement=where)
            case _CycleBegan():
                revision = self._revisions.get(wired.revision)
                return None if revision is None else _began(wired, revision)
            case WiredGroup() | WiredWholeGroup():
                now = wired.as_now()
                return self._placed.read(now, self._revisions.get(now.revision))
            case _Activated():
                revision = self._revisions.get(wired.revision)
                return ProfileActivated(wired.scheduler_name, revision)
            case WiredFailure() | WiredFilterResult() | WiredPriorities() | WiredVictims():
                answer, sampled_from = read_answer(wired), wired.sampled_from
                return ExtenderAnswered(wired.cycle, answer, sampled_from, wired.makes_room)
            case _GroupAnswered():
                return GroupExtenderAnswered(wired.attempt, read_answer(wired.answer))
            case _Object():
                decoder = self._decoders.get(wired.kind)
                return changes.ObjectPut(decoder.decode(wired.object)) if decoder else None
            case _ObjectRemoved():
                kind = self._kinds.get(wired.kind)
                return changes.ObjectRemoved(kind, wired.name) if kind else None
            case _:
                return wired


def _began(wired: _CycleBegan, revision: Revision) -> ExtenderCycleBegan:
    on = Placement(*wired.placement) if wired.placement is not None else None
    began = wired.cycle, wired.pod, revision, wired.sampled_from, on, wired.makes_room
    return ExtenderCycleBegan(*began)


_NAMES: Final[Mapping[Any, str]] = {
    kind.__struct_config__.tag: kind.__name__.removeprefix("_").removeprefix("Wired")
    for kind in get_args(_Wired)
}


def _named(encoded: bytes) -> str:
    """The first entry that cannot be read, and why; "" where that is not about entries."""
    with contextlib.suppress(msgspec.DecodeError):
        for raw in msgspec.json.decode(encoded, type=list[msgspec.Raw]):
            try:
                msgspec.json.decode(raw, type=_Wired)
            except msgspec.ValidationError as error:
                (tag, *_) = msgspec.json.decode(raw, type=tuple[Any, ...])
                if tag not in _NAMES:
                    return f"an entry of kind {tag!r}, which is not known here"
                return f"an entry {_NAMES[tag]} (kind {tag}): {error}"
    return ""


def _recorded_name(kind: type[HasMetadata]) -> str:
    """What recordings call a kind: its struct's name, or what that says where it has another
    name now.
    """
    name: str = getattr(kind, "recorded_as", kind.__name__)
    return name


def _kept(obj: Any) -> Any:
    """The object less the copy of itself that kubectl leaves in it, with all that is kept nowhere
    else.
    """
    metadata = obj.metadata
    annotations = getattr(metadata, "annotations", None)
    if annotations is None or _LAST_APPLIED not in annotations:
        return obj
    others = {name: text for name, text in annotations.items() if name != _LAST_APPLIED}
    return msgspec.structs.replace(
        obj, metadata=msgspec.structs.replace(metadata, annotations=others)
    )
