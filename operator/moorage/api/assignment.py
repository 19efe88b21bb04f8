"""Assignment: which pods get a profile that they do not name, and whether two profiles could both
ask for one.

Pure. The policy of manifests/components/assign says the same in CEL: tests/assignment_cases.yaml
holds for both (docs/adr/0020).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from kubefacts.labels import (
    LabelRequirementCheck,
    SelectorError,
    all_match,
    can_hold,
    compile_selector,
)
from moorage.api import bodies
from moorage.api.bodies import Body
from moorage.api.conditions import ConditionType
from moorage.api.decoding import DecodeError, decoder
from moorage.api.pod_reviews import NewPod
from moorage.api.v1alpha1.profile_assign import ProfileAssign
from moorage.core.framework.revisions import FieldError

Conditions: TypeAlias = tuple[LabelRequirementCheck, ...]
"""On labels; all must hold."""

OPEN_NAMESPACES: Conditions = (
    LabelRequirementCheck("kubernetes.io/metadata.name", "NotIn", frozenset({"kube-system"})),
    LabelRequirementCheck("moorage.dev/home", "DoesNotExist"),
)
"""Where pods may be assigned at all."""
OPEN_PODS: Conditions = (
    LabelRequirementCheck("moorage.dev/assign", "NotIn", frozenset({"false"})),
)
"""Pods that may be, by their labels."""


@dataclasses.dataclass(frozen=True, slots=True)
class Assignment:
    """A profile's spec.assign, compiled, with what holds for all: conditions on the labels of
    namespaces and of pods.
    """

    namespaces: Conditions
    pods: Conditions

    def takes(self, pod: NewPod, namespace_labels: Mapping[str, str]) -> bool:
        """Whether a pod gets the profile."""
        return (
            pod.is_open
            and all_match(self.pods, pod.metadata.labels or {})
            and all_match(self.namespaces, namespace_labels)
        )

    def meets(self, other: Assignment) -> bool:
        """Whether there could be a pod that both take."""
        return can_hold(self.namespaces + other.namespaces) and can_hold(self.pods + other.pods)


@dataclasses.dataclass(frozen=True, slots=True)
class AssigningProfile:
    """A profile with spec.assign, of whichever installation."""

    name: str
    age: tuple[str, str]
    """Of two, the older one's is less."""
    scheduler_name: str
    assignment: Assignment | None
    """None: it cannot be read."""
    assigned: bool
    """Whether its condition Assigned says that pods may get it."""

    def is_before(self, other: AssigningProfile) -> bool:
        """Whether it is older, and could ask for a pod that the other one asks for."""
        mine, theirs = self.assignment, other.assignment
        return (
            self.age < other.age and mine is not None and theirs is not None and mine.meets(theirs)
        )


def assigning(profile: Body) -> AssigningProfile | None:
    """What a profile says of assignment; None where it has no spec.assign."""
    spec = profile.get("spec")
    document = spec.get("assign") if isinstance(spec, Mapping) else None
    if document is None:
        return None
    try:
        assignment = compiled(decoder(ProfileAssign).decode(document))
    except (DecodeError, SelectorError):
        assignment = None
    age = bodies.age(profile)
    assigned = bodies.is_true(profile, ConditionType.ASSIGNED)
    return AssigningProfile(age[1], age, bodies.scheduler_name(profile), assignment, assigned)


def chosen(
    profiles: Iterable[AssigningProfile], pod: NewPod, namespace_labels: Mapping[str, str]
) -> AssigningProfile | None:
    """The profile that a pod gets as it is created, of several the first; None: it stays as it
    is.
    """
    return next(
        (
            profile
            for profile in profiles
            if profile.assigned
            and profile.assignment is not None
            and profile.assignment.takes(pod, namespace_labels)
        ),
        None,
    )


def compiled(assign: ProfileAssign) -> Assignment:
    """What it means. Raises SelectorError where a key or a value is none."""
    namespaces = compile_selector(assign.namespace_selector).conditions or ()
    pods = compile_selector(assign.pod_selector).conditions or ()
    return Assignment(OPEN_NAMESPACES + namespaces, OPEN_PODS + pods)


def assign_errors(assign: ProfileAssign) -> Iterator[FieldError]:
    """What is wrong with its selectors."""
    selectors = {"namespaceSelector": assign.namespace_selector, "podSelector": assign.pod_selector}
    for name, selector in selectors.items():
        try:
            compile_selector(selector)
        except SelectorError as error:
            for fault in error.faults:
                yield FieldError(f"assign.{name}.{fault.path}", fault.value, fault.problem)
