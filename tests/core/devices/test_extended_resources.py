"""Extended resources that stand for devices: which class a resource means, and whose claim is one
that was made for them.
"""

from __future__ import annotations

import itertools

import pytest

from moorage.core.devices.extended_resources import (
    ANNOTATION,
    classes_by_resource,
    is_extended_claim,
    owner_of,
)
from moorage.core.objects.meta import ObjectMeta, OwnerReference
from moorage.core.objects.resource_claims import (
    ClaimMeta,
    DeviceClass,
    DeviceClassSpec,
    ResourceClaim,
)

GPU = "example.com/gpu"
OWNER = OwnerReference("v1", "Pod", "other", "uid-other")
CONTROLLER = OwnerReference("v1", "Pod", "p", "uid-p", controller=True)


def class_(name: str, created: str | None = None, resource: str | None = GPU) -> DeviceClass:
    """A class of that age that stands for a resource."""
    return DeviceClass(
        ObjectMeta(name, creation_timestamp=created),
        DeviceClassSpec(extended_resource_name=resource),
    )


@pytest.mark.parametrize(
    ("classes", "name"),
    [
        ([class_("b", "2026-01-02T00:00:00Z"), class_("a", "2026-01-01T00:00:00Z")], "b"),
        ([class_("a", "2026-01-02T00:00:00Z"), class_("b", "2026-01-01T00:00:00Z")], "a"),
        ([class_("b", "2026-01-01T00:00:00Z"), class_("a", "2026-01-01T00:00:00Z")], "a"),
        ([class_("b", "2026-01-01T00:00:00Z"), class_("a")], "b"),
        ([class_("b", "2026-01-01T00:00:00Z"), class_("a", "2026-01-02T00:00:00Z", None)], "b"),
    ],
)
def test_of_two_classes_the_younger_counts(classes: list[DeviceClass], name: str) -> None:
    """Then the first by name, in whatever order they come."""
    for order in itertools.permutations(classes):
        assert classes_by_resource(order)[GPU].metadata.name == name


def test_each_class_has_a_resource_of_its_own() -> None:
    """By its name, which no other class can take."""
    own = "deviceclass.resource.kubernetes.io/a"
    found = classes_by_resource([class_("a", resource=None), class_("b", "2026", resource=own)])
    assert {resource: one.metadata.name for resource, one in found.items()} == {
        own: "a",
        "deviceclass.resource.kubernetes.io/b": "b",
    }


@pytest.mark.parametrize(
    ("said", "owners", "uid", "extended"),
    [
        ("true", (OWNER, CONTROLLER), "uid-p", True),
        ("true", (OWNER,), "", False),
        ("true", None, "", False),
        ("false", (CONTROLLER,), "uid-p", False),
        (None, (CONTROLLER,), "uid-p", False),
    ],
)
def test_a_claim_for_extended_resources_is_its_pods(
    said: str | None, owners: tuple[OwnerReference, ...] | None, uid: str, extended: bool
) -> None:
    """It says what it is, and one of its owners controls it."""
    annotations = None if said is None else {ANNOTATION: said}
    claim = ResourceClaim(
        ClaimMeta("c", "default", "uid-c", owner_references=owners, annotations=annotations)
    )
    assert (owner_of(claim), is_extended_claim(claim)) == (uid, extended)
