"""Fixtures: control planes with controllers, and somebody who plays the kubelets."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.installing.playing import Played
from tests.rig import Rig
from tests.rig.controllers import Controllers
from tests.tools.required_assets import required_assets


@pytest.fixture(scope="session")
def assets(request: pytest.FixtureRequest) -> Path:
    """The folder of etcd, kube-apiserver and the rest."""
    return required_assets(str(request.config.getoption("--kubernetes")))


@pytest.fixture
def cluster(assets: Path) -> Iterator[Played]:
    """A real API server with kube-controller-manager; nothing is installed."""
    with contextlib.ExitStack() as stack:
        rig = stack.enter_context(Rig(assets, groups=False))
        stack.enter_context(Controllers(rig))
        yield stack.enter_context(Played(rig))
