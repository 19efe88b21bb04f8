"""GangScheduling may be named, and changes nothing."""

from __future__ import annotations

import msgspec
import pytest

from moorage.core.columns.store import Store
from moorage.core.framework.interfaces import ExtensionPoint, PreEnqueuePlugin
from moorage.core.framework.registry import build_registry
from moorage.core.framework.revisions import EnabledPlugins, PluginRef, RequestedProfile, resolve
from moorage.core.framework.status import SUCCESS
from moorage.core.objects.pods import PodSchedulingGroup
from moorage.core.plugins.gang_scheduling import GangScheduling
from moorage.core.plugins.intree import INTREE, PRESETS
from tests.builders import make_pod

PLUGIN: PreEnqueuePlugin = GangScheduling()
REGISTRY = build_registry(INTREE)


def test_members_are_not_its_matter() -> None:
    """The queue holds them, until their group is complete."""
    pod = make_pod("p")
    spec = msgspec.structs.replace(pod.spec, scheduling_group=PodSchedulingGroup("g"))
    assert PLUGIN.pre_enqueue(msgspec.structs.replace(pod, spec=spec), Store()) == SUCCESS


@pytest.mark.parametrize("point", ["multiPoint", "preEnqueue", "permit"])
def test_profiles_may_name_it(point: str) -> None:
    """At the points that it has in kube-scheduler."""
    named = {point: EnabledPlugins((PluginRef("GangScheduling"),))}
    revision = resolve(RequestedProfile("test", "Default", named), REGISTRY, PRESETS)
    found = {one.value for one, names in revision.points.items() if "GangScheduling" in names}
    both = {ExtensionPoint.PRE_ENQUEUE.value, ExtensionPoint.PERMIT.value}
    assert found == (both if point == "multiPoint" else {point})


@pytest.mark.parametrize("preset", PRESETS)
def test_no_preset_has_it(preset: str) -> None:
    """A pod pays for nothing."""
    revision = resolve(RequestedProfile("test", preset, {}), REGISTRY, PRESETS)
    assert "GangScheduling" not in revision.deciders
