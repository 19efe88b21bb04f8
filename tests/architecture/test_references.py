"""Every file that a text of the project points at is there: in docstrings and comments, in docs, in
configuration.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from tests.architecture.sources import PACKAGES, ROOT, committed

_FOLDERS: Final = (
    "adapters|api|apps|core|crds|docs|engine|handlers|manifests|operator|packages|ports|"
    "requirements|tests"
)
# A path with a suffix, or one that ends with a slash. Texts for users name files of theirs, too:
# these are in other folders.
_SUFFIX: Final = "|".join(
    rf"(?<=\.{suffix})" for suffix in ("py", "md", "txt", "toml", "yaml", "sh")
)
_PATH: Final = re.compile(
    rf"(?<![\w./-])(?:\.\./)?((?:{_FOLDERS})(?:/[\w.-]+)+(?:{_SUFFIX})\b|(?:{_FOLDERS})(?:/[\w.-]+)*/(?![\w.{{<*]))"
)
_LINK: Final = re.compile(r"\]\(([\w./-]+\.md)(?:#[\w-]+)?\)")
_SUFFIXES: Final = frozenset({".py", ".md", ".toml", ".yaml", ".ini", ""})
_HISTORY: Final = frozenset({"CHANGELOG.md"})
"""What tells of former times may name what is gone."""
_PROPOSED: Final = "\nStatus: proposed."
"""A design that is not built yet names what will be there."""
_MUST_NOT_BE: Final = frozenset({"operator/__init__.py"})


def _texts() -> list[Path]:
    wanted = [
        path for path in committed() if path.suffix in _SUFFIXES and path.name not in _HISTORY
    ]
    return [
        path for path in wanted if "cases" not in path.parts and path.stat().st_size < 1_000_000
    ]


def _exists(name: str, path: Path) -> bool:
    roots = (
        ROOT,
        *(package for package in PACKAGES),
        path.parent,
        path.parent.parent,
        ROOT / "docs",
    )
    return any((root / name).exists() for root in roots)


@pytest.mark.parametrize("path", _texts(), ids=lambda path: str(path.relative_to(ROOT)))
def test_paths_exist(path: Path) -> None:
    """As ``core/cycle/cycle.py`` (from the package), ``docs/limits.md`` (from the root) or
    ``limits.md`` (a link beside it).
    """
    text = path.read_text(encoding="utf-8")
    if _PROPOSED in text:
        return
    named = {found[1] for found in _PATH.finditer(text)}
    if path.suffix == ".md":
        named |= {found[1] for found in _LINK.finditer(text)}
    assert not sorted(
        name for name in named if name not in _MUST_NOT_BE and not _exists(name, path)
    )


def test_what_is_a_path() -> None:
    """The pattern finds what it should."""
    core, docs = "core", "docs"  # apart, as this file is read, too
    text = (
        f"see {core}/cycle.py, `engine/` and {docs}/adr/x.md; api/v1 or and/or; a/{core}/x.py; "
        f"{core}/{{a,b}}.py"
    )
    assert [one[1] for one in _PATH.finditer(text)] == [
        f"{core}/cycle.py",
        "engine/",
        f"{docs}/adr/x.md",
    ]
