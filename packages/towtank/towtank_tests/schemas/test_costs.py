"""No pattern, rule or number takes long, whoever writes it: one request must not stop all
others.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, Final

import pytest

from towtank.model.api_errors import ApiError
from towtank.schemas import pruning, schema_parser, structural, validation_rules

EVIL: Final = "^(a+)+$"
LETTERS: Final = "a" * 40 + "!"


@contextmanager
def soon(seconds: float = 5) -> Iterator[None]:
    """What is inside takes its time of the processor only; what is too slow here takes hours."""
    start = time.process_time()
    yield
    assert time.process_time() - start < seconds


def _ruled(kind: dict[str, Any], *texts: str) -> Any:
    schema = {
        "type": "object",
        "properties": {
            "x": {**kind, "x-kubernetes-validations": [{"rule": text} for text in texts]}
        },
    }
    return schema_parser.parse(schema)


def test_patterns_are_linear() -> None:
    """Of a schema, and in rules."""
    node = schema_parser.parse(
        {"type": "object", "properties": {"x": {"type": "string", "pattern": EVIL}}}
    )
    with soon():
        (cause,) = pruning.validate({"x": LETTERS}, node, "")
        assert cause.text == f"Invalid value: \"{LETTERS}\": x in body should match '{EVIL}'"
        node = _ruled(
            {"type": "string"},
            f"self.find('{EVIL}') == ''",
            f"self.findAll('{EVIL}') == []",
            f"!self.matches('{EVIL}')",
        )
        assert validation_rules.check({"x": LETTERS}, None, node) == []


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("(a", "missing closing ): `(a`"),
        ("a)", "unexpected ): `a)`"),
        (r"a\Z", r"invalid escape sequence: `\Z`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("[b-a]", "invalid character class range: `b-a`"),
        ("a\\", "trailing backslash at end of expression: ``"),
        (r"\p{Foo}", r"invalid character class range: `\p{Foo}`"),
    ],
)
def test_what_is_no_pattern_is_refused_in_the_api_servers_words(pattern: str, why: str) -> None:
    """Asked of a kube-apiserver."""
    text = f"must be a valid regular expression, but isn't: error parsing regexp: {why}"
    schema = {"type": "object", "properties": {"x": {"type": "string", "pattern": pattern}}}
    assert [cause.text.endswith(text) for cause in structural.causes(schema, "schema")] == [True]


@pytest.mark.parametrize(
    "rule",
    [
        "self.all(a, self.all(b, a + b >= 0))",
        "self.distinct().size() > 0",
        "self.all(a, sets.contains(self, self))",
        "self.all(a, sets.contains(self, self)) || true",
        "self.all(a, lists.range(100000).size() > 0)",
        (
            "self.map(a, string(a)).all(a, "
            "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'.find('(a*)*(a*)*(a*)*b' "
            "+ a) == '')"
        ),
    ],
)
def test_rules_end(rule: str) -> None:
    """With the API server's words for those that cost too much."""
    with soon(20):
        (cause,) = validation_rules.check(
            {"x": list(range(2000))},
            None,
            _ruled({"type": "array", "items": {"type": "integer"}}, rule),
        )
    assert (
        "no further validation rules will be run due to call cost exceeds limit for rule"
        in cause.text
    )


_REPLACED: Final = 'self.replace("a", self.replace("a", self.replace("a", self)))'


@pytest.mark.parametrize(
    "rule",
    [
        f"size({_REPLACED}) > 0",
        "size(self.split('').map(c, self).join(self)) > 0",
        "size('%s'.format([self.split('').map(c, self)])) > 0",
    ],
)
def test_texts_do_not_multiply(rule: str) -> None:
    """A thousand letters by a thousand letters, and that again."""
    with soon():
        (cause,) = validation_rules.check({"x": "a" * 1200}, None, _ruled({"type": "string"}, rule))
    assert "call cost exceeds limit" in cause.text


