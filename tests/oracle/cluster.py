"""A cluster as plain objects: what the naive twins look at."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, TypeVar

from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Cluster:
    """``nodes`` in the order in which they came; ``pods`` with the name of the node that each is
    on; all ``others``.

    ``nominated``: pods that wait, with the node that each is nominated to.
    """

    nodes: Sequence[Node]
    pods: Sequence[tuple[Pod, str]]
    others: Sequence[Any] = ()
    nominated: Sequence[tuple[Pod, str]] = ()

    def pods_on(self, node: Node) -> list[Pod]:
        """The pods on a node."""
        return [pod for pod, where in self.pods if where == node.metadata.name]

    def promised(self, pod: Pod) -> str:
        """The node that a pod is nominated to, "" for none."""
        return next(
            (node for one, node in self.nominated if one.metadata.uid == pod.metadata.uid), ""
        )

    def of_kind(self, kind: type[T]) -> list[T]:
        """The other objects of a kind."""
        return [one for one in self.others if isinstance(one, kind)]
