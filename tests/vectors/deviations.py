"""Vectors that we differ from on purpose: each is listed, with the fields that differ, in the ADR that says why."""

from __future__ import annotations

import functools
import re
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "docs" / "adr"
_HEADING = "## Vectors that differ"
_ROW = re.compile(r"\| (?P<id>[A-Za-z]+-\d+-\d+) \| (?P<fields>[A-Za-z, ]+) \|")


@functools.lru_cache(maxsize=1)
def deviations() -> dict[str, frozenset[str]]:
    """Vector -> the fields of its ``expect`` that are not ours."""
    found: dict[str, frozenset[str]] = {}
    for page in sorted(FOLDER.glob("*.md")):
        _, _, listed = page.read_text().partition(_HEADING)
        for row in _ROW.finditer(listed):
            found[row["id"]] = frozenset(row["fields"].split(", "))
    return found
