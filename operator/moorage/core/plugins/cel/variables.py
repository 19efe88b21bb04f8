"""Expression facts: what expressions on a pod and a node can read, and how it is got out of the
objects as plain values.

Fields are spelled as Kubernetes spells them; one that an object lacks is empty (``""``, 0, false,
an empty list or map), but the entries of a map are there or not. ``pod.requests``,
``node.allocatable`` and ``node.requested`` are ours: amounts as the scheduler counts with them, cpu
in millicores and all else in whole units (bytes, pieces).

An expression is shown just those entries of a map that it reads, so what it says is a function of
them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from moorage.core.columns.change_log import Aspect
from moorage.core.columns.nodes.node_columns import NodeColumns
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Container, Pod
from moorage.core.plugins.cel.expression_survey import Reads
from moorage.core.plugins.cel.program import Variables, VariableType
from moorage.core.pods.requests import FIT, allocatable_amounts, pod_amounts

MAX_LABEL_CHARACTERS = 63
"""Characters that a label's value can have."""
MAX_ANNOTATION_CHARACTERS = 4096
"""Characters that are shown of an annotation's value, so that no evaluation takes long."""
REQUESTED = "node.requested"
"""The one variable that changes when pods come and go."""

encode = msgspec.msgpack.Encoder().encode
"""Values as a key."""


class PodVariable(NamedTuple):
    """``template``: whether it is the same for all pods of a template (``pods.signatures``)."""

    kind: VariableType
    get: Callable[[Pod], Any]
    template: bool = True


class NodeVariable(NamedTuple):
    """``aspect`` is what has to change for it to change. ``get`` looks at the node, and at the
    table and its row there.
    """

    kind: VariableType
    aspect: Aspect
    get: Callable[[Node, NodeColumns | None, int], Any]
    longest: int = MAX_LABEL_CHARACTERS


# ---- pods ----------------------------------------------------------------------------------------


def _containers(containers: Iterable[Container] | None) -> list[dict[str, Any]]:
    return [
        {
            "name": one.name,
            "image": one.image,
            "resources": {"requests": _texts(one.resources.requests if one.resources else None)},
        }
        for one in containers or ()
    ]


def _texts(amounts: Mapping[str, str | int] | None) -> dict[str, str]:
    return {name: str(amount) for name, amount in (amounts or {}).items()}


def _tolerations(pod: Pod) -> list[dict[str, str]]:
    return [
        {"key": one.key, "operator": one.operator, "value": one.value, "effect": one.effect}
        for one in pod.spec.tolerations or ()
    ]


POD: Mapping[str, PodVariable] = {
    "pod.metadata.name": PodVariable(
        VariableType.TEXT, lambda pod: pod.metadata.name, template=False
    ),
    "pod.metadata.namespace": PodVariable(VariableType.TEXT, lambda pod: pod.metadata.namespace),
    "pod.metadata.labels": PodVariable(
        VariableType.TEXTS, lambda pod: pod.metadata.labels or {}, template=False
    ),
    "pod.spec.schedulerName": PodVariable(VariableType.TEXT, lambda pod: pod.spec.scheduler_name),
    "pod.spec.priority": PodVariable(VariableType.NUMBER, lambda pod: pod.spec.priority or 0),
    "pod.spec.hostNetwork": PodVariable(VariableType.FLAG, lambda pod: pod.spec.host_network),
    "pod.spec.nodeSelector": PodVariable(
        VariableType.TEXTS, lambda pod: pod.spec.node_selector or {}
    ),
    "pod.spec.tolerations": PodVariable(VariableType.RECORDS, _tolerations),
    "pod.spec.containers": PodVariable(
        VariableType.DOCUMENTS, lambda pod: _containers(pod.spec.containers)
    ),
    "pod.spec.initContainers": PodVariable(
        VariableType.DOCUMENTS, lambda pod: _containers(pod.spec.init_containers)
    ),
    "pod.requests": PodVariable(VariableType.NUMBERS, lambda pod: dict(pod_amounts(pod, FIT))),
}


# ---- nodes ---------------------------------------------------------------------------------------


def _requested(_node: Node, table: NodeColumns | None, row: int) -> dict[str, int]:
    """What pods take of the node; 0 stands only for what every node has, or this one."""
    if table is None:
        raise ValueError(f"{REQUESTED} of a node that is in no table")
    return {name: taken for name, (_, taken) in table.amounts_on(row).items()}


def _taints(node: Node) -> list[dict[str, str]]:
    return [
        {"key": taint.key, "value": taint.value, "effect": taint.effect}
        for taint in node.spec.taints or ()
    ]


