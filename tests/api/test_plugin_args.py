"""Arguments that are expressions: what is told of bad ones, and that slow ones are refused by what
was measured.
"""

from __future__ import annotations

import time
from typing import Any

import pytest

from moorage.api import plugin_args
from moorage.api.decoding import DecodeError
from moorage.api.resolution import Resolver
from moorage.core.framework.arguments import Violation
from moorage.core.framework.registry import build_registry
from moorage.core.plugins.intree import INTREE, PRESETS

REGISTRY = build_registry(INTREE)
RESOLVER = Resolver(REGISTRY, PRESETS)
TEN = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]"


def looped(depth: int, inner: str) -> str:
    """An expression of 10 ** ``depth`` iterations."""
    for i in range(depth):
        inner = f"{TEN}.all(x{i}, {inner})"
    return inner


def decoded(*expressions: Any, trusted: bool = False) -> Any:
    """Arguments with these filters."""
    return plugin_args.decode(
        REGISTRY["CEL"], {"filters": [{"expression": one} for one in expressions]}, trusted=trusted
    )


SLOW = {
    "constants": looped(4, "true"),
    "a whole list": (
        "node.spec.taints.all(a, node.spec.taints.all(b, node.spec.taints.all(c, "
        "node.spec.taints.all(d, a.key != 'x'))))"
    ),
    "all labels": "node.metadata.labels.all(a, node.metadata.labels.all(b, a + b != ''))",
    "beyond the budget": looped(6, "true"),
    "a hard pattern": (
        "node.metadata.annotations.all(k, node.metadata.annotations[k].matches('(a?){300}a{300}b'))"
    ),
}


@pytest.mark.parametrize("text", SLOW.values(), ids=SLOW)
def test_slow_expressions_are_refused(text: str) -> None:
    """With the field, the measured time and the limit; what was good before is not measured."""
    with pytest.raises(DecodeError) as raised:
        decoded("true", text)
    (violation,) = raised.value.violations
    assert violation.path == "filters[1].expression"
    measured, limit = (int(word) for word in violation.message.split() if word.isdecimal())
    assert measured > limit == 250
    assert decoded("true", text, trusted=True).filters[1].expression == text


@pytest.mark.parametrize(
    "text",
    [
        "(" * 4096,
        "!" * 4095 + "x",
        "[" * 2048 + "]" * 2048,
        "{" * 100,
        "a." * 2047 + "b",
        "'" + "\\x00" * 1000 + "' == node.metadata.name",
        "cel.bind(a, " * 28 + "node.metadata.name" + ", a + a)" * 28 + " == ''",
        "cel.bind(z, " + "cel.bind(a, " * 28 + "['x']" + ", [a, a])" * 28 + ", z == z)",
        "\x00\x01",
        "node.metadata.name.matches('(((a{1000}){1000}){1000}){1000}')",
        "9223372036854775807 + 1 > 0",
    ],
    ids=range(11),
)
def test_hostile_expressions_are_no_more_than_refused(text: str) -> None:
    """Within a moment, whatever they are: the process has other things to do."""
    began = time.monotonic()
    assert {violation.path for violation in violations(text)} <= {"filters[0].expression"}
    assert time.monotonic() - began < 1


def violations(text: str) -> tuple[Violation, ...]:
    """What is wrong with arguments that have this filter."""
    try:
        decoded(text)
    except DecodeError as error:
        return error.violations
    return ()


def test_one_slow_expression_is_enough() -> None:
    """The others are not even tried: each would hold up whoever waits."""
    with pytest.raises(DecodeError) as raised:
        decoded("true", *SLOW.values())
    assert [violation.path for violation in raised.value.violations] == ["filters[1].expression"]


@pytest.mark.parametrize(
    ("args", "wanted"),
    [
        pytest.param(
            {"filters": [{"expression": ""}]},
            "args.filters[0].expression: '': should have at least 1 character",
            id="empty",
        ),
        pytest.param(
            {"filters": [{"expression": "x" * 4097}]},
            "should have at most 4096 characters",
            id="long",
        ),
        pytest.param(
            {"filters": [{"message": "m"}]},
            "args.filters[0].expression: None: Required value",
            id="none",
        ),
        pytest.param(
            {"scores": [{"expression": "1", "weight": 0}]},
            "args.scores[0].weight: 0: not in valid range [1, 100]",
            id="weight",
        ),
        pytest.param(
            {"filter": []},
            "args.filter: '[…]': unknown field; did you mean \"filters\"?",
            id="misspelt",
        ),
        pytest.param(
            {"filters": [{"expression": "true"}] * 33},
            "args: 33: must be at most 32 expressions in all",
            id="many",
        ),
        pytest.param(
            {"filters": [{"expression": "1 ==\n  node.nam"}]},
            "'1 ==\\n  node.nam': 2:7: undeclared reference to 'node.nam'",
            id="place",
        ),
    ],
)
def test_bad_configs_are_told_with_path_value_and_place(args: dict[str, Any], wanted: str) -> None:
    """By the PluginConfig itself, and at the profile's reference to it."""
    metadata = {"name": "rules", "uid": "u", "generation": 1}
    config = {
        "apiVersion": "moorage.dev/v1alpha1",
        "kind": "PluginConfig",
        "metadata": metadata,
        "spec": {"plugin": "CEL", "args": args},
    }
    (error,) = RESOLVER.config_errors(config)
    assert wanted in str(error)
    spec = {"pluginConfig": [{"name": "CEL", "configRef": {"name": "rules"}}]}
    profile = {
        "apiVersion": "moorage.dev/v1alpha1",
        "kind": "SchedulerProfile",
        "metadata": {"name": "p", "uid": "p", "generation": 1},
        "spec": spec,
    }
    (fault,) = RESOLVER(profile, {"rules": config}).errors
    assert wanted in str(fault)
    assert fault.path == "pluginConfig[0].configRef.name"
