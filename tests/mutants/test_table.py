"""The table of mutants fits the source: a mutant that nobody can apply proves nothing."""

import pytest

from tests.mutants.mutant import ROOT, Mutant
from tests.mutants.table import MUTANTS


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_applies(mutant: Mutant) -> None:
    """What it replaces is there once, what comes of it is Python, and its tests exist."""
    compile(mutant.applied(), mutant.file, "exec")
    assert mutant.tests
    assert all((ROOT / test.partition("::")[0]).exists() for test in mutant.tests)


def test_names_differ() -> None:
    """One is chosen by its name."""
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
