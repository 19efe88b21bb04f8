"""Attempts of groups on the wire: short, and as they were; those that recordings have already are
read; what is not known is named.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.core.columns.changes import Entry
from moorage.core.cycle.decisions import GroupAttemptBegan, GroupAttemptEnded
from moorage.core.groups.group_spec import GroupSpec
from moorage.core.objects.pod_groups import API, GroupKey
from moorage.core.recording.wire import EntryDecoder, EntryEncoder
from tests.builders import make_pod
from tests.core.explaining.pending_strategies import DEFAULT


def began(
    number: int, scheduled: Sequence[str], name: str = "g", scheduler: str = "test"
) -> GroupAttemptBegan:
    """An attempt of group d/NAME with one member to place."""
    group = GroupSpec(GroupKey(API, "d", name), 1, 0)
    pod = make_pod("m", scheduler_name=scheduler)
    return GroupAttemptBegan(number, group, (pod,), tuple(scheduled), DEFAULT, number % 2 == 0)


def decoder(known: bool = True) -> EntryDecoder:
    """``known``: whether revisions can be made here."""
    return EntryDecoder([], lambda _: DEFAULT if known else None)


attempts = st.builds(
    began,
    st.integers(0, 9),
    st.lists(st.sampled_from("abcdef"), unique=True),
    st.sampled_from(["g", "h"]),
    st.sampled_from(["test", "other"]),
)


@given(st.lists(st.lists(attempts, max_size=3), min_size=1, max_size=8), st.data())
def test_they_come_back_as_they_were(
    lines: list[list[GroupAttemptBegan]], data: st.DataObject
) -> None:
    """Each line after a restart is read without those before it."""
    encoder, read = EntryEncoder(lambda _: {}), decoder()
    for entries in lines:
        if data.draw(st.booleans()):
            encoder.restart()
            read = decoder()
        assert list(read.decode(encoder.encode(entries))) == entries


def test_only_what_changed_is_written() -> None:
    """Of five thousand placed members one UID, where one came."""
    uids = [f"{i:036}" for i in range(5000)]
    encoder = EntryEncoder(lambda _: {})
    first = len(encoder.encode([began(1, uids[:-1])]))
    second = encoder.encode([began(2, uids)])
    assert first > 190_000
    assert len(second) < 1000
    assert uids[-1].encode() in second


def test_an_attempt_whose_beginning_is_not_known_is_left_out() -> None:
    """Its revision cannot be made, or what it goes on from is missing; the next one is whole again
    after a key frame.
    """
    encoder = EntryEncoder(lambda _: {})
    first, second = (encoder.encode([began(n, "ab")]) for n in (1, 2))
    assert list(decoder(known=False).decode(first)) == []
    assert list(decoder().decode(second)) == []
    encoder.restart()
    assert list(decoder().decode(encoder.encode([began(3, "ab")]))) == [began(3, "ab")]


@pytest.mark.parametrize(
    "tail", ["0", "0,true", "true,0", "false,0,true"], ids=["first", "now", "hours", "hours-holds"]
)
def test_attempts_that_recordings_have_already(tail: str) -> None:
    """With all UIDs, and for some hours with a bool before the revision."""
    encode = msgspec.json.encode
    now = began(2 if tail.endswith("true") else 1, "ab")  # the second holds room
    head = [b"36", b"%d" % now.attempt, *map(encode, (now.group, now.members, now.scheduled))]
    encoded = b"[[20,0,{}],[%s,%s]]" % (b",".join(head), tail.encode())
    assert list(decoder().decode(encoded)) == [now]


def test_what_is_not_known_is_named() -> None:
    """A kind of a later version, and a known one whose fields are others."""
    later: Entry = GroupAttemptEnded(1)
    encoded = msgspec.json.encode([later])
    with pytest.raises(msgspec.DecodeError, match="an entry of kind 99, which is not known here"):
        list(decoder().decode(encoded.replace(b"35", b"99")))
    with pytest.raises(msgspec.DecodeError, match=r"an entry GroupAttemptEnded \(kind 35\): Expec"):
        list(decoder().decode(encoded.replace(b"1]", b'"1"]')))
    with pytest.raises(msgspec.DecodeError, match="trunc"):
        list(decoder().decode(encoded[:-1]))
