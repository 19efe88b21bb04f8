"""Every context of these tests has a twin, which must know and decide the same at the end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.engine import worlds
from tests.twins import differing, opened


@pytest.fixture(autouse=True)
def twins() -> Iterator[None]:
    worlds.TWINS.clear()
    yield
    for twin, context in worlds.TWINS:
        assert not twin.differences
        assert twin.replay.decisions == twin.decided
        assert not twin.strays(context)
        assert not differing(context, opened(context))
