"""What is masked before two servers' answers are compared, and what is not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.comparing import Difference, differences
from tests.conformance.conversations import Conversation, Step, conversations, filled
from tests.conformance.known import Known, gone, unknown
from tests.conformance.playing import Record

UIDS = ("11111111-2222-3333-4444-555555555555", "66666666-7777-8888-9999-000000000000")


def compared(real: list[Any], ours: list[Any], **step: Any) -> list[Difference]:
    """What differs between these bodies, one for each step."""
    steps = tuple(Step(name=f"s{index}", ask="GET /", **step) for index in range(len(real)))
    records = (
        {f"s{index}": Record(200, body=body) for index, body in enumerate(bodies)}
        for bodies in (real, ours)
    )
    return differences(Conversation("c", steps), *records)


def thing(uid: str, version: str, **more: Any) -> dict[str, Any]:
    """An object."""
    return {"metadata": {"uid": uid, "resourceVersion": version, **more}}


@pytest.mark.parametrize(
    ("real", "ours"),
    [
        ([thing(UIDS[0], "5")], [thing(UIDS[1], "17")]),
        ([thing(UIDS[0], "5"), thing(UIDS[0], "5")], [thing(UIDS[1], "6"), thing(UIDS[1], "6")]),
        (
            [{"name": "a-bcdef", "generateName": "a-"}, "a-bcdef is here"],
            [{"name": "a-xyzzz", "generateName": "a-"}, "a-xyzzz is here"],
        ),
        (["https://127.0.0.1:1234/api"], ["https://127.0.0.1:99/api"]),
        (
            ["Too large resource version: 9, current: 7"],
            ["Too large resource version: 9, current: 800"],
        ),
        (["a   1/1   5s"], ["a   1/1   0s"]),
        ([{"continue": "abc"}], [{"continue": "xyz"}]),
        (
            [{"managedFields": [{"manager": "a"}, {"manager": "b"}]}],
            [{"managedFields": [{"manager": "b"}, {"manager": "a"}]}],
        ),
    ],
    ids=[
        "uid and version",
        "same version twice",
        "generated name",
        "address",
        "version in a text",
        "age",
        "token",
        "managers, ordered by the second",
    ],
)
def test_what_must_differ_is_masked(real: list[Any], ours: list[Any]) -> None:
    """So that nothing is said of it."""
    assert compared(real, ours) == []


@pytest.mark.parametrize(
    ("real", "ours"),
    [
        ([thing(UIDS[0], "5"), thing(UIDS[0], "6")], [thing(UIDS[1], "5"), thing(UIDS[1], "5")]),
        ([thing(UIDS[0], "5"), thing(UIDS[0], "6")], [thing(UIDS[0], "5"), thing(UIDS[1], "6")]),
        ([{"a": "2001-01-01T00:00:00Z"}], [{"a": "2001-01-01T00:00:01Z"}]),
        ([{"a": None}], [{}]),
        ([{"a": {}}], [{"a": []}]),
        ([[1, 2]], [[2, 1]]),
    ],
    ids=[
        "no new version",
        "another uid",
        "a time of the client's",
        "null and nothing",
        "kinds of nothing",
        "order",
    ],
)
def test_the_rest_is_told(real: list[Any], ours: list[Any]) -> None:
    """One line for each place."""
    assert compared(real, ours)


def test_shape_leaves_out_values() -> None:
    """And nothing else."""
    assert compared([{"a": 1}], [{"a": 2}], compare="shape", because="x") == []
    assert compared([{"a": 1}], [{"b": 1}], compare="shape", because="x")
    assert compared([{"a": 1}], [{"b": 1}], compare="code", because="x") == []


def test_causes_have_no_order() -> None:
    """Custom resources' come as a map has them."""
    first, second = (
        {"reason": "FieldValueInvalid", "message": text, "field": text} for text in "ab"
    )
    one = {
        "kind": "Status",
        "message": "x is invalid: [a: a, b: b]",
        "details": {"causes": [first, second]},
    }
    other = {
        "kind": "Status",
        "message": "x is invalid: [b: b, a: a]",
        "details": {"causes": [second, first, first]},
    }
    assert compared([one], [other]) == []
    assert compared([one], [other | {"message": "x is invalid: [b: b]"}])


def test_known_differences() -> None:
    """A difference that is listed is none, and a listed one must be found."""
    found = [Difference("c/s", "body.a[0].b", "1", "2")]
    listed, other = (
        Known("w", "y", steps=("c/*",), paths=("body.a[*].b",)),
        Known("w", "y", steps=("d/*",)),
    )
    assert unknown(found, [other]) == found
    assert unknown(found, [listed, other]) == []
    assert gone(found, [listed, other]) == [other]


def test_answers_are_filled_in() -> None:
    """Whole values keep their types; what is not there is said."""
    answers = {"one": {"metadata": {"n": 5}, "items": ["x"]}}
    assert filled({"a": "${one.metadata.n}", "b": ["v${one.items.0}"]}, answers) == {
        "a": 5,
        "b": ["vx"],
    }
    with pytest.raises(LookupError, match="no other there"):
        filled("${one.other}", answers)


def test_steps_say_one_thing() -> None:
    """And no two have one name."""
    with pytest.raises(ValueError, match="one of ask"):
        Step(name="a", ask="GET /", kubectl="get pods")
    with pytest.raises(ValueError, match="go together"):
        Step(name="a", ask="GET /", compare="code")
    with pytest.raises(ValueError, match="are called a"):
        Conversation("c", (Step(name="a", ask="GET /"), Step(name="a", ask="GET /")))
    names = [conversation.name for conversation in conversations()]
    assert len(names) == len(set(names))
