"""Groups of four APIs: each comes to the same, and one that is not served is told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from moorage.core.groups.group_spec import AnyPodGroup
from moorage.core.objects.meta import ObjectMeta
from moorage.core.objects.pod_groups import (
    API,
    COSCHEDULING_API,
    COSCHEDULING_LABEL,
    KUEUE_API,
    KUEUE_LABEL,
    VOLCANO_API,
    CoschedulingPodGroup,
    CoschedulingPodGroupSpec,
    GangSchedulingPolicy,
    PodGroup,
    PodGroupSchedulingPolicy,
    PodGroupSpec,
    VolcanoPodGroup,
    VolcanoPodGroupSpec,
)
from moorage.core.objects.pods import Pod, PodAnnotations, PodSchedulingGroup, SchedulingGate
from moorage.engine.reports.group_reports import REPORT_INTERVAL_SECONDS, SETTLE_SECONDS
from moorage.ports.stored_kinds import POD_GROUPS
from tests.builders import make_pod
from tests.engine.running import Running

GROUP = ObjectMeta("g", "default", "uid-g")


def kubernetes_group(least: int, parent: str | None = None) -> PodGroup:
    """Kubernetes' PodGroup, with this minCount."""
    policy = PodGroupSchedulingPolicy(gang=GangSchedulingPolicy(least))
    spec = PodGroupSpec(policy, parent_composite_pod_group_name=parent)
    return PodGroup(GROUP, spec)


GROUPS: dict[str, AnyPodGroup | None] = {
    API: kubernetes_group(3),
    COSCHEDULING_API: CoschedulingPodGroup(GROUP, CoschedulingPodGroupSpec(3)),
    VOLCANO_API: VolcanoPodGroup(GROUP, VolcanoPodGroupSpec(3)),
    KUEUE_API: None,
}
"""Groups of three; Kueue's pods say so themselves."""


def member(name: str, api: str, cpu: str = "2") -> Pod:
    """A pod of group g; two of them fill a node."""
    pod = make_pod(name, cpu=cpu)
    meta, spec = pod.metadata, pod.spec
    match api:
        case "scheduling.k8s.io/v1beta1":
            spec = msgspec.structs.replace(spec, scheduling_group=PodSchedulingGroup("g"))
        case "scheduling.x-k8s.io/v1alpha1":
            meta = msgspec.structs.replace(meta, labels={COSCHEDULING_LABEL: "g"})
        case "scheduling.volcano.sh/v1beta1":
            meta = msgspec.structs.replace(meta, annotations=PodAnnotations(group_name="g"))
        case _:
            total = PodAnnotations(pod_group_total_count="3")
            meta = msgspec.structs.replace(meta, labels={KUEUE_LABEL: "g"}, annotations=total)
    return msgspec.structs.replace(pod, metadata=meta, spec=spec)


def message(world: Running, name: str) -> str:
    """Of the pod's condition PodScheduled."""
    conditions = world.kube.pods[f"uid-{name}"].status.conditions or ()
    return next((one.message for one in conditions if one.type == "PodScheduled"), "")


def run(scenario: Callable[[Running], Any]) -> None:
    """In a leading engine with two nodes."""

    async def whole() -> None:
        async with Running().leading() as world:
            await scenario(world)

    asyncio.run(whole())


@pytest.mark.parametrize("api", GROUPS)
def test_all_or_none(api: str) -> None:
    """Two of three wait, and say for whom; with the third all are bound."""

    async def scenario(world: Running) -> None:
        if (group := GROUPS[api]) is not None:
            world.kube.put(group)
        for name in "ab":
            world.kube.put(member(name, api))
        await world.clock.advance(SETTLE_SECONDS + 1)
        assert "2 of 3 members are here" in message(world, "a")
        assert not world.kube.bindings
        world.kube.put(member("c", api))
        await world.clock.advance(1)
        assert sorted(world.kube.bindings) == ["a", "b", "c"]

    run(scenario)


