"""Assignment: which pods get a profile that they do not name, and whether two profiles could both
ask for one.

Pure. The policy of manifests/components/assign says the same in CEL: tests/assignment_cases.yaml
holds for both (docs/adr/0020).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, TypeAlias

from kubefacts.labels import LabelRequirementCheck, SelectorError, all_match, compile_selector
from moorage.api.v1alpha1.profile_assign import ProfileAssign
from moorage.core.framework.revisions import FieldError

DEFAULT_SCHEDULER = "default-scheduler"
"""What the API server puts into pods that name no scheduler."""
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
_ANOTHER = "any value that no selector names"
"""No label has it, since values have no blanks."""


@dataclasses.dataclass(frozen=True, slots=True)
class Assignment:
    """A profile's spec.assign, compiled, with what holds for all: conditions on the labels of
    namespaces and of pods.
    """

    namespaces: Conditions
    pods: Conditions

    def takes(self, pod: Mapping[str, Any], namespace_labels: Mapping[str, str]) -> bool:
        """Whether a pod, given as its JSON, gets the profile as it is created."""
        return (
            is_open(pod)
            and all_match(self.pods, pod["metadata"].get("labels") or {})
            and all_match(self.namespaces, namespace_labels)
        )

    def meets(self, other: Assignment) -> bool:
        """Whether there could be a pod that both take."""
        return _can_hold(self.namespaces + other.namespaces) and _can_hold(self.pods + other.pods)


def is_open(pod: Mapping[str, Any]) -> bool:
    """Whether a pod names no scheduler, has no node (mirror pods have one), and is no DaemonSet's:
    its node is chosen by that, and another one would not do.
    """
    spec, owners = pod["spec"], pod["metadata"].get("ownerReferences") or ()
    return (
        spec.get("schedulerName", DEFAULT_SCHEDULER) == DEFAULT_SCHEDULER
        and not spec.get("nodeName")
        and not any(one.get("kind") == "DaemonSet" and one.get("controller") for one in owners)
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


def _can_hold(conditions: Iterable[LabelRequirementCheck]) -> bool:
    """Whether there are labels that meet all conditions: each key is by itself."""
    ordered = sorted(conditions, key=_key)
    return all(_some_value(tuple(checks)) for _, checks in groupby(ordered, key=_key))


def _key(check: LabelRequirementCheck) -> str:
    return check.key


def _some_value(checks: Conditions) -> bool:
    """Whether a label's absence or one of its values meets all conditions on it. Of the values that
    none of them names, one stands for all.
    """
    named = (value for check in checks for value in check.values)
    return any(all(check.matches(value) for check in checks) for value in (None, _ANOTHER, *named))
