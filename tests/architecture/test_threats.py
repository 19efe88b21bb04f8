"""The threats that docs/security.md tells of are each held by a test that is there."""

from __future__ import annotations

import ast
import functools
import re
from typing import Final

import pytest

from tests.generate import ROOT

SECTION: Final = "## Who could try what"
_TEST: Final = re.compile(r"`([\w/]+\.py)::(test_\w+)`")


def rows() -> list[tuple[str, str, str]]:
    """What could be tried, what holds it, and the cell of tests."""
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    section = page.partition(f"{SECTION}\n")[2].partition("\n## ")[0]
    _, _, *found = [line for line in section.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in found]
    return [(tried, holds, tests) for _, tried, holds, tests in cells]


@functools.cache
def functions(file: str) -> frozenset[str]:
    """Those of a module."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(node.name for node in tree.body if isinstance(node, functions))


@pytest.mark.parametrize(("tried", "holds", "tests"), rows())
def test_what_holds_a_threat_is_tested(tried: str, holds: str, tests: str) -> None:
    """By tests that are there; where nothing holds it, that is said loudly."""
    named = _TEST.findall(tests)
    assert ", ".join(f"`{file}::{name}`" for file, name in named) == tests
    assert bool(named) is not holds.startswith("**")
    missing = [f"{file}::{name}" for file, name in named if name not in functions(file)]
    assert not missing


def test_there_are_threats() -> None:
    """The table is read."""
    assert len(rows()) > 30
