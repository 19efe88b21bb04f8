"""The nodes of a cluster: by number and zones, or of a YAML file that has the shape of the user's
own cluster.

A file holds Node objects, as ``kubectl get nodes -o yaml`` gives them, or a short form of which
each item is a group of like nodes:

    - {count: 10, name: gpu, zone: a, cpu: 16, memory: 64Gi, nvidia.com/gpu: 4, labels: {pool: gpu},
      taints: ["gpu=yes:NoSchedule"]}
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Container, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any, NoReturn

import yaml

from kubefacts import names, quantities
from towtank.api_server import ApiServer
from towtank.controllers.manager import ControllerSettings
from towtank.model import metadata_rules
from towtank.model.api_errors import ApiError
from towtank.model.kinds import Body
from towtank.wire import yaml_codec

REGION = "local"
PODS = 110
_HOSTNAME, _ZONE, _REGION = (
    "kubernetes.io/hostname",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
)
MAX_NODES = 100_000
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_FIELDS = (
    "count",
    "name",
    "zone",
    "cpu",
    "memory",
    "ephemeral-storage",
    "pods",
    "labels",
    "taints",
)
_VOLATILE_STATUS = (
    "images",
    "volumesInUse",
    "volumesAttached",
    "config",
    "daemonEndpoints",
    "phase",
)
_VOLATILE_ANNOTATIONS = (
    "kubectl.kubernetes.io/last-applied-configuration",
    "node.alpha.kubernetes.io/ttl",
)
_MAX_AMOUNT = 2**63 - 1
_QUANTITY = "write a quantity such as 8, 500m or 64Gi"
_WHAT_DESCRIBES_NODES = (
    "write a Node object or a group such as {count: 3, name: small, cpu: 4, memory: 16Gi}"
)


class ShapeError(Exception):
    """A file of nodes is wrong: where, what, and what to write instead."""


def like_nodes(
    count: int, zones: int = 3, cpu: str = "8", memory: str = "32Gi", pods: int = PODS
) -> list[Body]:
    """So many like nodes, spread over so many zones: node-a1, node-b1, node-a2 and so on."""
    room = {"cpu": cpu, "memory": memory, "pods": str(pods)}
    made = []
    for number in range(count):
        zone = _letters(number % zones)
        made.append(_node(f"node-{zone}{number // zones + 1}", room, _labels(zone, cpu, memory)))
    return made


def read_shape(text: str, source: str) -> list[Body]:
    """The nodes of a file; ``source`` is its name in messages. Raises ShapeError."""
    found: dict[str, Body] = {}
    server = ApiServer(lambda: datetime.now(UTC), lambda: "", ControllerSettings.none())
    for place, item in _items(text, source):
        for number, node in enumerate(place.nodes(item)):
            if not number:  # the others of a group are like it
                place.require_valid(server, node)
            place.require_new(node, found)
            found[node["metadata"]["name"]] = node
            if len(found) > MAX_NODES:
                what = f"these are more than {MAX_NODES} nodes: use fewer"
                place.refuse("count", item.get("count"), what)
    if not found:
        raise ShapeError(
            f"{source}: there are no nodes in it: write Node objects, or a list such as "
            f"[{{count: 3, name: small, cpu: 4, memory: 16Gi}}]"
        )
    return list(found.values())


def _items(text: str, source: str) -> Iterator[tuple[_ShapeEntry, Mapping[str, Any]]]:
    """Whatever describes nodes, with its place: lists are opened."""
    for number, document in enumerate(_documents(text, source), 1):
        is_list = isinstance(document, dict) and str(document.get("kind", "")).endswith("List")
        opened = document.get("items") if is_list else document
        where = f"document {number}"
        if isinstance(opened, list):
            found = {f"{where}, item {index}": item for index, item in enumerate(opened, 1)}
        else:
            found = {} if opened is None else {where: opened}
        for place, item in found.items():
            entry = _ShapeEntry(source, place)
            if not isinstance(item, dict):
                entry.refuse("", item, _WHAT_DESCRIBES_NODES)
            yield entry, item


def _documents(text: str, source: str) -> list[Any]:
    try:
        return list(yaml.load_all(text, yaml_codec.KubernetesYamlLoader))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ShapeError(f"{source}: this is no YAML: {error}") from error


@dataclasses.dataclass(frozen=True, slots=True)
class _ShapeEntry:
    """An item of a file, and how to refuse what it says."""

    source: str
    where: str

    def refuse(self, field: str, value: object, what_to_do: str) -> NoReturn:
        """Say what is wrong."""
        shown = f"{field}: {value!r}" if field else repr(value)
        raise ShapeError(f"{self.source}: {self.where}: {shown}: {what_to_do}")

    def nodes(self, item: Mapping[str, Any]) -> Iterable[Body]:
        """What it describes."""
        return [self._whole_node(item)] if "kind" in item else self._group(item)

    def require_new(self, node: Body, others: Container[str]) -> None:
        """Refuse a name that another node has."""
        if (name := node["metadata"]["name"]) in others:
            self.refuse("name", name, "there is a node of this name already: give each its own")

    def require_valid(self, server: ApiServer, node: Body) -> None:
        """Refuse what the API server would, which knows each field's type and rules."""
        try:
            server.create(copy.deepcopy(node))
        except ApiError as refusal:
            # a name that is there: said better by who collects them
            if refusal.code != HTTPStatus.CONFLICT:
                raise ShapeError(f"{self.source}: {self.where}: {refusal.message}") from refusal

    # ---- the short form --------------------------------------------------------------------------

    def _group(self, item: Mapping[str, Any]) -> Iterator[Body]:
        """Like nodes, with numbers where there is a count."""
        for field in set(map(str, item)) - set(_FIELDS):
            if not _is_amount(field) or names.qualified_name(field):
                known = f"{', '.join(_FIELDS)}, or a resource such as nvidia.com/gpu"
                self.refuse(field, item.get(field), f"there is no such field: use one of {known}")
        zone = self._label("zone", self._text(item, "zone", "a"))
        room = self._room(item)
        labels = _labels(zone, room["cpu"], room["memory"])
        labels |= self._checked_labels("labels", item.get("labels"))
        taints = self._taints("taints", item.get("taints"))
        name, each = self._text(item, "name", None), [""]
        if "count" in item:
            each = [f"-{number}" for number in range(1, self._count(item["count"]) + 1)]
        for number in each:
            own = self._label("name", self._name("name", f"{name}{number}"))
            yield _node(own, room, labels, taints)

    def _room(self, item: Mapping[str, Any]) -> dict[str, str]:
        amounts = {"pods": PODS, **{key: item[key] for key in item if _is_amount(key)}}
        for field in ("cpu", "memory"):
            if field not in amounts:
                self.refuse(field, None, f"it is missing: {_QUANTITY}")
        return {field: self._quantity(field, value) for field, value in amounts.items()}

    def _text(self, item: Mapping[str, Any], field: str, default: str | None) -> str:
        value = item.get(field, default)
        if not isinstance(value, str) or not value:
            self.refuse(
                field,
                value,
                "write a text, in quotes where it looks like a number or a truth value",
            )
        return value

    def _label(self, field: str, value: str) -> str:
        """A text that becomes a label's value."""
        for cause in metadata_rules.label_causes({_HOSTNAME: value}, field):
            self.refuse(field, value, cause.text)
        return value

    def _count(self, value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= MAX_NODES:
            self.refuse("count", value, f"write a whole number from 1 to {MAX_NODES}")
        return value

    def _quantity(self, field: str, value: object) -> str:
        try:
            amount = (
                quantities.exact(value)
                if isinstance(value, str | int | float) and not isinstance(value, bool)
                else -1
            )
        except quantities.QuantityError:
            amount = -1
        if not 0 <= amount <= _MAX_AMOUNT:
            self.refuse(field, value, _QUANTITY)
        if field.rpartition(".")[2] != "cpu" and amount.denominator != 1:
            self.refuse(field, value, "write a whole number: only cpu has fractions")
        return quantities.canonical(str(value), finest=-3)

    def _list(self, field: str, value: object) -> list[Any]:
        if not isinstance(value, list | None):
            self.refuse(field, value, "write a list")
        return value or []

    def _checked_labels(self, field: str, labels: object) -> dict[str, str]:
        if not isinstance(labels, dict | None):
            self.refuse(field, labels, "write a map of texts to texts")
        for key, value in (labels or {}).items():
            if not isinstance(key, str) or not isinstance(value, str):
                self.refuse(f"{field}.{key}", value, "a label's value is a text: put it in quotes")
            for cause in metadata_rules.label_causes({key: value}, field):
                self.refuse(f"{field}.{key}", value, cause.text)
        return dict(labels or {})

    def _taints(self, field: str, value: object) -> list[Body]:
        listed = enumerate(self._list(field, value))
        return [self._taint(f"{field}[{index}]", taint) for index, taint in listed]

    def _taint(self, field: str, taint: object) -> Body:
        """As an object, or as `kubectl taint` takes it: key=value:effect."""
        if isinstance(taint, str):
            pair, _, effect = taint.rpartition(":")
            key, _, value = pair.partition("=")
            taint = {"key": key, **({"value": value} if value else {}), "effect": effect}
        if not isinstance(taint, dict) or not isinstance(taint.get("key"), str) or not taint["key"]:
            self.refuse(
                field,
                taint,
                'write "key=value:NoSchedule" or {key: ..., value: ..., effect: NoSchedule}',
            )
        if taint.get("effect") not in _EFFECTS:
            self.refuse(
                f"{field}.effect", taint.get("effect"), f"write one of {', '.join(_EFFECTS)}"
            )
        self._checked_labels(field, {taint["key"]: taint.get("value", "")})
        return {key: taint[key] for key in ("key", "value", "effect") if key in taint}

    def _name(self, field: str, name: object) -> str:
        if not isinstance(name, str) or not name:
            self.refuse(field, name, "every node has a name")
        for text in names.dns_subdomain(name):
            self.refuse(field, name, text)
        return name

    # ---- Node objects ----------------------------------------------------------------------------

    def _whole_node(self, node: Mapping[str, Any]) -> Body:
        """A Node without what only its own cluster knows."""
        if node.get("kind") != "Node":
            self.refuse(
                "kind", node.get("kind"), "only objects of kind Node are read: leave out others"
            )
        if node.get("apiVersion", "v1") != "v1":
            self.refuse("apiVersion", node["apiVersion"], "that of nodes is v1")
        spec = self._map("spec", node.get("spec"))
        if taints := self._taints("spec.taints", spec.get("taints")):
            spec["taints"] = taints
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": self._metadata(self._map("metadata", node.get("metadata"))),
            "spec": spec,
            "status": self._status(self._map("status", node.get("status"))),
        }

    def _metadata(self, metadata: Body) -> Body:
        annotations = self._map("metadata.annotations", metadata.get("annotations"))
        return {
            "name": self._name("metadata.name", metadata.get("name")),
            "labels": self._checked_labels("metadata.labels", metadata.get("labels")),
            "annotations": _without(annotations, _VOLATILE_ANNOTATIONS),
        }

    def _status(self, status: Body) -> Body:
        kept = _without(status, _VOLATILE_STATUS)
        for field in {"capacity", "allocatable"} & kept.keys():
            amounts = self._map(f"status.{field}", kept[field])
            kept[field] = {
                key: self._quantity(f"status.{field}.{key}", value)
                for key, value in amounts.items()
            }
        if "conditions" in kept:
            listed = enumerate(self._list("status.conditions", kept["conditions"]))
            kept["conditions"] = [self._condition(index, each) for index, each in listed]
        return kept

    def _map(self, field: str, value: object) -> dict[str, Any]:
        if not isinstance(value, dict | None):
            self.refuse(field, value, "write a map")
        return dict(value or {})

    def _condition(self, index: int, condition: object) -> Body:
        """Without its times: they are another cluster's past."""
        said = self._map(f"status.conditions[{index}]", condition)
        return {
            key: value
            for key, value in said.items()
            if key in ("type", "status", "reason", "message")
        }


def _node(
    name: str, room: Mapping[str, str], labels: Mapping[str, str], taints: list[Body] | None = None
) -> Body:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {_HOSTNAME: name, **labels}},
        "spec": {"taints": [dict(taint) for taint in taints]} if taints else {},
        "status": {"capacity": dict(room), "allocatable": dict(room)},
    }


def _labels(zone: str, cpu: str, memory: str) -> dict[str, str]:
    """Those that a cloud's nodes have."""
    kind = f"pretended-{cpu}-{memory}".lower()
    return {
        _ZONE: zone,
        _REGION: REGION,
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": kind,
    }


def _without(said: Mapping[str, Any], fields: Container[str]) -> Body:
    return {field: value for field, value in said.items() if field not in fields}


def _is_amount(field: str) -> bool:
    return (
        field in ("cpu", "memory", "ephemeral-storage", "pods")
        or "/" in field
        or field.startswith("hugepages-")
    )


def _letters(number: int) -> str:
    """a to z, then aa, ab and so on."""
    text = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        text = chr(ord("a") + rest) + text
    return text
