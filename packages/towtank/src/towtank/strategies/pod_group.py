"""PodGroups and Workloads: pods that are scheduled as one.

Source: Kubernetes pkg/apis/scheduling and plugin/pkg/admission (v1.37), with the feature gates
GenericWorkload, DRAWorkloadResourceClaims and TopologyAwareWorkloadScheduling on, and the others of
groups off.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import Any, Final

from kubefacts import names
from towtank.model.api_errors import StatusCause, forbidden
from towtank.model.kinds import META, Body, ObjectGetter, Strategy
from towtank.strategies import priority_class
from towtank.strategies.common import (
    at,
    condition_causes,
    indexed,
    invalid,
    named,
    unchanged,
)

GROUP: Final = "scheduling.k8s.io"
PLURAL: Final = "podgroups"
KEY: Final = f"{PLURAL}.{GROUP}"
WORKLOADS: Final = f"workloads.{GROUP}"
FINALIZER: Final = "scheduling.k8s.io/podgroup-protection"
"""Holds a deleted PodGroup while pods use it."""

_FIXED: Final = (
    *("schedulingConstraints", "resourceClaims", "disruptionMode"),
    *("priorityClassName", "priority"),
)
_POLICIES: Final = ("basic", "gang")
_MODES: Final = ("single", "all")
_CLAIMED: Final = ("resourceClaimName", "resourceClaimTemplateName")
_MOST_TOPOLOGY: Final = 1
_MOST_CLAIMS: Final = 4
_MOST_TEMPLATES: Final = 8
_HIGHEST: Final = 1_000_000_000
_GATED: Final = ("preemptionPolicy", "parentCompositePodGroupName")
"""Fields of features that are off: they are dropped."""


class PodGroupStrategy(Strategy):
    """A group says how many of its pods are to be placed at once, and the like."""

    conditional = True
    status_leaves = META

    def default(self, body: Body) -> None:
        """An empty spec is one."""
        body.setdefault("spec", {})

    def admit(self, body: Body, reads: ObjectGetter) -> None:
        """Its class' priority, and the finalizer that holds it while pods use it."""
        _resolve_priority(body, reads)
        finalizers = body["metadata"].get("finalizers") or []
        if FINALIZER not in finalizers:
            body["metadata"]["finalizers"] = [*finalizers, FINALIZER]

    def prepare_create(self, body: Body) -> None:
        """Nothing has become of it yet."""
        body["status"] = {}
        _drop_gated(body["spec"])

    def prepare_update(self, new: Body, old: Body) -> None:
        """As when it was made."""
        _drop_gated(new["spec"])

    def validate(self, body: Body) -> Sequence[StatusCause]:
        """Whose template it follows, and what it says itself."""
        return (*_reference_causes(at(body, "spec.workloadRef")), *_causes(body["spec"], "spec"))

    def validate_update(self, new: Body, old: Body) -> Sequence[StatusCause]:
        """Of a group only the least number of its pods may change."""
        return (
            *unchanged(new, old, "spec.workloadRef", shown=False),
            *_policy_changes(new["spec"], old["spec"], "spec.schedulingPolicy"),
            *unchanged(new["spec"], old["spec"], *_FIXED, shown=False, within="spec."),
        )

    def validate_status(self, new: Body, old: Body) -> Sequence[StatusCause]:
        """Conditions are whole; claims that were made for it are those that it names."""
        claims = {claim.get("name") for claim in at(new, "spec.resourceClaims") or ()}
        statuses = at(new, "status.resourceClaimStatuses")
        return [
            *condition_causes(at(new, "status.conditions"), "status.conditions"),
            *_claim_status_causes(statuses, claims),
        ]


