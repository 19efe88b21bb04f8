"""The strategy of Nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kubefacts import names, quantities
from towtank.model import object_selectors
from towtank.model.api_errors import StatusCause
from towtank.model.kinds import Body, Strategy
from towtank.strategies.common import AT_LEAST_ZERO, at, invalid, one_of, read_quantities

_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_DETAILS: Final = (
    "architecture",
    "bootID",
    "containerRuntimeVersion",
    "kernelVersion",
    "kubeProxyVersion",
    "kubeletVersion",
    "machineID",
    "operatingSystem",
    "osImage",
    "systemUUID",
)
_AMOUNTS: Final = ("capacity", "allocatable")


class NodeStrategy(Strategy):
    """A node brings its status along."""

    status_at_creation = True
    selectable = object_selectors.field_readers("spec.unschedulable", unsaid="false")

    def default(self, body: Body) -> None:
        """Also what a kubelet would have said."""
        spec, status = body.setdefault("spec", {}), body.setdefault("status", {})
        if spec.get("unschedulable") is False:
            del spec["unschedulable"]
        if spec.get("podCIDR") and spec["podCIDR"] not in (spec.get("podCIDRs") or ())[:1]:
            spec["podCIDRs"] = [spec["podCIDR"]]
        read_quantities("Node", *(status.get(key) for key in _AMOUNTS))
        if status.get("allocatable") is None and status.get("capacity"):
            status["allocatable"] = dict(status["capacity"])
        status.setdefault("daemonEndpoints", {}).setdefault("kubeletEndpoint", {}).setdefault(
            "Port", 0
        )
        status["nodeInfo"] = {**dict.fromkeys(_DETAILS, ""), **(status.get("nodeInfo") or {})}
        for condition in status.get("conditions") or ():
            condition.setdefault("lastHeartbeatTime", None)
            condition.setdefault("lastTransitionTime", None)

    def validate(self, body: Body) -> Sequence[StatusCause]:
        """Refuse wrong taints and amounts."""
        return (
            *_taint_causes(body["spec"].get("taints") or ()),
            *_amount_causes(body.get("status") or {}),
        )

    def validate_update(self, new: Body, old: Body) -> Sequence[StatusCause]:
        """Where a node comes from does not change."""
        causes = []
        if at(old, "spec.podCIDRs") not in (None, [], at(new, "spec.podCIDRs")):
            text = 'node updates may not change podCIDR except from "" to valid'
            causes.append(StatusCause.forbidden("spec.podCIDRs", text))
        now, before = (at(body, "spec.providerID") or "" for body in (new, old))
        if before and now != before:
            text = f"field cannot be {'modified' if now else 'cleared'} once set"
            causes.append(StatusCause.invalid("spec.providerID", None, text))
        return causes

    def validate_status(self, new: Body, old: Body) -> Sequence[StatusCause]:
        """Refuse wrong amounts."""
        return tuple(_amount_causes(new.get("status") or {}))


def _taint_causes(taints: Sequence[Body]) -> Iterator[StatusCause]:
    seen = set()
    for index, taint in enumerate(taints):
        key, value, effect = (taint.get(name) or "" for name in ("key", "value", "effect"))
        path = f"metadata.taints[{index}]"  # the API server says metadata, too
        yield from invalid(f"{path}.key", key, names.qualified_name(key))
        yield from invalid(f"{path}.value", value, names.label_value(value))
        if not effect:
            yield StatusCause.required(f"{path}.effect")
        yield from one_of(effect or None, _EFFECTS, f"{path}.effect")
        if (key, effect) in seen:
            shown = {"Key": key, "Value": value, "Effect": effect, "TimeAdded": None}
            twice = StatusCause.duplicate(path, shown)
            yield StatusCause(
                twice.reason, path, f"{twice.text}: taints must be unique by key and effect pair"
            )
        seen.add((key, effect))


def _amount_causes(status: Body) -> Iterator[StatusCause]:
    for part in _AMOUNTS:
        for name, amount in (status.get(part) or {}).items():
            value = quantities.exact(amount)
            if value < 0:
                yield StatusCause.invalid(f"status.{part}.{name}", amount, AT_LEAST_ZERO)
            elif value.denominator != 1 and "/" in name:
                yield StatusCause.invalid(f"status.{part}.{name}", amount, "must be an integer")
