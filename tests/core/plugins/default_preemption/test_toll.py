"""What a preemption costs: pods, units of groups, and pods whose budget has nothing left."""

from __future__ import annotations

import msgspec
import pytest

from moorage.core.columns.cache import Cache
from moorage.core.columns.store import Store
from moorage.core.cycle.context import CycleContext
from moorage.core.objects.meta import ObjectMeta
from moorage.core.objects.pod_groups import (
    AllDisruptionMode,
    DisruptionMode,
    PodGroup,
    PodGroupSpec,
)
from moorage.core.objects.pods import Pod, PodSchedulingGroup
from moorage.core.objects.workloads import PodDisruptionBudget
from moorage.core.plugins.default_preemption.toll import Toll, toll_of
from moorage.core.plugins.intree import INDEXES
from moorage.core.pods.requests import pod_requests
from tests.builders import make_node, make_pod


def cluster(*pods: Pod, together: bool, allowed: int) -> CycleContext:
    """A node with these pods, a PodGroup g, and a budget of all of them."""
    cache = Cache(Store(INDEXES))
    cache.put_node(make_node("n"))
    mode = DisruptionMode(all=AllDisruptionMode()) if together else None
    cache.store.put(PodGroup(ObjectMeta("g", "default", "g"), PodGroupSpec(disruption_mode=mode)))
    budget = {
        "metadata": {"name": "b", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}},
        "status": {"disruptionsAllowed": allowed},
    }
    cache.store.put(msgspec.convert(budget, PodDisruptionBudget))
    for pod in pods:
        meta = msgspec.structs.replace(pod.metadata, labels={"app": "web"})
        cache.observe(msgspec.structs.replace(pod, metadata=meta), pod_requests(pod))
    return CycleContext(cache)


@pytest.mark.parametrize(
    ("together", "allowed", "victims", "toll"),
    [
        (False, 9, "a", Toll(1, 1, 0)),
        (False, 9, "abl", Toll(3, 2, 0)),
        (True, 9, "abl", Toll(3, 1, 0)),
        (True, 9, "a", Toll(2, 1, 0)),
        (False, 1, "abl", Toll(3, 2, 2)),
        (False, 0, "l", Toll(1, 0, 1)),
        (False, 0, "", Toll(0, 0, 0)),
    ],
)
def test_toll(together: bool, allowed: int, victims: str, toll: Toll) -> None:
    """A group with disruption mode all is one unit, and goes whole."""
    of = PodSchedulingGroup("g")
    pods = [make_pod(name, node="n", scheduling_group=of) for name in "ab"]
    context = cluster(*pods, make_pod("l", node="n"), together=together, allowed=allowed)
    known = [context.cache.pod_info(f"uid-{name}") for name in victims]
    assert toll_of([one for one in known if one is not None], context.snapshot) == toll
