"""Names are judged, and faulted, as Kubernetes does."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kubefacts import names
from kubefacts.names import is_qualified, qualified_name

GOOD = ["cpu", "a", "A.b_c-9", "example.com/gpu", "a/b", "x" * 63, "a" * 253 + "/b"]
BAD = {
    "/gpu": "prefix part must be non-empty",
    "-a": "name part must consist of alphanumeric characters",
    "a b": "name part must consist of alphanumeric characters",
    "x" * 64: "name part must be no more than 63 bytes",
    "Example.com/gpu": "prefix part a lowercase RFC 1123 subdomain must consist of",
    "a..b/gpu": "prefix part a lowercase RFC 1123 subdomain must consist of",
    "a/b/" + "c" * 64: "a valid label key must consist of alphanumeric characters",
    "a" * 254 + "/b": "prefix part must be no more than 253 bytes",
    "a/b/c": "a valid label key must consist of alphanumeric characters",
    "é": "name part must consist of",
}


@pytest.mark.parametrize("name", GOOD)
def test_good(name: str) -> None:
    """Nothing is wrong with these."""
    assert is_qualified(name)


@pytest.mark.parametrize("name", BAD)
def test_bad(name: str) -> None:
    """Each has one problem."""
    (problem,) = qualified_name(name)
    assert problem.startswith(BAD[name])
    assert not is_qualified(name)


NAME = "name part must consist of"
TWICE_BAD = {
    "": ["name part must be non-empty", NAME],
    "example.com/": ["name part must be non-empty", NAME],
    "_" * 64: ["name part must be no more than 63 bytes", NAME],
    "A" * 254 + "/b": [
        "prefix part must be no more than 253 bytes",
        "prefix part a lowercase RFC 1123 subdomain must consist of",
    ],
    "/": ["prefix part must be non-empty", "name part must be non-empty", NAME],
}


@pytest.mark.parametrize("name", TWICE_BAD)
def test_bad_in_several_ways(name: str) -> None:
    """Length and form are faults of their own."""
    found = qualified_name(name)
    assert len(found) == len(TWICE_BAD[name])
    assert all(
        problem.startswith(start) for problem, start in zip(found, TWICE_BAD[name], strict=True)
    )


SUBDOMAIN, LABEL = "a lowercase RFC 1123 subdomain must", "a lowercase RFC 1123 label must"


@pytest.mark.parametrize(
    ("judge", "name", "starts"),
    [
        (names.dns_subdomain, "a.b-c", []),
        (names.dns_subdomain, "a" * 253, []),
        (names.dns_subdomain, "a" * 254, ["must be no more than 253 characters"]),
        (names.dns_subdomain, "A" * 254, ["must be no more than 253 characters", SUBDOMAIN]),
        (names.dns_subdomain, "", [SUBDOMAIN]),
        (names.dns_label, "a-b", []),
        (names.dns_label, "a" * 63, []),
        (names.dns_label, "a.b", ["must not contain dots"]),
        (names.dns_label, "a" * 64, ["must be no more than 63 characters"]),
        (names.dns_label, "a\n", [LABEL]),
        (names.path_segment, "a:b", []),
        (names.path_segment, "..", ["may not be '..'"]),
        (names.path_segment, "a/b%", ["may not contain '/'", "may not contain '%'"]),
    ],
)
def test_names_of_objects(judge: Callable[[str], list[str]], name: str, starts: list[str]) -> None:
    """What is wrong with them, in the API server's words."""
    found = judge(name)
    assert len(found) == len(starts)
    assert all(problem.startswith(start) for problem, start in zip(found, starts, strict=True))
