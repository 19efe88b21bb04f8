"""Rules of pods and of pod templates, as far as people meet them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from kubefacts import names, quantities
from towtank.model.api_errors import StatusCause
from towtank.model.kinds import Body
from towtank.strategies import node_affinity_rules
from towtank.strategies.common import (
    AT_LEAST_ZERO,
    at,
    indexed,
    invalid,
    named,
    one_of,
    port,
    unique,
)

_RESTARTS: Final = ("Always", "OnFailure", "Never")
_DNS: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_PULLS: Final = ("Always", "IfNotPresent", "Never")
_PREEMPTIONS: Final = ("PreemptLowerPriority", "Never")
_MESSAGES: Final = ("File", "FallbackToLogsOnError")
_PROTOCOLS: Final = ("TCP", "UDP", "SCTP")
_STANDARD: Final = ("cpu", "memory", "ephemeral-storage")
_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_WHOLE: Final = re.compile("(0|[1-9][0-9]{0,9}|-[0-9]{1,10})")
_INT32: Final = range(-(2**31), 2**31)
_OVERCOMMIT: Final = "Limit must be set for non overcommitable resources"


def deletion_cost(annotations: Body | None) -> int | None:
    """What it costs to delete this pod rather than its like; 0 where nothing is said, None for what
    is no number.
    """
    text = (annotations or {}).get(_COST, "0")
    return int(text) if _WHOLE.fullmatch(text) and int(text) in _INT32 else None


def annotation_causes(annotations: Body | None, path: str) -> Iterator[StatusCause]:
    """The annotations that mean something to the API server."""
    if annotations and deletion_cost(annotations) is None:
        yield StatusCause.invalid(f"{path}[{_COST}]", annotations[_COST], "must be a 32bit integer")


def pod_spec_causes(
    spec: Body, path: str, *, restarts: Sequence[str] = _RESTARTS
) -> Iterator[StatusCause]:
    """All rules of one spec at ``path``."""
    yield from _volume_causes(spec, path)
    if not spec.get("containers"):
        yield StatusCause.required(f"{path}.containers")
    seen: set[str] = set()
    for key in ("containers", "initContainers"):
        for container, where in indexed(spec.get(key), f"{path}.{key}"):
            yield from _container_causes(container, where, spec, seen)
    yield from one_of(spec.get("restartPolicy"), restarts, f"{path}.restartPolicy")
    yield from one_of(spec.get("dnsPolicy"), _DNS, f"{path}.dnsPolicy")
    yield from node_affinity_rules.causes(spec, path)
    if node := spec.get("nodeName"):
        yield from invalid(f"{path}.nodeName", node, names.dns_subdomain(node))
    yield from one_of(spec.get("preemptionPolicy"), _PREEMPTIONS, f"{path}.preemptionPolicy")
    yield from _group_causes(spec.get("schedulingGroup"), f"{path}.schedulingGroup.podGroupName")


def _group_causes(group: Body | None, field: str) -> Iterator[StatusCause]:
    if group is not None:
        name = group.get("podGroupName")
        if name is None:
            yield StatusCause.invalid(field, None, "must specify one of: `podGroupName`")
        else:
            yield from invalid(field, name, names.dns_subdomain(name))


def _volume_causes(spec: Body, path: str) -> Iterator[StatusCause]:
    volumes = list(indexed(spec.get("volumes"), f"{path}.volumes"))
    yield from unique((volume.get("name"), f"{where}.name") for volume, where in volumes)
    for volume, where in volumes:
        yield from named(volume.get("name", ""), f"{where}.name", names.dns_label)
        claim = volume.get("persistentVolumeClaim")
        if claim is not None and not claim.get("claimName"):
            yield StatusCause.required(f"{where}.persistentVolumeClaim.claimName")


def _container_causes(
    container: Body, path: str, spec: Body, seen: set[str]
) -> Iterator[StatusCause]:
    yield from _name_causes(container.get("name") or "", path, seen)
    if not container.get("image"):
        yield StatusCause.required(f"{path}.image")
    policy = container.get("terminationMessagePolicy")
    yield from one_of(policy, _MESSAGES, f"{path}.terminationMessagePolicy")
    for exposed, where in indexed(container.get("ports"), f"{path}.ports"):
        yield from _port_causes(exposed, where)
    yield from _mount_causes(container, path, spec)
    yield from one_of(container.get("imagePullPolicy"), _PULLS, f"{path}.imagePullPolicy")
    yield from _sleep_causes(container, path, spec)
    yield from _resource_causes(container.get("resources") or {}, f"{path}.resources", spec)


def _mount_causes(container: Body, path: str, spec: Body) -> Iterator[StatusCause]:
    volumes = {volume.get("name") for volume in spec.get("volumes") or ()}
    for mount, where in indexed(container.get("volumeMounts"), f"{path}.volumeMounts"):
        if mount.get("name") not in volumes:
            yield StatusCause.not_found(f"{where}.name", mount.get("name", ""))
        if not mount.get("mountPath"):
            yield StatusCause.required(f"{where}.mountPath")


def _sleep_causes(container: Body, path: str, spec: Body) -> Iterator[StatusCause]:
    grace = spec.get("terminationGracePeriodSeconds")
    for hook in ("postStart", "preStop"):
        seconds = at(container, f"lifecycle.{hook}.sleep.seconds")
        if seconds is not None and grace is not None and not 0 <= seconds <= grace:
            text = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
            yield StatusCause.invalid(f"{path}.lifecycle.{hook}.sleep", seconds, text)


def _name_causes(name: str, path: str, seen: set[str]) -> Iterator[StatusCause]:
    yield from named(name, f"{path}.name", names.dns_label)
    if name and name in seen:
        yield StatusCause.duplicate(f"{path}.name", name)
    seen.add(name)


def _port_causes(exposed: Body, path: str) -> Iterator[StatusCause]:
    if not exposed.get("containerPort"):
        yield StatusCause.required(f"{path}.containerPort")
    else:
        yield from port(exposed["containerPort"], f"{path}.containerPort")
    if exposed.get("hostPort"):
        yield from port(exposed["hostPort"], f"{path}.hostPort")
    yield from one_of(exposed.get("protocol"), _PROTOCOLS, f"{path}.protocol")


def _resource_causes(resources: Body, path: str, spec: Body) -> Iterator[StatusCause]:
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for part, amounts in (("limits", limits), ("requests", requests)):
        for name, amount in amounts.items():
            yield from _amount_causes(name, amount, f"{path}.{part}[{name}]")
    for name, amount in requests.items():
        yield from _against_limit(name, amount, limits.get(name), path)
    declared = {claim.get("name") for claim in spec.get("resourceClaims") or ()}
    for claim, where in indexed(resources.get("claims"), f"{path}.claims"):
        if claim.get("name") not in declared:
            yield StatusCause.not_found(where, claim.get("name", ""))


def _amount_causes(name: str, amount: str, field: str) -> Iterator[StatusCause]:
    yield from invalid(field, name, names.qualified_name(name))
    if "/" not in name and not _standard(name):
        yield StatusCause.invalid(
            field, name, "must be a standard resource type or fully qualified"
        )
        yield StatusCause.invalid(field, name, "must be a standard resource for containers")
    value = quantities.exact(amount)
    if value < 0:
        yield StatusCause.invalid(field, amount, AT_LEAST_ZERO)
    if not _standard(name) and "/" in name and value.denominator != 1:
        yield StatusCause.invalid(field, amount, "must be an integer")


def _standard(name: str) -> bool:
    return name in _STANDARD or name.startswith("hugepages-")


def _against_limit(name: str, amount: str, limit: str | None, path: str) -> Iterator[StatusCause]:
    whole = "/" in name or name.startswith("hugepages-")  # such things are not shared out
    if limit is None:
        if whole:
            yield StatusCause.required(f"{path}.limits", _OVERCOMMIT)
        return
    wanted, most = quantities.exact(amount), quantities.exact(limit)
    if wanted > most or (whole and wanted != most):
        text = f"must be {'' if whole else 'less than or '}equal to {name} limit of {limit}"
        yield StatusCause.invalid(f"{path}.requests", amount, text)
