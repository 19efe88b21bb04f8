"""How a mutant is tried: in a process of its own, which imports the changed code in the place of
the file. Those processes are forks of one that has imported what tests need besides our own code.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import CodeType, ModuleType
from typing import Final

import hypothesis
import pytest
from hypothesis import Phase

from tests.mutants.mutant import ROOT, Mutant

_SECONDS: Final = 300
_PASSED: Final = 100
_FAILED: Final = 101
"""pytest's exit statuses, plus 100: a fork that an error ends has status 1 too."""
_NOT_IMPORTED: Final = 99
"""The changed code was not: then nobody can notice it."""
_OPTIONS: Final = (
    "-xq",
    "-pno:cacheprovider",
    "-Wignore::pytest.PytestAssertRewriteWarning",  # of plugins that the forks have imported
    "--hypothesis-profile=mutants",
)

_forks: Final = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload(
    [
        "aiohttp",
        "anyio.pytest_plugin",
        "cryptography.x509",
        "hypothesis.stateful",
        "msgspec",
        "numpy",
        "pytest",
        "yaml",
    ]
)


def killed(mutant: Mutant) -> bool:
    """Whether a test fails with this change. Raises ValueError where tests could not be run.

    Tests of mutants run in one process: others that they start import the code unchanged.
    """
    status, said = _outcome(_Finder(mutant.module, mutant.path, mutant.applied()), mutant.tests)
    if status not in (None, _PASSED, _FAILED):
        raise ValueError(f"{mutant.name}: pytest ended with {status}:\n{said}")
    return status != _PASSED  # a test that waits for ever has noticed: suites end what hangs


def fault_unchanged(mutants: Iterable[Mutant]) -> str:
    """What pytest says where their tests fail although nothing is changed, "" where they pass."""
    tests = list(dict.fromkeys(test for mutant in mutants for test in mutant.tests))
    status, said = _outcome(None, tests)
    return "" if status == _PASSED else said


def _outcome(change: _Finder | None, tests: Sequence[str]) -> tuple[int | None, str]:
    """A fork's exit status, None when it took too long, and the end of what it said."""
    with tempfile.NamedTemporaryFile(prefix="moorage-mutant-") as output:
        process = _forks.Process(target=_run_tests, args=(change, tests, output.name))
        process.start()
        process.join(_SECONDS)
        if process.exitcode is None:
            process.kill()
            process.join()
            return None, f"no end after {_SECONDS} s"
        return process.exitcode, output.read().decode()[-4000:]


def _run_tests(change: _Finder | None, tests: Sequence[str], output: str) -> None:
    """In a fork: run these tests with this change."""
    with Path(output).open("w") as file:
        os.dup2(file.fileno(), sys.stdout.fileno())
        os.dup2(file.fileno(), sys.stderr.fileno())
    os.chdir(ROOT)
    # One example that fails is enough: nobody reads it, so it need not be small.
    hypothesis.settings.register_profile(
        "mutants", deadline=None, derandomize=True, phases=(Phase.explicit, Phase.generate)
    )
    status = pytest.main([*_OPTIONS, *tests], [] if change is None else [change])
    sys.exit(_NOT_IMPORTED if change is not None and not change.imported else _PASSED + status)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds one module with other code than its file has; a plugin of pytest."""

    def __init__(self, module: str, path: Path, code: str) -> None:
        self.imported = False
        self._module = module
        self._loader = _Loader(module, str(path), code)

    @pytest.hookimpl(tryfirst=True)
    def pytest_load_initial_conftests(self) -> None:
        """From here on it is asked first: also before pytest's own finder, which has been put there
        by now and takes the modules of packages that have plugins, as towtank does.
        """
        sys.meta_path.insert(0, self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._module:
            return None
        self.imported = True
        return importlib.util.spec_from_file_location(
            fullname, self._loader.path, loader=self._loader
        )


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads code as if it stood in the file."""

    def __init__(self, module: str, path: str, code: str) -> None:
        super().__init__(module, path)
        self._code = code

    def get_code(self, fullname: str) -> CodeType:
        return compile(self._code, self.path, "exec")
