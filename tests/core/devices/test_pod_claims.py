"""The claims of a pod: which of them are its PodGroup's, and which it must not touch."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.core.columns.store import Store
from moorage.core.devices.pod_claims import (
    ClaimError,
    claims_of,
    consumer_of_group,
    consumers_of,
    group_claims,
    uses_claim,
)
from moorage.core.objects.meta import ObjectMeta, OwnerReference
from moorage.core.objects.pod_groups import (
    PodGroup,
    PodGroupResourceClaim,
    PodGroupResourceClaimStatus,
    PodGroupSpec,
    PodGroupStatus,
)
from moorage.core.objects.pods import (
    Pod,
    PodResourceClaim,
    PodResourceClaimStatus,
    PodSchedulingGroup,
    PodStatus,
)
from moorage.core.objects.resource_claims import ClaimMeta, Consumer, ResourceClaim
from tests.builders import make_pod

OF_GROUP = Consumer("scheduling.k8s.io", "podgroups", "g", "uid-g")


@dataclasses.dataclass(frozen=True)
class Entry:
    """An entry of a pod or a group, and the name that was generated for it."""

    name: str
    claim: str | None = None
    template: str | None = None
    generated: str | None = None


def group(*entries: Entry, name: str = "g") -> PodGroup:
    """A PodGroup with these claims."""
    claims = tuple(PodGroupResourceClaim(one.name, one.claim, one.template) for one in entries)
    statuses = tuple(
        PodGroupResourceClaimStatus(one.name, one.generated) for one in entries if one.generated
    )
    return PodGroup(
        ObjectMeta(name, "default", f"uid-{name}"),
        PodGroupSpec(resource_claims=claims or None),
        PodGroupStatus(resource_claim_statuses=statuses or None),
    )


def member(*entries: Entry, of: str | None = "g", name: str = "p") -> Pod:
    """A pod with these claims, in this group."""
    claims = tuple(PodResourceClaim(one.name, one.claim, one.template) for one in entries)
    statuses = tuple(
        PodResourceClaimStatus(one.name, one.generated) for one in entries if one.generated
    )
    spec: dict[str, Any] = {"scheduling_group": PodSchedulingGroup(of)} if of is not None else {}
    pod = make_pod(name, resource_claims=claims or None, **spec)
    status = PodStatus(resource_claim_statuses=statuses or None)
    return msgspec.structs.replace(pod, status=status)


def stored(*objects: PodGroup | ResourceClaim) -> Store:
    """A store of these."""
    store = Store()
    for obj in objects:
        store.put(obj)
    return store


SHARED = Entry("gpus", claim="c")
MADE = Entry("gpus", template="t", generated="g-gpus")


@pytest.mark.parametrize(
    ("pods", "groups", "shared"),
    [
        (SHARED, SHARED, {"c"}),
        (MADE, MADE, {"g-gpus"}),
        (SHARED, Entry("others", claim="c"), set()),
        (SHARED, Entry("gpus", claim="d"), set()),
        (SHARED, Entry("gpus", template="c"), set()),
        (MADE, Entry("gpus", template="other"), set()),
    ],
    ids=["claim", "template", "other name", "other claim", "no template", "other template"],
)
def test_an_entry_is_shared_where_name_and_reference_are_the_same(
    pods: Entry, groups: Entry, shared: set[str]
) -> None:
    """Then the claim is the group's, and else the pod's."""
    assert consumers_of(member(pods), stored(group(groups))) == dict.fromkeys(shared, OF_GROUP)


def test_no_group_no_shared_claims() -> None:
    """A pod in no group, in one that is not there, and in one whose claims the server dropped."""
    store = stored(group(SHARED))
    assert consumers_of(member(SHARED, of=None), store) == {}
    assert consumers_of(member(SHARED, of="gone"), store) == {}
    assert consumers_of(member(SHARED), stored(group())) == {}


ENTRIES = st.builds(
    Entry,
    st.sampled_from("ab"),
    claim=st.sampled_from(["c", "d", None]),
    template=st.just("t"),
    generated=st.sampled_from(["x", "y"]),
).map(lambda one: dataclasses.replace(one, template=None, generated=None) if one.claim else one)


@given(st.lists(ENTRIES, max_size=3, unique_by=lambda one: one.name), st.lists(ENTRIES, max_size=3))
def test_the_group_has_what_both_say(pods: list[Entry], groups: list[Entry]) -> None:
    """As the naive comparison has it."""
    same = {
        mine.claim or mine.generated
        for mine in pods
        for its in groups
        if (mine.name, mine.claim, mine.template) == (its.name, its.claim, its.template)
    }
    found = consumers_of(member(*pods), stored(group(*groups)))
    assert found == dict.fromkeys(same, OF_GROUP)


def generated(owner: OwnerReference) -> ResourceClaim:
    """A claim that was generated for this owner."""
    return ResourceClaim(ClaimMeta("g-gpus", "default", "uid-x", owner_references=(owner,)))


OWNER = OwnerReference("scheduling.k8s.io/v1beta1", "PodGroup", "g", "uid-g", True)
NEITHER = (
    "ResourceClaim default/g-gpus was not created for Pod default/p "
    "(neither Pod nor PodGroup g is the owner)"
)
ALONE = "ResourceClaim default/g-gpus was not created for Pod default/p (Pod is not owner)"


@pytest.mark.parametrize(
    ("pod", "owner", "error"),
    [
        (member(MADE), OWNER, ""),
        (member(MADE), msgspec.structs.replace(OWNER, name="h"), NEITHER),
        (member(MADE), msgspec.structs.replace(OWNER, kind="Workload"), NEITHER),
        (member(MADE), msgspec.structs.replace(OWNER, api_version="apps/v1"), NEITHER),
        (member(MADE), msgspec.structs.replace(OWNER, controller=None), NEITHER),
        (member(MADE, of=None), OWNER, ALONE),
    ],
    ids=["its group", "another group", "another kind", "another API", "no controller", "alone"],
)
def test_a_generated_claim_may_be_the_groups(pod: Pod, owner: OwnerReference, error: str) -> None:
    """The group is known by name: a pod does not say its UID."""
    claims = {"default/g-gpus": generated(owner)}
    try:
        claims_of(pod, claims)
        said = ""
    except ClaimError as refusal:
        said = str(refusal)
    assert said == error


def test_the_claims_of_a_group() -> None:
    """Those that are there; a generated one must be this very group's."""
    declared = group(SHARED, MADE, Entry("missing", claim="m"), Entry("unmade", template="t"))
    own, stranger = ResourceClaim(ClaimMeta("c", "default", "uid-c")), generated(OWNER)

    def names(*claims: ResourceClaim) -> Iterator[str]:
        there = stored(*claims).objects(ResourceClaim)
        return (one.metadata.name for one in group_claims(declared, there))

    assert list(names(own, stranger)) == ["c", "g-gpus"]
    before = msgspec.structs.replace(OWNER, uid="uid-before")
    assert list(names(own, generated(before))) == ["c"]


def test_who_uses_a_claim() -> None:
    """By its own name or the generated one."""
    pod = member(Entry("a", claim="c"), Entry("b", template="t", generated="g"))
    assert [uses_claim(pod, name) for name in ("c", "g", "a", "t")] == [True, True, False, False]
    assert consumer_of_group(group()) == OF_GROUP
