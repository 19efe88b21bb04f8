"""Qualified names are judged, and faulted, as Kubernetes does."""

from __future__ import annotations

import pytest

from kubefacts.names import is_qualified, problems

GOOD = ["cpu", "a", "A.b_c-9", "example.com/gpu", "a/b", "x" * 63, "a" * 253 + "/b"]
BAD = {
    "/gpu": "prefix part must be non-empty",
    "-a": "name part must consist of alphanumeric characters",
    "a b": "name part must consist of alphanumeric characters",
    "x" * 64: "name part must be no more than 63 bytes",
    "Example.com/gpu": "prefix part a lowercase RFC 1123 subdomain must consist of",
    "a..b/gpu": "prefix part a lowercase RFC 1123 subdomain must consist of",
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
    (problem,) = problems(name)
    assert problem.startswith(BAD[name])
    assert not is_qualified(name)


NAME = "name part must consist of"
TWICE_BAD = {
    "": ["name part must be non-empty", NAME],
    "example.com/": ["name part must be non-empty", NAME],
    "_" * 64: ["name part must be no more than 63 bytes", NAME],
    "A" * 254 + "/b": ["prefix part must be no more than 253 bytes", "prefix part a lowercase RFC 1123 subdomain must consist of"],
    "/": ["prefix part must be non-empty", "name part must be non-empty", NAME],
}


@pytest.mark.parametrize("name", TWICE_BAD)
def test_bad_in_several_ways(name: str) -> None:
    """Length and form are faults of their own."""
    found = problems(name)
    assert len(found) == len(TWICE_BAD[name])
    assert all(problem.startswith(start) for problem, start in zip(found, TWICE_BAD[name], strict=True))
