"""Everything that is installed is pinned and hashed, and said once."""

import re
import tomllib
from typing import Final

import pytest

from tests.architecture.sources import ROOT, sources

FOLDER: Final = ROOT / "requirements"
_PIN: Final = re.compile(r"(?P<name>[a-z0-9.-]+)==(?P<version>\S+)( ; .+)? \\")
_HASH: Final = re.compile(r"--hash=sha256:[0-9a-f]{64}")


def pins(name: str) -> dict[str, str]:
    """Package -> version of a requirements file. Fails on a line that is neither a pin, a hash nor
    a comment, and on a pin without hash.
    """
    found: dict[str, str] = {}
    hashes: dict[str, int] = {}
    package = ""
    for line in (FOLDER / name).read_text().splitlines():
        text = line.strip()
        if pin := _PIN.fullmatch(text):
            package = pin["name"]
            found[package] = pin["version"]
        elif _HASH.fullmatch(text.removesuffix(" \\")):
            hashes[package] = hashes.get(package, 0) + 1
        else:
            assert text.startswith("#") or not text, f"{name}: {text}"
    assert found.keys() == hashes.keys()
    return found


def ranges(name: str) -> set[str]:
    """The requirements of an .in file without comments and white space."""
    lines = (
        line.partition("#")[0].replace(" ", "").replace('"', "'")
        for line in (FOLDER / name).read_text().splitlines()
    )
    return {line for line in lines if line}


@pytest.mark.parametrize("name", ["build.txt", "run.txt", "tune.txt", "dev.txt"])
def test_requirements_are_pinned_and_hashed(name: str) -> None:
    """Every package has one version and its hashes, and no line says where from."""
    assert len(pins(name)) > 3


def test_tests_run_with_what_users_run() -> None:
    """The development environment is the run-time one, with all extras, what builds, and more."""
    assert pins("build.txt").items() <= pins("dev.txt").items()
    assert pins("run.txt").items() <= pins("tune.txt").items() <= pins("dev.txt").items()


def test_the_extras_ask_for_what_is_pinned() -> None:
    """Each has a file of its own, which stands on run.in."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    assert extras
    for name, asked in extras.items():
        assert {one.replace(" ", "") for one in asked} == ranges(f"{name}.in") - {"-rrun.in"}


def test_the_distributions_ask_for_what_is_pinned() -> None:
    """run.in names the ranges of all of them, and each names the ones of this repository that it
    stands on.
    """
    projects = [
        tomllib.loads(path.read_text())["project"]
        for path in (ROOT / "pyproject.toml", *ROOT.glob("packages/*/pyproject.toml"))
    ]
    asked = {
        requirement.replace(" ", "")
        for project in projects
        for requirement in project["dependencies"]
    }
    others = [project for project in projects if project["name"] != "moorage"]
    ours = {f"{project['name']}=={project['version'].rpartition('.')[0]}.*" for project in others}
    assert ours
    assert asked - ours == ranges("run.in")
    assert asked & ours == ours


@pytest.mark.parametrize("name", ["kubefacts", "towtank"])
def test_a_distribution_asks_for_ours_that_it_imports(name: str) -> None:
    """Alone, from an index, it would find nothing else."""
    imported = {
        one.partition(".")[0]
        for source in sources()
        if source.layer == name
        for one in source.imported()
    }
    project = tomllib.loads((ROOT / "packages" / name / "pyproject.toml").read_text())["project"]
    asked = {
        requirement.partition("=")[0]
        for requirement in project["dependencies"]
        if "==" in requirement
    }
    assert imported & {"kubefacts", "towtank", "moorage"} - {name} == asked


@pytest.mark.parametrize("name", ["README.md", "Makefile"])
def test_a_clone_installs_all_distributions(name: str) -> None:
    """One that is left out would be looked for on the package index, where it need not be."""
    packages = sorted(
        path.parent.relative_to(ROOT) for path in ROOT.glob("packages/*/pyproject.toml")
    )
    wanted = f"{' '.join(f'-e {package}' for package in packages)} -e ."
    assert packages
    assert wanted in (ROOT / name).read_text()
