"""Group specs: what four APIs say comes to one record, or to a reason why there is none."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.core.columns.store import Store
from moorage.core.groups.group_spec import (
    GROUP_KINDS,
    AnyPodGroup,
    GroupSpec,
    declaration_of,
    group_spec,
    key_of,
    other_groups_note,
    why_no_spec,
)
from moorage.core.objects.pod_groups import (
    API,
    COSCHEDULING_API,
    GROUP_APIS,
    KUEUE_API,
    MIN_MEMBER,
    TOTAL_COUNT,
    VOLCANO_API,
    GroupKey,
    Membership,
    PodGroupResourceClaim,
    membership_of,
)
from moorage.core.objects.pods import Pod

GANG = {"schedulingPolicy": {"gang": {"minCount": 4}}}


def declared(api: str, spec: dict[str, Any], **rest: Any) -> AnyPodGroup:
    """The PodGroup d/g of an API."""
    metadata = {"name": "g", "namespace": "d", "uid": "u", "generation": 2}
    body = json.dumps({"metadata": metadata, "spec": spec, **rest})
    group: AnyPodGroup = msgspec.json.decode(body, type=GROUP_KINDS[api])
    return group


def store_of(*groups: AnyPodGroup) -> Store:
    """A store that has these PodGroups."""
    store = Store()
    for group in groups:
        store.put(group)
    return store


def said(api: str, *asks: str, priorities: Iterable[int] = (0,)) -> set[Membership]:
    """What members of d/g say."""
    return {Membership(GroupKey(api, "d", "g"), ask, one) for ask in asks for one in priorities}


def spec_of(api: str, *groups: AnyPodGroup, asks: Iterable[str] = ("",)) -> GroupSpec | None:
    """What d/g of an API asks for, members of which have priorities 5 and 3."""
    store, members = store_of(*groups), said(api, *asks, priorities=(5, 3))
    return group_spec(GroupKey(api, "d", "g"), members, store)


def test_a_gang_of_kubernetes() -> None:
    """The PodGroup alone says how many, and how important they are."""
    assert spec_of(API, declared(API, GANG)) == GroupSpec(
        GroupKey(API, "d", "g"), min_count=4, priority=0, uid="u", generation=2
    )


def test_all_that_kubernetes_may_say() -> None:
    """Priority, preemption, topology, claims, and whether the minimum was met once."""
    spec = {
        **GANG,
        "priority": 7,
        "preemptionPolicy": "Never",
        "disruptionMode": {"all": {}},
        "schedulingConstraints": {"topology": [{"key": "rack"}]},
        "resourceClaims": [{"name": "a", "resourceClaimName": "c"}],
    }
    met = {"type": "PodGroupInitiallyScheduled", "status": "True"}
    found = spec_of(API, declared(API, spec, status={"conditions": [met]}))
    assert found is not None
    assert (found.priority, found.preemption_policy) == (7, "Never")
    assert found.disrupted_together
    assert found.topology_key == "rack"
    assert found.claims == (PodGroupResourceClaim("a", "c"),)
    assert found.initially_scheduled
    assert (found.is_gang, found.name) == (True, "d/g")


@pytest.mark.parametrize(
    ("status", "met"),
    [({}, False), ({"conditions": [{"type": "PodGroupInitiallyScheduled", "status": "False"}]}, 0)],
)
def test_a_minimum_that_was_not_met(status: dict[str, Any], met: bool) -> None:
    """The condition's status counts."""
    found = spec_of(API, declared(API, GANG, status=status))
    assert found is not None
    assert found.initially_scheduled == met


@pytest.mark.parametrize("spec", [{}, {"schedulingPolicy": {"basic": {}}}])
def test_a_basic_group(spec: dict[str, Any]) -> None:
    """One member is enough."""
    found = spec_of(API, declared(API, spec))
    assert found is not None
    assert (found.min_count, found.is_gang, found.disrupted_together) == (1, False, False)


@pytest.mark.parametrize("api", [COSCHEDULING_API, VOLCANO_API])
def test_a_gang_of_others(api: str) -> None:
    """minMember says how many, whatever annotations say; the members, how important they are."""
    spec = {"minMember": 3, "priorityClassName": "high"}
    found = spec_of(api, declared(api, spec), asks=["9", "many"])
    assert found == GroupSpec(GroupKey(api, "d", "g"), 3, 3, "u", generation=2)


