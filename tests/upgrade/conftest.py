"""Fixtures of the tests of upgrading: older releases, and a cluster that runs one of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.conftest import assets
from tests.upgrade.clusters import Cluster
from tests.upgrade.releases import RELEASES, Release, ensure

__all__ = ["assets", "cluster", "release"]


@pytest.fixture(scope="session", params=RELEASES, ids=lambda release: release.name)
def release(request: pytest.FixtureRequest) -> Release:
    """Each of them in turn, installed."""
    return ensure(request.param)


@pytest.fixture
def cluster(release: Release, assets: Path) -> Iterator[Cluster]:
    """One in which that release was installed from its own manifests; none of its replicas runs."""
    with Cluster(assets, release) as cluster:
        yield cluster
