"""Whatever raises while the cache changes: afterwards it is what it was before, and the same change
goes through the next time.

Steps are not listed: a profiler raises at the entry of the first function of core that a change
calls, then of the second, and so on until the change goes through; after each failure everything
that can be reached from the cache is compared.
"""

from __future__ import annotations

import enum
import inspect
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import moorage.core
from kubefacts.labels import Selector, equality
from moorage.core.columns.cache import Cache
from moorage.core.columns.change_log import ChangeLog, VersionCounter
from moorage.core.columns.domains import per_domain
from moorage.core.columns.nodes.label_columns import LabelColumn
from moorage.core.columns.nodes.node_table import NodeTable
from moorage.core.columns.pod_counters import PodQuery, RowCounter
from moorage.core.columns.store import Store
from moorage.core.devices.ledger import DeviceLedger
from moorage.core.objects.meta import HasMetadata, ObjectMeta
from moorage.core.objects.nodes import ContainerImage, Node, Taint
from moorage.core.objects.pod_groups import PodGroup
from moorage.core.objects.pods import Pod
from moorage.core.objects.resource_claims import DeviceClass, ResourceClaim, ResourceSlice
from moorage.core.objects.storage import CSIStorageCapacity
from moorage.core.objects.workloads import Service
from moorage.core.plugins.pod_topology_spread.default_selectors import default_selector
from moorage.core.plugins.volume_binding.offers import StorageCapacities, VolumeOffers
from moorage.core.pods.requests import pod_requests
from moorage.core.queue.pod_group_members import PodGroupTracker
from moorage.core.queue.pod_group_state import PodGroupState
from moorage.core.structures.all_or_none import all_or_none
from moorage.core.structures.numbering import Numbering
from moorage.core.structures.sparse import SparseAmounts
from tests.builders import make_node
from tests.core.storage_builders import (
    csi,
    make_attachment,
    make_claim,
    make_class,
    make_csi_node,
    make_volume,
)

CORE = str(Path(moorage.core.__file__).parent)
HOST = "kubernetes.io/hostname"


class Injected(Exception):
    """What goes wrong."""


# ---- what the cache holds ------------------------------------------------------------------------

NOT_COMPARED = {
    "logs",
    "_seen",
    "_reached_by",
    "_shapes",
    "_next_shape",
    "_codes",
    "_names",
    "_integers",
    "made",
    "_changes",
    "_node_generations",
    "id",
    "version",
    "_changed_at",
}
"""Memories, and numbers that only ever grow."""
Seen = dict[int, Any]


def held(value: Any, seen: Seen) -> Any:
    """Everything that can be reached from here, without capacities and free places; objects that do
    not change stand for themselves.
    """
    if value is None or isinstance(
        value, (str, bytes, int, float, enum.Enum, msgspec.Struct, tuple, frozenset)
    ):
        return value
    if isinstance(
        value, (types.FunctionType, types.MethodType, type, ChangeLog, VersionCounter, Numbering)
    ):
        return None
    if id(value) in seen:
        return "seen"
    seen[id(value)] = value
    if isinstance(value, (dict, types.MappingProxyType)):
        return {
            key if not isinstance(key, PodGroupState) else key.name: held(one, seen)
            for key, one in value.items()
        }
    if isinstance(value, (list, set)):
        return [held(one, seen) for one in value]
    if isinstance(value, np.ndarray):
        filled = np.flatnonzero(value.any(axis=tuple(range(value.ndim - 1))))
        return value[..., : filled[-1] + 1].tolist() if filled.size else []
    return held_by(value, seen)


def held_by(value: Any, seen: Seen) -> Any:
    """What an object of our own holds; what goes by numbers of its own is told by name."""
    if isinstance(value, SparseAmounts):
        return {row: value.on(row) for row in (*value._places, *value._lumps)}, len(value)
    if isinstance(value, LabelColumn):
        return {row: value.values[code] for row, code in enumerate(value.codes.tolist()) if code}
    if isinstance(value, RowCounter):
        return {
            row: number for row, number in enumerate(value.per_row(64).tolist()) if number
        }, value.total
    names = [
        name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())
    ] + list(getattr(value, "__dict__", ()))
    leaves = {
        "_free",
        "_arrays",
        "taint_set",
        "_taint_set",
        "names",
        "nodes",
        "tie_break",
        "_tie_break",
        "rows",
    }
    left_out = NOT_COMPARED | (leaves if isinstance(value, NodeTable) else set())
    found = {
        name: held(getattr(value, name), seen)
        for name in names
        if name not in left_out and hasattr(value, name)
    }
    if isinstance(value, NodeTable):
        found["by name"] = {
            name: (
                row,
                value.names[row],
                value.nodes[row],
                value.taint_sets[value.taint_set[row]],
                int(value.tie_break[row]),
            )
            for name, row in value.row_of.items()
        }
        found["labels"] = (
            {row: labels for row, labels in enumerate(value.labels._labels) if labels},
            value.labels._nodes_with,
        )
    return found


