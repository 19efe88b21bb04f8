"""Bodies: what YAML stands for, as a kube-apiserver says, and what is too much."""

from __future__ import annotations

import time
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from towtank import patches
from towtank.model import json_values
from towtank.model.api_errors import ApiError
from towtank.wire import bodies, yaml_codec


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12:30", "12:30"),
        ("1_000", 1000),
        ("1_0", 10),
        ("_1", "_1"),
        ("0777", 511),
        ("0o17", 15),
        ("0x1F", 31),
        ("0b11", 3),
        ("-0x1F", -31),
        ("+12", 12),
        ("yes", True),
        ("Yes", True),
        ("YES", True),
        ("on", True),
        ("off", False),
        ("y", True),
        ("Y", True),
        ("n", False),
        ("no", False),
        ("True", True),
        ("TRUE", True),
        ("true", True),
        ("tRue", "tRue"),
        ("2001-01-01", "2001-01-01"),
        ("2001-01-01T00:00:00Z", "2001-01-01T00:00:00Z"),
        ("2001-01-01 10:00:00", "2001-01-01 10:00:00"),
        ("~", None),
        ("null", None),
        ("", None),
        ("1e3", 1000),
        ("1E+3", 1000),
        ("1.", 1),
        (".5", 0.5),
        ("-.5", -0.5),
        ("1e400", "1e400"),
        ("99999999999999999999999", 1e23),
        ("0.1", 0.1),
        ("08", 8),
        ("089", 89),
        ("190:20:30", "190:20:30"),
        ("1_000.5", 1000.5),
        ("1.0", 1),
        ("-0", 0),
        ("0.0", 0),
        ("1e2", 100),
        ("!!binary aGk=", "hi"),
        ("!!str 12", "12"),
        ('!!int "3"', 3),
        ("!!float 3", 3),
        ('!!bool "yes"', True),
        ("!!foo bar", "bar"),
        ("=", "="),
        ("<<", "<<"),
        ("1e-7", 1e-07),
        ("123456789.125", 123456789.125),
        ("1e21", 1e21),
        ("0x_1F", 31),
        ("0b", "0b"),
        ("0x", "0x"),
        ("1__0", 10),
        ("+0x1F", 31),
        ("+.5", 0.5),
        ("0.", 0),
        ("1e", "1e"),
        ("0b12", "0b12"),
        ("-0b11", -3),
        ("-0o17", -15),
        ("07_7", 63),
        ("00", 0),
        ("-012", -10),
        ("!!int 0777", 511),
        ("!!timestamp 2001-01-01", "2001-01-01"),
        ("!!float 1_0", 10),
        ("!!set {a, b}", {"a": None, "b": None}),
        ("[a, yes, 1:2]", ["a", True, "1:2"]),
        ("{a: yes}", {"a": True}),
        ("{yes: 1}", {"true": 1}),
        ("{1: a}", {"1": "a"}),
        ("{1.5: a}", {"1.5": "a"}),
        ("{true: a}", {"true": "a"}),
        ("{0x10: a}", {"16": "a"}),
        ("{1_0: a}", {"10": "a"}),
        ("{12:30: a}", {"12:30": "a"}),
        ("{.inf: a}", {".inf": "a"}),
        ("{1e3: a}", {"1000": "a"}),
        ("{2001-01-01: a}", {"2001-01-01": "a"}),
        ('{"yes": a}', {"yes": "a"}),
        ("{on: a, 'true': b}", {"true": "b"}),
        ("'a\\tb'", "a\\tb"),
        ('"\\x41\\u0042"', "AB"),
        ("!!omap [a: 1]", [{"a": 1}]),
        ("!local 12", "12"),
        ("1e310", "1e310"),
        ("-1e310", "-1e310"),
        ("0xFFFFFFFFFFFFFFFFFF", "0xFFFFFFFFFFFFFFFFFF"),
        ("1:00", "1:00"),
    ],
)
def test_yaml_stands_for_what_it_does_there(text: str, value: Any) -> None:
    """Asked of a kube-apiserver; like values are not enough, since 1 is True."""
    found, twice = yaml_codec.read(f"x: {text}")
    assert (repr(found["x"]), type(found["x"])) == (repr(value), type(value))
    assert len(twice) == (text == "{on: a, 'true': b}")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (".inf", "json: unsupported value: +Inf"),
        ("-.inf", "json: unsupported value: -Inf"),
        (".nan", "json: unsupported value: NaN"),
        ("!!null x", "yaml: cannot decode !!str `x` as a !!null"),
        ("&x [*x]", "yaml: exceeded max depth"),
        ("a: b", "yaml: mapping values are not allowed in this context"),
    ],
)
def test_yaml_that_is_no_json_is_refused(text: str, why: str) -> None:
    """With the words from there."""
    with pytest.raises(json_values.DecodeFailure) as refused:
        bodies.from_yaml(f"x: {text}".encode())
    assert str(refused.value) == why


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x: 1\nx: 2\n", ['line 2: key "x" already set in map']),
        ("x: {yes: 1, true: 2}", ["line 1: key true already set in map"]),
        ("b: &b {c: 1}\nx: {<<: *b, d: 2}\n", []),
    ],
)
def test_keys_that_are_there_twice_are_told_of(text: str, told: list[str]) -> None:
    """Those of a part that is merged are not."""
    assert bodies.duplicates(text.encode(), bodies.YAML) == told
    assert bodies.duplicates(text.encode(), bodies.JSON) == []


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_what_is_written_in_yaml_is_read_as_it_was(value: Any) -> None:
    """Texts that look like something else stand in quotation marks, whichever YAML the reader
    thinks of.
    """
    text = bodies.to_yaml({"x": value})
    if not any(word in str(value) for word in ("y", "Y", "n", "N")):  # PyYAML leaves those bare
        assert bodies.from_yaml(text) == {"x": value}


