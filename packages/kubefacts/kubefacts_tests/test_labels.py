"""Label selectors: what they match, and what is wrong with them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubefacts.labels import (
    EVERYTHING,
    LABEL_OPERATORS,
    NODE_OPERATORS,
    NOTHING,
    LabelSelector,
    Requirement,
    RequirementFault,
    SelectorError,
    can_hold,
    compile_selector,
    condition,
    equality,
    from_body,
    integer,
    requirement_faults,
)
from kubefacts.names import label_value
from kubefacts.selector_texts import SelectorSyntaxError, parse_selector, selector_text

VALUES = [None, "", "a", "b", "5", "6", "-6", "x9", "010", "99999999999999999999"]
"""What a label may be; None is absent."""


@pytest.mark.parametrize(
    ("operator", "values", "want"),
    [
        ("In", ("a", ""), ["", "a"]),
        ("NotIn", ("a", ""), [None, "b", "5", "6", "-6", "x9", "010", "99999999999999999999"]),
        ("Exists", (), VALUES[1:]),
        ("DoesNotExist", (), [None]),
        ("Gt", ("5",), ["6", "010"]),
        ("Lt", ("5",), ["-6"]),
        ("Gt", ("-9223372036854775808",), ["5", "6", "-6", "010"]),
        ("Lt", ("+6",), ["5", "-6"]),
    ],
    ids=lambda value: str(value) if isinstance(value, str) else None,
)
def test_operators(operator: str, values: tuple[str, ...], want: list[str | None]) -> None:
    """Absent labels satisfy the negative operators alone; Gt and Lt compare int64 numbers and
    refuse all else.
    """
    compiled = condition(Requirement("k", operator, values))
    assert [value for value in VALUES if compiled.matches(value)] == want


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("0", 0),
        ("-0", 0),
        ("+7", 7),
        ("0000000000000000000000000012", 12),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ("9223372036854775808", None),
        ("1" * 5000, None),
        ("", None),
        ("-", None),
        ("1.0", None),
        ("1_000", None),
        (" 1", None),
        ("1\n", None),
        ("٣", None),
    ],
)
def test_integers(text: str, want: int | None) -> None:
    """Decimal int64 as Go's ParseInt reads it: no underscores, no blanks, no other scripts'
    digits.
    """
    assert integer(text) == want


@pytest.mark.parametrize(
    ("selector", "labels", "want"),
    [
        (None, {"a": "1"}, False),
        (None, None, False),
        ({}, {"a": "1"}, True),
        ({}, None, True),
        ({"matchLabels": {"a": "1", "b": "2"}}, {"a": "1", "b": "2", "c": "3"}, True),
        ({"matchLabels": {"a": "1", "b": "2"}}, {"a": "1"}, False),
        (
            {"matchLabels": {"a": "1"}, "matchExpressions": [{"key": "b", "operator": "Exists"}]},
            {"a": "1"},
            False,
        ),
        ({"matchExpressions": [{"key": "b", "operator": "NotIn", "values": ["x"]}]}, None, True),
    ],
    ids=[
        "nil",
        "nil on nothing",
        "empty",
        "empty on nothing",
        "all pairs",
        "a pair is missing",
        "all of both",
        "absent",
    ],
)
def test_selectors(
    selector: dict[str, Any] | None, labels: dict[str, str] | None, want: bool
) -> None:
    """All pairs and expressions must hold; a missing selector selects nothing, an empty one
    everything.
    """
    assert compile_selector(from_body(selector)).matches(labels) is want


SOME_VALUES = ("a", "b", "1", "01", "2", "3")
ALL_VALUES = [None, *SOME_VALUES, "0", "00", "001", "0001", "4", "04", "another"]
"""Values that requirements of SOME_VALUES can tell apart."""
SOME_REQUIREMENTS = st.one_of(
    st.builds(
        Requirement,
        st.sampled_from("kl"),
        st.sampled_from(("In", "NotIn")),
        st.lists(st.sampled_from(SOME_VALUES), min_size=1, max_size=3).map(tuple),
    ),
    st.builds(Requirement, st.sampled_from("kl"), st.sampled_from(("Exists", "DoesNotExist"))),
    st.builds(
        Requirement,
        st.sampled_from("kl"),
        st.sampled_from(("Gt", "Lt")),
        st.sampled_from((("-1",), ("0",), ("1",), ("2",), ("3",))),
    ),
)


@given(st.lists(SOME_REQUIREMENTS, max_size=5))
def test_conditions_can_hold_where_some_labels_meet_them(given: list[Requirement]) -> None:
    """As trying all values says, of each key by itself; zeros before a number are another value."""
    checks = [condition(one) for one in given]
    by_trying = all(
        any(all(one.matches(value) for one in checks if one.key == key) for value in ALL_VALUES)
        for key in "kl"
    )
    assert can_hold(checks) == by_trying


def test_ends_of_the_scale() -> None:
    """What selects nothing and everything is equal wherever it comes from."""
    assert compile_selector(None) == NOTHING
    assert compile_selector(LabelSelector()) == EVERYTHING


def test_order_of_pairs_does_not_matter() -> None:
    """Selectors with the same pairs are equal, so they can share what is counted for them."""
    one, other = LabelSelector({"a": "1", "b": "2"}), LabelSelector({"b": "2", "a": "1"})
    assert compile_selector(one) == compile_selector(other)


NO_INTEGER = "for 'Gt', 'Lt' operators, the value must be an integer"


@pytest.mark.parametrize(
    ("requirement", "want"),
    [
        (
            Requirement("k", "In"),
            [("r.values", "for 'in', 'notin' operators, values set can't be empty")],
        ),
        (
            Requirement("k", "NotIn", ()),
            [("r.values", "for 'in', 'notin' operators, values set can't be empty")],
        ),
        (
            Requirement("k", "Exists", ("a",)),
            [("r.values", "values set must be empty for exists and does not exist")],
        ),
        (
            Requirement("k", "Gt", ("1", "2")),
            [("r.values", "for 'Gt', 'Lt' operators, exactly one value is required")],
        ),
        (
            Requirement("k", "Lt"),
            [("r.values", "for 'Gt', 'Lt' operators, exactly one value is required")],
        ),
        (Requirement("k", "Lt", ("1.5",)), [("r.values[0]", NO_INTEGER)]),
        (
            Requirement("k", "Lt", ("-5",)),
            [("r.values[0][k]", "a valid label must be an empty string")],
        ),
        (Requirement("k", "Gt", ("",)), [("r.values[0]", NO_INTEGER)]),
        (
            Requirement("k", "Near"),
            [("r.operator", "must be one of In, NotIn, Exists, DoesNotExist, Gt, Lt")],
        ),
        (Requirement("bad key", "Exists"), [("r.key", "name part must consist of")]),
        (
            Requirement("", "In", ("a b",)),
            [("r.key", "name part must be non-empty"), ("r.values[0][]", "a valid label must")],
        ),
        (Requirement("example.com/k", "In", ("a", "")), []),
    ],
    ids=lambda value: (
        f"{value.key} {value.operator} {value.values}" if isinstance(value, Requirement) else ""
    ),
)
def test_faults(requirement: Requirement, want: list[tuple[str, str]]) -> None:
    """Each fault has its path and says what is wrong; all are found."""
    found = list(requirement_faults(requirement, "r", NODE_OPERATORS))
    assert [fault.path for fault in found] == [path for path, _ in want]
    assert all(fault.problem.startswith(text) for fault, (_, text) in zip(found, want, strict=True))


@pytest.mark.parametrize(
    ("value", "good"),
    [
        ("", True),
        ("a", True),
        ("A-b_c.9", True),
        ("-a", False),
        ("a.", False),
        ("a b", False),
        ("é", False),
        ("a" * 63, True),
        ("a" * 64, False),
    ],
)
def test_label_values(value: str, good: bool) -> None:
    """Empty, or up to 63 letters, digits, -, _ and . between letters or digits."""
    assert (not label_value(value)) is good


@given(
    st.lists(
        st.text("aZ0-_. é\n", max_size=3) | st.sampled_from(["a" * 63, "a" * 64]),
        min_size=1,
        max_size=4,
    ).map(tuple)
)
def test_many_values_are_judged_as_one_by_one(values: tuple[str, ...]) -> None:
    """Sound ones are looked at all together, and yet nothing is overlooked."""
    found = [
        fault.value
        for fault in requirement_faults(Requirement("key", "In", values), "", LABEL_OPERATORS)
    ]
    assert found == [value for value in values if label_value(value)]


def test_selector_error_has_all_faults() -> None:
    """Of pairs and expressions alike, with paths from the object on; comparisons are for node
    selectors.
    """
    selector = {
        "matchLabels": {"a": "b c"},
        "matchExpressions": [{"key": "k", "operator": "Gt", "values": ["1"]}],
    }
    with pytest.raises(SelectorError) as caught:
        compile_selector(from_body(selector), "spec.podSelector")
    assert [fault.path for fault in caught.value.faults] == [
        "spec.podSelector.matchLabels",
        "spec.podSelector.matchExpressions[0].operator",
    ]
    assert str(caught.value).startswith(
        '[spec.podSelector.matchLabels: Invalid value: "b c": a valid label'
    )


def test_one_fault_stands_alone() -> None:
    """The text of a single fault has no brackets."""
    assert (
        str(SelectorError([RequirementFault("a", ("x", "y"), "no")]))
        == 'a: Invalid value: ["x","y"]: no'
    )


texts = st.sampled_from(["", "a", "b", "5", "-5", "x y"])
requirements = st.builds(
    Requirement,
    st.sampled_from(["k", "l", "bad key"]),
    st.sampled_from([*NODE_OPERATORS, "Near"]),
    st.none() | st.lists(texts, max_size=3).map(tuple),
)


@given(st.lists(requirements, max_size=3), st.dictionaries(st.sampled_from("kl"), texts))
def test_what_compiles_has_no_faults(
    expressions: list[Requirement], labels: dict[str, str]
) -> None:
    """A selector either compiles, and then matches just what its requirements say, or tells a
    fault.
    """
    found = [
        fault
        for i, one in enumerate(expressions)
        for fault in requirement_faults(one, f"matchExpressions[{i}]", LABEL_OPERATORS)
    ]
    selector = LabelSelector(match_expressions=tuple(expressions))
    if found:
        with pytest.raises(SelectorError) as caught:
            compile_selector(selector)
        assert list(caught.value.faults) == found
    else:
        assert compile_selector(selector).matches(labels) is all(
            condition(one).matches(labels.get(one.key)) for one in expressions
        )


@given(st.dictionaries(texts, texts), st.dictionaries(texts, texts))
def test_equality_is_a_subset(wanted: dict[str, str], labels: dict[str, str]) -> None:
    """A plain map matches labels that contain it, whatever its syntax."""
    assert all(one.matches(labels.get(one.key)) for one in equality(wanted)) is (
        wanted.items() <= labels.items()
    )


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (None, ""),
        ({}, ""),
        ({"matchLabels": {"b": "2", "a": "1"}}, "a=1,b=2"),
        (
            {
                "matchExpressions": [
                    {"key": "b", "operator": "In", "values": ["y", "x"]},
                    {"key": "a", "operator": "Exists"},
                ]
            },
            "a,b in (x,y)",
        ),
        (
            {
                "matchExpressions": [
                    {"key": "a", "operator": "NotIn", "values": ["x"]},
                    {"key": "a", "operator": "DoesNotExist"},
                ]
            },
            "a notin (x),!a",
        ),
    ],
)
def test_text_of_a_selector(body: dict[str, Any] | None, text: str) -> None:
    """Ordered by keys; read back, it selects the same."""
    assert selector_text(from_body(body)) == text
    if body is not None:
        written, read = compile_selector(from_body(body)), parse_selector(text)
        labelled: list[dict[str, str]] = [
            {},
            {"a": "1"},
            {"a": "x"},
            {"a": "1", "b": "2"},
            {"a": "", "b": "y"},
        ]
        assert [written.matches(labels) for labels in labelled] == [
            read.matches(labels) for labels in labelled
        ]


def test_texts_of_a_query() -> None:
    """They know integers too, and refuse what they cannot read in the API server's words."""
    assert [
        parse_selector("a > 1, a<4").matches({"a": value}) for value in ("1", "2", "4", "x")
    ] == [False, True, False, False]
    assert parse_selector(" ") == EVERYTHING
    with pytest.raises(SelectorSyntaxError, match=r"^found '', expected: identifier after ','$"):
        parse_selector("a,")
    with pytest.raises(
        SelectorSyntaxError,
        match=(
            r'^unable to parse requirement: values\[0\]\[a\]: Invalid value: "-x": a valid label '
            r"must"
        ),
    ):
        parse_selector("a=-x")


def test_what_an_empty_selector_selects_is_an_argument() -> None:
    """For workloads it is nothing; a missing one is nothing everywhere."""
    assert compile_selector(from_body({"matchLabels": {}}), empty=NOTHING) == NOTHING
    assert compile_selector(None, empty=EVERYTHING) == NOTHING
