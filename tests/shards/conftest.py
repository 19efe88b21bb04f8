"""A control plane of its own for the tests of shards."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.conftest import assets
from tests.rig import Rig

__all__ = ["assets", "rig"]


@pytest.fixture(scope="module")
def rig(assets: Path) -> Iterator[Rig]:
    """A running rig."""
    with Rig(assets) as rig:
        yield rig