def difference(one: Any, other: Any, path: str = "") -> str:
    """Where two contents differ first, "" when they do not."""
    if isinstance(one, dict) and isinstance(other, dict):
        keys = [key for key in {**one, **other} if (key in one) != (key in other)]
        found = (difference(one[key], other[key], f"{path}.{key}") for key in one if key in other)
        return f"{path}: {keys}" if keys else next((text for text in found if text), "")
    if isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
        return next(
            (
                text
                for i in range(len(one))
                if (text := difference(one[i], other[i], f"{path}[{i}]"))
            ),
            "",
        )
    return "" if one == other else f"{path}: {one} is not {other}"


# ---- a cluster with some of everything -----------------------------------------------------------


def node(name: str, zone: str = "a", more: str = "x.io/gpu", count: int = 3) -> Node:
    """A node with labels, a taint, an image and a resource of its own."""
    made = make_node(
        name, labels={HOST: name, "zone": zone}, taints=(Taint("t", zone, "NoSchedule"),)
    )
    images = (ContainerImage((f"image-{zone}",), 7),)
    allocatable = {**(made.status.allocatable or {}), more: str(count)}
    return msgspec.structs.replace(
        made, status=msgspec.structs.replace(made.status, images=images, allocatable=allocatable)
    )


def pod(name: str, where: str = "", color: str = "red", claim: str = "bound", **spec: Any) -> Pod:
    """A pod with requests, a port, terms, volumes and a group."""
    term = {"labelSelector": {"matchLabels": {"color": color}}, "topologyKey": "zone"}
    required = {
        "requiredDuringSchedulingIgnoredDuringExecution": [term, {**term, "topologyKey": HOST}]
    }
    container = {
        "name": "c",
        "image": "i",
        "ports": [{"hostPort": 80}, {"hostPort": 81, "protocol": "UDP"}],
        "resources": {
            "requests": {
                "cpu": "1",
                "ephemeral-storage": "1Gi",
                "x.io/gpu": "1",
                f"y.io/{name}": "2",
            }
        },
    }
    volumes = [
        {"name": "v", "persistentVolumeClaim": {"claimName": claim}},
        {"name": "d", "gcePersistentDisk": {"pdName": "disk"}},
    ]
    labels = {"color": color, "scheduling.x-k8s.io/pod-group": "team"}
    meta = {"name": name, "namespace": "a", "uid": f"uid-{name}", "labels": labels}
    body = {
        "containers": [container],
        "affinity": {"podAntiAffinity": required},
        "volumes": volumes,
        "nodeName": where,
        "priority": 5,
        **spec,
    }
    return msgspec.convert({"metadata": meta, "spec": body}, Pod)


def claim_of_devices(name: str, device: str = "", uid: str = "1") -> ResourceClaim:
    """A claim, allocated if it has a device."""
    results = [{"request": "r", "driver": "d", "pool": "n1", "device": device}]
    status = {"allocation": {"devices": {"results": results}}} if device else {}
    return msgspec.convert(
        {"metadata": {"name": name, "namespace": "a", "uid": uid}, "status": status}, ResourceClaim
    )


def pieces(name: str, where: str, *devices: str) -> ResourceSlice:
    """A slice of these devices on a node."""
    spec = {
        "driver": "d",
        "nodeName": where,
        "pool": {"name": where, "generation": 1, "resourceSliceCount": 1},
    }
    return msgspec.convert(
        {
            "metadata": {"name": name},
            "spec": {**spec, "devices": [{"name": one} for one in devices]},
        },
        ResourceSlice,
    )


def service(name: str, color: str) -> Service:
    """A service in front of pods of this color."""
    return msgspec.convert(
        {"metadata": {"name": name, "namespace": "a"}, "spec": {"selector": {"color": color}}},
        Service,
    )


def capacity(name: str, zone: str, room: str) -> CSIStorageCapacity:
    """Room for volumes in a zone."""
    body = {
        "metadata": {"name": name, "namespace": "a"},
        "storageClassName": "made",
        "nodeTopology": {"matchLabels": {"zone": zone}},
    }
    return msgspec.convert({**body, "capacity": room}, CSIStorageCapacity)


def pod_group(priority: int | None, mode: str = "all") -> PodGroup:
    """A PodGroup of Kubernetes."""
    spec: dict[str, Any] = {"priority": priority, "disruptionMode": {mode: {}}}
    return msgspec.convert({"metadata": {"name": "team", "namespace": "a"}, "spec": spec}, PodGroup)


