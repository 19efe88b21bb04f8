"""Small clusters for the tests of plugins that look at pods on all nodes: nodes in zones, pods on
them, in a few words.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from moorage.core.columns.cache import Cache
from moorage.core.columns.snapshot import Snapshot
from moorage.core.framework.interfaces import FilterPlugin, PreFilterResult
from moorage.core.objects.meta import Namespace, ObjectMeta
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod
from moorage.core.pods.requests import pod_requests

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
Document = dict[str, Any]


def node(name: str, zone: str | None = None, taint: str = "", **labels: str) -> Node:
    """A node in a zone, if it is in one."""
    known = labels | {HOST: name} | ({ZONE: zone} if zone is not None else {})
    document = {
        "metadata": {"name": name, "labels": known},
        "spec": {"taints": [{"key": taint, "effect": "NoSchedule"}] if taint else None},
    }
    return msgspec.convert(document, Node)


def pod(
    name: str,
    labels: dict[str, str] | None = None,
    on: str = "",
    namespace: str = "default",
    **spec: Any,
) -> Pod:
    """A pod with these labels and, in the API's spelling, this spec."""
    meta = {
        "name": name,
        "namespace": namespace,
        "uid": f"uid-{namespace}-{name}",
        "labels": labels,
    }
    return msgspec.convert({"metadata": meta, "spec": {**spec, "nodeName": on}}, Pod)


def deleted(one: Pod) -> Pod:
    """The pod, marked as being deleted."""
    meta = msgspec.structs.replace(one.metadata, deletion_timestamp="2026-01-01T00:00:00Z")
    return msgspec.structs.replace(one, metadata=meta)


def term(
    topology: str = ZONE, namespaces: list[str] | None = None, teams: str = "", **labels: str
) -> Document:
    """A term about pods with these labels; ``teams`` selects namespaces by their label "team", "*"
    all of them.
    """
    found: Document = {
        "labelSelector": {"matchLabels": labels},
        "topologyKey": topology,
        "namespaces": namespaces,
    }
    if teams:
        found["namespaceSelector"] = {} if teams == "*" else {"matchLabels": {"team": teams}}
    return found


def near(*terms: Document) -> Document:
    """An affinity to pods."""
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}


def away(*terms: Document) -> Document:
    """An anti-affinity to pods."""
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}


def prefers(field: str, *weighed: tuple[int, Document]) -> Document:
    """A preference, for ``podAffinity`` or ``podAntiAffinity``."""
    terms = [{"weight": weight, "podAffinityTerm": one} for weight, one in weighed]
    return {field: {"preferredDuringSchedulingIgnoredDuringExecution": terms}}


def constraint(
    topology: str = ZONE, skew: int = 1, when: str = "DoNotSchedule", **more: Any
) -> Document:
    """A topology spread constraint for pods with the label app=x, unless ``labelSelector`` says
    otherwise.
    """
    selector = {"matchLabels": {"app": "x"}}
    return {
        "maxSkew": skew,
        "topologyKey": topology,
        "whenUnsatisfiable": when,
        "labelSelector": selector,
        **more,
    }


def namespace(name: str, **labels: str) -> Namespace:
    """A namespace with labels."""
    return Namespace(ObjectMeta(name=name, labels=labels))


def cluster(*objects: Node | Pod | Namespace) -> Cache:
    """A cache that knows these."""
    cache = Cache()
    for one in objects:
        if isinstance(one, Node):
            cache.put_node(one)
        elif isinstance(one, Pod):
            cache.observe(one, pod_requests(one))
        else:
            cache.store.put(one)
    return cache


def said(plugin: FilterPlugin, prepared: PreFilterResult, snapshot: Snapshot) -> dict[str, str]:
    """The reason's id for each node that is refused; every row is asked alone too, and must say the
    same.
    """
    codes = plugin.filter(prepared.state, snapshot, snapshot.nodes.all_rows)
    for row, code in enumerate(codes.tolist()):
        assert plugin.filter(prepared.state, snapshot, np.array([row], np.intp)).tolist() == [code]
    rows = snapshot.nodes.row_of.items()
    return {
        name: plugin.explain(prepared.state, int(codes[row]))[0][0].id
        for name, row in rows
        if codes[row]
    }
