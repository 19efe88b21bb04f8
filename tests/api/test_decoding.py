"""Decoding: every kind of fault, its path and its text."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any, ClassVar, Literal

import pytest
from annotated_types import Ge, Gt, Interval, Len
from pydantic import BaseModel, ConfigDict, Field

from moorage.api.decoding import DecodeError, Decoder, laid_over, shown
from moorage.core.framework.arguments import ARGUMENTS, FieldErrorType, Violation


@dataclasses.dataclass(frozen=True)
class Inner:
    """A list item."""

    __pydantic_config__: ClassVar = ARGUMENTS

    the_name: str
    weight: Annotated[int, Interval(ge=0, le=100)] = 1


@dataclasses.dataclass(frozen=True)
class Args:
    """Arguments of every kind."""

    __pydantic_config__: ClassVar = ARGUMENTS

    kind: Literal["Least", "Most"] = "Least"
    inner: tuple[Inner, ...] | None = None
    one: Inner | None = None
    few: Annotated[tuple[str, ...], Len(1, 2)] = ("a",)
    share: float = 0.5
    on: bool = False
    positive: Annotated[int, Gt(0)] = 1
    natural: Annotated[int, Ge(0)] = 0

    def validate(self) -> list[Violation]:
        """A rule between fields."""
        return (
            [Violation("few[0]", {"long": "x" * 5000}, "must not be bad", FieldErrorType.DUPLICATE)]
            if self.few[0] == "bad"
            else []
        )


class Model(BaseModel):
    """A model with free and keyed parts."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    weights: dict[Annotated[str, Field(max_length=5)], Annotated[int, Field(ge=1, le=9)]] = Field(
        default_factory=dict
    )
    free: dict[str, Any] = Field(default_factory=dict)
    text: Annotated[str, Field(pattern="^a+$")] = "a"


def faults(kind: type[Any], document: object) -> list[tuple[str, object, str]]:
    """What is wrong with a document."""
    with pytest.raises(DecodeError) as caught:
        Decoder(kind).decode(document)
    return [(found.path, found.value, found.message) for found in caught.value.violations]


CASES: dict[str, tuple[type[Any], object, list[tuple[str, object, str]]]] = {
    "wrong-name": (Args, {"knd": "x"}, [("knd", "x", 'unknown field; did you mean "kind"?')]),
    "python-name": (
        Args,
        {"one": {"the_name": "x"}},
        [
            ("one.theName", None, "Required value"),
            ("one.the_name", "x", 'unknown field; did you mean "theName"?'),
        ],
    ),
    "wrong-choice": (
        Args,
        {"kind": "Mots"},
        [("kind", "Mots", 'supported values: "Least", "Most"; did you mean "Most"?')],
    ),
    "wrong-type-of-choice": (Args, {"kind": 3}, [("kind", 3, 'supported values: "Least", "Most"')]),
    "below-list": (
        Args,
        {"inner": [{"theName": "a"}, {"theName": 4}]},
        [("inner[1].theName", 4, "must be a string")],
    ),
    "range": (
        Args,
        {"one": {"theName": "a", "weight": 101}},
        [("one.weight", 101, "not in valid range [0, 100]")],
    ),
    "open-range": (Args, {"positive": 0}, [("positive", 0, "not in valid range (0, inf)")]),
    "half-open-range": (Args, {"natural": -1}, [("natural", -1, "not in valid range [0, inf)")]),
    "text-for-number": (
        Args,
        {"one": {"theName": "a", "weight": "1"}},
        [("one.weight", "1", "must be an integer")],
    ),
    "fraction": (
        Args,
        {"one": {"theName": "a", "weight": 1.5}},
        [("one.weight", 1.5, "must be an integer")],
    ),
    "text-for-boolean": (Args, {"on": "true"}, [("on", "true", "must be true or false")]),
    "text-for-float": (Args, {"share": "x"}, [("share", "x", "must be a number")]),
    "object-for-list": (Args, {"inner": {"theName": "a"}}, [("inner", "{…}", "must be a list")]),
    "list-for-object": (Args, {"one": ["a"]}, [("one", "[…]", "must be an object")]),
    "nothing": (Args, None, [("", None, "must be an object")]),
    "too-few": (
        Args,
        {"few": []},
        [("few", "[…]", "should have at least 1 item after validation, not 0")],
    ),
    "own-rule": (Args, {"few": ["bad"]}, [("few[0]", "{…}", "must not be bad")]),
    "two-faults": (
        Args,
        {"on": 1, "share": []},
        [("share", "[…]", "must be a number"), ("on", 1, "must be true or false")],
    ),
    "map-value": (Model, {"weights": {"a": 0}}, [("weights[a]", 0, "not in valid range [1, 9]")]),
    "map-key": (
        Model,
        {"weights": {"abcdef": 1}},
        [("weights[abcdef]", "abcdef", "should have at most 5 characters")],
    ),
    "free": (Model, {"free": []}, [("free", "[…]", "must be an object")]),
    "pattern": (Model, {"text": "b"}, [("text", "b", "should match '^a+$'")]),
    "long-value": (Model, {"text": "b" * 5000}, [("text", "b" * 100 + "…", "should match '^a+$'")]),
}


