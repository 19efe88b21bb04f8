"""Notes on a release: its part of CHANGELOG.md."""

from __future__ import annotations

import re

from tests.tools.release.checkout import ReleaseError

_UNRELEASED = "Unreleased"


def notes(changelog: str, version: str) -> str:
    """The section of a version; while it has none, what is not released yet. Raises ReleaseError
    when there is neither.
    """
    sections = dict(
        re.findall(r"^## ([^\n]+)\n+(.*?)(?=^## |\Z)", changelog, re.DOTALL | re.MULTILINE)
    )
    for title in (version, _UNRELEASED):
        if text := sections.get(title, "").strip():
            return f"# Moorage {version}\n\n{text}\n"
    raise ReleaseError(f"CHANGELOG.md: there is no section {version} and no {_UNRELEASED}")
