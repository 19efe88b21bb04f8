"""Names that are likely to be meant for each other."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Final

MIN_SIMILARITY: Final = 0.7
"""Of such names (difflib's ratio): Coscheduling is no misspelt GangScheduling (0.69)."""


def suggest(name: str, known: Iterable[str]) -> str:
    """``; did you mean "X"?`` for a name that is nearly a known one, else nothing."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=MIN_SIMILARITY)
    return f'; did you mean "{close[0]}"?' if close else ""
