"""Which pods a SchedulerProfile takes that name no scheduler."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from moorage.api.v1alpha1.common import ATOMIC, SpecModel, rule, rules

MAX_REQUIREMENTS = 32
"""Of a selector. The API server reckons the cost of rules by it; a policy looks at each for every
pod.
"""
MAX_SELECTED_VALUES = 64

LabelKey = Annotated[str, Field(min_length=1, max_length=317)]
LabelValue = Annotated[str, Field(max_length=63)]


class LabelRequirement(SpecModel):
    """What a label must be like."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            rule(
                "(self.operator in ['In', 'NotIn']) == (has(self.values) && size(self.values) > 0)",
                "values are for In and NotIn, and these need some",
                "values",
            )
        )
    )

    key: LabelKey
    """The label's key."""
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    """How its value relates to values. NotIn holds for what lacks the label, too."""
    values: Annotated[
        tuple[LabelValue, ...], Field(max_length=MAX_SELECTED_VALUES, json_schema_extra=ATOMIC)
    ] = ()
    """For In and NotIn."""


class AssignSelector(SpecModel):
    """Labels, as in any label selector; {} is all."""

    match_labels: Annotated[dict[str, LabelValue], Field(max_length=MAX_REQUIREMENTS)] = Field(
        default_factory=dict
    )
    """Labels that must have these values."""
    match_expressions: Annotated[
        tuple[LabelRequirement, ...],
        Field(max_length=MAX_REQUIREMENTS, json_schema_extra=ATOMIC),
    ] = ()
    """Requirements that must all be met."""


class ProfileAssign(SpecModel):
    """Which pods get the profile's schedulerName as they are created. Never those that name a
    scheduler or have a node, of a DaemonSet, with the label moorage.dev/assign: "false", in
    kube-system or in a namespace with the label moorage.dev/home.
    """

    namespace_selector: AssignSelector
    """In which namespaces, by their labels."""
    pod_selector: AssignSelector
    """Which pods there, by their labels."""