def test_a_gang_that_is_overdue() -> None:
    """scheduler-plugins' scheduleTimeoutSeconds."""
    spec = {"minMember": 3, "scheduleTimeoutSeconds": 60}
    found = spec_of(COSCHEDULING_API, declared(COSCHEDULING_API, spec))
    assert found is not None
    assert found.overdue_seconds == 60


@pytest.mark.parametrize("api", [COSCHEDULING_API, KUEUE_API])
@pytest.mark.parametrize(
    ("asks", "least"),
    [
        pytest.param(["2", ""], 2, id="one says it"),
        pytest.param(["2", "10"], 10, id="the largest number counts"),
        pytest.param([""], None, id="nobody says it"),
        pytest.param([], None, id="nobody is there"),
        pytest.param(["2", "two"], None, id="no number"),
        pytest.param(["2", "²"], None, id="a digit that is none"),
        pytest.param(["-1"], None, id="negative"),
        pytest.param(["9" * 5000], None, id="beyond all numbers"),
    ],
)
def test_annotations(api: str, asks: list[str], least: int | None) -> None:
    """Where there is no PodGroup, pods say how many."""
    found = spec_of(api, asks=asks)
    assert (None if found is None else found.min_count) == least
    if found is not None:
        assert (found.uid, found.priority) == ("", 3)
    else:
        why = why_no_spec(GroupKey(api, "d", "g"), said(api, *asks), Store(), ())
        assert len(why) < 300
        assert {COSCHEDULING_API: MIN_MEMBER, KUEUE_API: TOTAL_COUNT}[api] in why


@pytest.mark.parametrize("api", [API, VOLCANO_API])
def test_where_annotations_do_not_count(api: str) -> None:
    """These groups have a PodGroup, or wait for it."""
    assert spec_of(api, asks=["2"]) is None


@pytest.mark.parametrize("api", GROUP_KINDS)
def test_groups_of_other_apis_are_others(api: str) -> None:
    """Names alone say nothing."""
    for other in GROUP_KINDS.keys() - {api}:
        group = declared(other, GANG | {"minMember": 4})
        assert spec_of(api, group) is None
        assert key_of(group) == GroupKey(other, "d", "g")
        assert declaration_of(key_of(group), store_of(group)) is group


@pytest.mark.parametrize(
    ("api", "groups", "asks", "unserved", "why"),
    [
        pytest.param(
            API,
            [],
            [],
            [],
            'waiting for pods\'s pod group "g" to appear in scheduling queue: there is no PodGroup '
            "d/g (scheduling.k8s.io/v1beta1)",
            id="no PodGroup",
        ),
        pytest.param(
            API,
            [],
            [],
            [API],
            'waiting for pods\'s pod group "g" to appear in scheduling queue: the API server does '
            "not serve PodGroups of scheduling.k8s.io/v1beta1 (Kubernetes 1.37 with feature gate "
            "GenericWorkload and --runtime-config=scheduling.k8s.io/v1beta1=true does)",
            id="not served",
        ),
        pytest.param(
            API,
            [declared(API, {**GANG, "parentCompositePodGroupName": "tree"})],
            [],
            [],
            "pod group \"d/g\" belongs to the CompositePodGroup 'tree', and groups of groups are "
            "not scheduled; use a PodGroup without spec.parentCompositePodGroupName",
            id="CompositePodGroup",
        ),
        pytest.param(
            VOLCANO_API,
            [],
            [],
            [VOLCANO_API],
            'waiting for pods\'s pod group "g" to appear in scheduling queue: the API server does '
            "not serve PodGroups of scheduling.volcano.sh/v1beta1 (its CustomResourceDefinition is "
            "Volcano's)",
            id="no CRD of Volcano",
        ),
        pytest.param(
            COSCHEDULING_API,
            [],
            [""],
            [],
            'pod group "d/g": nothing says how many members it takes; create the PodGroup d/g '
            "(scheduling.x-k8s.io/v1alpha1) with spec.minMember, or give its pods the annotation "
            "moorage.dev/min-member",
            id="no annotation",
        ),
        pytest.param(
            COSCHEDULING_API,
            [],
            [""],
            [COSCHEDULING_API],
            'pod group "d/g": nothing says how many members it takes; give its pods the annotation '
            "moorage.dev/min-member",
            id="neither annotation nor CRD",
        ),
        pytest.param(
            KUEUE_API,
            [],
            ["two"],
            [],
            "pod group \"d/g\": annotation kueue.x-k8s.io/pod-group-total-count is 'two'; write a "
            'whole number, as in kueue.x-k8s.io/pod-group-total-count: "3"',
            id="no number",
        ),
    ],
)
def test_why_nothing_is_known(
    api: str, groups: list[AnyPodGroup], asks: list[str], unserved: list[str], why: str
) -> None:
    """What is missing, and what to do."""
    assert spec_of(api, *groups, asks=asks) is None
    key = GroupKey(api, "d", "g")
    assert why_no_spec(key, said(api, *asks), store_of(*groups), unserved) == why


