"""The wheels of a release, in a fresh virtual environment, on a machine that has nothing else."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from moorage import __version__
from moorage.apps import resources
from tests.rig.operators import ROOT
from tests.stories.pages import Command, steps
from tests.stories.test_stories import Reader

_NO_CHECK = ("--disable-pip-version-check",)


def run(*command: str | Path, cwd: Path = ROOT, **environment: str) -> str:
    """What a command prints; with its complaints when it fails."""
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env=environment or None,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `make release` wrote."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "tests.tools.release", "--into", folder)
    return folder


@pytest.fixture(scope="module")
def moorage(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command, installed as a user would, with the versions that are pinned."""
    folder = tmp_path_factory.mktemp("install")
    run(sys.executable, "-I", "-m", "venv", folder)
    pip = (folder / "bin" / "python", "-m", "pip", "install", "--quiet", *_NO_CHECK)
    run(*pip, "--require-hashes", "-r", ROOT / "requirements" / "run.txt")
    run(*pip, "--no-deps", "--no-index", *dist.glob("*.whl"))
    return folder / "bin" / "moorage"


class Alone(NamedTuple):
    """A reader's machine without a cluster."""

    environment: Mapping[str, str]
    kubeconfig: Path


def test_the_first_page_of_the_docs(moorage: Path, tmp_path: Path) -> None:
    """Followed without kubectl, without a home, in any folder. The home stays empty."""
    home, temporary, folder = (tmp_path / name for name in ("home", "tmp", "folder"))
    for each in (home, temporary, folder):
        each.mkdir()
    machine = Alone({"HOME": str(home), "TMPDIR": str(temporary)}, home / "no-kubeconfig")
    reader = Reader(machine, moorage.parent, folder, "index.md", checkout=())
    page = list(steps((ROOT / "docs" / "index.md").read_text(encoding="utf-8")))
    assert any(isinstance(step, Command) and "demo" in step.text for step in page)
    for step in page:
        reader.do(step)
    assert not [*home.iterdir(), *temporary.iterdir()]


def test_the_commands(moorage: Path) -> None:
    """They say which version they are of, and have the CRDs with them."""
    assert run(moorage, "version").strip() == f"moorage {__version__}"
    kinds = [each["spec"]["names"]["kind"] for each in yaml.safe_load_all(run(moorage, "crds"))]
    assert kinds == ["PluginConfig", "SchedulerProfile"]


def test_pinned_versions_are_those_that_the_wheel_wants(moorage: Path) -> None:
    """Pip finds nothing missing and no conflict."""
    assert (
        run(
            moorage.with_name("python"), "-m", "pip", "check", "--disable-pip-version-check"
        ).strip()
        == "No broken requirements found."
    )


def test_the_page_is_in_the_wheel(moorage: Path) -> None:
    """Every file of the checkout's, licences included."""
    listed = (
        "import importlib.resources as r; root = r.files('moorage.apps.ui') / 'static'; "
        "found = [p for p in root.rglob('*') if p.is_file()]; "
        "print(*sorted(str(p.relative_to(root)) for p in found), sep='\\n')"
    )
    static = ROOT / "operator" / "moorage" / "apps" / "ui" / "static"
    wanted = sorted(str(path.relative_to(static)) for path in static.rglob("*") if path.is_file())
    assert "index.html" in wanted
    assert run(moorage.with_name("python"), "-I", "-c", listed).split("\n")[:-1] == wanted


def test_the_variants_go_with_it(moorage: Path) -> None:
    """They are what the checkout has, with the CRDs."""
    read = "from moorage.apps import resources; print(resources.variant('ha'), end='')"
    assert run(moorage.with_name("python"), "-I", "-c", read) == resources.variant("ha")
