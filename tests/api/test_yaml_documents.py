"""YAML: stricter than PyYAML when read, plain when written."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.api import yaml_documents
from moorage.api.yaml_documents import DocumentError, dump, load_all

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=20,
)


def test_documents_are_read_in_order_and_empty_ones_left_out() -> None:
    """Separators may stand anywhere."""
    assert load_all("---\na: 1\n---\n---\n- x\n---\n") == [{"a": 1}, ["x"]]


def test_dates_stay_text() -> None:
    """A label may look like a date."""
    assert load_all("a: 2026-01-31") == [{"a": "2026-01-31"}]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{<<: *b, k: own}", {"k": "own", "l": "base"}),
        ("{k: own, <<: *b}", {"k": "base", "l": "base"}),
        ("{<<: [*b, {k: other, m: other}]}", {"k": "base", "l": "base", "m": "other"}),
        ("{<<: *b, <<: {k: other}}", {"k": "other", "l": "base"}),
        ("{<<: *b, deeper: {<<: *b, k: own}}", {"deeper": {"k": "own", "l": "base"}}),
    ],
)
def test_merges_are_read_as_kubectl_reads_them(text: str, found: dict[str, Any]) -> None:
    """Seen of kubectl 1.36: whatever stands last counts, of several in one merge the first."""
    (document,) = load_all(f"base: &b {{k: base, l: base}}\nmerged: {text}\n")
    assert document["base"] == {"k": "base", "l": "base"}
    assert {**document["merged"], **found} == document["merged"]


def test_merges_of_merges() -> None:
    """Are few keys, however many they look."""
    levels = "".join(
        f"a{i + 1}: &a{i + 1} {{<<: [{', '.join([f'*a{i}'] * 20)}]}}\n" for i in range(20)
    )
    (document,) = load_all(f"a0: &a0 {{k: 1}}\n{levels}")
    assert document["a20"] == {"k": 1}
    with pytest.raises(DocumentError, match="the key 'k' comes twice"):
        load_all("b: &b {k: 1, k: 2}\nc: {<<: *b}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2\na: 3", "line 3, column 1: the key 'a' comes twice"),
        ("x:\n  y: {b: 1, b: 2}", "line 2, column 13: the key 'b' comes twice"),
        ("1: x", "line 1, column 1: the key 1 is not a string: quote it"),
        ("a: [", "line 1, column 5: expected the node content"),
        ("a: \t1", "line 1, column 4: found character"),
        ("!!python/object:os.system {}", "could not determine a constructor"),
        ("a: \x00", "special characters are not allowed"),
        ("[" * 1200, "nested too deeply"),
        ("e: 0x_", "a value is not what its form or tag says"),
        (f"e: {'9' * 5000}", "a value is not what its form or tag says"),
        ("e: !!bool x", "a value is not what its form or tag says"),
        ("e: !!timestamp x", "a value is not what its form or tag says"),
        ("a: &a {b: *a}", "more than 100000 values"),
        (
            "\n".join(
                [
                    "a0: &a0 [x]",
                    *(f"a{i + 1}: &a{i + 1} [{', '.join([f'*a{i}'] * 10)}]" for i in range(9)),
                ]
            ),
            "more than 100000 values",
        ),
    ],
    ids=[
        "twice",
        "twice-below",
        "number-as-key",
        "unfinished",
        "tab",
        "python",
        "nul",
        "deep",
        "no-number",
        "long-number",
        "no-bool",
        "no-time",
        "without-end",
        "bomb",
    ],
)
def test_what_has_no_one_meaning_is_refused(text: str, message: str) -> None:
    """The message has the place."""
    with pytest.raises(DocumentError) as caught:
        load_all(text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_long_text_may_have_as_many_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """A list of all pods is no bomb; aliases make no more of it than it has characters."""
    monkeypatch.setattr(yaml_documents, "MAX_VALUES", 10)
    assert load_all("\n".join(["- a"] * 100)) == [["a"] * 100]
    with pytest.raises(DocumentError, match="more than 58 values"):
        load_all("a: &a [x, x, x, x, x, x, x, x]\nb: [*a, *a, *a, *a, *a, *a]")


@given(PLAIN)
def test_what_is_written_reads_the_same(document: object) -> None:
    """Whatever JSON can say, None aside, which is no document."""
    assert load_all(dump({"a": document})) == [{"a": document}]


@given(PLAIN)
def test_what_is_written_can_be_shown(document: object) -> None:
    """No line of it commands a terminal or turns its direction."""
    assert all(line.isprintable() for line in dump({"a": document}).split("\n"))
