"""One cluster of each sort for all stories, with the operator as `kubectl apply -k
manifests/default` installs it.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from tests.real.conftest import SERVERS, assets
from tests.rig import ControlPlane, DevRig, Kwok, Rig
from tests.rig.controllers import Controllers
from tests.rig.demo import pretended
from tests.rig.objects import create
from tests.rig.operators import Operator, install
from tests.tools import assets as binaries
from towtank import node_shapes

__all__ = ["assets", "cluster", "programs"]

FLEET: Final = Path(__file__).parents[2] / "docs/tasks/nodes.yaml"
CONFIG: Final = {"extenders": {"allowedHosts": ["127.0.0.1"]}}
"""A host where no extender answers."""


@pytest.fixture(scope="session", params=SERVERS)
def cluster(request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    """With nodes, pretended kubelets, controllers, and an operator that leads."""
    with ExitStack() as stack:
        if request.param == "towtank":
            rig: ControlPlane = stack.enter_context(_embedded())
        else:
            rig = _real(request.getfixturevalue("assets"), stack)
        kubeconfig = install(rig)
        operator = stack.enter_context(Operator(rig, kubeconfig, "moorage-stories", CONFIG))
        operator.wait_logged("health and metrics are served")
        yield rig


def _embedded() -> DevRig:
    kubectl = binaries.folder() / "kubectl"
    return DevRig(kubectl if kubectl.exists() else None, ("--shape", str(FLEET)))


def _real(folder: Path, stack: ExitStack) -> Rig:
    rig = stack.enter_context(Rig(folder))
    stack.enter_context(Controllers(rig))
    stack.enter_context(Kwok(rig))
    create(rig, *map(pretended, node_shapes.read_shape(FLEET.read_text(), FLEET.name)))
    return rig


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the path, with `kubectl`, `moorage` and `kubectl-moorage` in it."""
    kubectl = binaries.folder() / "kubectl"
    if not kubectl.exists():
        pytest.skip("NOT TESTED: there is no kubectl, and no Go to build it with")
    folder = tmp_path_factory.mktemp("bin")
    (folder / "kubectl").symlink_to(kubectl)
    for name in ("moorage", "kubectl-moorage"):
        installed = Path(sys.executable).with_name(name)
        if installed.exists():
            shutil.copy(installed, folder / name)
    return folder
