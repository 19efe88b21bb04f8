"""Older releases, each built from the repository's history and installed into an environment of its
own, once, in the cache folder.

Nothing is tagged yet, and the version has never changed: so a release is named here by its commit.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
import unittest
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.rig.operators import ROOT

_NO_INDEX: Final = re.compile(
    "No matching distribution|NewConnectionError|NameResolutionError|unreachable|Read timed out"
)
_DISTRIBUTIONS: Final = ("packages/kubefacts", "packages/towtank", ".")


class NotThere(unittest.SkipTest):
    """What an older release is built from is not to be had here; pytest takes it for a skip."""


@dataclass(frozen=True)
class Release:
    """A release, the last commit of which is ``commit``."""

    name: str
    commit: str
    what: str
    """In what it differs from this one."""

    @property
    def folder(self) -> Path:
        """Where it is kept: its source, and the environment that it is installed in."""
        cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
        version = f"{sys.version_info[0]}.{sys.version_info[1]}"
        return cache / "moorage" / "releases" / f"{self.commit[:12]}-python{version}"

    @property
    def source(self) -> Path:
        """The files of its commit."""
        return self.folder / "source"

    @property
    def python(self) -> Path:
        """The interpreter that has it, with what its commit pins, and nothing else."""
        return self.folder / "environment" / "bin" / "python"


PREVIOUS: Final = Release(
    "previous",
    "39a62f6be7492affc7a654c19c4c40d45a2aa9b1",
    "before variants, admission and spec.assign: the release that this one replaces",
)
EARLIER: Final = Release(
    "earlier",
    "4cdf3ccf4825faeb1d2c0e999e3a416783b6e2ea",
    "names revisions by UIDs and generations, knows no spec.paused, decides as Kubernetes 1.36",
)
RELEASES: Final = (PREVIOUS, EARLIER)


def ensure(release: Release) -> Release:
    """Build and install it where it is not yet. Raises NotThere where there is no history, or no
    index of packages.
    """
    release.folder.mkdir(parents=True, exist_ok=True)
    with (release.folder / ".lock").open("w") as lock:
        # A second run waits for the first instead of building the same again.
        fcntl.flock(lock, fcntl.LOCK_EX)
        made = release.folder / ".made"
        if not made.exists():
            _unpack(release)
            _install(release)
            made.touch()
    return release


def _unpack(release: Release) -> None:
    """The commit's files, as `git archive` gives them."""
    shutil.rmtree(release.source, ignore_errors=True)
    release.source.mkdir()
    known = ["git", "cat-file", "-e", f"{release.commit}^{{commit}}"]
    if subprocess.run(known, cwd=ROOT, capture_output=True, check=False).returncode:
        raise NotThere(
            f"NOT TESTED: {ROOT} has no commit {release.commit[:8]} (release {release.name}): "
            "get the whole history, as by `git fetch --unshallow`"
        )
    archive = release.folder / "source.tar"
    _run(["git", "archive", f"--output={archive}", release.commit], ROOT)
    _run(["tar", "-xf", archive, "-C", release.source], release.folder)
    archive.unlink()


def _install(release: Release) -> None:
    """Its wheels, and the packages that its commit pins."""
    environment, wheels = release.python.parents[1], release.folder / "wheels"
    for folder in (environment, wheels):
        shutil.rmtree(folder, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    build = [*pip, "wheel", "--quiet", "--no-deps", "--no-build-isolation", f"--wheel-dir={wheels}"]
    _run([*build, *(f"./{name}" for name in _DISTRIBUTIONS)], release.source)
    _run([sys.executable, "-I", "-m", "venv", "--without-pip", environment], release.folder)
    install = [*pip, f"--python={release.python}", "install", "--quiet"]
    pins = release.source / "requirements" / "run.txt"
    try:
        _run([*install, "--require-hashes", "-r", pins], release.source)
    except AssertionError as failed:
        if _NO_INDEX.search(str(failed)):
            raise NotThere("NOT TESTED: there is no index with what an older release needs") from (
                failed
            )
        raise
    _run([*install, "--no-deps", "--no-index", *sorted(wheels.iterdir())], release.source)


def _run(command: Sequence[str | Path], folder: Path) -> None:
    """Run a command to its end. Raises AssertionError with what it said when it fails."""
    words = list(map(str, command))
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout}\n{done.stderr}"
