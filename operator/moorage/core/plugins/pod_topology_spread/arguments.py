"""Arguments of PodTopologySpread: the constraints of pods that have none."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any, ClassVar, Literal

import msgspec
from annotated_types import Gt, Interval

from kubefacts.names import qualified_name
from moorage.core.framework.arguments import ARGUMENTS, FieldErrorType, Violation
from moorage.core.objects.nodes import HOSTNAME
from moorage.core.objects.pods import TopologySpreadConstraint
from moorage.core.plugins.pod_topology_spread.constraints import HARD, SOFT
from moorage.core.structures.remembering import memoized, text_size


@dataclasses.dataclass(frozen=True, slots=True)
class DefaultConstraint:
    """A constraint as in a pod's spec, less the selector: that is found out for each pod."""

    __pydantic_config__: ClassVar = ARGUMENTS

    max_skew: Annotated[int, Gt(0)]
    topology_key: str
    when_unsatisfiable: str
    min_domains: Annotated[int, Interval(ge=1, le=2**31 - 1)] | None = None
    node_affinity_policy: Literal["Honor", "Ignore"] | None = None
    node_taints_policy: Literal["Honor", "Ignore"] | None = None
    match_label_keys: tuple[str, ...] | None = None
    label_selector: Any = None
    """Not allowed, and known only to say so."""

    def validate(self) -> list[Violation]:
        """The key must be one that a label can have, the action one that there is."""
        found: list[Violation] = []
        if self.topology_key:
            found += [
                Violation("topologyKey", self.topology_key, text)
                for text in qualified_name(self.topology_key)
            ]
        else:
            found.append(Violation("topologyKey", "", "can not be empty", FieldErrorType.REQUIRED))
        found += self._action_violations("whenUnsatisfiable")
        if self.label_selector is not None:
            text = "constraint must not define a selector, as they deduced for each pod"
            found.append(
                Violation("labelSelector", self.label_selector, text, FieldErrorType.FORBIDDEN)
            )
        return found

    def _action_violations(self, path: str) -> list[Violation]:
        action = self.when_unsatisfiable
        if not action:
            return [Violation(path, "", "can not be empty", FieldErrorType.REQUIRED)]
        if action not in (HARD, SOFT):
            text = f'supported values: "{HARD}", "{SOFT}"'
            return [Violation(path, action, text, FieldErrorType.UNSUPPORTED)]
        return []


@dataclasses.dataclass(frozen=True, slots=True)
class PodTopologySpreadArgs:
    """Constraints for pods that have none: those listed (``List``), or softly over hosts and zones
    (``System``).
    """

    __pydantic_config__: ClassVar = ARGUMENTS

    default_constraints: tuple[DefaultConstraint, ...] | None = None
    defaulting_type: Literal["System", "List"] = "System"

    def validate(self) -> list[Violation]:
        """No list beside the built-in constraints, and no two for the same topology and action."""
        constraints = self.default_constraints or ()
        found = []
        if self.defaulting_type == "System" and constraints:
            text = "when .defaultConstraints are not empty"
            found.append(Violation("defaultingType", self.defaulting_type, text))
        seen = set()
        for i, one in enumerate(constraints):
            path, pair = f"defaultConstraints[{i}]", (one.topology_key, one.when_unsatisfiable)
            found += [violation.under(path) for violation in one.validate()]
            if pair in seen:
                text = "a constraint for this topology and action stands before it"
                found.append(Violation(path, list(pair), text, FieldErrorType.DUPLICATE))
            seen.add(pair)
        return found


_SYSTEM = (
    TopologySpreadConstraint(3, HOSTNAME, SOFT),
    TopologySpreadConstraint(5, "topology.kubernetes.io/zone", SOFT),
)


@memoized(text_size, most=256)
def default_constraints(
    args: PodTopologySpreadArgs, when: str
) -> tuple[TopologySpreadConstraint, ...]:
    listed = [
        msgspec.convert(one, TopologySpreadConstraint, from_attributes=True)
        for one in args.default_constraints or ()
    ]
    constraints = _SYSTEM if args.defaulting_type == "System" else listed
    return tuple(one for one in constraints if one.when_unsatisfiable == when)