def a_pod(metadata: dict[str, Any], spec: dict[str, Any]) -> Pod:
    """A pod in namespace d with priority 9."""
    body = {
        "metadata": {"name": "p", "namespace": "d", **metadata},
        "spec": {"priority": 9, **spec},
    }
    return msgspec.json.decode(json.dumps(body), type=Pod)


@pytest.mark.parametrize(
    ("metadata", "spec", "member"),
    [
        pytest.param({}, {}, None, id="none"),
        pytest.param(
            {"annotations": {MIN_MEMBER: "3"}},
            {"schedulingGroup": {"podGroupName": "g"}},
            (API, ""),
            id="a PodGroup says how many, not an annotation",
        ),
        pytest.param(
            {
                "labels": {"scheduling.x-k8s.io/pod-group": "g"},
                "annotations": {MIN_MEMBER: "3", TOTAL_COUNT: "4"},
            },
            {},
            (COSCHEDULING_API, "3"),
            id="scheduler-plugins",
        ),
        pytest.param(
            {"annotations": {"scheduling.k8s.io/group-name": "g"}},
            {},
            (VOLCANO_API, ""),
            id="Volcano",
        ),
        pytest.param(
            {
                "labels": {"kueue.x-k8s.io/pod-group-name": "g"},
                "annotations": {MIN_MEMBER: "3", TOTAL_COUNT: "4"},
            },
            {},
            (KUEUE_API, "4"),
            id="Kueue",
        ),
        pytest.param(
            {
                "labels": {"kueue.x-k8s.io/pod-group-name": "g"},
                "annotations": {
                    TOTAL_COUNT: "4",
                    "kueue.x-k8s.io/pod-group-fast-admission": "true",
                },
            },
            {},
            (KUEUE_API, "1"),
            id="Kueue admits one by one",
        ),
    ],
)
def test_what_a_pod_says(
    metadata: dict[str, Any], spec: dict[str, Any], member: tuple[str, str] | None
) -> None:
    """Group, minimum and priority."""
    want = None if member is None else Membership(GroupKey(member[0], "d", "g"), member[1], 9)
    assert membership_of(a_pod(metadata, spec)) == want


def test_pods_that_name_two_groups() -> None:
    """The first counts, and the others are told."""
    labels = {"scheduling.x-k8s.io/pod-group": "a", "kueue.x-k8s.io/pod-group-name": "b"}
    pod = a_pod({"labels": labels}, {"schedulingGroup": {"podGroupName": "g"}})
    assert other_groups_note(pod) == (
        "; the pod also names d/a (scheduling.x-k8s.io/v1alpha1), d/b (kueue.x-k8s.io), which does "
        "not count"
    )
    assert other_groups_note(a_pod({}, {"schedulingGroup": {"podGroupName": "g"}})) == ""
    assert other_groups_note(a_pod({}, {})) == ""


@given(
    st.sampled_from(GROUP_APIS),
    st.lists(st.sampled_from(["", "1", "2", "30", "x", "0"]), max_size=4),
    st.booleans(),
    st.sets(st.sampled_from(GROUP_APIS)),
)
def test_there_is_a_spec_or_a_reason(
    api: str, asks: list[str], there: bool, unserved: set[str]
) -> None:
    """Never both a minimum that nobody said and silence."""
    groups = [declared(api, GANG | {"minMember": 4})] if there and api in GROUP_KINDS else []
    found = spec_of(api, *groups, asks=asks)
    if found is None:
        assert not groups
        assert why_no_spec(GroupKey(api, "d", "g"), said(api, *asks), Store(), unserved)
    else:
        assert groups or str(found.min_count) in asks