class GroupTemplatesStrategy(Strategy):
    """Templates of groups, which whoever makes the pods follows."""

    conditional = True

    def default(self, body: Body) -> None:
        """An empty spec is one."""
        spec = body.setdefault("spec", {})
        for template in spec.get("podGroupTemplates") or ():
            template.setdefault("schedulingConstraints", None)

    def prepare_create(self, body: Body) -> None:
        """Without what only features that are off would read."""
        _drop_gated_templates(body["spec"])

    def prepare_update(self, new: Body, old: Body) -> None:
        """As when it was made."""
        _drop_gated_templates(new["spec"])

    def validate(self, body: Body) -> Sequence[StatusCause]:
        """Every template, and that they agree."""
        return tuple(_workload_causes(body["spec"]))

    def validate_update(self, new: Body, old: Body) -> Sequence[StatusCause]:
        """No template comes or goes, and little of one changes."""
        owner = unchanged(new, old, "spec.controllerRef", shown=False)
        return (*owner, *_template_changes(new, old))


def _drop_gated(spec: Body) -> None:
    for field in _GATED:
        spec.pop(field, None)


def _drop_gated_templates(spec: Body) -> None:
    spec.pop("compositePodGroupTemplates", None)
    for template in spec.get("podGroupTemplates") or ():
        _drop_gated(template)


def _resolve_priority(group: Body, reads: ObjectGetter) -> None:
    spec, name = group["spec"], group["metadata"].get("name") or ""
    chosen = priority_class.found(spec.get("priorityClassName"), reads)
    if chosen is None and spec.get("priorityClassName"):
        why = f"no PriorityClass with name {spec['priorityClassName']} was found"
        raise forbidden(PLURAL, GROUP, name, why)
    priority = chosen["value"] if chosen else 0
    if spec.get("priority") not in {None, priority}:
        why = (
            f"priority set in the pod group ({spec['priority']}) must match the priority computed "
            f"({priority}) based on the priority class set in the spec"
        )
        raise forbidden(PLURAL, GROUP, name, why)
    spec["priority"] = priority
    if chosen:
        spec["priorityClassName"] = chosen["metadata"]["name"]


# ---- what one spec, or one template, may say -----------------------------------------------------


def _causes(spec: Body, path: str) -> Iterator[StatusCause]:
    yield from _policy_causes(spec.get("schedulingPolicy") or {}, f"{path}.schedulingPolicy")
    topology = at(spec, "schedulingConstraints.topology")
    yield from _topology_causes(topology, f"{path}.schedulingConstraints.topology")
    yield from _claim_causes(spec.get("resourceClaims") or (), f"{path}.resourceClaims")
    mode = spec.get("disruptionMode")
    if mode is not None:
        yield from _exactly_one(mode, _MODES, f"{path}.disruptionMode")
    if name := spec.get("priorityClassName"):
        yield from invalid(f"{path}.priorityClassName", name, names.dns_subdomain(name))
    if (spec.get("priority") or 0) > _HIGHEST:
        text = f"must be less than or equal to {_HIGHEST}"
        yield StatusCause.invalid(f"{path}.priority", spec["priority"], text)


def _policy_causes(policy: Body, path: str) -> Iterator[StatusCause]:
    yield from _exactly_one(policy, _POLICIES, path)
    gang = policy.get("gang")
    if gang is not None:
        least = gang.get("minCount") or 0
        if not least:
            yield StatusCause.required(f"{path}.gang.minCount")
        elif least < 1:
            text = "must be greater than or equal to 1"
            yield StatusCause.invalid(f"{path}.gang.minCount", least, text)


def _exactly_one(body: Body, members: Sequence[str], path: str) -> Iterator[StatusCause]:
    said = [member for member in members if body.get(member) is not None]
    all_of_them = ", ".join(f"`{member}`" for member in members)
    if not said:
        yield StatusCause.invalid(path, "", f"must specify one of: {all_of_them}")
    elif len(said) > 1:
        text = f"must specify exactly one of: {all_of_them}"
        yield StatusCause.invalid(path, f"{{{', '.join(said)}}}", text)


def _topology_causes(topology: Sequence[Body] | None, path: str) -> Iterator[StatusCause]:
    if len(topology or ()) > _MOST_TOPOLOGY:
        yield StatusCause.too_many(path, len(topology or ()), _MOST_TOPOLOGY)
        return
    for constraint, where in indexed(topology, path):
        yield from named(constraint.get("key") or "", f"{where}.key", names.qualified_name)


