"""Options in queries: what is refused, in a kube-apiserver's words, and where its limits are."""

from typing import Any

import pytest

from towtank_tests.in_memory import InMemoryCluster, content, node

NODES = "/api/v1/nodes"
MOST = 2**63 - 1
WHERE = (
    (f"{NODES}?limit=", "GET"),
    (f"{NODES}?watch=1&timeoutSeconds=", "GET"),
    (f"{NODES}/none?gracePeriodSeconds=", "DELETE"),
)
"""Numbers that are asked for."""


def said(method: str, path: str, body: Any = None) -> tuple[int, str]:
    """The code and the message, "" where it is no Status, that a cluster without nodes answers
    with.
    """
    answer = InMemoryCluster().ask(method, path, body)
    return answer.code, content(answer)["message"] if answer.code >= 400 else ""


@pytest.mark.parametrize(("path", "method"), WHERE)
@pytest.mark.parametrize("text", ["", "-", "+", "--1", "1.5", "1e3", " 1", "1_0", "٣", "0x1"])
def test_what_is_no_number_is_refused(path: str, method: str, text: str) -> None:
    """Nothing is none either."""
    assert said(method, path + text) == (
        400,
        f'strconv.ParseInt: parsing "{text}": invalid syntax',
    )


@pytest.mark.parametrize(("path", "method"), WHERE)
@pytest.mark.parametrize(
    "text", [str(MOST + 1), str(-MOST - 2), str(10**19), "1" + "0" * 5000], ids=len
)
def test_a_number_has_64_bits(path: str, method: str, text: str) -> None:
    """One beyond either end is out of range."""
    assert said(method, path + text) == (
        400,
        f'strconv.ParseInt: parsing "{text}": value out of range',
    )


@pytest.mark.parametrize(
    "text", [str(MOST), str(-MOST - 1), "0" * 5000 + "1", "+1", "-1", "-0"], ids=len
)
def test_a_number_may_be_spelt_like_this(text: str) -> None:
    """The largest, the smallest, with a sign or zeros before it."""
    assert said("GET", f"{NODES}?limit={text}") == (200, "")


def test_a_limit_is_read_as_it_is_meant() -> None:
    """Zeros before it do not count, and less than nothing is no limit."""
    asked = InMemoryCluster()
    for name in ("one", "two", "three"):
        assert asked.ask("POST", NODES, node(name)).code == 201
    for text, length in (("002", 2), ("+2", 2), ("-2", 3), ("0", 3)):
        assert len(content(asked.ask("GET", f"{NODES}?limit={text}"))["items"]) == length, text


@pytest.mark.parametrize(
    ("manager", "why"),
    [
        ("a" * 128, ""),
        ("a" * 129, "Too long: may not be more than 128 bytes"),
        ("é" * 64, ""),
        ("é" * 65, "Too long: may not be more than 128 bytes"),
        ("a\tb", 'Invalid value: "a\\tb": invalid character U+0009 (at position 1)'),
    ],
)
def test_a_manager_has_128_bytes_that_can_be_printed(manager: str, why: str) -> None:
    """Bytes of UTF-8."""
    answer = said("POST", f"{NODES}?fieldManager={manager}", node("one"))
    message = f'CreateOptions.meta.k8s.io "" is invalid: fieldManager: {why}'
    assert answer == ((422, message) if why else (201, ""))


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("dryRun=all", 'dryRun: Unsupported value: ["all"]: supported values: "All"'),
        (
            "fieldValidation=strict",
            (
                'fieldValidation: Unsupported value: "strict": supported values: "", "Ignore", '
                '"Strict", "Warn"'
            ),
        ),
    ],
)
def test_options_of_a_write_are_spelt_as_they_are(query: str, why: str) -> None:
    """In upper and lower case."""
    answer = said("POST", f"{NODES}?{query}", node("one"))
    assert answer == (422, f'CreateOptions.meta.k8s.io "" is invalid: {why}')


@pytest.mark.parametrize(
    ("query", "whys"),
    [
        ("resourceVersionMatch=Exact", ["is forbidden unless resourceVersion is provided"]),
        (
            "resourceVersionMatch=NotOlderThan&continue=token",
            [
                "is forbidden unless resourceVersion is provided",
                "is forbidden when continue is provided",
            ],
        ),
        (
            "resourceVersionMatch=Exact&resourceVersion=0",
            ['"exact" is forbidden for resourceVersion "0"'],
        ),
    ],
)
def test_a_match_is_of_a_version(query: str, whys: list[str]) -> None:
    """All that is wrong with it is told, before anything is looked for."""
    field = "resourceVersionMatch"
    listed = ", ".join(f"{field}: Forbidden: {field} {why}" for why in whys)
    told = f"[{listed}]" if len(whys) > 1 else listed
    assert said("GET", f"{NODES}?{query}") == (
        422,
        f'ListOptions.meta.k8s.io "" is invalid: {told}',
    )
