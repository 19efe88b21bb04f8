"""What recordings call kinds: those of files that are there already do not change."""

from __future__ import annotations

import msgspec
import pytest

from moorage.core.columns.changes import Entry, ObjectPut, ObjectRemoved
from moorage.core.cycle.context import ScheduleResult
from moorage.core.cycle.decisions import (
    Decided,
    DecidedBy,
    ExtenderAnswered,
    ExtenderCycleBegan,
    GroupMoment,
)
from moorage.core.framework.extenders import (
    ExtenderAnswer,
    ExtenderFailure,
    ExtenderFilterResult,
    MetaVictims,
)
from moorage.core.framework.revisions import Revision
from moorage.core.objects.meta import ObjectMeta
from moorage.core.objects.pod_groups import (
    CoschedulingPodGroup,
    CoschedulingPodGroupSpec,
    PodGroup,
    VolcanoPodGroup,
)
from moorage.core.recording.recorded_decisions import recorded
from moorage.core.recording.wire import Document, EntryDecoder, EntryEncoder
from moorage.ports.stored_kinds import STORED_KINDS
from tests.builders import make_pod
from tests.core.explaining.pending_strategies import DEFAULT

META = ObjectMeta("g", "d")


def no_document(revision: Revision) -> Document:
    """There are no revisions here."""
    raise AssertionError(revision)


def decoder() -> EntryDecoder:
    """Of all kinds in the tree."""
    return EntryDecoder([kind.struct for kind in STORED_KINDS], lambda _: None)


@pytest.mark.parametrize(
    ("obj", "name"),
    [
        (PodGroup(META), "scheduling.k8s.io/PodGroup"),
        (CoschedulingPodGroup(META, CoschedulingPodGroupSpec(3)), "PodGroup"),
        (VolcanoPodGroup(META), "VolcanoPodGroup"),
    ],
    ids=["Kubernetes", "scheduling-plugins", "Volcano"],
)
def test_three_kinds_of_pod_groups(
    obj: PodGroup | CoschedulingPodGroup | VolcanoPodGroup, name: str
) -> None:
    """Each is read as what it was."""
    entries = [ObjectPut(obj), ObjectRemoved(type(obj), "d/g")]
    encoded = EntryEncoder(no_document).encode(entries)
    assert [entry[1] for entry in msgspec.json.decode(encoded)] == [name, name]
    assert list(decoder().decode(encoded)) == entries


def test_a_pod_group_that_was_recorded_when_there_was_one_kind() -> None:
    """It is one of scheduling-plugins."""
    encoded = b'[[3,"PodGroup",{"metadata":{"name":"g","namespace":"d"},"spec":{"minMember":3}}]]'
    (entry,) = decoder().decode(encoded)
    assert entry == ObjectPut(CoschedulingPodGroup(META, CoschedulingPodGroupSpec(3)))


def test_names_are_told_apart() -> None:
    """No two kinds are called the same."""
    names = [getattr(kind.struct, "recorded_as", kind.struct.__name__) for kind in STORED_KINDS]
    assert len(set(names)) == len(names)


ANSWERS: list[ExtenderAnswer] = [
    ExtenderFailure("down"),
    ExtenderFilterResult(("n1",), {"n2": "full"}, {}),
    ((("n1", 3),), ExtenderFailure("down")),
    {"n1": MetaVictims(("uid-v",), 0)},
]


@pytest.mark.parametrize("makes_room", [True, False])
def test_whether_room_was_made_is_kept(makes_room: bool) -> None:
    """With a decision, and with what extenders are asked and answer."""
    pod = make_pod("p")
    decided = Decided(ScheduleResult(pod, "n1", DEFAULT, 2), DecidedBy.CYCLE, makes_room=makes_room)
    journal: list[Entry] = [
        ExtenderCycleBegan(1, pod, DEFAULT, 0, None, makes_room),
        *(ExtenderAnswered(1, answer, 0, makes_room) for answer in ANSWERS),
        GroupMoment(1, makes_room),
    ]
    encoded = EntryEncoder(lambda _: {}).encode([*journal, decided])
    read = EntryDecoder([], lambda _: DEFAULT).decode(encoded)
    assert list(read) == [*journal, recorded(decided)]
