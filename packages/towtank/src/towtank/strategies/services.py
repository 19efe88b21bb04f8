"""Services and their Endpoints."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Sequence
from typing import Final

from kubefacts import names
from towtank.model import metadata_rules, object_selectors
from towtank.model.api_errors import StatusCause
from towtank.model.kinds import Body, ObjectGetter, Strategy
from towtank.strategies.common import at, fill, indexed, named, one_of, port

_TYPES: Final = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_ADDRESSES: Final = ipaddress.IPv4Network("10.96.0.0/16")
_FIRST_NODE_PORT: Final = 30000
_HEADLESS: Final = "None"
_GIVEN: Final = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")


class ServiceStrategy(Strategy):
    """Addresses are given out and nobody answers at them."""

    made_by_update = True
    selectable = object_selectors.field_readers("spec.clusterIP", "spec.type")

    def name(self, name: str) -> Sequence[str]:
        """A part of host names."""
        return names.dns_label(name)

    def default(self, body: Body) -> None:
        """A cluster's own address, of IPv4."""
        spec = body.setdefault("spec", {})
        fill(spec, {"type": "ClusterIP", "sessionAffinity": "None"})
        for exposed in spec.get("ports") or ():
            fill(exposed, {"protocol": "TCP", "targetPort": exposed.get("port")})
        if spec["type"] != "ExternalName":
            fill(spec, {"internalTrafficPolicy": "Cluster"})
        if spec["type"] in {"NodePort", "LoadBalancer"}:
            fill(spec, {"externalTrafficPolicy": "Cluster"})
        if spec["type"] == "LoadBalancer":
            fill(spec, {"allocateLoadBalancerNodePorts": True})

    def admit(self, body: Body, reads: ObjectGetter) -> None:
        """Give out an address, and ports of the nodes."""
        spec, others = body["spec"], reads.every("services")
        if spec["type"] not in _TYPES or spec["type"] == "ExternalName":
            return
        fill(spec, {"ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack"})
        if not spec.get("clusterIP"):
            taken = {at(other, "spec.clusterIP") for other in others}
            free = (str(one) for one in _ADDRESSES.hosts() if str(one) not in taken)
            spec["clusterIP"] = next(free)
        spec["clusterIPs"] = [spec["clusterIP"]]
        if spec["type"] in {"NodePort", "LoadBalancer"}:
            _give_node_ports(spec, others)

    def prepare_create(self, body: Body) -> None:
        """No load balancer is there."""
        body["status"] = {"loadBalancer": {}}

    def prepare_update(self, new: Body, old: Body) -> None:
        """Who does not speak of the address keeps it."""
        spec = new["spec"]
        if spec["type"] != "ExternalName":
            fill(spec, {key: old["spec"][key] for key in _GIVEN if key in old["spec"]})
            if spec.get("clusterIP") and spec["clusterIP"] != (old["spec"].get("clusterIP")):
                spec["clusterIPs"] = [spec["clusterIP"]]

    def validate(self, body: Body) -> Sequence[StatusCause]:
        """Refuse wrong ports, among others."""
        spec, causes = body["spec"], []
        external, ports = spec["type"] == "ExternalName", spec.get("ports") or ()
        if not ports and spec.get("clusterIP") != _HEADLESS and not external:
            causes.append(StatusCause.required("spec.ports"))
        causes += _port_causes(ports)
        causes += one_of(spec["type"], _TYPES, "spec.type")
        causes += metadata_rules.label_causes(spec.get("selector") or {}, "spec.selector")
        if external and not spec.get("externalName"):
            causes.append(StatusCause.required("spec.externalName"))
        return causes

    def validate_update(self, new: Body, old: Body) -> Sequence[StatusCause]:
        """A cluster IP may not change once it is set."""
        now, before = at(new, "spec.clusterIPs"), at(old, "spec.clusterIPs")
        if before and now and now[0] != before[0]:
            return (StatusCause.invalid("spec.clusterIPs[0]", now, "may not change once set"),)
        return ()


def _give_node_ports(spec: Body, others: Sequence[Body]) -> None:
    """The first ports that no service has."""
    specs = (*(other["spec"] for other in others), spec)
    used = {exposed.get("nodePort") for one in specs for exposed in one.get("ports") or ()}
    free = (port for port in range(_FIRST_NODE_PORT, 1 << 16) if port not in used)
    for exposed in spec.get("ports") or ():
        if not exposed.get("nodePort"):
            exposed["nodePort"] = next(free)


def _port_causes(ports: Sequence[Body]) -> Iterator[StatusCause]:
    seen = set()
    for exposed, path in indexed(ports, "spec.ports"):
        name = exposed.get("name") or ""
        if name or len(ports) > 1:
            yield from named(name, f"{path}.name", names.dns_label)
        if name and name in seen:
            yield StatusCause.duplicate(f"{path}.name", name)
        seen.add(name)
        yield from port(exposed.get("port"), f"{path}.port")
        if isinstance(target := exposed.get("targetPort"), int):
            yield from port(target, f"{path}.targetPort")
        yield from one_of(exposed.get("protocol"), ("SCTP", "TCP", "UDP"), f"{path}.protocol")


class EndpointsStrategy(Strategy):
    made_by_update = True

    def default(self, body: Body) -> None:
        """Ports speak TCP unless they say otherwise."""
        for subset in body.get("subsets") or ():
            for exposed in subset.get("ports") or ():
                fill(exposed, {"protocol": "TCP"})
