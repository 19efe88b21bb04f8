"""What is deeper or larger than anybody would write."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.api.bodies import MAX_DEPTH, MAX_VALUES, excess
from moorage.api.json_depth import PARSED, parseable, shallow

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=30,
)


def nested(depth: int) -> bytes:
    """An object with so many levels, whose innermost says so."""
    return b'{"a\\"}]":' * depth + b'"[{"' + b"}" * depth


@given(JSON)
def test_what_is_not_deep_stays_as_it_is(value: Any) -> None:
    """Whatever brackets and quotes its texts hold."""
    text = json.dumps(value).encode()
    assert parseable(text) == shallow(text) == text
    assert excess(value) == ""


@pytest.mark.parametrize("depth", [PARSED, PARSED + 1, 950, 5_000, 100_000])
def test_what_is_too_deep_for_a_parser_can_be_parsed(depth: int) -> None:
    """What stands around it is kept, and that it is too deep can still be seen."""
    text = b'{"first":{"a":[1]},"deep":' + nested(depth) + b',"last":{"b":2}}'
    found = json.loads(parseable(text))
    assert (found["first"], found["last"]) == ({"a": [1]}, {"b": 2})
    assert "deeper" in excess(found)


def test_what_is_no_json_stays_as_it_is() -> None:
    """It is for others to say so."""
    assert parseable(b'{"a":') == b'{"a":'


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (json.loads(nested(MAX_DEPTH - 1)), ""),
        (json.loads(nested(MAX_DEPTH)), "deeper than 64 levels"),
        ({str(i): i for i in range(MAX_VALUES)}, ""),
        ({str(i): i for i in range(MAX_VALUES + 1)}, f"more than {MAX_VALUES} values"),
        ([[[]] * 100] * 100_000, f"more than {MAX_VALUES} values"),
    ],
)
def test_ceilings(value: object, said: str) -> None:
    """Seen without looking at all of it."""
    began = time.process_time()
    assert said in excess(value) and bool(said) == bool(excess(value))
    assert time.process_time() - began < 0.1


@pytest.mark.parametrize("piece", [b"a", b'["', b'\\"', b'"', b"\n\\", b"{", b"]["])
def test_what_never_ends_is_read_once(piece: bytes) -> None:
    """Text without a closing quote, brackets that are never closed: in time that grows with the
    length only, and shallow in the end.
    """
    began = time.perf_counter()
    text = shallow(b"[" * 2000 + b'"' + piece * 100_000)
    assert time.perf_counter() - began < 2
    with pytest.raises(json.JSONDecodeError):
        json.loads(text)
