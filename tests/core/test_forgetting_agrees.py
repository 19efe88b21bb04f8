"""What is remembered makes no difference: of two clusters told the same, one whose memories are
wiped now and then decides as the other does.
"""

from __future__ import annotations

import random
import sys
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.core.columns.cache import Cache
from moorage.core.cycle.context import CycleContext, Diagnosis, ScheduleResult
from moorage.core.cycle.cycle import decide
from moorage.core.devices.extended_resources import ANNOTATION
from moorage.core.framework.registry import build_registry
from moorage.core.framework.revisions import RequestedProfile, resolve
from moorage.core.objects.meta import OwnerReference
from moorage.core.objects.nodes import ContainerImage, Node
from moorage.core.objects.pods import (
    Pod,
    PodCondition,
    PodResourceClaim,
    PodResourceClaimStatus,
    PodStatus,
)
from moorage.core.objects.resource_claims import (
    ClaimMeta,
    DeviceClaim,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceSlice,
)
from moorage.core.objects.workloads import PodDisruptionBudget
from moorage.core.plugins.default_preemption.plugin import DefaultPreemptionArgs
from moorage.core.plugins.dynamic_resources.arguments import DynamicResourcesArgs
from moorage.core.plugins.intree import INTREE, PRESETS
from moorage.core.pods.requests import pod_requests
from moorage.core.structures.remembering import MemoizedFunction
from tests.builders import make_node, make_pod
from tests.core.columns.test_kept_choices import GPU, asking, devices, user

REGISTRY = build_registry(INTREE)
ARGUMENTS: tuple[dict[str, Any], ...] = (
    {},
    {"DefaultPreemption": DefaultPreemptionArgs(disruption_policy="RespectPDB")},
    {"DynamicResources": DynamicResourcesArgs(filter_timeout="1s")},
)
REVISIONS = tuple(
    resolve(RequestedProfile(f"test-{i}", args=args), REGISTRY, PRESETS)
    for i, args in enumerate(ARGUMENTS)
)
NODES = ("n0", "n1", "n2")
CLAIMS = {"one": 1, "two": 2, "many": 3, "of-made": 1}


def made(priority: int) -> Pod:
    """A pod whose claim is made of a template."""
    use = PodResourceClaim("c", resource_claim_template_name="t")
    return make_pod("made", priority=priority, resource_claims=(use,))


PODS = (
    make_pod("large", cpu="3", priority=5),
    user("a", "one", priority=5),
    user("b", "two", priority=3),
    user("c", "many", priority=4),
    asking("d", priority=2),
    made(4),
)
"""Pods that wait, and may be nominated."""

names, numbers = st.sampled_from(NODES), st.integers(0, 3)
CHANGES = st.one_of(
    st.tuples(st.just("node"), names, st.sampled_from("24"), numbers),
    st.tuples(st.just("node gone"), names),
    st.tuples(st.just("devices"), names, numbers),
    st.tuples(st.just("claim"), st.sampled_from([*CLAIMS]), st.booleans()),
    st.tuples(st.just("left behind"), st.sampled_from(["x0", "x1"]), st.booleans()),
    st.tuples(st.just("pod"), numbers, names, st.sampled_from(["Pending", "Running"]), numbers),
    st.tuples(st.just("pod gone"), numbers),
    st.tuples(st.just("budget"), numbers),
    st.tuples(st.just("nominate"), st.sampled_from(PODS), st.sampled_from(["", *NODES])),
    st.tuples(st.just("status"), st.sampled_from(PODS), st.booleans()),
)


def holding(name: str, cpu: str, size: int) -> Node:
    """A node that holds the pods' image."""
    plain = make_node(name, cpu=cpu)
    images = (ContainerImage(("app:1",), size * 400 * 2**20),) if size else None
    return msgspec.structs.replace(
        plain, status=msgspec.structs.replace(plain.status, images=images)
    )


def running(number: int, node: str, phase: str, facts: int) -> Pod:
    """A pod on a node."""
    pod = make_pod(f"p{number}", cpu="2", node=node, priority=number % 2)
    metadata = msgspec.structs.replace(pod.metadata, labels={"app": "x"})
    conditions = (PodCondition("Ready", str(facts > 1)),)
    status = PodStatus(phase, "", f"2026-01-01T0{facts}:00:00Z", conditions)
    return msgspec.structs.replace(pod, metadata=metadata, status=status)


def claim_of(name: str) -> ResourceClaim:
    """A claim for devices; one is made for a pod."""
    request = DeviceRequest("r", ExactDeviceRequest("", "gpu", None, "ExactCount", CLAIMS[name]))
    owners = (OwnerReference(uid="uid-made", controller=True),) if name == "of-made" else None
    meta = ClaimMeta(name, "default", f"uid-{name}", owner_references=owners)
    return ResourceClaim(meta, ResourceClaimSpec(DeviceClaim((request,))))


