"""Expressions on devices, as Kubernetes' CEL environment has them."""

from __future__ import annotations

import pytest

from kubefacts.cel import CELExpressionError
from kubefacts.cel_functions import quantity_value
from moorage.core.devices.device_cel import DeviceFacts, holds, semver

FACTS = DeviceFacts(
    "gpu.test",
    True,
    {
        "gpu.test": {
            "model": "a100",
            "index": 3,
            "healthy": True,
            "fw": semver("2.10.0-rc.1+build"),
        },
        "bus.test": {"numa": 0},
    },
    {"gpu.test": {"memory": quantity_value("80Gi")}},
)
MEMORY = 'device.capacity["gpu.test"].memory'
FIRMWARE = 'device.attributes["gpu.test"].fw'


@pytest.mark.parametrize(
    "text",
    [
        'device.driver == "gpu.test" && device.allowMultipleAllocations',
        'device.attributes["gpu.test"].model in ["h100", "a100"]',
        'device.attributes["gpu.test"].healthy',
        'device.attributes["gpu.test"].?nope.orValue(7) == 7',
        '"gpu.test" in device.attributes && !("nope.test" in device.attributes)',
        'has(device.attributes["bus.test"].numa) && !has(device.attributes["bus.test"].nope)',
        'cel.bind(a, device.attributes["gpu.test"], a.index > 2 && a.model.startsWith("a"))',
        'device.attributes["gpu.test"].model.lowerAscii().matches("^a[0-9]+$")',
        'device.attributes["nope.test"].size() == 0 && device.capacity["nope.test"].size() == 0',
        'device.attributes["nope.test"].?x.orValue(true)',
        f'{MEMORY}.isGreaterThan(quantity("40Gi")) && {MEMORY}.isLessThan(quantity("81Gi"))',
        f'{MEMORY}.compareTo(quantity("85899345920")) == 0 && {MEMORY} == quantity("80Gi")',
        f'{MEMORY}.sub(quantity("1Gi")).add(1) == quantity("84825604097")',
        f"{MEMORY}.sign() == 1 && {MEMORY}.isInteger() && {MEMORY}.asInteger() == 85899345920",
        'quantity("1500m").asApproximateFloat() == 1.5 && !quantity("1500m").isInteger()',
        'quantity("1").sub(2).sign() == -1 && quantity("0").sign() == 0',
        'isQuantity("1Gi") && !isQuantity("x") && isSemver("1.2.3") && !isSemver("1.2")',
        f'{FIRMWARE}.isGreaterThan(semver("2.9.9")) && {FIRMWARE}.isLessThan(semver("2.10.0"))',
        (
            f'{FIRMWARE}.compareTo(semver("2.10.0-rc.1")) == 0 && {FIRMWARE} == '
            f'semver("2.10.0-rc.1+other")'
        ),
        f"{FIRMWARE}.major() == 2 && {FIRMWARE}.minor() == 10 && {FIRMWARE}.patch() == 0",
        (
            'semver("1.0.0-alpha.9").isLessThan(semver("1.0.0-alpha.10")) && '
            'semver("1.0.0-9").isLessThan(semver("1.0.0-a"))'
        ),
        (
            "sets.contains([1, 2], [2]) && !sets.contains([1], [2]) && sets.equivalent([1, 2], "
            "[2, 1, 1]) && sets.intersects([1], [1, 3])"
        ),
        '!sets.intersects([1], ["a"]) && !sets.equivalent([1], [1, 2])',
        'device.attributes["gpu.test"].nope == 1 || true',
    ],
)
def test_true(text: str) -> None:
    """What Kubernetes says is true, and its negation is false."""
    assert holds(text, FACTS)
    assert not holds(f"!({text})", FACTS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('device.attributes["gpu.test"].nope', "CEL runtime error: no such key: nope"),
        ('device.attributes["nope.test"].x == 1', "CEL runtime error: no such key: x"),
        (
            "device.driver",
            "CEL runtime error: CEL result of type STRING could not be converted to bool",
        ),
        ("1", "CEL compile error: must evaluate to bool or the unknown type, not INT"),
        ("device.", "CEL compile error: compilation failed: ERROR: <input>:1:8: Syntax error"),
        (
            "unheard(1)",
            (
                "CEL compile error: compilation failed: ERROR: <input>:1:8: undeclared reference "
                "to 'unheard'"
            ),
        ),
        (
            'quantity("x").sign() == 1',
            "CEL runtime error: quantities must match the regular expression",
        ),
        ('semver("x").major() == 1', "CEL runtime error: No Major.Minor.Patch elements found"),
        (
            'quantity("1500m").asInteger() == 1',
            "CEL runtime error: cannot convert value to integer",
        ),
        ('quantity("1").isLessThan(semver("1.0.0"))', "CEL runtime error: no such overload"),
        ('semver("1.0.0").isLessThan(quantity("1"))', "CEL runtime error: no such overload"),
        ("device.attributes.major() == 1", "CEL runtime error: no such overload"),
    ],
)
def test_errors(text: str, message: str) -> None:
    """An expression that says nothing is an error, never false; its text tells what is wrong."""
    with pytest.raises(CELExpressionError) as raised:
        holds(text, FACTS)
    assert str(raised.value).startswith(message)


def test_endless_expressions_end() -> None:
    """There is a budget of iterations."""
    text = "true"
    for name in "abcdef":
        text = f"[0, 1, 2, 3, 4, 5, 6, 7, 8, 9].all({name}, {text})"
    with pytest.raises(CELExpressionError, match="CEL runtime error: Iteration budget exceeded"):
        holds(text, FACTS)


def test_faulty_device() -> None:
    """Nothing can be said of a device whose attributes can't be read, but that an expression does
    not compile.
    """
    facts = DeviceFacts("gpu.test", False, {}, {}, "attribute fw: unreadable")
    assert facts.evaluate("true") == "CEL runtime error: attribute fw: unreadable"
    assert str(facts.evaluate("1")).startswith("CEL compile error")


def test_answers_are_remembered_within_bounds() -> None:
    """Two thousand texts later the first one is still answered, and not all of them are kept."""
    facts = DeviceFacts("gpu.test", False, {}, {})
    for i in range(2000):
        assert facts.evaluate(f'device.driver == "{i}"') is False
    assert facts.evaluate('device.driver == "gpu.test"') is True
    assert len(facts._results) < 1100