class Waker:
    """Hears which room is free, and does nothing about it."""

    def nomination_cleared(self, pod: Pod, node: str) -> None: ...


class World:
    """A cache as it is after a while, with everything that follows it."""

    def __init__(self) -> None:
        store = Store()
        self.groups = PodGroupTracker(store)
        self.cache = cache = Cache(store, pods=self.groups, nominations=Waker())
        self.ledger, self.offers = cache.store.index(DeviceLedger), cache.store.index(VolumeOffers)
        cache.store.index(StorageCapacities)
        there: list[HasMetadata] = [
            make_class(),
            DeviceClass(ObjectMeta("any")),
            pieces("s1", "n1", "d0", "d1"),
            service("front", "red"),
        ]
        there += [
            make_volume("v1", csi=csi("h1")),
            make_claim("bound", "v1"),
            make_claim("free"),
            make_volume("v2", "n1"),
        ]
        there += [
            make_csi_node("n1", 3),
            make_attachment("at", "n1", "v1"),
            claim_of_devices("c1", "d0"),
            capacity("room", "a", "5Gi"),
        ]
        for obj in there:
            cache.store.put(obj)
        for name in ("n0", "n1"):
            cache.put_node(node(name))
        default_selector(pod("any"), cache.store)
        for color in ("red", "blue"):
            cache.pod_counters.matching(
                PodQuery(frozenset({"a"}), Selector(equality({"color": color})))
            )
        for key in ("zone", HOST):
            per_domain(np.zeros(2, np.int64), key, cache.nodes)
        for one in (pod("there", "n1"), pod("other", "n0", "blue"), pod("early", "n2")):
            cache.observe(one, pod_requests(one))
        cache.store.put(pod_group(3))
        for i in range(3):
            teammate = pod(f"mate{i}", f"n{i}", schedulingGroup={"podGroupName": "team"})
            cache.observe(teammate, pod_requests(teammate))
        self.mine, self.promised, self.taken = (
            pod("mine", color="blue"),
            pod("promised"),
            claim_of_devices("c2", "d1", uid="2"),
        )
        cache.assume(self.mine, "n1", pod_requests(self.mine))
        cache.nominations.nominate(self.promised, "n1")
        cache.store.put(claim_of_devices("c2", uid="2"))
        self.ledger.assume(self.taken)
        self.volume = make_volume(
            "v2", "n1", version="2", claimRef={"namespace": "a", "name": "free", "uid": "uid-free"}
        )
        self.offers.assume([self.volume], [])

    def observe(self, one: Pod) -> None:
        """The watch shows a pod."""
        self.cache.observe(one, pod_requests(one))

    @property
    def content(self) -> Any:
        """All that is to be the same."""
        seen: Seen = {}
        order = [(zone, [*names]) for zone, names in self.cache.nodes.order._zones.items()]
        return held(self.cache, seen), held(self.groups._groups, seen), order


def put(obj: HasMetadata) -> Callable[[World], object]:
    """An object comes or changes."""
    return lambda world: world.cache.store.put(obj)


def gone(kind: type[HasMetadata], name: str) -> Callable[[World], object]:
    """An object goes."""
    return lambda world: world.cache.store.remove(kind, name)


