"""The mutants, by the mechanism that each takes out."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

MUTANTS: Final = (
    Mutant(
        name="undo: an assumed pod stays when its binding fails",
        file="core/cycle.py",
        old="        cache.forget(placement.pod.metadata.uid)\n",
        new="        pass\n",
        tests=("tests/engine/test_binding.py",),
    ),
    Mutant(
        name="fence: never closed by time",
        file="ports/fencing.py",
        old="return self._boottime() < self._deadline",
        new="return True",
        tests=("tests/adapters/test_lease.py", "tests/adapters/test_kube_writes.py"),
    ),
)
