"""What README, docs and examples show is run."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from towtank.model.kinds import KUBERNETES
from towtank_tests.test_pytest_plugin import PROJECT, run_pytest

_FILE = re.compile(r"^`([\w.]+)`:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_kopf_page(tmp_path: Path) -> None:
    """Its files, as they stand there, pass."""
    pytest.importorskip("kopf")
    page = (PROJECT / "docs" / "test-your-kopf-operator.md").read_text(encoding="utf-8")
    files = dict(_FILE.findall(page))
    assert files.keys() == {"boat.yaml", "boat_operator.py", "conftest.py", "test_boats.py"}
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    code, output = run_pytest(tmp_path)
    assert (code, "4 passed" in output) == (0, True), output


def test_examples(tmp_path: Path) -> None:
    """Those whose library is installed; here all are."""
    listed = re.findall(
        r"\]\((test_(\w+)\.py)\)", (PROJECT / "examples" / "README.md").read_text(encoding="utf-8")
    )
    assert {name for name, _ in listed} == {
        file.name for file in (PROJECT / "examples").glob("*.py")
    }
    installed = [
        name for name, library in listed if importlib.util.find_spec(library.partition("_")[0])
    ]
    for name in installed:
        shutil.copy(PROJECT / "examples" / name, tmp_path)
    code, output = run_pytest(tmp_path)
    assert (code, f"{len(installed)} passed" in output) == (0, True), output


def test_the_readme(tmp_path: Path) -> None:
    """Its test, and its program."""
    test, program = _CODE.findall((PROJECT / "README.md").read_text(encoding="utf-8"))
    (tmp_path / "test_readme.py").write_text(test, encoding="utf-8")
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    code, output = run_pytest(tmp_path)
    assert (code, "1 passed" in output) == (0, True), output
    done = subprocess.run(
        (sys.executable, tmp_path / "program.py"),
        cwd=PROJECT / "src",
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.count("https://127.0.0.1:")) == (0, 2), done.stderr


def test_the_version_is_that_of_the_api() -> None:
    """Of Kubernetes' minor; pyproject.toml alone says it, and README shows it."""
    version = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["version"]
    assert version.split(".")[:2] == [str(number) for number in KUBERNETES[:2]]
    assert f"count of its own: {version}." in (PROJECT / "README.md").read_text(encoding="utf-8")
