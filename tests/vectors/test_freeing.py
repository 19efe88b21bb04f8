"""No plugin lets a pod sleep that it would let pass now: whatever kind of object comes, changes or
goes.
"""

from __future__ import annotations

import functools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.core.framework.cluster_events import ActionType, EventResource
from tests.vectors.families import BUILT
from tests.vectors.files import CASES, Case, read_cases
from tests.vectors.freeing import Registration, changes, overlooked
from tests.vectors.hints import registrations
from tests.vectors.scheduling import scheduling

FAMILIES = sorted(family for family, adapter in BUILT.items() if adapter is scheduling)
BEYOND: dict[Registration, str] = {
    ("DynamicResources", EventResource.DEVICE_CLASS, ActionType.DELETE): "DynamicResources-1-46/0",
    (
        "DynamicResources",
        EventResource.RESOURCE_SLICE,
        ActionType.DELETE,
    ): "DynamicResourcesMore-1-26/3",
    ("DynamicResources", EventResource.ASSIGNED_POD, ActionType.DELETE): "",
    ("InterPodAffinity", EventResource.NODE, ActionType.DELETE): "InterPodAffinity-1-44/0",
    ("NodeVolumeLimits", EventResource.CSI_NODE, ActionType.DELETE): "NodeVolumeLimits-1-0/0",
    ("NodeVolumeLimits", EventResource.ASSIGNED_POD, ActionType.ADD): "NodeVolumeLimits-1-79/40",
    ("NodeVolumeLimits", EventResource.CSI_DRIVER, ActionType.UPDATE): "",
    ("NodeVolumeLimits", EventResource.CSI_DRIVER, ActionType.DELETE): "",
    (
        "NodeVolumeLimits",
        EventResource.PERSISTENT_VOLUME_CLAIM,
        ActionType.UPDATE,
    ): "NodeVolumeLimits-1-3/2",
    (
        "NodeVolumeLimits",
        EventResource.PERSISTENT_VOLUME_CLAIM,
        ActionType.DELETE,
    ): "NodeVolumeLimits-1-40/0",
    (
        "NodeVolumeLimits",
        EventResource.PERSISTENT_VOLUME,
        ActionType.DELETE,
    ): "NodeVolumeLimits-1-9/0",
    ("NodeVolumeLimits", EventResource.STORAGE_CLASS, ActionType.DELETE): "NodeVolumeLimits-1-3/0",
    ("VolumeBinding", EventResource.CSI_DRIVER, ActionType.DELETE): "VolumeBinding-1-0/0",
    ("VolumeBinding", EventResource.ASSIGNED_POD, ActionType.DELETE): "",
    ("VolumeRestrictions", EventResource.NODE, ActionType.DELETE): "VolumeRestrictions-1-71/0",
}
"""What plugins register for beyond kube-scheduler 1.37, with a case that shows why; "": what
another pod's undone decision frees, which tests/engine/scheduling/test_freed_room.py has, or what
kube-scheduler's cases do not have, which the plugin's own tests do.
"""


@functools.cache
def cases_of(family: str) -> list[Case]:
    """The repository's copy."""
    return list(read_cases(CASES / f"{family}.jsonl.gz"))


def overlooked_in(
    case: Case, seed: int, without: frozenset[Registration] = frozenset()
) -> list[str]:
    """Over one change of each kind and action, drawn by the seed."""
    chance = random.Random(f"{case['id']}/{seed}")
    other = chance.choice(cases_of(case["family"]))
    return [
        said
        for change in changes(case, other, random.Random(f"{case['id']}/{seed}"))
        for said in overlooked(case, change, without)
    ]


def case_of(name: str) -> Case:
    """A case by its id."""
    return next(case for case in cases_of(name.rsplit("-", 2)[0]) if case["id"] == name)


@settings(deadline=None)
@given(st.sampled_from(FAMILIES), st.integers(0, 1000), st.integers(0, 1000))
def test_what_frees_a_pod_wakes_it(family: str, number: int, seed: int) -> None:
    """Worlds of all families, by chance."""
    cases = cases_of(family)
    assert not overlooked_in(cases[number % len(cases)], seed)


@pytest.mark.parametrize(
    "registration",
    [one for one, name in BEYOND.items() if name],
    ids=lambda one: f"{one[0]}-{one[1].name}-{one[2].name}",
)
def test_each_registration_of_ours_is_needed(registration: Registration) -> None:
    """Without it a pod would wait for minutes."""
    name, _, seed = BEYOND[registration].partition("/")
    case = case_of(name)
    assert not overlooked_in(case, int(seed))
    assert any(
        said.startswith(registration[0])
        for said in overlooked_in(case, int(seed), frozenset({registration}))
    )


def test_registrations_beyond_kube_schedulers_are_listed() -> None:
    """And nothing is left out that it has."""
    (case,) = cases_of("EventRegistrations")
    ours, theirs = registrations(case)["registrations"], case["expect"]["registrations"]
    assert ours.keys() == theirs.keys()
    beyond = {
        (plugin, one) for plugin in ours for one in _pairs(ours[plugin]) - _pairs(theirs[plugin])
    }
    assert not {
        (plugin, one) for plugin in ours for one in _pairs(theirs[plugin]) - _pairs(ours[plugin])
    }
    names = {
        (
            plugin,
            (
                f"{resource if isinstance(resource, str) else resource.value} "
                f"{str(action.name).title()}"
            ),
        )
        for plugin, resource, action in BEYOND
    }
    assert {(plugin, one.rpartition("/")[2]) for plugin, one in beyond} == names


def _pairs(registered: list[dict[str, object]]) -> set[str]:
    return {f"{one['resource']} {action}" for one in registered for action in one["actions"]}  # type: ignore[attr-defined]
