"""One cluster for all variants: pretended nodes in two zones and two of the control plane,
controllers and pretended kubelets.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.real.conftest import assets
from tests.rig import Kwok, Rig
from tests.rig.controllers import Controllers
from tests.rig.demo import node
from tests.rig.objects import create

__all__ = ["assets", "cluster"]

WORKERS: Final = {"worker-1": "a", "worker-2": "a", "worker-3": "b", "worker-4": "b"}
"""With their zones."""
CONTROL_PLANES: Final = ("control-plane-1", "control-plane-2")
_ROLE: Final = "node-role.kubernetes.io/control-plane"


@pytest.fixture(scope="session")
def cluster(assets: Path) -> Iterator[Rig]:
    """Without a scheduler."""
    with Rig(assets) as rig, Controllers(rig), Kwok(rig):
        create(rig, *(node(name, zone) for name, zone in WORKERS.items()))
        create(rig, *map(_control_plane, CONTROL_PLANES))
        yield rig


def _control_plane(name: str) -> dict[str, Any]:
    made = node(name, "a")
    made["metadata"]["labels"][_ROLE] = ""
    return {**made, "spec": {"taints": [{"key": _ROLE, "effect": "NoSchedule"}]}}
