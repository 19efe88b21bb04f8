"""Completeness: whether a run had all tests of this folder that need a real API server, and all of
them passed. What can be said of the suite as a whole is said by tests that run last.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

LAST: Final = "test_rights.py"
_MISSED: Final = pytest.StashKey[list[str]]()
_FOLDER: Final = Path(__file__).parent


def put_last(items: list[pytest.Item]) -> None:
    """The tests about the whole run come after all others."""
    items.sort(key=lambda item: item.path.name == LAST)


def missed(config: pytest.Config, what: str) -> None:
    """A test was left out, or did not pass."""
    config.stash.setdefault(_MISSED, []).append(what)


def why_incomplete(session: pytest.Session) -> str:
    """What is missing of a whole run, "" where nothing is."""
    run = {item.path for item in session.items}
    absent = [path.name for path in sorted(_FOLDER.glob("test_*.py")) if path not in run]
    found = [*session.config.stash.get(_MISSED, []), *absent]
    more = f" and {len(found) - 1} more" if found[1:] else ""
    return f"{found[0]}{more} did not run, or did not pass" if found else ""
