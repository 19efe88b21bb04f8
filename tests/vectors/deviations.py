"""Vectors that we differ from on purpose: each is listed, with the fields that differ, in the ADR
that says why.

A table row names a vector (or several of a seed: ``Hints-7-94, 140``), or in quotes a text of
kube-scheduler's: any vector that expects the text is meant, whatever its seed.
"""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path

from tests.vectors.files import Case

FOLDER = Path(__file__).parents[2] / "docs" / "adr"
_HEADING = "## Vectors that differ"
_ROW = re.compile(
    r"\| (?:(?P<seed>[A-Za-z]+-\d+-)(?P<numbers>\d+(?:, \d+)*)|\"(?P<text>[^\"|]+)\") \| "
    r"(?P<fields>[A-Za-z, ]+) \|"
)

_SCORES = frozenset({"arbitrary", "scores", "total", "best"})


@functools.lru_cache(maxsize=1)
def deviations() -> dict[str, frozenset[str]]:
    """Vector, or text that is expected -> the fields of ``expect`` that are not ours."""
    found: dict[str, frozenset[str]] = {}
    for page in sorted(FOLDER.glob("*.md")):
        _, _, listed = page.read_text().partition(_HEADING)
        for row in _ROW.finditer(listed):
            names = (
                [row["text"]]
                if row["text"]
                else [row["seed"] + number for number in row["numbers"].split(", ")]
            )
            found |= dict.fromkeys(names, frozenset(row["fields"].split(", ")))
    return found


def meant(case: Case) -> frozenset[str]:
    """The fields in which we mean to differ from a case, and those that are a matter of chance in
    it: ``arbitrary`` names plugins that score by chance.
    """
    expected = json.dumps(case["expect"])
    chance = _SCORES if "arbitrary" in case["expect"] else frozenset()
    return chance.union(
        *(
            fields
            for name, fields in deviations().items()
            if name == case["id"] or (" " in name and name in expected)
        )
    )
