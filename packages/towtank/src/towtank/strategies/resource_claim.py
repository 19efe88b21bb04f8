"""Dynamic resource allocation: claims, their templates, and what drivers offer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from kubefacts import names
from towtank.model import object_selectors
from towtank.model.api_errors import StatusCause
from towtank.model.kinds import META, Body, Strategy
from towtank.strategies.common import (
    IMMUTABLE,
    at,
    fill,
    indexed,
    named,
    one_of,
    read_quantities,
    unchanged,
)

_EXACTLY: Final = "ExactCount"
_ONE_WAY: Final = "exactly one of `exactly` or `firstAvailable` is required"
_TAINT_EFFECTS: Final = ("NoExecute", "NoSchedule", "None")
_NOT_ALLOCATED: Final = "may not be specified when `allocated` is not set"
_NO_REQUEST: Final = (
    "must be the name of a request in the claim or the name of a request and a subrequest "
    "separated by '/'"
)


def _default_claim_spec(spec: Body) -> None:
    devices = spec.setdefault("devices", {})
    devices["requests"] = devices.get("requests") or None
    for request in devices["requests"] or ():
        for wanted in (request.get("exactly"), *(request.get("firstAvailable") or ())):
            if wanted is not None:
                fill(wanted, {"allocationMode": _EXACTLY})
                if wanted["allocationMode"] == _EXACTLY:
                    fill(wanted, {"count": 1})


def _request_causes(spec: Body, path: str) -> Iterator[StatusCause]:
    for request, where in indexed(at(spec, "devices.requests"), f"{path}.devices.requests"):
        ways = sum(bool(request.get(way)) for way in ("exactly", "firstAvailable"))
        if not ways:
            yield StatusCause.required(where, _ONE_WAY)
        elif ways > 1:
            yield StatusCause.invalid(where, None, f"{_ONE_WAY}, but multiple fields are set")


def _status_causes(new: Body, old: Body) -> Iterator[StatusCause]:
    allocation, before = at(new, "status.allocation"), at(old, "status.allocation")
    if allocation and before and allocation != before:
        text = "field cannot be modified once set"
        yield StatusCause.invalid("status.allocation", None, text)
    elif allocation and not before:
        yield from _result_causes(new["spec"], at(allocation, "devices.results"))
    consumers = list(indexed(at(new, "status.reservedFor"), "status.reservedFor"))
    if consumers and not allocation:
        yield StatusCause.forbidden("status.reservedFor", _NOT_ALLOCATED)
    for consumer, where in consumers:
        for field in ("resource", "name", "uid"):
            if not consumer.get(field):
                yield StatusCause.required(f"{where}.{field}")
    seen = set()
    for consumer, where in consumers:
        if consumer.get("uid") in seen:
            yield StatusCause.duplicate(where, consumer)
        seen.add(consumer.get("uid"))


def _result_causes(spec: Body, results: Sequence[Body] | None) -> Iterator[StatusCause]:
    requests = at(spec, "devices.requests") or ()
    names = {one["name"] for one in requests} | {
        f"{one['name']}/{inner['name']}"
        for one in requests
        for inner in one.get("firstAvailable") or ()
    }
    for result, where in indexed(results, "status.allocation.devices.results"):
        if (name := result.get("request", "")) not in names:
            yield StatusCause.invalid(f"{where}.request", name, _NO_REQUEST)


class DeviceClassStrategy(Strategy):
    def default(self, body: Body) -> None:
        """An empty spec is one."""
        body.setdefault("spec", {})


class DeviceTaintRuleStrategy(Strategy):
    """A taint that an administrator gives to devices."""

    conditional = True
    status_leaves = META

    def default(self, body: Body) -> None:
        """A taint without anything is one, too."""
        body.setdefault("spec", {}).setdefault("taint", {})

    def prepare_create(self, body: Body) -> None:
        """The taint says since when it is there."""
        body["status"] = {}
        fill(body["spec"]["taint"], {"timeAdded": body["metadata"]["creationTimestamp"]})

    def validate(self, body: Body) -> Sequence[StatusCause]:
        """A key and an effect."""
        taint, path = body["spec"]["taint"], "spec.taint"
        effect = taint.get("effect") or ""
        return [
            *named(taint.get("key") or "", f"{path}.key", names.qualified_name),
            *([] if effect else [StatusCause.required(f"{path}.effect")]),
            *one_of(effect or None, _TAINT_EFFECTS, f"{path}.effect"),
        ]


class ResourceClaimStrategy(Strategy):
    status_leaves = META

    def default(self, body: Body) -> None:
        """One device of each request."""
        _default_claim_spec(body.setdefault("spec", {}))

    def validate(self, body: Body) -> Sequence[StatusCause]:
        """Each request wants one thing, or the first of several."""
        return tuple(_request_causes(body["spec"], "spec"))

    def prepare_create(self, body: Body) -> None:
        """A new claim has no allocation."""
        body["status"] = {}

    def validate_update(self, new: Body, old: Body) -> Sequence[StatusCause]:
        """A claim stays what it is."""
        if new["spec"] == old["spec"]:
            return ()
        devices: dict[str, Any] = at(new, "spec.devices")
        shown = {
            "Devices": {
                name.capitalize(): devices.get(name)
                for name in ("requests", "constraints", "config")
            }
        }
        return (StatusCause.invalid("spec", shown, IMMUTABLE),)

    def validate_status(self, new: Body, old: Body) -> Sequence[StatusCause]:
        """What is allocated stays while it is, and nobody reserves what is not."""
        return tuple(_status_causes(new, old))


class ResourceClaimTemplateStrategy(Strategy):
    def default(self, body: Body) -> None:
        """As of a claim."""
        template = body.setdefault("spec", {})
        template.setdefault("metadata", {})
        _default_claim_spec(template.setdefault("spec", {}))

    def validate_update(self, new: Body, old: Body) -> Sequence[StatusCause]:
        """A template stays what it is."""
        return tuple(unchanged(new, old, "spec"))


class ResourceSliceStrategy(Strategy):
    selectable = object_selectors.field_readers("spec.driver", "spec.nodeName")

    def default(self, body: Body) -> None:
        """Amounts as they are stored."""
        spec = body.setdefault("spec", {})
        fill(spec, {"driver": ""})
        fill(spec.setdefault("pool", {}), {"generation": 0, "name": "", "resourceSliceCount": 0})
        for device in at(body, "spec.devices") or ():
            for capacity in (device.get("capacity") or {}).values():
                amount = {"value": capacity.get("value") or "0"}
                read_quantities("ResourceSlice", amount)
                capacity["value"] = amount["value"]

    def validate_update(self, new: Body, old: Body) -> Sequence[StatusCause]:
        """Whose devices, and where, stays."""
        return tuple(unchanged(new, old, "spec.driver", "spec.pool.name", "spec.nodeName"))
