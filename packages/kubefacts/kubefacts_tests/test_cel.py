"""CEL as Kubernetes has it: functions, errors, limits."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubefacts import cel
from kubefacts.cel import CELBudgetError, CELExpressionError, Environment
from kubefacts.cel_functions import CostMeter, quantity_value, semver_value

VARIABLES = {
    "x": cel.scalar("dyn"),
    "n": cel.scalar("int"),
    "texts": cel.list_of(cel.scalar("string")),
    "labels": cel.map_of(cel.scalar("string")),
}
ALL = Environment(VARIABLES)


@pytest.mark.parametrize(
    "text",
    [
        (
            'quantity("1.5Gi").add(quantity("512Mi")) == quantity("2Gi") && '
            'quantity("1").sub(2).sign() == -1'
        ),
        (
            'quantity("1500m").asApproximateFloat() == 1.5 && !quantity("1500m").isInteger() && '
            'quantity("2k").asInteger() == 2000'
        ),
        'isQuantity("1Gi") && !isQuantity("1Gx")',
        (
            'semver("1.0.0-alpha.9").isLessThan(semver("1.0.0-alpha.10")) && '
            'semver("1.0.0-9").isLessThan(semver("1.0.0-a"))'
        ),
        'semver("v01.2", true) == semver("1.2.0+build") && isSemver("v1", true) && !isSemver("v1")',
        'semver("1.2.3").compareTo(semver("1.2.3")) == 0 && semver("3.2.1").major() == 3',
        (
            'url("https://a.example:80/b%20c?d=e").getHostname() == "a.example" && '
            'url("https://a/?d=e").getQuery() == {"d": ["e"]}'
        ),
        (
            'ip("10.0.0.1").family() == 4 && cidr("10.0.0.0/8").containsIP("10.1.2.3") && '
            '!isIP("10.0.0.256")'
        ),
        (
            "sets.contains([1, 2], [2]) && sets.intersects([1], [1, 3]) && [1, 2].isSorted() && "
            "[1, [2]].flatten() == [1, 2]"
        ),
        (
            "[1, 2, 1].distinct() == [1, 2] && [1, 1].isSorted() && ![2, 1].isSorted() && "
            "[1, 2, 3].slice(1, 3) == [2, 3]"
        ),
        "[1, [2, [3]]].flatten() == [1, 2, [3]] && [[[1]]].flatten(2) == [1]",
        '"a1b22".findAll("[0-9]+") == ["1", "22"] && "ab".find("b") == "b"',
        '"a1b22".findAll("[0-9]", 2) == ["1", "2"] && "a1".findAll("[0-9]", 0) == []',
        '!isIP("::ffff:10.0.0.1") && !isIP("fe80::1%eth0") && !isCIDR("10.0.0.1")',
        (
            'ip("10.0.0.1").isGlobalUnicast() && !ip("0.0.0.0").isGlobalUnicast() && '
            '!ip("255.255.255.255").isGlobalUnicast() && !ip("ff02::1").isGlobalUnicast()'
        ),
        (
            'cidr("10.0.0.0/8").containsCIDR("10.1.0.0/16") && '
            '!cidr("10.0.0.0/8").containsCIDR("::/64")'
        ),
        (
            'cel.bind(a, n + 1, a == 4) && labels[?"nope"].orValue("") == "" && "A".lowerAscii() '
            '== "a"'
        ),
    ],
)
def test_what_kubernetes_says_is_true(text: str) -> None:
    """Of each library."""
    assert ALL.compile(text).test({"n": 3, "labels": {}}) is True


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('quantity("1 GB").sign() == 1', "quantities must match the regular expression"),
        ('quantity("1mm").sign() == 1', "unable to parse quantity's suffix"),
        ('semver("1.2").major() == 1', "No Major.Minor.Patch elements found"),
        ('semver("01.2.3").major() == 1', "01.2.3 is no semantic version"),
        ('quantity("1").isLessThan(semver("1.0.0"))', "no such overload"),
        ('{"semver": "x"}.isLessThan(semver("1.0.0"))', "no such overload"),
        ('"a".find("(") == ""', "Illegal regex: error parsing regexp: missing closing ): `(`"),
        ('labels["nope"] == ""', 'Key not found in map : "nope"'),
        ('quantity("1500m").asInteger() == 1', "cannot convert value to integer"),
        ('quantity("9223372036854775808").asInteger() == 1', "cannot convert value to integer"),
        ("[].max() == 1", "max called on empty list"),
        ("[1].slice(0, 2) == [1]", "cannot slice(0, 2), list is length 1"),
        ('isURL("a") || url("a").getPort() == ""', "URL parse error during conversion from string"),
        ("n", "CEL result of type INT could not be converted to bool"),
    ],
)
def test_what_has_no_answer_is_an_error(text: str, message: str) -> None:
    """Never false; the text says what is wrong, without the library's status."""
    with pytest.raises(CELExpressionError) as caught:
        ALL.compile(text).test({"n": 3, "labels": {}})
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    "text", ["n.", "unheard(1)", "texts + 1", "sets.contains([1], [1])", "\ud800"]
)
def test_what_does_not_compile_is_an_error(text: str) -> None:
    """Also what is of a library that an environment has not."""
    with pytest.raises(CELExpressionError):
        Environment(VARIABLES, libraries=("quantity",), extensions=()).compile(text)


