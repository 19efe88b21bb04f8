"""What metadata may be, where no recorded answer has it."""

from __future__ import annotations

from typing import Any

import pytest

from towtank.model import metadata_rules

OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "1"}


@pytest.mark.parametrize(
    ("owners", "words"),
    [
        ([OWNER, {**OWNER, "name": "q", "controller": True}], []),
        (
            [{**OWNER, "controller": True}, {**OWNER, "name": "q", "controller": True}],
            ['Controller set to true. Found "true" in references for Pod/p and Pod/q'],
        ),
        ([{**OWNER, "uid": "", "kind": ""}], ["must not be empty"] * 2),
    ],
)
def test_owners(owners: list[dict[str, Any]], words: list[str]) -> None:
    """Each is named in full, and at most one is the controller."""
    causes = list(metadata_rules.owner_causes(owners))
    assert len(causes) == len(words)
    assert all(cause.text.endswith(text) for cause, text in zip(causes, words, strict=True))


@pytest.mark.parametrize(
    ("before", "after", "refused"),
    [
        ({"finalizers": ["a/b"], "deletionTimestamp": "now"}, ["a/b"], False),
        ({"finalizers": ["a/b"], "deletionTimestamp": "now"}, [], False),
        ({"finalizers": ["a/b"], "deletionTimestamp": "now"}, ["a/b", "a/c"], True),
        ({"finalizers": ["a/b"]}, ["a/b", "a/c"], False),
    ],
)
def test_what_is_going_gets_no_new_finalizers(
    before: dict[str, Any], after: list[str], refused: bool
) -> None:
    """It may only lose those that it has."""
    found = list(metadata_rules.new_finalizer_causes({"finalizers": after}, before))
    assert [cause.field for cause in found] == ["metadata.finalizers"] * refused


@pytest.mark.parametrize("standard", ["foregroundDeletion", "orphan", "kubernetes"])
@pytest.mark.parametrize(("free", "refused"), [(False, ["mine"]), (True, [])])
def test_finalizers_have_a_domain(standard: str, free: bool, refused: list[str]) -> None:
    """But for those of Kubernetes itself, and those of custom objects."""
    names = ["mine", "a.example/mine", standard]
    causes = metadata_rules.finalizer_causes(names, free=free)
    assert [cause.text.split('"')[1] for cause in causes] == refused
