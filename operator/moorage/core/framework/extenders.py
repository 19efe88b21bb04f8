"""Extenders: services outside that have a say in decisions, as a profile that asks them knows them.

They are asked in the profile's order, those whose failure does not matter (``ignorable``) last.
Source: kube-scheduler's HTTPExtender (v1.37), in words of our own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from moorage.core.framework.cluster_events import ActionType, ClusterEventWithHint, EventResource
from moorage.core.framework.post_filter_contract import Victims
from moorage.core.framework.registry import RequiredAccess
from moorage.core.objects.pods import Pod

EXTENDER = "Extender"
"""The name under which pods that extenders rejected wait, beside names of plugins: in the queue and
in metrics.
"""
EVENTS_TO_REGISTER: tuple[ClusterEventWithHint, ...] = (
    ClusterEventWithHint(EventResource.ANY, ActionType.ALL),
)
"""What may free such a pod: nobody knows, so anything."""
MAX_PRIORITY = 10
"""The best that an extender says of a node."""
DEFAULT_TIMEOUT_SECONDS = 5.0


def secret_access(name: str) -> RequiredAccess:
    """What it takes to have an extender's certificates from the Secret of this name."""
    return RequiredAccess(("get",), "", "secrets", own_namespace_only=True, name=name)


@dataclasses.dataclass(frozen=True, slots=True)
class Extender:
    """One extender. A verb that is empty is not asked; ``timeout`` in seconds;
    ``managed_resources`` names extended resources.
    """

    url: str
    filter_verb: str = ""
    prioritize_verb: str = ""
    preempt_verb: str = ""
    bind_verb: str = ""
    weight: int = 1
    node_cache_capable: bool = False
    """Names of nodes are enough for it."""
    managed_resources: frozenset[str] = frozenset()
    """Only pods that want one of these are its business; empty: all."""
    ignorable: bool = False
    timeout: float = DEFAULT_TIMEOUT_SECONDS
    insecure: bool = False
    """Nobody checks who answers."""
    server_name: str = ""
    secret: str = ""

    def is_interested(self, pod: Pod) -> bool:
        """Whether the pod is its business. What is in limits an API server has put into requests
        too.
        """
        containers = (*(pod.spec.containers or ()), *(pod.spec.init_containers or ()))
        return not self.managed_resources or any(
            name in self.managed_resources
            for container in containers
            if container.resources is not None
            for name in container.resources.requests or ()
        )

    @property
    def decides(self) -> bool:
        """Whether it has a say before the pod has its node."""
        return bool(self.filter_verb or self.prioritize_verb or self.preempt_verb)


class ExtenderFilterResult(NamedTuple):
    """Which of the nodes pass, and what is said of others: removing pods may help
    (``failed_nodes``), or not (``unresolvable_nodes``).
    """

    passed: tuple[str, ...]
    failed_nodes: Mapping[str, str]
    unresolvable_nodes: Mapping[str, str]


class MetaVictims(NamedTuple):
    """What an extender makes of the victims on a node: their UIDs, and how many of them a
    disruption budget protects.
    """

    uids: tuple[str, ...]
    num_pdb_violations: int


@dataclasses.dataclass(frozen=True, slots=True)
class ExtenderFailure:
    """An extender gave no answer that can be used, and why."""

    text: str


# ---- questions -----------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, slots=True)
class AskFilter:
    """Which of these nodes will do? Answer: ExtenderFilterResult or ExtenderFailure."""

    extender: Extender
    nodes: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class AskPriorities:
    """How good is each of these nodes? All extenders side by side. Answer: for each (node,
    priority) pairs, or ExtenderFailure.
    """

    extenders: tuple[Extender, ...]
    nodes: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class AskVictims:
    """Which of these pods may go, and from which nodes? Answer: node -> MetaVictims, or
    ExtenderFailure.
    """

    extender: Extender
    victims: Mapping[str, Victims]


ExtenderQuestion = AskFilter | AskPriorities | AskVictims
ExtenderAnswer = (
    ExtenderFilterResult
    | tuple[Sequence[tuple[str, int]] | ExtenderFailure, ...]
    | Mapping[str, MetaVictims]
    | ExtenderFailure
)
