"""The table of mutants fits the source: a mutant that nobody can apply proves nothing."""

import ast

import pytest

from tests.architecture.sources import Source, sources
from tests.mutants.mutant import ROOT, Mutant
from tests.mutants.table import MUTANTS

ROOMS = ("core", "kubefacts", "towtank")
"""Whose modules have mutants, each of them that is long."""
MOST_LINES_WITHOUT = 100
"""Of functions' bodies."""
EXEMPT: dict[str, str] = {}
"""Longer modules without a mutant, each with its reason."""


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_applies(mutant: Mutant) -> None:
    """What it replaces is there once, what comes of it is Python, and its tests exist."""
    compile(mutant.applied(), mutant.file, "exec")
    assert mutant.tests
    assert all(is_there(test) for test in mutant.tests)


def is_there(test: str) -> bool:
    """Whether a file has this test."""
    file, _, name = test.partition("::")
    return name.partition("::")[0] in (ROOT / file).read_text()


def test_names_differ() -> None:
    """One is chosen by its name."""
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)


def test_long_modules_have_mutants() -> None:
    """Of each it is known, then, that its tests notice when a rule of it is gone."""
    tried = {mutant.module.removeprefix("moorage.") for mutant in MUTANTS}
    without = {
        source.module
        for source in sources()
        if source.layer in ROOMS
        and source.module not in tried
        and logic(source) > MOST_LINES_WITHOUT
    }
    assert without == set(EXEMPT)


def logic(source: Source) -> int:
    """How many lines the bodies of its functions have, without docstrings."""
    return len(
        {
            line
            for _, function in source.functions()
            for statement in function.body[ast.get_docstring(function) is not None :]
            for line in range(statement.lineno, (statement.end_lineno or 0) + 1)
        }
    )
