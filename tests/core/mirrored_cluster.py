"""A cluster kept twice: as plain objects, for the naive twins, and in the cache that is tested,
which is told of each change.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from moorage.core.columns.cache import Cache
from moorage.core.cycle.context import CycleContext
from moorage.core.objects.meta import HasMetadata, key
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod
from moorage.core.pods.requests import pod_requests


@dataclasses.dataclass
class MirroredCluster:
    """Plain objects, and a cache that is told of each change. ``pods``: by UID, each with its node;
    ``others``: by kind and key.
    """

    context: CycleContext = dataclasses.field(default_factory=lambda: CycleContext(Cache()))
    nodes: dict[str, Node] = dataclasses.field(default_factory=dict)
    pods: dict[str, tuple[Pod, str]] = dataclasses.field(default_factory=dict)
    others: dict[tuple[type[Any], str], HasMetadata] = dataclasses.field(default_factory=dict)

    @property
    def cache(self) -> Cache:
        """What is tested."""
        return self.context.cache

    def put_node(self, new: Node) -> None:
        """A node comes, or changes."""
        self.nodes[new.metadata.name] = new
        self.cache.put_node(new)

    def remove_node(self, name: str) -> None:
        """A node goes; its pods stay until they are removed."""
        self.nodes.pop(name, None)
        self.cache.remove_node(name)

    def put(self, obj: HasMetadata) -> None:
        """Another object comes or changes."""
        self.others[type(obj), key(obj)] = obj
        self.cache.store.put(obj)

    def observe(self, new: Pod) -> None:
        """A pod is seen on its node."""
        self.pods[new.metadata.uid] = new, new.spec.node_name
        self.cache.observe(new, pod_requests(new))
