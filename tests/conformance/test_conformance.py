"""The embedded cluster answers as kube-apiserver does, but for what `differences.yaml` says."""

from __future__ import annotations

import pytest

from tests.conformance.comparing import Difference, differences
from tests.conformance.conversations import Conversation, conversations
from tests.conformance.known import gone, known, unknown
from tests.conformance.playing import Player, both


@pytest.fixture(scope="module")
def found() -> dict[str, list[Difference]]:
    """What differed, by conversation; filled as the tests go."""
    return {}


@pytest.mark.parametrize("conversation", conversations(), ids=lambda one: one.name)
def test_answers_are_alike(
    conversation: Conversation, real: Player, ours: Player, found: dict[str, list[Difference]]
) -> None:
    """Step by step: code, content type, warnings and body."""
    there, here = both(conversation, real, ours)
    assert not [f"{name}: {record.body}" for name, record in there.items() if record.code == -1], (
        "the conversation itself is broken"
    )
    found[conversation.name] = differences(conversation, there, here)
    assert not [str(difference) for difference in unknown(found[conversation.name], known())]


def test_known_differences_still_differ(found: dict[str, list[Difference]]) -> None:
    """The list says what is so, no more."""
    if len(found) < len(conversations()):
        pytest.skip("not all conversations were held")
    assert not [
        one.what
        for one in gone((each for all_of_one in found.values() for each in all_of_one), known())
    ]
