"""Expressions on variables of one's own: what they read, where they are wrong, and that none of
them can grow without bounds.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubefacts.cel import CELExpressionError
from moorage.core.plugins.cel.program import Variables, VariableType, compile_program

VARIABLES: Variables = (
    ("node.name", VariableType.TEXT),
    ("node.labels", VariableType.TEXTS),
    ("node.amounts", VariableType.NUMBERS),
    ("node.taints", VariableType.RECORDS),
    ("node.ready", VariableType.FLAG),
    ("pod.priority", VariableType.NUMBER),
    ("pod.containers", VariableType.DOCUMENTS),
)
VALUES: dict[str, Any] = {
    "node.name": "n1",
    "node.labels": {"gpu": "a100", "zone": "z1", "n1": "self"},
    "node.amounts": {"cpu": 4000, "pods": 3},
    "node.taints": [{"key": "k", "value": "v"}],
    "node.ready": True,
    "pod.priority": 7,
    "pod.containers": [{"image": "app:1", "resources": {"requests": {"cpu": "2"}}}],
}
ALL = None
TOGETHER = "may not stand in what a macro goes through, or in what cel.bind binds"


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ("true", {}),
        ('node.name == "n1"', {"node.name": ALL}),
        ('node.labels.gpu == "a100"', {"node.labels": {"gpu"}}),
        (
            'node.labels["gpu"] == "a100" && node.labels.zone == "z1"',
            {"node.labels": {"gpu", "zone"}},
        ),
        ('has(node.labels.gpu) && "zone" in node.labels', {"node.labels": {"gpu", "zone"}}),
        (
            'node.labels[?"gpu"].orValue("") == "a100" && node.labels.?x.orValue("y") == "y"',
            {"node.labels": {"gpu", "x"}},
        ),
        ("node.labels.size() == 3", {"node.labels": ALL}),
        ('node.labels.gpu == "a100" && node.labels.size() == 3', {"node.labels": ALL}),
        ('node.labels[node.name] == "self"', {"node.labels": ALL, "node.name": ALL}),
        ("node.name in node.labels", {"node.labels": ALL, "node.name": ALL}),
        ('node.labels.all(key, node.labels[key] != "")', {"node.labels": ALL}),
        ("node.amounts.cpu / 1000 > node.amounts.pods", {"node.amounts": {"cpu", "pods"}}),
        ('node.taints.exists(node, node.key == "k")', {"node.taints": ALL}),
        ('node.taints[0].key == "k"', {"node.taints": ALL}),
        (
            (
                'pod.containers.all(c, c.image.startsWith("app") && '
                'quantity(c.resources.requests.cpu).isLessThan(quantity("3")))'
            ),
            {"pod.containers": ALL},
        ),
        (
            'cel.bind(gpu, node.labels.gpu, gpu == "a100" || gpu == "h100")',
            {"node.labels": {"gpu"}},
        ),
        (
            '{"a": [node.name, string(pod.priority)]}["a"] == ["n1", "7"]',
            {"node.name": ALL, "pod.priority": ALL},
        ),
        (
            'node.ready ? node.labels.gpu == "a100" : -1.5 < 0.0',
            {"node.ready": ALL, "node.labels": {"gpu"}},
        ),
        ('node.taints.map(t, t.key + "=" + t.value) == ["k=v"]', {"node.taints": ALL}),
        ('"node-" + node.name == "node-n1"', {"node.name": ALL}),
    ],
)
def test_reads(text: str, reads: dict[str, set[str] | None]) -> None:
    """Entries with constant keys where only such are read, else all; what is true of everything is
    true of just that.
    """
    program = compile_program(text, VARIABLES)
    assert dict(program.reads) == reads
    assert program.result == "bool"
    assert program.evaluate(VALUES) is True
    assert program.evaluate(shown(program.reads)) is True


def shown(reads: Any) -> dict[str, Any]:
    """Only what is read."""
    return {
        name: VALUES[name] if keys is None else {k: v for k, v in VALUES[name].items() if k in keys}
        for name, keys in reads.items()
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "1:1: Syntax error: mismatched input '<EOF>'"),
        ("node.name ==", "1:13: Syntax error"),
        ("node.nam == 'n1'", "1:5: undeclared reference to 'node.nam'"),
        (
            "true &&\n  node.labels.gpu == 1",
            "2:19: found no matching overload for '_==_' applied to '(string, int)'",
        ),
        ("node == 1", "1:1: undeclared reference to 'node'"),
        ("node.name.unheard()", "1:18: undeclared reference to 'unheard'"),
        ("'é' == node.nam", "1:12: undeclared reference to 'node.nam'"),
        ("'a'.replace('a', 'b') == ''", "1:12: undeclared reference to 'replace'"),
        ("sets.contains([1], [1])", "1:1: undeclared reference to 'sets'"),
        ("(" * 40 + "true" + ")" * 40, "Expression recursion limit exceeded"),
        ("1" + "+1" * 100 + " > 0", "Exceeded max recursion depth of 32 when parsing."),
        ("'\ud800' == node.name", "is no text"),
    ],
)
def test_what_does_not_compile(text: str, message: str) -> None:
    """The text begins with line:column, counted in characters, where the library tells."""
    with pytest.raises(CELExpressionError) as raised:
        compile_program(text, VARIABLES)
    assert str(raised.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cel.bind(a, node.name + 'x', a == '')", "1:23: + on anything but numbers"),
        (
            "cel.bind(a, 'x',\n cel.bind(b, [a, a], b == b))",
            "2:15: a list or map with a macro's variable in it",
        ),
        (
            "cel.bind(a, 'x', cel.bind(b, {'l': a, 'r': a}, b == b))",
            "1:36: a list or map with a macro's variable in it",
        ),
        (
            "[1, 2].all(x, [x, x].all(y, y == 1))",
            "1:16: a list or map with a macro's variable in it",
        ),
        ("node.taints.map(t, t.key).exists(k, k == 'k')", "1:16: a macro"),
        ("cel.bind(a, [[1]].map(x, [x, x]), a == a)", "1:22: a macro"),
        ("cel.bind(a, cel.bind(b, 'x', b), a == a)", "1:21: a macro"),
        (
            "pod.containers.all(c, cel.bind(n, c.image + c.image, n == ''))",
            "1:43: + on anything but numbers",
        ),
        ("cel.bind(a, b'x' + b'y', a == a)", "1:18: + on anything but numbers"),
        ("([1] + [2]).all(x, x > 0)", "1:6: + on anything but numbers"),
    ],
)
def test_what_could_grow_without_bounds(text: str, message: str) -> None:
    """What is looped over or bound is not put together there: thirty times over, a letter would be
    a gigabyte.
    """
    with pytest.raises(CELExpressionError) as raised:
        compile_program(text, VARIABLES)
    assert str(raised.value).startswith(message)
    assert str(raised.value).endswith(TOGETHER)


@pytest.mark.parametrize(
    "text",
    [
        "cel.bind(a, pod.priority + 1, a == 8)",
        "cel.bind(a, [1, 2, pod.priority], a.exists(x, x == 7))",
        "[1, 2].all(x, [1, 2].exists(y, x + y > 2))",
        "cel.bind(a, {'a100': 80}, a[node.labels.gpu] == 80)",
    ],
)
def test_what_can_be_bound_or_looped_over(text: str) -> None:
    """What is written down, or taken from variables."""
    assert compile_program(text, VARIABLES).evaluate(VALUES) is True


@pytest.mark.parametrize(
    ("text", "values", "message"),
    [
        ("node.labels.gpu == ''", {"node.labels": {}}, "no such key: gpu"),
        ("1 / pod.priority == 1", {"pod.priority": 0}, "divide by zero"),
        ("int(node.name) == 1", {"node.name": "x"}, "cannot convert string to int"),
        (
            "node.amounts.cpu * 9223372036854775807 > 0",
            {"node.amounts": {"cpu": 2}},
            "integer overflow",
        ),
        ("node.name.matches('(')", {"node.name": "x"}, "invalid regular expression"),
        ("node.taints[3].key == ''", {"node.taints": []}, "Index error: index=3 size=0"),
        ("pod.containers[0].image == ''", {"pod.containers": [{}]}, "no such key: image"),
        ("node.name == 'x'", {}, 'No value with name "node.name" found in Activation'),
    ],
)
def test_what_fails(text: str, values: dict[str, Any], message: str) -> None:
    """It says nothing, and why."""
    with pytest.raises(CELExpressionError) as raised:
        compile_program(text, VARIABLES).evaluate(values)
    assert message in str(raised.value)


def test_endless_expressions_end() -> None:
    """There is a budget of iterations."""
    text = "true"
    for name in "abcdef":
        text = f"[0, 1, 2, 3, 4, 5, 6, 7, 8, 9].all({name}, {text})"
    with pytest.raises(CELExpressionError, match="Iteration budget exceeded"):
        compile_program(text, VARIABLES).evaluate({})


KEYS = st.sampled_from(["gpu", "zone", "n1", "none"])
TEXTS = st.one_of(
    KEYS.map(lambda key: f"node.labels.{key}"),
    KEYS.map(lambda key: f'node.labels["{key}"]'),
    KEYS.map(lambda key: f'node.labels[?"{key}"].orValue("none")'),
    st.sampled_from(
        [
            "node.name",
            "node.labels[node.name]",
            '"a100"',
            "node.taints.map(t, t.key)[0]",
            "cel.bind(l, node.labels, l.zone)",
        ]
    ),
)
FLAGS = st.recursive(
    st.one_of(
        st.tuples(TEXTS, TEXTS).map(lambda two: f"{two[0]} == {two[1]}"),
        TEXTS.map(lambda text: f"{text} in node.labels"),
        KEYS.map(lambda key: f"has(node.labels.{key})"),
        TEXTS.map(lambda text: f"node.taints.exists(t, t.key == {text})"),
        KEYS.map(lambda key: f"[node.labels.{key}].all(x, x.size() > 2)"),
    ),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["&&", "||", "=="]), inner).map(
            lambda three: f"({three[0]}) {three[1]} ({three[2]})"
        ),
        inner.map(lambda one: f"!({one})"),
        st.tuples(inner, inner, inner).map(
            lambda three: f"({three[0]}) ? ({three[1]}) : ({three[2]})"
        ),
    ),
    max_leaves=6,
)


@given(FLAGS)
def test_what_is_read_decides(text: str) -> None:
    """Shown all values, or only those that it is said to read, an expression says the same, or
    fails of the same.
    """
    program = compile_program(text, VARIABLES)
    assert said(program, VALUES) == said(program, shown(program.reads))


def said(program: Any, values: dict[str, Any]) -> object:
    """The answer, or the error's text."""
    try:
        return program.evaluate(values)
    except CELExpressionError as error:
        return str(error)