@pytest.mark.parametrize("case", CASES)
def test_faults_have_path_value_and_text(case: str) -> None:
    """As users write the fields, with a suggestion where a name is close."""
    kind, document, wanted = CASES[case]
    assert faults(kind, document) == wanted


PROBLEMS = {
    "wrong-name": FieldErrorType.MALFORMED,
    "python-name": FieldErrorType.REQUIRED,
    "wrong-choice": FieldErrorType.UNSUPPORTED,
    "range": FieldErrorType.INVALID,
    "fraction": FieldErrorType.MALFORMED,
    "text-for-number": FieldErrorType.MALFORMED,
    "list-for-object": FieldErrorType.MALFORMED,
    "too-few": FieldErrorType.INVALID,
    "own-rule": FieldErrorType.DUPLICATE,
    "pattern": FieldErrorType.INVALID,
}


@pytest.mark.parametrize("case", PROBLEMS)
def test_faults_have_a_kind(case: str) -> None:
    """Whether the document can't be read, or can but must not be so; the dataclass's own rules say
    it themselves.
    """
    kind, document, _ = CASES[case]
    with pytest.raises(DecodeError) as caught:
        Decoder(kind).decode(document)
    assert caught.value.violations[0].error_type is PROBLEMS[case]


@pytest.mark.parametrize(
    "document", [{"a": {1, 2}}, {"a": "\ud800"}, {"a": float("nan")}, object()]
)
def test_what_is_no_json_is_refused(document: object) -> None:
    """Not even text: sets, half characters, numbers that JSON lacks."""
    assert faults(Args, document)


def test_a_document_without_end_is_refused() -> None:
    """A file's anchors can make one."""
    document: dict[str, Any] = {}
    document["one"] = document
    ((path, _, message),) = faults(Args, document)
    assert path == "" and message.startswith("is not JSON")


def test_deep_documents_are_refused() -> None:
    """Python's own limit is no crash."""
    document: Any = {}
    for _ in range(5000):
        document = {"one": document}
    assert faults(Args, document)


def test_encoding_is_the_way_back() -> None:
    """With the names that users write."""
    decoder = Decoder(Args)
    args = decoder.decode({"inner": [{"theName": "a"}], "few": ["x", "y"]})
    assert args == Args(inner=(Inner("a"),), few=("x", "y"))
    assert decoder.encode(args)["inner"] == [{"theName": "a", "weight": 1}]
    assert decoder.decode(decoder.encode(args)) == args


def test_documents_are_laid_over_each_other() -> None:
    """Objects field by field, lists and values as a whole."""
    assert laid_over({"a": {"b": 1, "c": [1, 2]}, "d": 4}, {"a": {"c": [3]}, "e": {}}) == {
        "a": {"b": 1, "c": [3]},
        "d": 4,
        "e": {},
    }
    assert laid_over({"a": {"b": 1}}, {"a": None}) == {"a": None}
    assert laid_over({"a": 1}, "text") == "text"


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, None), (True, True), (3, 3), ("x", "x"), ((1,), "[…]"), (Inner("a"), "Inner(…)")],
)
def test_values_are_shown_short(value: object, text: object) -> None:
    """Containers never push the message out."""
    assert shown(value) == text
