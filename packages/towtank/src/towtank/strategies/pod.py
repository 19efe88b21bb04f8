"""The strategy of Pods."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from kubefacts import names, quantities
from towtank.model import object_selectors
from towtank.model.api_errors import StatusCause
from towtank.model.kinds import Body, ObjectGetter, Strategy
from towtank.strategies import priority_class, runtime_class
from towtank.strategies.common import at, fill, indexed
from towtank.strategies.pod_defaults import (
    CONTAINERS,
    containers_of,
    default_pod_spec,
    default_requests,
)
from towtank.strategies.pod_validation import annotation_causes, pod_spec_causes

_FINISHED: Final = ("Succeeded", "Failed")
_TAINTS: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_TOLERATED_SECONDS: Final = 300
_FIXED: Final = (
    "pod updates may not change fields other than "
    "`spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_NO_CONTAINERS: Final = "pod updates may not add or remove containers"
_FIXED_TOLERATION: Final = "existing toleration can not be modified except its tolerationSeconds"
GATED: Final = "Scheduling is blocked due to non-empty scheduling gates"


class PodStrategy(Strategy):
    """What the API server does for pods, with its admission plugins for priorities, lost nodes and
    runtimes.
    """

    grace_seconds = 30
    selectable = (
        object_selectors.field_readers(
            "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName"
        )
        | object_selectors.field_readers("spec.hostNetwork", unsaid="false")
        | object_selectors.field_readers("status.phase", "status.podIP", "status.nominatedNodeName")
        | {"status.podIPs": lambda _: ""}  # may be named, and never has a value
    )

    def default(self, body: Body) -> None:
        """Also of what only pods have."""
        spec = body.setdefault("spec", {})
        default_pod_spec(spec)
        default_requests(spec)
        fill(spec, {"enableServiceLinks": True})
        if spec["terminationGracePeriodSeconds"] < 0:
            spec["terminationGracePeriodSeconds"] = 1
        if (address := at(body, "status.podIP")) and not at(body, "status.podIPs"):
            body["status"]["podIPs"] = [{"ip": address}]
        for condition in at(body, "status.conditions") or ():
            condition.setdefault("lastProbeTime", None)
            condition.setdefault("lastTransitionTime", None)

    def admit(self, body: Body, reads: ObjectGetter) -> None:
        """Priority, then tolerations, then what its runtime takes."""
        priority_class.resolve(body, reads)
        _tolerate_lost_nodes(body["spec"])
        runtime_class.resolve(body, reads)

    def prepare_create(self, body: Body) -> None:
        """Give the pod its first status."""
        status = body["status"] = {"phase": "Pending", "qosClass": qos(body["spec"])}
        if body["spec"].get("schedulingGates"):
            condition = {
                "type": "PodScheduled",
                "status": "False",
                "reason": "SchedulingGated",
                "message": GATED,
                "lastProbeTime": None,
            }
            status["conditions"] = [
                condition | {"lastTransitionTime": body["metadata"]["creationTimestamp"]}
            ]

    def prepare_update(self, new: Body, old: Body) -> None:
        """Tolerations are completed again."""
        _tolerate_lost_nodes(new["spec"])

    def validate(self, body: Body) -> Sequence[StatusCause]:
        """Refuse wrong annotations, and what breaks the spec's rules."""
        return (
            *annotation_causes(body["metadata"].get("annotations"), "metadata.annotations"),
            *pod_spec_causes(body["spec"], "spec"),
        )

    def validate_update(self, new: Body, old: Body) -> Sequence[StatusCause]:
        """Little of a pod may change."""
        return tuple(_change_causes(new["spec"], old["spec"]))

    def validate_status(self, new: Body, old: Body) -> Sequence[StatusCause]:
        """Conditions are named as labels are; the class of service stays."""
        types = [one.get("type") or "" for one in at(new, "status.conditions") or ()]
        causes = [
            StatusCause.invalid(f"status.conditions[{index}].Type", type_, text)
            for index, type_ in enumerate(types)
            for text in names.qualified_name(type_)
        ]
        now, before = at(new, "status.qosClass"), at(old, "status.qosClass")
        return (
            causes
            if now in {None, before}
            else [*causes, StatusCause.invalid("status.qosClass", now, "field is immutable")]
        )

    def grace(self, body: Body, asked: int | None) -> int:
        """Nobody has to stop a pod that runs nowhere, or has ended."""
        if not at(body, "spec.nodeName") or at(body, "status.phase") in _FINISHED:
            return 0
        wanted = at(body, "spec.terminationGracePeriodSeconds") if asked is None else asked
        return self.grace_seconds if wanted is None else max(int(wanted), 0)


class PodResizeStrategy(PodStrategy):
    """Pods under the resize subresource: only resources change."""

    def prepare_update(self, new: Body, old: Body) -> None:
        """Put back all else."""
        wanted = {
            (key, container.get("name")): container
            for key in CONTAINERS
            for container in new["spec"].get(key) or ()
        }
        resized = {
            key: [_resized(one, wanted.get((key, one["name"]), {})) for one in old["spec"][key]]
            for key in CONTAINERS
            if key in old["spec"]
        }
        new["spec"] = {**old["spec"], **resized}

    def validate_update(self, new: Body, old: Body) -> Sequence[StatusCause]:
        """The class of service stays."""
        before = qos(old["spec"])
        if qos(new["spec"]) == before:
            return ()
        return (
            StatusCause.invalid(
                "spec", before, "Pod QOS Class may not change as a result of resizing"
            ),
        )


