"""Conditions: the roll-up, the times that are kept, and the bounds."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.api.conditions import (
    MAX_MESSAGE_CHARACTERS,
    MAX_OF_OTHERS,
    REFERENCE_REASONS,
    Condition,
    ConditionReason,
    ConditionResult,
    ConditionType,
    merge,
    summarise,
    truncated,
)
from moorage.api.decoding import decoder

NOW = datetime.datetime(2026, 5, 1, 14, 0, 7, 999, datetime.timezone(datetime.timedelta(hours=2)))
LATER = NOW + datetime.timedelta(minutes=1)
GOOD = (
    ConditionResult(ConditionType.ACCEPTED, True, ConditionReason.VALID),
    ConditionResult(ConditionType.RESOLVED_REFS, True, ConditionReason.RESOLVED),
    ConditionResult(ConditionType.PERMITTED, True, ConditionReason.RIGHTS_HELD),
    ConditionResult(ConditionType.ACTIVE, True, ConditionReason.DECIDING),
)


def but(*worse: ConditionResult) -> list[ConditionResult]:
    """The good results with some replaced."""
    by_type = {result.type: result for result in worse}
    return [by_type.get(result.type, result) for result in GOOD]


@pytest.mark.parametrize(
    ("results", "status", "reason"),
    [
        (but(), True, "Ready"),
        (
            but(
                ConditionResult(ConditionType.ACTIVE, False, "LastGood"),
                ConditionResult(ConditionType.ACCEPTED, False, "UnknownPlugin"),
            ),
            False,
            "UnknownPlugin",
        ),
        (
            but(ConditionResult(ConditionType.RESOLVED_REFS, False, "PluginMismatch")),
            False,
            "PluginMismatch",
        ),
        (but(ConditionResult(ConditionType.PERMITTED, None, "Waiting")), None, "Waiting"),
        (but(ConditionResult(ConditionType.ACTIVE, False, "Suspended")), False, "Suspended"),
        (
            list(
                reversed(
                    but(
                        ConditionResult(ConditionType.ACTIVE, False, "LastGood"),
                        ConditionResult(ConditionType.ACCEPTED, False, "InvalidSpec"),
                    )
                )
            ),
            False,
            "InvalidSpec",
        ),
        (GOOD[:3], None, "Waiting"),
    ],
    ids=[
        "all-good",
        "first-counts",
        "references",
        "unknown",
        "suspended",
        "order-does-not-matter",
        "not-known-yet",
    ],
)
def test_ready_is_the_first_that_is_not_true(
    results: list[ConditionResult], status: bool | None, reason: str
) -> None:
    """In the order Accepted, ResolvedRefs, Permitted, Active."""
    ready = summarise(results)
    assert (ready.type, ready.status, ready.reason) == (ConditionType.READY, status, reason)


def test_a_condition_is_what_kubernetes_expects() -> None:
    """Every field, times in UTC with whole seconds; nothing but plain strings, as JSON encoders
    want them.
    """
    (made,) = merge(
        [],
        [ConditionResult(ConditionType.ACCEPTED, False, ConditionReason.UNKNOWN_PLUGIN, "why")],
        7,
        NOW,
    )
    assert made == {
        "type": "Accepted",
        "status": "False",
        "observedGeneration": 7,
        "lastTransitionTime": "2026-05-01T12:00:07Z",
        "reason": "UnknownPlugin",
        "message": "why",
    }
    assert {type(value) for value in made.values()} == {str, int}
    assert decoder(Condition).decode(made).observed_generation == 7


def test_the_time_changes_with_the_status_only() -> None:
    """A new reason, message or generation is no transition; and what is not judged any more is
    gone.
    """
    first = merge(
        [],
        [
            ConditionResult(ConditionType.ACCEPTED, True, "Valid"),
            ConditionResult(ConditionType.ACTIVE, False, "Waiting"),
        ],
        1,
        NOW,
    )
    second = merge(
        first,
        [
            ConditionResult(ConditionType.ACTIVE, False, "Suspended", "x"),
            ConditionResult(ConditionType.ACCEPTED, False, "InvalidSpec"),
        ],
        2,
        LATER,
    )
    assert [(c["type"], c["reason"], c["lastTransitionTime"]) for c in second] == [
        ("Active", "Suspended", "2026-05-01T12:00:07Z"),
        ("Accepted", "InvalidSpec", "2026-05-01T12:01:07Z"),
    ]
    assert [c["type"] for c in merge(second, [GOOD[0]], 3, LATER)] == ["Accepted"]


def later(kind: str, **fields: Any) -> dict[str, Any]:
    """A condition as a later release might write it."""
    made = {"type": kind, "status": "True", "reason": "New", "message": "", "more": 1}
    return {**made, "lastTransitionTime": "2026-05-01T12:00:00Z", **fields}


def test_conditions_of_other_releases_stay() -> None:
    """As they are, after ours; a few of them, and only what the API server takes."""
    half = later("Half", reason=None)
    (ours, kept) = merge([later("Later"), half, later("Active")], [GOOD[0]], 3, NOW)
    assert (ours["type"], kept) == ("Accepted", later("Later"))
    many = merge([later(f"T{i}") for i in range(MAX_OF_OTHERS + 1)], [GOOD[0]], 3, NOW)
    assert len(many) == 1 + MAX_OF_OTHERS


@pytest.mark.parametrize(
    "old", [["x", None, 3], [{}], [{"type": "Accepted"}], [{"type": "Accepted", "status": "True"}]]
)
def test_whatever_stands_in_status_is_no_obstacle(old: list[Any]) -> None:
    """Others may write there too."""
    (made,) = merge(old, [GOOD[0]], 1, NOW)
    assert made["lastTransitionTime"] == "2026-05-01T12:00:07Z"


@given(
    st.integers(MAX_MESSAGE_CHARACTERS - 3, MAX_MESSAGE_CHARACTERS + 3).map(
        lambda length: "ä" * length
    )
    | st.text()
)
def test_messages_are_bounded(text: str) -> None:
    """A short one stays, a long one says that it was cut."""
    cut = truncated(text)
    assert len(cut) <= MAX_MESSAGE_CHARACTERS
    assert cut == text or (cut.endswith("…") and text.startswith(cut[:-1]))


def test_every_name_is_explained_once() -> None:
    """Names are PascalCase, meanings are sentences, and reasons of references are reasons."""
    for member in [*ConditionType, *ConditionReason]:
        assert member.value.isalnum() and member.value[0].isupper()
        assert member.meaning.endswith(".")
    assert set(ConditionReason) >= REFERENCE_REASONS
