"""Hypothesis strategies for clusters with a pod that may well find no node, whatever kind of rule
that is by.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import strategies as st

from moorage.core.columns.cache import Cache
from moorage.core.columns.store import Store
from moorage.core.cycle.context import CycleContext
from moorage.core.framework.registry import build_registry
from moorage.core.framework.revisions import RequestedProfile, Revision, resolve
from moorage.core.objects.meta import HasMetadata
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod
from moorage.core.plugins.intree import INDEXES, INTREE, PRESETS
from moorage.core.pods.requests import pod_requests
from tests.core import companion_strategies, placement_strategies, volume_strategies
from tests.core.placement_strategies import lists, mostly

SEED = 7
DEFAULT = resolve(RequestedProfile("all"), build_registry(INTREE), PRESETS)


class PendingCase(NamedTuple):
    """A cluster, as objects; ``pod`` is to be explained, ``nominated`` are others that wait, each
    with its node.
    """

    nodes: tuple[Node, ...]
    placed: tuple[Pod, ...]
    pod: Pod
    revision: Revision
    others: tuple[HasMetadata, ...] = ()
    nominated: tuple[tuple[Pod, str], ...] = ()

    def context(self) -> CycleContext:
        """All of it in columns."""
        cache = Cache(Store(INDEXES))
        for node in self.nodes:
            cache.put_node(node)
        for obj in self.others:
            cache.store.put(obj)
        for pod in self.placed:
            cache.observe(pod, pod_requests(pod))
        for pod, where in self.nominated:
            cache.nominations.add(pod, where, pod_requests(pod))
        cache.observe_waiting(self.pod, pod_requests(self.pod))
        return CycleContext(cache, SEED)


def _named(nodes: list[Any]) -> list[tuple[str, Any]]:
    return [(f"n{i}", body) for i, body in enumerate(nodes)]


# ---- by resources, labels, taints, ports ---------------------------------------------------------

greedy_requests = st.fixed_dictionaries(
    {},
    optional={
        "cpu": st.sampled_from(["1", "1500m", "2", "3", "6", "100u"]),
        "memory": st.sampled_from(["0.7Gi", "1Gi", "1.5Gi", "5Gi"]),
        "example.com/gpu": st.sampled_from(["1", "2", "3"]),
        "ephemeral-storage": st.sampled_from(["4Gi", "11Gi"]),
    },
)
greedy_containers = st.builds(
    lambda wanted, ports: {"name": "c", "resources": {"requests": wanted}, "ports": ports},
    greedy_requests,
    mostly([], lists(placement_strategies.ports, 1)),
)
greedy_specs = st.fixed_dictionaries(
    {
        "containers": lists(greedy_containers, 2, 1),
        "initContainers": mostly([], lists(greedy_containers, 1)),
        "resources": mostly(
            None, mostly(None, st.builds(lambda wanted: {"requests": wanted}, greedy_requests))
        ),
        "nodeSelector": mostly(
            None,
            st.sampled_from([{"disk": "ssd"}, {"disk": "ssd", "gen": "7"}, {"a": "1", "disk": ""}]),
        ),
        "affinity": mostly(
            None,
            st.builds(
                lambda terms: {
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": terms
                        }
                    }
                },
                lists(placement_strategies.terms, 2, 1),
            ),
        ),
        "tolerations": mostly([], lists(placement_strategies.tolerations, 1)),
        "priority": st.sampled_from([None, 0, 5]),
    }
)


@st.composite
def by_nodes(draw: st.DrawFn) -> PendingCase:
    """Nodes are too small, full, tainted, cordoned or not the right ones."""
    nodes = _named(draw(lists(placement_strategies.node_bodies, 5, 1)))
    names = [name for name, _ in nodes]
    specs = placement_strategies.pod_specs | greedy_specs
    placed = draw(lists(st.tuples(specs, st.sampled_from(names)), 5))
    waiting = draw(lists(st.tuples(specs, st.sampled_from(names)), 1))
    revisions = (*placement_strategies.REVISIONS.values(), DEFAULT)
    return PendingCase(
        tuple(placement_strategies.node(name, body) for name, body in nodes),
        tuple(
            placement_strategies.pod(f"p{i}", spec, node) for i, (spec, node) in enumerate(placed)
        ),
        placement_strategies.pod("new", draw(greedy_specs)),
        draw(st.sampled_from(revisions)),
        nominated=tuple(
            (placement_strategies.pod(f"w{i}", {**spec, "priority": 9}), node)
            for i, (spec, node) in enumerate(waiting)
        ),
    )


# ---- by other pods -------------------------------------------------------------------------------


@st.composite
def by_other_pods(draw: st.DrawFn) -> PendingCase:
    """Pods are spread, or want to be with others or away from them; nodes may be small, too."""
    nodes = _named(draw(lists(companion_strategies.node_bodies, 5, 1)))
    names = [name for name, _ in nodes]
    specs = draw(companion_strategies.pod_specs)
    bodies = draw(lists(companion_strategies.pod_bodies, 7, 1))
    places = [(draw(st.sampled_from(specs)), draw(st.sampled_from(names))) for _ in bodies[1:]]
    revisions = (*companion_strategies.REVISIONS.values(), DEFAULT)
    return PendingCase(
        tuple(companion_strategies.node(name, body) for name, body in nodes),
        tuple(
            companion_strategies.pod(f"p{i}", spec, body, node)
            for i, (body, (spec, node)) in enumerate(zip(bodies[1:], places, strict=True))
        ),
        companion_strategies.pod("new", draw(st.sampled_from(specs)), bodies[0]),
        draw(st.sampled_from(revisions)),
        tuple(draw(lists(companion_strategies.others, 3))),
    )


# ---- by volumes ----------------------------------------------------------------------------------


@st.composite
def by_volumes(draw: st.DrawFn) -> PendingCase:
    """Claims and volumes have their nodes, or limits."""
    nodes = _named(draw(lists(volume_strategies.node_bodies, 4, 1)))
    names = [name for name, _ in nodes]
    placed = draw(lists(st.tuples(volume_strategies.volume_lists, st.sampled_from(names)), 4))
    return PendingCase(
        tuple(volume_strategies.node(name, body) for name, body in nodes),
        tuple(
            volume_strategies.pod(f"p{i}", "a", volumes, node)
            for i, (volumes, node) in enumerate(placed)
        ),
        volume_strategies.pod("new", "a", draw(volume_strategies.volume_lists)),
        draw(st.sampled_from([volume_strategies.REVISION, DEFAULT])),
        tuple(draw(volume_strategies.everything)),
    )