@pytest.mark.parametrize(("opening", "closing"), [('{"a":', "}"), ("[", "]")])
@pytest.mark.parametrize("depth", [200, 900, 20_000])
def test_what_is_too_deep_is_refused(opening: str, closing: str, depth: int) -> None:
    """As JSON, as YAML: nobody after us has to ask whether it can be walked through."""
    body = f'{{"kind":"A","x":{opening * depth}1{closing * depth}}}'.encode()
    for kind in (bodies.JSON, bodies.YAML):
        with pytest.raises(ApiError, match="exceeded max depth"):
            bodies.read(body, kind, "A")


def test_many_that_are_not_deep_are_read() -> None:
    """Depth counts, not number."""
    body = {"kind": "A", "x": [[{}]] * 1000}
    assert bodies.read(msgspec.json.encode(body), bodies.JSON, "A") == body


def test_no_patch_makes_bodies_that_are_too_deep() -> None:
    """By copying a body into itself."""
    deep: Any = 1
    for _ in range(100):
        deep = {"a": deep}
    with pytest.raises(ApiError, match="exceeded max depth"):
        patches.json_patch({"x": deep}, [{"op": "copy", "from": "/x", "path": "/x" + "/a" * 90}])


@pytest.mark.parametrize("item", ["- a\n", "- {a: 1}\n", "- [[], []]\n"])
def test_large_yaml_is_refused_soon(item: str) -> None:
    """Before anything is made of it; a long text is not large."""
    text = ("x:\n" + item * (3_000_000 // len(item))).encode()
    start = time.process_time()
    with pytest.raises(
        json_values.DecodeFailure, match="yaml: document has more than 100000 values"
    ):
        bodies.from_yaml(text)
    assert time.process_time() - start < 3
    long = "x: |\n" + "  - a\n" * 400_000
    assert len(bodies.from_yaml(long.encode())["x"]) == 1_600_000
