"""On which Pythons the suites run, and that the distributions say no more than that."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

from tests.rig.operators import ROOT
from tests.tools import pythons

PROJECTS = [ROOT / "pyproject.toml", *sorted(ROOT.glob("packages/*/pyproject.toml"))]
OWN = f"{sys.version_info[0]}.{sys.version_info[1]}"


@pytest.mark.parametrize("path", PROJECTS, ids=lambda path: path.parent.name)
def test_classifiers(path: Path) -> None:
    """Those versions on which the suites have passed."""
    project = tomllib.loads(path.read_text())["project"]
    beginning = "Programming Language :: Python :: "
    found = [one.removeprefix(beginning) for one in project["classifiers"] if beginning in one]
    assert tuple(found) == pythons.TESTED
    assert project["requires-python"] == f">={pythons.TESTED[0]}"


def test_interpreters_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that does not, or is of another version than its name says, is passed over."""
    for version, text in (("3.99.1", "exit 1"), ("3.98.0", "echo 3.97")):
        program = tmp_path / "versions" / version / "bin" / "python"
        program.parent.mkdir(parents=True)
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    assert list(pythons.interpreters("3.99")) == []
    assert list(pythons.interpreters("3.98")) == []
    assert next(pythons.interpreters(OWN))


def test_pyenv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its versions are found, the newest first."""
    for version in ("3.98.1", "3.98.2"):
        program = tmp_path / "versions" / version / "bin" / "python"
        program.parent.mkdir(parents=True)
        program.write_text("#!/bin/sh\necho 3.98\n")
        program.chmod(0o755)
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    newest, older = pythons.interpreters("3.98")
    assert ("3.98.2" in newest, "3.98.1" in older) == (True, True)
