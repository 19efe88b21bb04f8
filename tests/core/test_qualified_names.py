"""Qualified names are judged, and faulted, as Kubernetes does."""

from __future__ import annotations

import pytest

from moorage.core.qualified_names import is_qualified, problems

GOOD = ["cpu", "a", "A.b_c-9", "example.com/gpu", "a/b", "x" * 63, "a" * 253 + "/b"]
BAD = {
    "": "name part must be non-empty",
    "example.com/": "name part must be non-empty",
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
