"""Pod groups on the wire: which pods are members, what they say of it, and what the kinds hold."""

from __future__ import annotations

import gc
import json
from typing import Any

import msgspec
import pytest

from moorage.core.objects.meta import ObjectMeta, PartialObject
from moorage.core.objects.pod_groups import (
    API,
    COSCHEDULING_API,
    GROUP_APIS,
    KUEUE_API,
    VOLCANO_API,
    CoschedulingPodGroup,
    GroupKey,
    PodGroup,
    PodGroupResourceClaim,
    VolcanoPodGroup,
    annotations_of,
    group_of,
    groups_named_by,
)
from moorage.core.objects.pods import Pod

COSCHEDULING = {"labels": {"scheduling.x-k8s.io/pod-group": "g"}}
VOLCANO = {"annotations": {"scheduling.k8s.io/group-name": "v", "other": "x"}}
KUEUE = {"labels": {"kueue.x-k8s.io/pod-group-name": "k"}}
KUBERNETES = {"schedulingGroup": {"podGroupName": "n"}}


def a_pod(metadata: dict[str, Any], spec: dict[str, Any]) -> Pod:
    """A pod in namespace d, as the API server writes it."""
    body = {"metadata": {"name": "p", "namespace": "d", **metadata}, "spec": spec}
    return msgspec.json.decode(json.dumps(body), type=Pod)


@pytest.mark.parametrize(
    ("metadata", "spec", "groups"),
    [
        pytest.param({}, {}, [], id="none"),
        pytest.param({}, KUBERNETES, [(API, "n")], id="Kubernetes"),
        pytest.param({}, {"schedulingGroup": None}, [], id="null"),
        pytest.param({}, {"schedulingGroup": {"podGroupName": None}}, [], id="name null"),
        pytest.param(COSCHEDULING, {}, [(COSCHEDULING_API, "g")], id="scheduler-plugins"),
        pytest.param({"labels": {"scheduling.x-k8s.io/pod-group": ""}}, {}, [], id="empty label"),
        pytest.param(VOLCANO, {}, [(VOLCANO_API, "v")], id="Volcano"),
        pytest.param(KUEUE, {}, [(KUEUE_API, "k")], id="Kueue"),
        pytest.param({"labels": None, "annotations": None}, {}, [], id="nulls"),
        pytest.param(
            {
                **VOLCANO,
                "labels": {**COSCHEDULING["labels"], **KUEUE["labels"]},
            },
            KUBERNETES,
            [(API, "n"), (COSCHEDULING_API, "g"), (VOLCANO_API, "v"), (KUEUE_API, "k")],
            id="all",
        ),
    ],
)
def test_membership(
    metadata: dict[str, Any], spec: dict[str, Any], groups: list[tuple[str, str]]
) -> None:
    """The first that a pod names counts, of two APIs that name the same there are two; the
    collector need not know of the pod.
    """
    pod = a_pod(metadata, spec)
    named = [GroupKey(api, "d", name) for api, name in groups]
    assert list(groups_named_by(pod)) == named
    assert group_of(pod) == (named[0] if named else None)
    assert not gc.is_tracked(pod.metadata)
    assert not gc.is_tracked(annotations_of(pod))
    assert not gc.is_tracked(pod.spec)
    going = a_pod({**metadata, "deletionTimestamp": "2026-01-01T00:00:00Z"}, spec)
    assert group_of(going) is None


def test_the_order_of_apis() -> None:
    """Kubernetes' own goes first."""
    assert GROUP_APIS == (API, COSCHEDULING_API, VOLCANO_API, KUEUE_API)


def test_a_pod_that_could_not_be_read() -> None:
    """Its labels are known, its spec and annotations are not."""
    partial = PartialObject(ObjectMeta("p", "d", labels=COSCHEDULING["labels"]))
    assert str(group_of(partial)) == "d/g"
    assert group_of(PartialObject(ObjectMeta("p", "d"))) is None


def test_a_pod_group_of_kubernetes() -> None:
    """All that is read of it, as kube-apiserver 1.37 writes it."""
    body = {
        "metadata": {"name": "g", "generation": 3, "finalizers": ["x"]},
        "spec": {
            "parentCompositePodGroupName": "tree",
            "workloadRef": {"workloadName": "w", "templateName": "t"},
            "schedulingPolicy": {"gang": {"minCount": 4}},
            "schedulingConstraints": {"topology": [{"key": "rack"}]},
            "resourceClaims": [
                {"name": "a", "resourceClaimName": "c"},
                {"name": "b", "resourceClaimTemplateName": "t"},
            ],
            "disruptionMode": {"all": {}},
            "priorityClassName": "high",
            "priority": 7,
            "preemptionPolicy": "Never",
        },
        "status": {
            "conditions": [
                {
                    "type": "PodGroupInitiallyScheduled",
                    "status": "True",
                    "reason": "Scheduled",
                    "message": "",
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                    "observedGeneration": 3,
                }
            ],
            "resourceClaimStatuses": [{"name": "b", "resourceClaimName": "b-x"}],
        },
    }
    group = msgspec.json.decode(json.dumps(body), type=PodGroup)
    spec, status = group.spec, group.status
    assert group.metadata.generation == 3
    assert spec.parent_composite_pod_group_name == "tree"
    assert spec.scheduling_policy.gang is not None
    assert spec.scheduling_policy.gang.min_count == 4
    assert spec.scheduling_policy.basic is None
    assert spec.scheduling_constraints is not None
    assert [one.key for one in spec.scheduling_constraints.topology or ()] == ["rack"]
    assert spec.resource_claims == (
        PodGroupResourceClaim("a", "c"),
        PodGroupResourceClaim("b", None, "t"),
    )
    assert spec.disruption_mode is not None
    assert spec.disruption_mode.all is not None
    assert spec.disruption_mode.single is None
    assert (spec.priority, spec.preemption_policy) == (7, "Never")
    assert [(one.type, one.status, one.observed_generation) for one in status.conditions or ()] == [
        ("PodGroupInitiallyScheduled", "True", 3)
    ]
    assert [one.resource_claim_name for one in status.resource_claim_statuses or ()] == ["b-x"]


@pytest.mark.parametrize("spec", [{}, {"schedulingPolicy": {"basic": {}}, "disruptionMode": None}])
def test_little_is_said(spec: dict[str, Any]) -> None:
    """What is not written, or is null, does no harm."""
    body = {"metadata": {"name": "g"}, "spec": spec, "status": {"conditions": None}}
    group = msgspec.json.decode(json.dumps(body), type=PodGroup)
    assert group.spec.scheduling_policy.gang is None
    assert not group.status.conditions


def test_pod_groups_of_others() -> None:
    """What their CRDs have, as far as it is read."""
    text = (
        '{"metadata": {"name": "g"}, "spec": {"minMember": 3, "scheduleTimeoutSeconds": 10, '
        '"minResources": {"cpu": "1"}, "queue": "q", "priorityClassName": "high"}, "status": {}}'
    )
    group = msgspec.json.decode(text, type=CoschedulingPodGroup)
    assert (group.spec.min_member, group.spec.schedule_timeout_seconds) == (3, 10)
    assert msgspec.json.decode(text, type=VolcanoPodGroup).spec.min_member == 3
    bare = msgspec.json.decode('{"metadata": {"name": "g"}}', type=CoschedulingPodGroup)
    assert bare.spec.schedule_timeout_seconds is None