@pytest.mark.parametrize("api", GROUPS)
def test_what_does_not_fit_whole_is_not_begun(api: str) -> None:
    """Two of three would fit: none is bound. The text is kube-scheduler's; of groups that others
    declare it names who is missing.
    """
    text = "minCount (3) cannot be satisfied: 2 scheduled, 0 remaining"
    missing = "; 'c' does not fit: 0/2 nodes are available: 2 Insufficient cpu."

    async def scenario(world: Running) -> None:
        if (group := GROUPS[api]) is not None:
            world.kube.put(group)
        for name in "abc":
            world.kube.put(member(name, api, cpu="3"))
        await world.clock.advance(2)
        assert not world.kube.bindings
        assert text in message(world, "a")
        assert (missing in message(world, "a")) is (api != API)

    run(scenario)


def test_an_api_that_is_not_served() -> None:
    """Its pods are held, and not placed alone; once the API server has it they are tried."""

    async def scenario(world: Running) -> None:
        sink = world.engine.stored_object_sinks[POD_GROUPS[0]]
        sink.list_started(served=False)
        sink.list_ended()
        world.kube.put(member("a", API))
        await world.clock.advance(SETTLE_SECONDS + 1)
        assert "the API server does not serve PodGroups of scheduling.k8s.io/v1beta1" in message(
            world, "a"
        )
        assert not world.kube.bindings
        sink.list_started()
        sink.list_ended()
        await world.clock.advance(REPORT_INTERVAL_SECONDS + 1)
        assert message(world, "a").endswith(
            "there is no PodGroup default/g (scheduling.k8s.io/v1beta1)"
        )
        world.kube.put(kubernetes_group(1))
        await world.clock.advance(1)
        assert sorted(world.kube.bindings) == ["a"]

    run(scenario)


def test_groups_of_groups_are_refused() -> None:
    """The CompositePodGroup is named."""

    async def scenario(world: Running) -> None:
        world.kube.put(kubernetes_group(1, parent="tree"))
        world.kube.put(member("a", API))
        await world.clock.advance(SETTLE_SECONDS + 1)
        assert "belongs to the CompositePodGroup 'tree'" in message(world, "a")
        assert not world.kube.bindings

    run(scenario)


def test_a_pod_that_names_two_groups() -> None:
    """The first counts; the other is told while it waits."""

    async def scenario(world: Running) -> None:
        pod = member("a", API)
        meta = msgspec.structs.replace(pod.metadata, labels={COSCHEDULING_LABEL: "other"})
        world.kube.put(msgspec.structs.replace(pod, metadata=meta))
        world.kube.put(kubernetes_group(2))
        await world.clock.advance(SETTLE_SECONDS + 1)
        assert message(world, "a") == (
            'waiting for minCount pods from a gang to appear in scheduling queue, "default/g": 1 '
            "of 2 members are here; the pod also names default/other "
            "(scheduling.x-k8s.io/v1alpha1), which does not count"
        )

    run(scenario)


def test_the_gate_of_kueue_goes_first() -> None:
    """Nobody of a group is placed before all of it is let in."""

    async def scenario(world: Running) -> None:
        waits = member("c", KUEUE_API)
        spec = msgspec.structs.replace(
            waits.spec, scheduling_gates=(SchedulingGate("kueue.x-k8s.io/admission"),)
        )
        for pod in (
            member("a", KUEUE_API),
            member("b", KUEUE_API),
            msgspec.structs.replace(waits, spec=spec),
        ):
            world.kube.put(pod)
        await world.clock.advance(SETTLE_SECONDS + 1)
        assert "2 of 3 members are here" in message(world, "a")
        assert not world.kube.bindings
        world.kube.put(waits)
        await world.clock.advance(1)
        assert sorted(world.kube.bindings) == ["a", "b", "c"]

    run(scenario)


def test_a_group_that_kueue_admits_with_its_first_pod() -> None:
    """Its pods come one after another: none waits for those that follow."""

    async def scenario(world: Running) -> None:
        pod = member("a", KUEUE_API)
        said = PodAnnotations(pod_group_total_count="3", pod_group_fast_admission="true")
        meta = msgspec.structs.replace(pod.metadata, annotations=said)
        world.kube.put(msgspec.structs.replace(pod, metadata=meta))
        await world.clock.advance(1)
        assert sorted(world.kube.bindings) == ["a"]

    run(scenario)
