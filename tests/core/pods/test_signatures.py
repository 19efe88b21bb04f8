"""Keys of pods: which are the same to hints."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from moorage.core.objects.pods import (
    Container,
    EphemeralVolume,
    Pod,
    PodResourceClaim,
    PodSchedulingGroup,
    PodStatus,
    Volume,
)
from moorage.core.pods.signatures import pod_content, pod_signature, waiting_signature
from tests.builders import make_pod

PLAIN = make_pod("p")


@pytest.mark.parametrize(
    ("spec", "alike"),
    [
        ({}, True),
        ({"volumes": (Volume("scratch"),)}, True),
        ({"volumes": (Volume("data", ephemeral=EphemeralVolume()),)}, False),
        ({"resource_claims": (PodResourceClaim("gpu", resource_claim_template_name="t"),)}, False),
    ],
    ids=["nothing", "a volume", "an ephemeral volume", "a generated claim"],
)
def test_pods_that_differ_in_name_alone(spec: dict[str, Any], alike: bool) -> None:
    """They are the same, unless objects are named after them."""
    assert (
        waiting_signature(make_pod("a", **spec)) == waiting_signature(make_pod("b", **spec))
    ) is alike


@pytest.mark.parametrize(
    "other",
    [
        msgspec.structs.replace(
            PLAIN, metadata=msgspec.structs.replace(PLAIN.metadata, labels={"app": "x"})
        ),
        msgspec.structs.replace(
            PLAIN, metadata=msgspec.structs.replace(PLAIN.metadata, namespace="other")
        ),
        make_pod("p", containers=(Container("c", image="app:2"),)),
    ],
    ids=["labels", "namespace", "spec"],
)
def test_pods_that_differ_in_what_hints_go_by(other: Pod) -> None:
    """They are not the same."""
    assert waiting_signature(PLAIN) != waiting_signature(other)


def test_a_nomination_makes_no_difference() -> None:
    """Nor does any other status that says nothing of resources."""
    assert waiting_signature(PLAIN) == waiting_signature(
        msgspec.structs.replace(PLAIN, status=PodStatus(nominated_node_name="n"))
    )


def test_groups_of_one_template() -> None:
    """With whom pods go does not say where: they share masks, but not what wakes them."""
    one, other = (make_pod("p", scheduling_group=PodSchedulingGroup(name)) for name in "ab")
    assert pod_signature(one) == pod_signature(other) == pod_signature(PLAIN)
    for told_apart in (waiting_signature, pod_content):
        assert len({told_apart(pod) for pod in (one, other, PLAIN)}) == 3