NODE: Mapping[str, NodeVariable] = {
    "node.metadata.name": NodeVariable(
        VariableType.TEXT, Aspect.MEMBERSHIP, lambda node, *_: node.metadata.name
    ),
    "node.metadata.labels": NodeVariable(
        VariableType.TEXTS, Aspect.LABELS, lambda node, *_: node.metadata.labels or {}
    ),
    "node.metadata.annotations": NodeVariable(
        VariableType.TEXTS,
        Aspect.OBJECT,
        lambda node, *_: node.metadata.annotations or {},
        MAX_ANNOTATION_CHARACTERS,
    ),
    "node.metadata.creationTimestamp": NodeVariable(
        VariableType.TEXT, Aspect.OBJECT, lambda node, *_: node.metadata.creation_timestamp or ""
    ),
    "node.spec.unschedulable": NodeVariable(
        VariableType.FLAG, Aspect.TAINTS, lambda node, *_: bool(node.spec.unschedulable)
    ),
    "node.spec.taints": NodeVariable(
        VariableType.RECORDS, Aspect.TAINTS, lambda node, *_: _taints(node)
    ),
    "node.status.allocatable": NodeVariable(
        VariableType.TEXTS, Aspect.OBJECT, lambda node, *_: _texts(node.status.allocatable)
    ),
    "node.allocatable": NodeVariable(
        VariableType.NUMBERS, Aspect.ALLOCATABLE, lambda node, *_: allocatable_amounts(node)
    ),
    REQUESTED: NodeVariable(VariableType.NUMBERS, Aspect.RESOURCES, _requested),
}

VARIABLES: Variables = (
    *((name, variable.kind) for name, variable in POD.items()),
    *((name, variable.kind) for name, variable in NODE.items()),
)


# ---- picking out what is read --------------------------------------------------------------------


class VariableSelection(NamedTuple):
    """Variables that are read, in a fixed order: how each is got, and which of its entries count,
    None for all.
    """

    names: tuple[str, ...]
    parts: tuple[tuple[Callable[..., Any], tuple[str, ...] | None], ...]

    def values(self, *of: Any) -> list[Any]:
        """Their values in a pod, or in a node with its table and row; equal lists have equal
        encodings.
        """
        return [_entries(get(*of), keys) for get, keys in self.parts]


def select_variables(
    reads: Reads, variables: Mapping[str, PodVariable] | Mapping[str, NodeVariable]
) -> VariableSelection:
    """What expressions with these reads need of these variables."""
    names = tuple(name for name in variables if name in reads)
    return VariableSelection(
        names, tuple((variables[name].get, _in_order(reads[name])) for name in names)
    )


def _in_order(keys: frozenset[str] | None) -> tuple[str, ...] | None:
    return None if keys is None else tuple(sorted(keys))


def _entries(value: Any, keys: tuple[str, ...] | None) -> Any:
    if not isinstance(value, dict):
        return value
    return {
        key: _cut(value[key]) for key in (sorted(value) if keys is None else keys) if key in value
    }


def _cut(value: Any) -> Any:
    return value[:MAX_ANNOTATION_CHARACTERS] if isinstance(value, str) else value


# ---- samples -------------------------------------------------------------------------------------


def samples(reads: Reads) -> list[dict[str, Any]]:
    """Values of all that is read, for trying how long it takes: a few short ones, and as many and
    as long ones as there may be.
    """
    kinds = dict(VARIABLES)
    return [
        {name: _sample(kinds[name], name, reads[name], large) for name in reads}
        for large in (False, True)
    ]


def _sample(kind: VariableType, name: str, keys: frozenset[str] | None, large: bool) -> Any:
    longest = NODE[name].longest if name in NODE else MAX_LABEL_CHARACTERS
    text, many = ("a" * longest, 64) if large else ("1", 2)
    record = dict.fromkeys(("key", "operator", "value", "effect", "name", "image"), text)
    tail = "k" * (MAX_LABEL_CHARACTERS - 2) if large else ""
    names = sorted(keys) if keys is not None else [f"{i}{tail}" for i in range(many)]
    document = {**record, "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}
    return {
        VariableType.TEXT: text,
        VariableType.NUMBER: 1000,
        VariableType.FLAG: True,
        VariableType.TEXTS: dict.fromkeys(names, text),
        VariableType.NUMBERS: dict.fromkeys(names, 1000),
        VariableType.RECORDS: [record] * (many // 4 + 1),
        VariableType.DOCUMENTS: [document] * (many // 4 + 1),
    }[kind]
