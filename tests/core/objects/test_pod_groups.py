"""Pod groups on the wire: which pods are members, and what they say of it."""

from __future__ import annotations

import gc

import msgspec
import pytest

from moorage.core.objects.pod_groups import PodGroup, asked_min_member
from moorage.core.objects.pods import Pod, group_of

LABELS = '"labels": {"scheduling.x-k8s.io/pod-group": "g"}'


@pytest.mark.parametrize(
    ("metadata", "group", "asked"),
    [
        pytest.param(LABELS, "d/g", "", id="label alone"),
        pytest.param(
            LABELS + ', "annotations": {"moorage.dev/min-member": "3", "other": "x"}',
            "d/g",
            "3",
            id="annotation",
        ),
        pytest.param(LABELS + ', "annotations": null', "d/g", "", id="null"),
        pytest.param(
            LABELS + ', "deletionTimestamp": "2026-01-01T00:00:00Z"', "", "", id="being deleted"
        ),
        pytest.param('"labels": {"scheduling.x-k8s.io/pod-group": ""}', "", "", id="empty label"),
        pytest.param('"annotations": {"moorage.dev/min-member": "3"}', "", "3", id="no label"),
    ],
)
def test_membership(metadata: str, group: str, asked: str) -> None:
    """The label decides, and the annotation is read among all others; the collector need not know
    of it.
    """
    pod = msgspec.json.decode(
        f'{{"metadata": {{"name": "p", "namespace": "d", {metadata}}}}}', type=Pod
    )
    assert (group_of(pod), asked_min_member(pod)) == (group, asked)
    assert not gc.is_tracked(pod.metadata)
    assert not gc.is_tracked(pod.metadata.annotations)


def test_a_pod_group() -> None:
    """What the CRD of scheduler-plugins has, as far as it is read."""
    text = (
        '{"metadata": {"name": "g"}, "spec": {"minMember": 3, "scheduleTimeoutSeconds": 10, '
        '"minResources": {"cpu": "1"}}, "status": {}}'
    )
    group = msgspec.json.decode(text, type=PodGroup)
    assert (group.spec.min_member, group.spec.schedule_timeout_seconds) == (3, 10)
    assert (
        msgspec.json.decode(
            '{"metadata": {"name": "g"}}', type=PodGroup
        ).spec.schedule_timeout_seconds
        is None
    )