def test_an_expression_has_a_type_and_a_tree() -> None:
    """For those who look into it before it is asked."""
    expression = ALL.compile("texts.size() + n")
    assert expression.result == "int"
    assert expression.serialize()
    assert expression.evaluate({"texts": ["a", "b"], "n": 3}) == 5


def test_no_expression_takes_for_ever() -> None:
    """The library counts iterations, and a meter what functions do."""
    text = "true"
    for name in "abcdef":
        text = f"[0, 1, 2, 3, 4, 5, 6, 7, 8, 9].all({name}, {text})"
    with pytest.raises(CELBudgetError):
        ALL.compile(text).evaluate({})
    meter = CostMeter()
    metered = Environment(VARIABLES, meter=meter).compile("x.distinct().size() > 0")
    assert metered.test({"x": [1, 2, 2]})
    assert meter.left < CostMeter.MAX_COST
    with pytest.raises(CELExpressionError, match=CostMeter.SPENT):
        metered.evaluate({"x": list(range(2000))})


BOUNDED = Environment(VARIABLES, libraries=(cel.BOUNDED,))


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ('"aaa".boundedReplace("a", "b")', "bbb"),
        ('"aaa".boundedReplace("a", "b", 2)', "bba"),
        ('"aaa".boundedReplace("a", "b", 0)', "aaa"),
        ('texts.boundedJoin("-")', "a-b"),
    ],
)
def test_what_stands_in_for_functions_of_the_library(text: str, result: str) -> None:
    """Within its bounds it does the same."""
    assert BOUNDED.compile(text).evaluate({"texts": ["a", "b"]}) == result


@pytest.mark.parametrize(
    "text",
    [
        "x.boundedReplace('a', x)",
        "[x, x].boundedJoin(x)",
        "boundedArguments([x, x, x, x, x, x, x, x, x, x])",
    ],
)
def test_no_function_makes_a_text_of_any_length(text: str) -> None:
    """Where the library's own would take all memory."""
    with pytest.raises(CELExpressionError, match=CostMeter.SPENT):
        BOUNDED.compile(text).evaluate({"x": "a" * 400_000})


@given(
    st.integers(-(10**12), 10**12),
    st.sampled_from(["", "m", "k", "Ki", "n"]),
    st.integers(-(10**6), 10**6),
)
def test_quantities_are_added_exactly(number: int, suffix: str, more: int) -> None:
    """And taken away again."""
    value = quantity_value(f"{number}{suffix}")
    assert ALL.compile("x.add(n).sub(n) == x").test({"x": value, "n": more})


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_no_value_breaks_an_expression(value: Any) -> None:
    """It is answered, or an error."""
    with contextlib.suppress(CELExpressionError):
        assert ALL.compile("x == x").evaluate({"x": value}) in (True, False)


def test_build_metadata_does_not_count() -> None:
    """Two versions that differ in it are one."""
    assert semver_value("1.2.3-rc.1+a") == semver_value("1.2.3-rc.1+b")
