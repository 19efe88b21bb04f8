"""Arguments of NodeResourcesFit."""

from __future__ import annotations

import dataclasses
from typing import ClassVar, Literal

from kubefacts.names import qualified_name
from moorage.core.framework.arguments import ARGUMENTS, FieldErrorType, Violation
from moorage.core.framework.utilization_shape import UtilizationShape, shape_violations
from moorage.core.plugins.node_resources.resource_allocation import CPU_AND_MEMORY, ResourceSpec
from moorage.core.pods.resource_names import is_extended

MAX_RESOURCE_WEIGHT = 100


@dataclasses.dataclass(frozen=True, slots=True)
class RequestedToCapacityRatio:
    """A score as a function of utilization."""

    __pydantic_config__: ClassVar = ARGUMENTS

    shape: UtilizationShape | None = None

    def validate(self) -> list[Violation]:
        """At least one point, from left to right."""
        return shape_violations(self.shape or ())


@dataclasses.dataclass(frozen=True, slots=True)
class ScoringStrategy:
    """How nodes are ranked, and by which resources; none named: cpu and memory."""

    __pydantic_config__: ClassVar = ARGUMENTS

    type: Literal["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"] = "LeastAllocated"
    resources: tuple[ResourceSpec, ...] | None = CPU_AND_MEMORY
    requested_to_capacity_ratio: RequestedToCapacityRatio | None = None

    def validate(self) -> list[Violation]:
        """Weights that can be weighed, and a shape for the type that has one, and only for it."""
        found = [
            Violation(
                f"resources[{i}].weight",
                spec.weight,
                f"resource weight of {spec.name} not in valid range (0, 100]",
            )
            for i, spec in enumerate(self.resources or ())
            if not 0 <= spec.weight <= MAX_RESOURCE_WEIGHT
        ]
        return found + self._ratio_violations("requestedToCapacityRatio")

    def _ratio_violations(self, path: str) -> list[Violation]:
        wanted, ratio = self.type == "RequestedToCapacityRatio", self.requested_to_capacity_ratio
        if wanted and ratio is None:
            text = "must be specified when type is RequestedToCapacityRatio"
            return [Violation(path, None, text, FieldErrorType.REQUIRED)]
        if ratio is not None and not wanted:
            text = "must be nil when type is not RequestedToCapacityRatio"
            return [Violation(path, ratio, text, FieldErrorType.FORBIDDEN)]
        return [] if ratio is None else [one.under(path) for one in ratio.validate()]


@dataclasses.dataclass(frozen=True, slots=True)
class NodeResourcesFitArgs:
    """Which extended resources are somebody else's business (by name, or by what is before the
    slash), and how to rank nodes.
    """

    __pydantic_config__: ClassVar = ARGUMENTS

    ignored_resources: tuple[str, ...] | None = None
    ignored_resource_groups: tuple[str, ...] | None = None
    scoring_strategy: ScoringStrategy | None = ScoringStrategy()

    def validate(self) -> list[Violation]:
        """Names must be able to be resource names, groups what is before their slash."""
        found: list[Violation] = []
        for i, name in enumerate(self.ignored_resources or ()):
            path = f"ignoredResources[{i}]"
            found += [Violation(path, name, problem) for problem in qualified_name(name)]
        for i, group in enumerate(self.ignored_resource_groups or ()):
            texts = ["resource group name can't contain '/'"] if "/" in group else []
            found += [
                Violation(f"ignoredResourceGroups[{i}]", group, text)
                for text in texts + qualified_name(group)
            ]
        if self.scoring_strategy is not None:
            found += [
                violation.under("scoringStrategy") for violation in self.scoring_strategy.validate()
            ]
        return found

    def ignores(self, resource: str) -> bool:
        """Whether nodes need not have this resource. What Kubernetes itself hands out is never
        ignored.
        """
        named = resource in (self.ignored_resources or ()) or resource.partition("/")[0] in (
            self.ignored_resource_groups or ()
        )
        return named and is_extended(resource)
