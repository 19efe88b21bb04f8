"""Extenders, as the engine asks them. Pods and nodes go out in full, as the API server wrote them.

All methods raise only EdgeError, with a text that names the extender's URL. An error of ``bind`` is
a Retryable whose outcome is unknown wherever the extender may have bound the pod all the same.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from moorage.core.framework.extenders import Extender, ExtenderFilterResult, MetaVictims
from moorage.ports.kube import PodRef


@dataclasses.dataclass(frozen=True)
class CandidateNodes:
    """The nodes that an extender is asked about; ``node_json`` has their JSON by name unless names
    are enough for it.
    """

    names: tuple[str, ...] = ()
    node_json: Mapping[str, bytes] = dataclasses.field(default_factory=dict)

    @functools.cached_property
    def node_list(self) -> bytes:
        """The nodes in full as one NodeList, in JSON; it may be long, and is made once."""
        items = b",".join(self.node_json[name] for name in self.names)
        return b'{"metadata":{},"items":[%b]}' % items


class NodeVictims(NamedTuple):
    """The victims on a node: UID -> JSON, b"" where the UID is enough."""

    pods: Mapping[str, bytes]
    num_pdb_violations: int


class ExtenderClient(Protocol):
    """Services that have a say in decisions."""

    async def filter(
        self, extender: Extender, pod: bytes, nodes: CandidateNodes
    ) -> ExtenderFilterResult:
        """Which of the nodes pass."""

    async def prioritize(
        self, extender: Extender, pod: bytes, nodes: CandidateNodes
    ) -> Sequence[tuple[str, int]]:
        """Pairs of a node's name and its priority."""

    async def preempt(
        self, extender: Extender, pod: bytes, victims: Mapping[str, NodeVictims]
    ) -> Mapping[str, MetaVictims]:
        """What it makes of the victims, by node."""

    async def bind(self, extender: Extender, pod: PodRef, node: str) -> None:
        """Have it bind the pod."""
