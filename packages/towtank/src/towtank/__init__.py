"""A Kubernetes API server in memory, for the tests of operators, for demos and classrooms: the
README says what it is and what it is not.

``from towtank import Cluster`` is the way in; ``towtank.pytest_plugin`` has the fixtures, and the
command ``towtank`` runs a cluster as a process of its own. Names are imported when they are first
used: pytest reads this file in every run, and most need no cluster.
"""

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from towtank.cluster import Cluster, ClusterSettings, ThreadedCluster
    from towtank.controllers.manager import ControllerSettings
    from towtank.loop_thread import ServerFrozen
    from towtank.node_shapes import ShapeError, like_nodes, read_shape

__all__ = [
    "Cluster",
    "ClusterSettings",
    "ControllerSettings",
    "ServerFrozen",
    "ShapeError",
    "ThreadedCluster",
    "like_nodes",
    "read_shape",
]

_HOMES: Final = {
    "Cluster": "cluster",
    "ClusterSettings": "cluster",
    "ThreadedCluster": "cluster",
    "ControllerSettings": "controllers.manager",
    "ServerFrozen": "loop_thread",
    "ShapeError": "node_shapes",
    "like_nodes": "node_shapes",
    "read_shape": "node_shapes",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