def change(cache: Cache, what: str, *given: Any) -> None:
    """Tell a cluster of a change of nodes, devices, claims and budgets."""
    match what, given:
        case "node", (name, cpu, size):
            cache.put_node(holding(name, cpu, size))
        case "node gone", (name,):
            cache.remove_node(name)
        case "devices", (name, number):
            if number:
                cache.store.put(devices(name, number))
            else:
                cache.store.remove(ResourceSlice, name)
        case "claim", (name, True):
            cache.store.put(claim_of(name))
        case "left behind", (name, True):
            owners = (OwnerReference(uid="uid-d", controller=True),)
            meta = ClaimMeta(
                name, "default", name, owner_references=owners, annotations={ANNOTATION: "true"}
            )
            cache.store.put(ResourceClaim(meta))
        case (("claim" | "left behind"), (name, _)):
            cache.store.remove(ResourceClaim, f"default/{name}")
        case "budget", (allowed,):
            cache.store.put(
                msgspec.convert(
                    {
                        "metadata": {"name": "b", "namespace": "default"},
                        "spec": {"selector": {"matchLabels": {"app": "x"}}},
                        "status": {
                            "disruptionsAllowed": allowed,
                            "currentHealthy": 2,
                            "desiredHealthy": 1,
                        },
                    },
                    PodDisruptionBudget,
                )
            )
        case _:
            change_of_pod(cache, what, *given)


def change_of_pod(cache: Cache, what: str, *given: Any) -> None:
    """Tell a cluster of a pod."""
    match what, given:
        case "pod", _:
            pod = running(*given)
            cache.observe(pod, pod_requests(pod))
        case "pod gone", (number,):
            cache.remove(f"uid-p{number}")
        case "nominate", (pod, node):
            cache.nominations.nominate(pod, node)
        case _, (pod, told):
            cache.observe_waiting(with_claims(pod, told), pod_requests(pod))


def with_claims(pod: Pod, told: bool) -> Pod:
    """The pod, and whether its status tells of its claim."""
    said = (PodResourceClaimStatus("c", "of-made"),) if told else None
    return msgspec.structs.replace(pod, status=PodStatus(resource_claim_statuses=said))


def forgotten(context: CycleContext) -> CycleContext:
    """The same cluster, and nothing remembered of it."""
    indexes = context.cache.store._indexes
    for make in [make for make in indexes if make.__name__ == "_kept_choices"]:
        del indexes[make]
    for module in [one for name, one in sys.modules.items() if name.startswith("moorage.core")]:
        for memory in vars(module).values():
            if isinstance(memory, MemoizedFunction):
                memory.cache_clear()
    return CycleContext(context.cache)


def brief(outcome: ScheduleResult | Diagnosis) -> tuple[Any, ...]:
    """All that counts of an outcome."""
    if isinstance(outcome, ScheduleResult):
        return outcome.node, outcome.score
    victims = [victim.metadata.name for victim in outcome.victims]
    return outcome.message, outcome.nominated_node, victims


@settings(max_examples=30)
@given(st.lists(CHANGES, min_size=3, max_size=15), st.integers(0, 2**16), st.booleans())
def test_what_is_remembered_makes_no_difference(
    changes: list[tuple[Any, ...]], seed: int, reported: bool
) -> None:
    """For several profiles, whichever is asked first."""
    chance = random.Random(seed)
    keeping, forgetting = (CycleContext(Cache()) for _ in range(2))
    there: list[tuple[Any, ...]] = [("claim", name, True) for name in CLAIMS]
    there += [("node", name, "4", i) for i, name in enumerate(NODES)]
    there += [("devices", name, 2 + i) for i, name in enumerate(NODES)]
    there += [("pod", i, name, "Running", 2) for i, name in enumerate(NODES)]
    for context in (keeping, forgetting):
        context.cache.store.put(GPU)
        for one in there:
            change(context.cache, *one)
    for one in changes:
        for context in (keeping, forgetting):
            change(context.cache, *one)
        for pod in PODS:
            waiting = with_claims(pod, reported)
            for revision in chance.sample(REVISIONS, 2):
                if chance.random() < 0.5:
                    forgetting = forgotten(forgetting)
                assert brief(decide(waiting, revision, keeping)) == brief(
                    decide(waiting, revision, forgetting)
                )


def test_memories_are_found() -> None:
    """What is to be wiped is where it is looked for."""
    context = CycleContext(Cache())
    for one in (("node", "n0", "4", 0), ("devices", "n0", 1), ("claim", "one", True)):
        change(context.cache, *one)
    context.cache.store.put(GPU)
    context.cache.nominations.nominate(PODS[1], "n0")
    decide(PODS[4], REVISIONS[0], context)
    kept = [make for make in context.cache.store._indexes if make.__name__ == "_kept_choices"]
    assert kept
