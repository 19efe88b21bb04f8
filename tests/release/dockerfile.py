"""A Dockerfile as its instructions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple


class Instruction(NamedTuple):
    """One instruction: its line from 1, its word, and what follows, continued lines joined."""

    line: int
    word: str
    rest: str

    @property
    def listed(self) -> list[str]:
        """What follows, written as JSON."""
        found: list[str] = json.loads(self.rest)
        return found


def instructions(text: str) -> Iterator[Instruction]:
    """All of them, in order."""
    begun, start = "", 0
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        start = start if begun else number
        begun += line.strip().removesuffix("\\").strip() + " "
        if not line.rstrip().endswith("\\"):
            word, _, rest = begun.strip().partition(" ")
            yield Instruction(start, word.upper(), rest)
            begun = ""


def stages(text: str) -> list[list[Instruction]]:
    """The instructions of each stage, from its FROM on."""
    found: list[list[Instruction]] = []
    for one in instructions(text):
        if one.word == "FROM":
            found.append([])
        if found:
            found[-1].append(one)
    return found


def pairs(rest: str) -> dict[str, str]:
    """What LABEL and ENV set."""
    return {name: value.strip('"') for name, value in re.findall(r'(\S+?)=("[^"]*"|\S*)', rest)}