class PodEphemeralContainersStrategy(PodStrategy):
    """Pods under the ephemeralcontainers subresource: containers are added."""

    def prepare_update(self, new: Body, old: Body) -> None:
        """Put back all else."""
        kept = {key: value for key, value in old["spec"].items() if key != "ephemeralContainers"}
        added = new["spec"].get("ephemeralContainers")
        new["spec"] = {**kept, "ephemeralContainers": added} if added else kept

    def validate_update(self, new: Body, old: Body) -> Sequence[StatusCause]:
        """Those that are there stay."""
        before, now = (body["spec"].get("ephemeralContainers") or () for body in (old, new))
        if all(container in now for container in before):
            return ()
        return (
            StatusCause.forbidden(
                "spec.ephemeralContainers",
                "existing ephemeral containers may not be changed or removed",
            ),
        )


def _resized(container: Body, asked: Body) -> Body:
    return {
        **container,
        **{field: asked[field] for field in ("resources", "resizePolicy") if field in asked},
    }


def _tolerate_lost_nodes(spec: Body) -> None:
    """A pod stays five minutes on a node that is lost, unless it says itself how long."""
    tolerations = spec.get("tolerations") or []
    for taint in _TAINTS:
        if not any(
            one.get("key") in {None, "", taint} and one.get("effect") in {None, "", "NoExecute"}
            for one in tolerations
        ):
            toleration = {
                "key": taint,
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": _TOLERATED_SECONDS,
            }
            spec["tolerations"] = [*(spec.get("tolerations") or ()), toleration]


def qos(spec: Body) -> str:
    """The class of service: Guaranteed, Burstable or BestEffort. What the pod says as a whole goes
    before what its containers say.
    """
    whole = spec.get("resources")
    sayers = containers_of(spec, CONTAINERS[:2]) if whole is None else [spec]
    parts = [each.get("resources") or {} for each in sayers]
    if all(not _counted(part.get(which)) for part in parts for which in ("limits", "requests")):
        return "BestEffort"
    for part in parts:
        limits, requests = _counted(part.get("limits")), _counted(part.get("requests"))
        if len(limits) != len(_COUNTED) or limits != requests:
            return "Burstable"
    return "Guaranteed"


_COUNTED: Final = ("cpu", "memory")


def _counted(amounts: Body | None) -> dict[str, Any]:
    read = {
        name: quantities.exact(amount)
        for name, amount in (amounts or {}).items()
        if name in _COUNTED
    }
    return {name: amount for name, amount in read.items() if amount}


# ---- changes -------------------------------------------------------------------------------------


def _change_causes(new: Body, old: Body) -> Iterator[StatusCause]:
    for key in ("containers", "initContainers"):
        if len(new.get(key) or ()) != len(old.get(key) or ()):
            yield StatusCause.forbidden(f"spec.{key}", _NO_CONTAINERS)
            return
    yield from _gate_changes(new, old)
    yield from _deadline_causes(new.get("activeDeadlineSeconds"), old.get("activeDeadlineSeconds"))
    now, before = (
        [_without_seconds(one) for one in spec.get("tolerations") or ()] for spec in (new, old)
    )
    if any(toleration not in now for toleration in before):
        yield StatusCause.forbidden("spec.tolerations", _FIXED_TOLERATION)
        return
    gated = bool(old.get("schedulingGates"))
    if _fixed(new, gated=gated) != _fixed(old, gated=gated):
        yield StatusCause.forbidden("spec", _FIXED)


def _gate_changes(new: Body, old: Body) -> Iterator[StatusCause]:
    known = [gate["name"] for gate in old.get("schedulingGates") or ()]
    for gate, where in indexed(new.get("schedulingGates"), "spec.schedulingGates"):
        if gate["name"] not in known:
            text = f"only deletion is allowed, but found new scheduling gate '{gate['name']}'"
            yield StatusCause.forbidden(f"{where}.name", text)
    now, before = (spec.get("nodeSelector") or {} for spec in (new, old))
    if known and not before.items() <= now.items():
        text = "only additions are allowed (no mutations or deletions)"
        yield StatusCause.invalid("spec.nodeSelector", now, text)


def _deadline_causes(now: int | None, before: int | None) -> Iterator[StatusCause]:
    if before is not None and now is None:
        text = "must not update from a positive integer to nil value"
        yield StatusCause.invalid("spec.activeDeadlineSeconds", None, text)
    elif before is not None and now is not None and now > before:
        text = "must be less than or equal to previous value"
        yield StatusCause.invalid("spec.activeDeadlineSeconds", now, text)


def _without_seconds(toleration: Body) -> Body:
    return {key: value for key, value in toleration.items() if key != "tolerationSeconds"}


def _fixed(spec: Body, *, gated: bool) -> Body:
    """What of a spec may not change: a gated pod may still be told where to go."""
    free = {"activeDeadlineSeconds", "tolerations", "schedulingGates"}
    fixed = {
        key: value
        for key, value in spec.items()
        if key not in (free | {"nodeSelector", "affinity"} if gated else free)
    }
    for key in CONTAINERS[:2]:
        if key in fixed:
            fixed[key] = [{**container, "image": ""} for container in fixed[key]]
    return fixed