_MANY_TEXTS: Final = {
    "type": "object",
    "properties": {"a": {"type": "array", "items": {"type": "string"}}, "b": {"type": "string"}},
}


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        ("self.a.map(x, self.b + x).size() > 0", {"a": ["x"] * 5000, "b": "b" * 200_000}),
        ("self.a.map(x, [self.b, x]).size() > 0", {"a": ["x"] * 5000, "b": "b" * 200_000}),
        ("self.b.split('').map(x, self.b + x).size() > 0", {"a": [], "b": "b" * 100_000}),
        (
            "[self.b].map(b, self.a.map(x, b + x)).size() > 0",
            {"a": ["x"] * 5000, "b": "b" * 200_000},
        ),
        (
            "self.a.all(x, self.a.distinct().size() > 0) || true",
            {"a": [str(number) for number in range(9000)], "b": ""},
        ),
        ("self.a.all(x, self.a.all(y, sets.contains(self.a, [x])))", {"a": ["x"] * 1000, "b": ""}),
    ],
)
def test_loops_do_not_multiply_what_is_around_them(rule: str, value: dict[str, Any]) -> None:
    """Gigabytes, each of them: they are refused before the first round."""
    with soon():
        (cause,) = validation_rules.check({"x": value}, None, _ruled(_MANY_TEXTS, rule))
    assert "call cost exceeds limit" in cause.text


@pytest.mark.parametrize(
    "rule",
    [
        "self.a.map(x, x + '/' + x).size() == 3000",
        "self.a.map(x, self.b + x).size() == 3000",
        "self.a.all(x, x.find('[a-z]') == 'x')",
        "self.a.map(x, x.split('')).map(y, y.size()).sum() == 3000",
        "self.a.filter(x, 'self.map(x, self' != x).size() == 3000",
    ],
)
def test_other_loops_are_free(rule: str) -> None:
    """Those that see their own items, however many, or little of the rest."""
    assert (
        validation_rules.check(
            {"x": {"a": ["x"] * 3000, "b": "b" * 100}}, None, _ruled(_MANY_TEXTS, rule)
        )
        == []
    )


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        (
            (
                "[self].map(x, x + x + x + x).map(x, x + x + x + x).map(x, x + x + x + x).map(x, "
                "x + x + x + x).size() > 0"
            ),
            "exceeds budget",
        ),
        ("cel.bind(x, self, x + x) != ''", "undeclared reference to 'cel'"),
        ("self.boundedJoin() != ''", "boundedJoin"),
        ("self.replace('a', 'b').replace('+', 'c') + self + self + self + self != 'x.map('", ""),
        ("self.split(',').map(x, x + '/' + x).join('+') == '%s%d'.format(['(', self.size()])", ""),
    ],
)
def test_rules_whose_cost_nobody_bounds_are_refused(rule: str, why: str) -> None:
    """When they are written down, and others are not."""
    causes = validation_rules.compile_errors(_ruled({"type": "string"}, rule), "schema")
    assert [why in cause.text for cause in causes] == [True] * bool(why)


def test_a_rule_is_not_charged_for_others() -> None:
    """Nor for what it cost before."""
    node = _ruled(
        {"type": "array", "items": {"type": "integer"}},
        *["self.distinct().size() == self.size()"] * 5,
    )
    assert validation_rules.check({"x": list(range(1000))}, None, node) == []


def test_defaults_do_not_multiply() -> None:
    """A large one for each of many items is refused; as many small ones are made."""
    for size, fits in ((10, True), (100_000, False)):
        item = {"type": "object", "properties": {"a": {"type": "string", "default": "x" * size}}}
        node = schema_parser.parse(
            {"type": "object", "properties": {"x": {"type": "array", "items": item}}}
        )
        body: dict[str, Any] = {"x": [{} for _ in range(60_000)]}
        with (
            soon(),
            nullcontext() if fits else pytest.raises(ApiError, match="Request entity too large"),
        ):
            pruning.default(body, node)
        assert ("a" in body["x"][-1]) is fits


@pytest.mark.parametrize(
    ("value", "factor", "fits"),
    [
        (1e308, 0.1, False),
        (1e308, 1e308, True),
        (1e300, 1e308, False),
        (1e-320, 0.1, False),
        (0.3, 0.1, True),
        (0.30000000000000004, 0.1, True),
        (0.7, 0.1, True),
        (0.75, 0.1, False),
        (7.5, 2.5, True),
        (123456789012345678, 3, True),
        (1, 3, False),
        (1, 0.1, False),
    ],
)
def test_multiples_are_the_api_servers(value: float, factor: float, fits: bool) -> None:
    """Asked of a kube-apiserver."""
    node = schema_parser.parse(
        {"type": "object", "properties": {"x": {"type": "number", "multipleOf": factor}}}
    )
    assert (pruning.validate({"x": value}, node, "") == []) is fits
