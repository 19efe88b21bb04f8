"""Nodes, namespaces, events and the other kinds of the core that are neither workloads nor
storage.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from towtank.model.kinds import Body
from towtank.tables.ages import Age
from towtank.tables.cells import (
    NONE,
    Cells,
    KindPrinter,
    columns,
    condition,
    containers,
    created,
    label_text,
    name,
    name_and_age,
    some,
    spec,
    status,
)

_ROLE = "node-role.kubernetes.io/"
_UNKNOWN = "<unknown>"


def _node(node: Body, age: Age) -> Cells:
    about = status(node).get("nodeInfo") or {}
    kernel = about.get("kernelVersion") or _UNKNOWN
    if about.get("architecture"):
        kernel += f" ({about['architecture']})"
    return [
        name(node),
        _readiness(node),
        _roles(node["metadata"].get("labels") or {}),
        created(node, age),
        about.get("kubeletVersion", ""),
        _address(node, "InternalIP"),
        _address(node, "ExternalIP"),
        about.get("osImage") or _UNKNOWN,
        kernel,
        about.get("containerRuntimeVersion") or _UNKNOWN,
    ]


def _readiness(node: Body) -> str:
    ready = condition(node, "Ready")
    shown = "Unknown" if ready is None else "Ready" if ready == "True" else "NotReady"
    return f"{shown},SchedulingDisabled" if spec(node).get("unschedulable") else shown


def _roles(labels: Mapping[str, str]) -> str:
    roles = {label.removeprefix(_ROLE) for label in labels if label.startswith(_ROLE)} | {
        labels.get("kubernetes.io/role", "")
    }
    return ",".join(sorted(roles - {""})) or NONE


def _address(node: Body, kind: str) -> str:
    return next(
        (each["address"] for each in status(node).get("addresses") or () if each["type"] == kind),
        NONE,
    )


def _namespace(namespace: Body, age: Age) -> Cells:
    return [name(namespace), status(namespace).get("phase", ""), created(namespace, age)]


def _event(event: Body, age: Age) -> Cells:
    """Of the core and of events.k8s.io, which calls some fields otherwise."""
    about = _said(event, "involvedObject", "regarding") or {}
    first, last, count = _seen(event, age)
    return [
        last,
        event.get("type", ""),
        event.get("reason", ""),
        about.get("kind", "").lower() + (f"/{about['name']}" if about.get("name") else ""),
        about.get("fieldPath", ""),
        _source(event),
        (_said(event, "message", "note") or "").strip(),
        first,
        count,
        name(event),
    ]


def _said(event: Body, *names: str) -> Any:
    """What is there under one of these names, or None."""
    return next((event[name] for name in names if event.get(name)), None)


def _seen(event: Body, age: Age) -> tuple[str, str, int]:
    """How long ago for the first and for the last time, and how often."""
    first = age(_said(event, "firstTimestamp", "deprecatedFirstTimestamp", "eventTime"))
    if series := event.get("series"):
        return first, age(series.get("lastObservedTime")), series.get("count", 0)
    last = _said(event, "lastTimestamp", "deprecatedLastTimestamp")
    count: int = _said(event, "count", "deprecatedCount") or 1
    return first, age(last) if last else first, count


def _source(event: Body) -> str:
    source = _said(event, "source", "deprecatedSource") or {}
    reporter = _said(event, "reportingComponent", "reportingController")
    component = str(source.get("component") or reporter or "")
    place = source.get("host") or event.get("reportingInstance")
    return f"{component}, {place}" if place else component


def _config_map(config_map: Body, age: Age) -> Cells:
    return [
        name(config_map),
        len(config_map.get("data") or ()) + len(config_map.get("binaryData") or ()),
        created(config_map, age),
    ]


def _secret(secret: Body, age: Age) -> Cells:
    return [
        name(secret),
        secret.get("type", ""),
        len(secret.get("data") or ()),
        created(secret, age),
    ]


def _pod_template(template: Body, _: Age) -> Cells:
    of = template.get("template") or {}
    return [
        name(template),
        *containers(of.get("spec") or {}),
        label_text((of.get("metadata") or {}).get("labels")),
    ]


def _quota(quota: Body, age: Age) -> Cells:
    hard, used = status(quota).get("hard") or {}, status(quota).get("used") or {}
    requests: list[str] = []
    limits: list[str] = []
    for resource in sorted(hard):
        (limits if resource.startswith("limits.") else requests).append(
            f"{resource}: {used.get(resource, '0')}/{hard[resource]}"
        )
    return [name(quota), ", ".join(requests), ", ".join(limits), created(quota, age)]


def _service(service: Body, age: Age) -> Cells:
    of = spec(service)
    return [
        name(service),
        of.get("type", ""),
        next(iter(of.get("clusterIPs") or ()), NONE),
        _external(service),
        ",".join(_port(port) for port in of.get("ports") or ()) or NONE,
        created(service, age),
        label_text(of.get("selector")),
    ]


def _external(service: Body) -> str:
    of = spec(service)
    given = ",".join(of.get("externalIPs") or ())
    match of.get("type"):
        case "ClusterIP" | "NodePort":
            return given or NONE
        case "LoadBalancer":
            entries = (status(service).get("loadBalancer") or {}).get("ingress") or ()
            balanced = ",".join(
                sorted({each.get("ip") or each.get("hostname", "") for each in entries} - {""})
            )
            return ",".join(part for part in (balanced, given) if part) or "<pending>"
        case "ExternalName":
            return str(of.get("externalName", ""))
    return _UNKNOWN


def _port(port: Mapping[str, Any]) -> str:
    node_port = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port['port']}{node_port}/{port.get('protocol', 'TCP')}"


def _endpoints(endpoints: Body, age: Age) -> Cells:
    found: list[str] = []
    for subset in endpoints.get("subsets") or ():
        ips = [each["ip"] for each in subset.get("addresses") or ()]
        ports = subset.get("ports") or ()
        found += [_at(ip, port) for port in ports for ip in ips] if ports else ips
    return [
        name(endpoints),
        some(found, empty="" if endpoints.get("subsets") else NONE),
        created(endpoints, age),
    ]


def _at(ip: str, port: Mapping[str, Any]) -> str:
    return f"[{ip}]:{port['port']}" if ":" in ip else f"{ip}:{port['port']}"


def _endpoint_slice(piece: Body, age: Age) -> Cells:
    ports = [str(port.get("port") or port.get("name") or "*") for port in piece.get("ports") or ()]
    addresses = [address for each in piece.get("endpoints") or () for address in each["addresses"]]
    return [
        name(piece),
        piece.get("addressType", ""),
        some(ports),
        some(addresses),
        created(piece, age),
    ]


_EVENTS = columns(
    "Last Seen, Type, Reason, Object, Subobject*, Source*, Message, First Seen*, Count*, Name*"
)
BASICS = {
    "nodes": KindPrinter(
        columns(
            "Name, Status, Roles, Age, Version, Internal-IP*, External-IP*, OS-Image*, "
            "Kernel-Version*, Container-Runtime*"
        ),
        _node,
    ),
    "namespaces": KindPrinter(columns("Name, Status, Age"), _namespace),
    "events": KindPrinter(_EVENTS, _event),
    "events.events.k8s.io": KindPrinter(_EVENTS, _event),
    "configmaps": KindPrinter(columns("Name, Data, Age"), _config_map),
    "secrets": KindPrinter(columns("Name, Type, Data, Age"), _secret),
    "serviceaccounts": KindPrinter(columns("Name, Age"), name_and_age),
    "podtemplates": KindPrinter(columns("Name, Containers, Images, Pod Labels"), _pod_template),
    "resourcequotas": KindPrinter(columns("Name, Request, Limit, Age"), _quota),
    "services": KindPrinter(
        columns("Name, Type, Cluster-IP, External-IP, Port(s), Age, Selector*"), _service
    ),
    "endpoints": KindPrinter(columns("Name, Endpoints, Age"), _endpoints),
    "endpointslices.discovery.k8s.io": KindPrinter(
        columns("Name, AddressType, Ports, Endpoints, Age"), _endpoint_slice
    ),
}
