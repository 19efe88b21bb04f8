"""Dynamic resource allocation: claims, their templates, and what drivers offer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from moorage.devcluster import choosing
from moorage.devcluster.kinds import Body, Strategy
from moorage.devcluster.problems import Cause
from moorage.devcluster.strategies.common import IMMUTABLE, at, fill, read_quantities, unchanged

_EXACTLY: Final = "ExactCount"
_WAYS: Final = ("exactly", "firstAvailable")


def _default_claim_spec(spec: Body) -> None:
    devices = spec.setdefault("devices", {})
    devices["requests"] = devices.get("requests") or None
    for request in devices["requests"] or ():
        for wanted in (request.get("exactly"), *(request.get("firstAvailable") or ())):
            if wanted is not None:
                fill(wanted, {"allocationMode": _EXACTLY})
                if wanted["allocationMode"] == _EXACTLY:
                    fill(wanted, {"count": 1})


def _request_causes(spec: Body, path: str) -> Iterator[Cause]:
    for index, request in enumerate(at(spec, "devices.requests") or ()):
        where, ways = f"{path}.devices.requests[{index}]", [way for way in _WAYS if request.get(way)]
        if not ways:
            yield Cause.required(where, "exactly one of `exactly` or `firstAvailable` is required")
        elif len(ways) > 1:
            yield Cause.invalid(where, None, "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set")


class DeviceClasses(Strategy):
    """DeviceClasses."""

    def default(self, body: Body) -> None:
        """An empty spec is one."""
        body.setdefault("spec", {})


class ResourceClaims(Strategy):
    """ResourceClaims."""

    def default(self, body: Body) -> None:
        """One device of each request."""
        _default_claim_spec(body.setdefault("spec", {}))

    def validate(self, body: Body) -> Sequence[Cause]:
        """Each request wants one thing, or the first of several."""
        return tuple(_request_causes(body["spec"], "spec"))

    def prepare_create(self, body: Body) -> None:
        """Nothing is allocated."""
        body["status"] = {}

    def validate_update(self, new: Body, old: Body) -> Sequence[Cause]:
        """A claim stays what it is."""
        if new["spec"] == old["spec"]:
            return ()
        devices: dict[str, Any] = at(new, "spec.devices")
        shown = {"Devices": {name.capitalize(): devices.get(name) for name in ("requests", "constraints", "config")}}
        return (Cause.invalid("spec", shown, IMMUTABLE),)


class ResourceClaimTemplates(Strategy):
    """ResourceClaimTemplates."""

    def default(self, body: Body) -> None:
        """As of a claim."""
        template = body.setdefault("spec", {})
        template.setdefault("metadata", {})
        _default_claim_spec(template.setdefault("spec", {}))

    def validate_update(self, new: Body, old: Body) -> Sequence[Cause]:
        """A template stays what it is."""
        return tuple(unchanged(new, old, "spec"))


class ResourceSlices(Strategy):
    """ResourceSlices."""

    selectable = choosing.at("spec.driver", "spec.nodeName")

    def default(self, body: Body) -> None:
        """Amounts as they are stored."""
        pool = body.setdefault("spec", {}).setdefault("pool", {})
        fill(pool, {"generation": 0})
        for device in at(body, "spec.devices") or ():
            for capacity in (device.get("capacity") or {}).values():
                amount = {"value": capacity.get("value") or "0"}
                read_quantities("ResourceSlice", amount)
                capacity["value"] = amount["value"]

    def validate_update(self, new: Body, old: Body) -> Sequence[Cause]:
        """Whose devices, and where, stays."""
        return tuple(unchanged(new, old, "spec.driver", "spec.pool.name", "spec.nodeName"))
