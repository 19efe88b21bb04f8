"""Sessions with the API server: what is told of their answers."""

from __future__ import annotations

import asyncio

import pytest

from moorage.apps.run.sessions import doubting


@pytest.mark.parametrize(
    ("code", "doubted"),
    [("403", True), ("401", False), ("404", False), ("200", False), ("<error>", False)],
)
def test_only_a_403_puts_rights_in_doubt(code: str, doubted: bool) -> None:
    """Every answer is told of all the same."""
    told, in_doubt = [], asyncio.Event()
    observe = doubting(lambda *answer: told.append(answer), in_doubt)
    observe("host:6443", "PATCH", code, 0.1)
    assert in_doubt.is_set() is doubted
    assert told == [("host:6443", "PATCH", code, 0.1)]