def _claim_causes(claims: Sequence[Body], path: str) -> Iterator[StatusCause]:
    if len(claims) > _MOST_CLAIMS:
        yield StatusCause.too_many(path, len(claims), _MOST_CLAIMS)
        return
    seen: set[str] = set()
    for claim, where in indexed(claims, path):
        if claim.get("name") in seen:
            yield StatusCause.duplicate(where, claim)
        seen.add(claim.get("name", ""))
    for claim, where in indexed(claims, path):
        yield from _exactly_one(claim, _CLAIMED, where)
        yield from named(claim.get("name") or "", f"{where}.name", names.dns_label)
        for field in _CLAIMED:
            if (name := claim.get(field)) is not None:
                yield from invalid(f"{where}.{field}", name, names.dns_subdomain(name))


def _reference_causes(reference: Body | None) -> Iterator[StatusCause]:
    if reference is not None:
        name, template = reference.get("workloadName"), reference.get("templateName")
        yield from named(name or "", "spec.workloadRef.workloadName", names.dns_subdomain)
        yield from named(template or "", "spec.workloadRef.templateName", names.dns_label)


def _claim_status_causes(
    statuses: Sequence[Body] | None, claims: Container[str | None]
) -> Iterator[StatusCause]:
    for status, where in indexed(statuses, "status.resourceClaimStatuses"):
        if status.get("name") not in claims:
            text = "must match the name of an entry in `spec.resourceClaims`"
            yield StatusCause.invalid(f"{where}.name", status.get("name", ""), text)


# ---- what may change -----------------------------------------------------------------------------


def _policy_changes(new: Body, old: Body, path: str) -> Iterator[StatusCause]:
    now, before = (spec.get("schedulingPolicy") or {} for spec in (new, old))
    yield from unchanged(now, before, "basic", shown=False, within=f"{path}.")
    if before.get("gang") is None and now.get("gang") is not None:
        yield StatusCause.invalid(f"{path}.gang", None, "field cannot be set once created")
    elif before.get("gang") is not None and now.get("gang") is None:
        yield StatusCause.invalid(f"{path}.gang", None, "field cannot be cleared once set")


def _template_changes(new: Body, old: Body) -> Iterator[StatusCause]:
    path = "spec.podGroupTemplates"
    now, before = (
        {template.get("name"): template for template in at(body, path) or ()} for body in (new, old)
    )
    for template, where in indexed(at(new, path), path):
        if (same := before.get(template.get("name"))) is None:
            yield StatusCause.forbidden(where, "item may not be added")
        else:
            yield from _policy_changes(template, same, f"{where}.schedulingPolicy")
            yield from unchanged(template, same, *_FIXED, shown=False, within=f"{where}.")
    yield from (
        StatusCause.forbidden(path, "item may not be removed") for name in before if name not in now
    )


# ---- Workloads -----------------------------------------------------------------------------------


def _workload_causes(spec: Body) -> Iterator[StatusCause]:
    templates: Sequence[Body] = spec.get("podGroupTemplates") or ()
    if not templates:
        members = "`podGroupTemplates`, `compositePodGroupTemplates`"
        yield StatusCause.invalid("spec", "", f"must specify one of: {members}")
    controller = spec.get("controllerRef")
    for field in ("kind", "name") if controller is not None else ():
        if not (controller or {}).get(field):
            yield StatusCause.required(f"spec.controllerRef.{field}")
    if len(templates) > _MOST_TEMPLATES:
        yield StatusCause.too_many("spec.podGroupTemplates", len(templates), _MOST_TEMPLATES)
        return
    seen: set[str] = set()
    for template, where in indexed(templates, "spec.podGroupTemplates"):
        if template.get("name") in seen:
            yield StatusCause.duplicate(where, template)
        seen.add(template.get("name", ""))
    for template, where in indexed(templates, "spec.podGroupTemplates"):
        yield from named(template.get("name") or "", f"{where}.name", names.dns_label)
        yield from _causes(template, where)
    if len({_priority_said(template) for template in templates}) > 1:
        text = "detected multiple priority configurations"
        yield StatusCause.invalid("spec", None, text)


def _priority_said(template: Body) -> tuple[Any, Any]:
    return template.get("priorityClassName") or "", template.get("priority")
