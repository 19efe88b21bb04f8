"""The checkout that is released: its version, and the time that every file in the release has."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]


class ReleaseError(Exception):
    """Why there can be no release, and what to do."""


@dataclass(frozen=True)
class Checkout:
    """A tree of this repository's files."""

    root: Path
    epoch: int
    """Seconds since 1970: SOURCE_DATE_EPOCH, else the last commit's time."""

    @property
    def version(self) -> str:
        """Moorage's version, which stands in one place."""
        text = (self.root / "operator" / "moorage" / "__init__.py").read_text()
        found = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)
        if found is None:
            raise ReleaseError("operator/moorage/__init__.py: there is no __version__")
        return found[1]

    @property
    def revision(self) -> str:
        """The commit; "" outside of Git."""
        return _git(self.root, "rev-parse", "HEAD")

    def projects(self) -> list[Path]:
        """Folders of the distributions, those first that others stand on."""
        packages = sorted(path.parent for path in self.root.glob("packages/*/pyproject.toml"))
        return [*packages, self.root]

    def project(self, folder: Path) -> dict[str, Any]:
        """The table ``project`` of a distribution, with its version."""
        table = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
        return {"version": self.version, **table}


def checkout(root: Path = ROOT) -> Checkout:
    """The checkout in a folder. Raises ReleaseError if nothing says of which time it is."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given is None:
        given = _git(root, "log", "-1", "--format=%ct")
    if not given.isdecimal():
        raise ReleaseError("this is no Git checkout: set SOURCE_DATE_EPOCH to the release's time")
    return Checkout(root, int(given))


def _git(root: Path, *words: str) -> str:
    command = ["git", "-C", str(root), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