CHANGES: dict[str, Callable[[World], object]] = {
    "assume": lambda world: world.cache.assume(pod("new"), "n0", pod_requests(pod("new"))),
    "assume one that is promised room": lambda world: world.cache.assume(
        world.promised, "n0", pod_requests(world.promised)
    ),
    "forget": lambda world: world.cache.forget("uid-mine"),
    "observe": lambda world: world.observe(pod("new", "n0", "blue", claim="free")),
    "observe on a node that is not there": lambda world: world.observe(pod("new", "n7")),
    "confirm": lambda world: world.observe(pod("mine", "n1", "blue")),
    "move": lambda world: world.observe(pod("mine", "n0", "red")),
    "change": lambda world: world.observe(pod("there", "n1", "green", claim="free")),
    "remove": lambda world: world.cache.remove("uid-there"),
    "put a node with a pod": lambda world: world.cache.put_node(node("n2", "b", "z.io/gpu")),
    "change a node": lambda world: world.cache.put_node(node("n1", "b", "z.io/gpu")),
    "remove a node": lambda world: world.cache.remove_node("n1"),
    "remove the first node": lambda world: world.cache.remove_node("n0"),
    "move the first node": lambda world: world.cache.put_node(
        make_node("n0", labels={"topology.kubernetes.io/zone": "b"})
    ),
    "give up": lambda world: world.cache.mark_stuck("uid-there"),
    "promise": lambda world: world.cache.nominations.nominate(pod("next"), "n0"),
    "promise another": lambda world: world.cache.nominations.nominate(world.promised, "n0"),
    "read a promise": lambda world: world.cache.nominations.observe_status(
        world.promised, pod_requests(world.promised)
    ),
    "break a promise": lambda world: world.cache.nominations.remove("uid-promised"),
    "let a promise lapse": lambda world: world.cache.nominations.lapse("uid-promised"),
    "bind a claim": put(make_claim("free", "v2")),
    "lose a claim": gone(type(make_claim("x")), "a/bound"),
    "change a volume": put(make_volume("v1", csi=csi("h9"))),
    "show a volume": put(make_volume("v2", "n0", version="3")),
    "lose a volume": gone(type(make_volume("x")), "v1"),
    "change a class": put(make_class(mode="Immediate")),
    "change a CSINode": put(make_csi_node("n1", 5)),
    "lose a CSINode": gone(type(make_csi_node("x", 1)), "n1"),
    "attach elsewhere": put(make_attachment("at", "n0", "v1")),
    "detach": gone(type(make_attachment("x", "n", "v")), "at"),
    "change devices": put(pieces("s1", "n1", "d1", "d2")),
    "move devices": put(pieces("s1", "n0", "d1", "d2")),
    "lose devices": gone(ResourceSlice, "s1"),
    "allocate a claim": put(claim_of_devices("c2", "d1", uid="2")),
    "make a claim anew": put(claim_of_devices("c1", uid="9")),
    "lose a claim of devices": gone(ResourceClaim, "a/c2"),
    "assume devices": lambda world: world.ledger.assume(claim_of_devices("c3", "d1", uid="3")),
    "confirm devices": lambda world: world.ledger.confirm(world.taken),
    "release devices": lambda world: world.ledger.release(world.taken),
    "assume volumes": lambda world: world.offers.assume(
        [make_volume("v3", "n0", version="2")], [make_claim("free", "v3")]
    ),
    "release volumes": lambda world: world.offers.release([world.volume], []),
    "raise a PodGroup": put(pod_group(7)),
    "change how a PodGroup goes": put(pod_group(3, "single")),
    "lose a PodGroup": gone(PodGroup, "a/team"),
    "move a member": lambda world: world.observe(
        pod("mate1", "n0", schedulingGroup={"podGroupName": "team"})
    ),
    "lose a member": lambda world: world.cache.remove("uid-mate0"),
    "give a member up": lambda world: world.cache.mark_stuck("uid-mate1"),
    "change a service": put(service("front", "blue")),
    "lose a service": gone(Service, "a/front"),
    "change room": put(capacity("room", "b", "7Gi")),
    "lose room": gone(CSIStorageCapacity, "a/room"),
}


class Failing:
    """Raises at the entry of the ``number``-th function of core that is called inside the ``with``
    block.
    """

    def __init__(self, number: int) -> None:
        self.left = number
        self.where = ""

    def __enter__(self) -> Failing:
        sys.setprofile(self._called)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _called(self, frame: types.FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if (
            event == "call"
            and code.co_filename.startswith(CORE)
            and not code.co_flags & inspect.CO_GENERATOR
        ):
            self.left -= 1
            if not self.left:
                self.where = f"{Path(code.co_filename).name}:{code.co_qualname}"
                raise Injected


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_that_raises_has_changed_nothing(change: str) -> None:
    """Wherever it raises; and in the end it does what it does where nothing fails."""
    world, undisturbed = World(), World()
    before, failures = world.content, 0
    while True:
        failing = Failing(failures + 1)
        try:
            with failing:
                CHANGES[change](world)
        except Injected:
            failures += 1
            assert difference(world.content, before) == "", (
                f"{change}, after failing in {failing.where}"
            )
        else:
            break
    CHANGES[change](undisturbed)
    assert difference(world.content, undisturbed.content) == ""
    assert failures > 1


@pytest.mark.parametrize("change", ["assume", "observe", "remove", "move", "put a node with a pod"])
@pytest.mark.parametrize(
    ("listener", "method"), [(PodGroupTracker, "placed"), (Waker, "nomination_cleared")]
)
def test_whoever_is_told_may_raise(
    change: str, listener: type, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then the change has not taken place."""
    world = World()
    before = world.content

    def refuse(*_: object) -> None:
        raise Injected

    monkeypatch.setattr(listener, method, refuse)
    try:
        CHANGES[change](world)
    except Injected:
        assert difference(world.content, before) == ""


def test_steps_are_taken_back_in_reverse() -> None:
    """Those that were taken, no others."""
    log: list[tuple[str, int]] = []

    def step(name: str, sign: int) -> None:
        if name == "bad":
            raise Injected
        log.append((name, sign))

    with pytest.raises(Injected):
        all_or_none(1, (step, "a"), (step, "b"), (step, "bad"), (step, "c"))
    assert log == [("a", 1), ("b", 1), ("b", -1), ("a", -1)]
