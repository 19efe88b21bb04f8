"""An API server's behaviour in memory, as the ports show it."""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import itertools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from kubefacts.labels import compile_selector
from moorage.core.objects.meta import HasMetadata, key
from moorage.core.objects.nodes import Node
from moorage.core.objects.pod_groups import PodGroup, PodGroupCondition
from moorage.core.objects.pods import (
    ContainerExtendedResourceRequest,
    Pod,
    PodCondition,
    PodExtendedResourceClaimStatus,
)
from moorage.core.objects.resource_claims import (
    Allocation,
    Consumer,
    ResourceClaim,
    ResourceClaimStatus,
)
from moorage.core.objects.storage import PersistentVolume, PersistentVolumeClaim
from moorage.core.objects.workloads import PodDisruptionBudget
from moorage.ports.access_rights import AccessRight
from moorage.ports.errors import Conflict, EvictionBlocked, Invalid, NotFound
from moorage.ports.kube import (
    ListedPage,
    ObjectAtVersion,
    PodNode,
    PodRef,
    ReflectorSink,
    ReplicaAnnouncement,
    StoredRevision,
)
from moorage.ports.leadership import Fence

WRITES = (
    "bind",
    "pod_condition",
    "pod_nomination",
    "pod_group_condition",
    "delete_pod",
    "evict_pod",
    "profile_status",
    "plugin_config_status",
    "create_revision",
    "delete_revision",
    "revision_trial",
    "delete_replica",
    "bind_volume",
    "select_node",
    "protect_claim",
    "reserve_claim",
    "release_claim",
    "deallocate_claim",
    "create_claim",
    "delete_claim",
    "pod_claim",
)
READS = (
    "node_names",
    "pod_places",
    "pod_node",
    "pod_json",
    "nodes_json",
    "secret",
    "resource_claim",
    "revisions",
    "revision",
    "replicas",
    "dead_replicas",
    "lease_renewed",
    "serves",
    "quarantined",
    "allowed",
    "page",
    "read",
)

Answer = TypeVar("Answer")
Obj = TypeVar("Obj", PersistentVolume, PersistentVolumeClaim, ResourceClaim)


@dataclasses.dataclass(frozen=True, slots=True)
class Written:
    """A write that was carried out: the port's method and its arguments."""

    method: str
    arguments: tuple[Any, ...]


class InMemoryKube:
    """``ports.kube.KubeWriter`` and ``KubeReader`` over objects in memory; sinks are told of every
    change, as watches tell them.

    A call takes a turn of the loop, as a request does. What it should do instead of succeeding is
    scripted by method: ``fail("bind", Conflict(...))`` for the next call, ``fail("bind", error,
    done=True)`` for an error whose deed was done all the same, ``hold("bind")`` to keep calls
    waiting until the returned event is set.
    """

    def __init__(self, fence: Fence | None = None) -> None:
        self.pods: dict[str, Pod] = {}
        self.nodes: dict[str, Node] = {}
        self.others: dict[type[Any], dict[str, Any]] = {}
        self.pod_sinks: list[ReflectorSink[Pod]] = []
        self.node_sinks: list[ReflectorSink[Node]] = []
        self.other_sinks: dict[type[Any], list[ReflectorSink[Any]]] = {}
        self.written: list[Written] = []
        self.in_flight: collections.Counter[str] = collections.Counter()
        self.statuses: dict[tuple[str, str], dict[str, Any]] = {}
        """(kind, name) -> the merged status."""
        self.stored: dict[str, StoredRevision] = {}
        self.announced: dict[str, Mapping[str, str]] = {}
        self.dead: list[str] = []
        self.forbidden: set[tuple[str, str, str]] = set()
        """(verb, group, resource) that ``allowed`` says no to."""
        self.quarantine: dict[str, str] = {}
        """Plugin -> version that some replica hung in."""
        self.secrets: dict[str, Mapping[str, bytes]] = {}
        self.renewed: set[str] = set()
        """Leases, as namespace/name, that somebody renews."""
        self.protected: set[str] = set()
        """Resource claims that have the finalizer."""
        self.silent = False
        """True: sinks are not told of what is written, as if the watch lagged."""
        self._fence = fence
        self._versions = itertools.count(1)
        self.version = 0
        """Of the newest change."""
        self.looked_at: list[str] = []
        """Names that were read beside the watch."""
        self._failures: dict[str, collections.deque[tuple[Exception, bool]]] = (
            collections.defaultdict(collections.deque)
        )
        self._gates: dict[str, asyncio.Event] = {}

    # ---- what a test does ------------------------------------------------------------------------

    def fail(self, method: str, error: Exception, times: int = 1, done: bool = False) -> None:
        """The next ``times`` calls raise ``error``; with ``done`` the deed is done before."""
        if method not in WRITES + READS:
            raise ValueError(f"{method} is no method of the ports")
        self._failures[method].extend([(error, done)] * times)

    def hold(self, method: str) -> asyncio.Event:
        """Keep calls waiting, after the fence, until the event is set."""
        if method not in WRITES + READS:
            raise ValueError(f"{method} is no method of the ports")
        gate = self._gates[method] = asyncio.Event()
        return gate

    def release(self) -> None:
        """Nothing is held or fails any more."""
        for gate in self._gates.values():
            gate.set()
        self._gates.clear()
        self._failures.clear()

    def relist(self) -> None:
        """Give every sink a whole list."""
        for sinks, objects in self._kinds():
            for sink in sinks:
                sink.list_started()
                for obj in objects.values():
                    sink.put(obj)
                while sink.list_ended():
                    pass

    def put(self, obj: HasMetadata) -> Any:
        """Create or change an object, in whatever state it is given; returns it as stored, with a
        new resourceVersion.
        """
        stored = self._store(obj)
        for sink in self._of(stored)[0]:
            sink.put(stored)
        return stored

    def delete(self, obj: HasMetadata) -> None:
        """Take an object away."""
        sinks, objects = self._of(obj)
        last = objects.pop(self._identity(obj))
        for sink in sinks:
            sink.delete(last)

    @property
    def bindings(self) -> dict[str, str]:
        """Pod name -> node of all binds that were carried out; a pod bound twice is an error."""
        found: dict[str, str] = {}
        for write in self.written:
            if write.method == "bind":
                pod, node = write.arguments
                if pod.name in found:
                    raise AssertionError(
                        f"pod {pod.name} was bound twice: {found[pod.name]}, {node}"
                    )
                found[pod.name] = node
        return found

    # ---- ports.kube.Writes -----------------------------------------------------------------------

    @property
    def open(self) -> bool:
        """As the fence says; open without one."""
        return self._fence is None or self._fence.open

    async def bind(self, pod: PodRef, node: str) -> None:
        """As the API server: once, and only the pod with this UID."""

        def deed() -> None:
            stored = self._pod(pod, "POST binding")
            if stored.spec.node_name:
                raise Conflict(
                    "POST binding",
                    409,
                    "Conflict",
                    f"pod {pod.name} is already assigned to node {stored.spec.node_name}",
                )
            spec = msgspec.structs.replace(stored.spec, node_name=node)
            labels = (stored.metadata.labels or {}) | self._place(node)
            meta = msgspec.structs.replace(stored.metadata, labels=labels or None)
            self._change(msgspec.structs.replace(stored, metadata=meta, spec=spec))

        await self._write("bind", deed, pod, node)

    def _place(self, node: str) -> dict[str, str]:
        """The labels of a node that its pods get (admission plugin PodTopologyLabels)."""
        there = self.nodes.get(node)
        labels = (there.metadata.labels if there is not None else None) or {}
        names = ("topology.kubernetes.io/region", "topology.kubernetes.io/zone")
        return {name: labels[name] for name in names if name in labels}

    async def pod_condition(
        self, pod: PodRef, condition: Mapping[str, Any], nominated_node: str | None = None
    ) -> None:
        """Replace the condition of this type."""

        def deed() -> None:
            stored = self._pod(pod, "PATCH status")
            conditions = tuple(
                c for c in stored.status.conditions or () if c.type != condition["type"]
            )
            status = msgspec.structs.replace(
                stored.status,
                conditions=(*conditions, msgspec.convert(dict(condition), PodCondition)),
            )
            if nominated_node is not None:
                status = msgspec.structs.replace(status, nominated_node_name=nominated_node)
            self._change(msgspec.structs.replace(stored, status=status))

        await self._write("pod_condition", deed, pod, condition, nominated_node)

    async def pod_group_condition(self, group: PodRef, condition: Mapping[str, Any]) -> None:
        """Replace the condition of this type."""

        def deed() -> None:
            stored = self.others.get(PodGroup, {}).get(f"{group.namespace}/{group.name}")
            if stored is None:
                raise NotFound("PATCH status", 404)
            if stored.metadata.uid != group.uid:
                raise Conflict("PATCH status", 409)
            others = (c for c in stored.status.conditions or () if c.type != condition["type"])
            new = msgspec.convert(dict(condition), PodGroupCondition)
            status = msgspec.structs.replace(stored.status, conditions=(*others, new))
            self._change(msgspec.structs.replace(stored, status=status))

        await self._write("pod_group_condition", deed, group, condition)

    async def pod_nomination(self, pod: PodRef, node: str) -> None:
        """Set the nominated node."""

        def deed() -> None:
            stored = self._pod(pod, "PATCH status")
            self._change(
                msgspec.structs.replace(
                    stored, status=msgspec.structs.replace(stored.status, nominated_node_name=node)
                )
            )

        await self._write("pod_nomination", deed, pod, node)

    async def delete_pod(self, pod: PodRef) -> None:
        """A pod on a node begins to terminate (a test takes it away), another one is gone at
        once.
        """

        def deed() -> None:
            stored = self._pod(pod, "DELETE")
            if stored.spec.node_name:
                when = "2026-01-01T00:00:00Z"
                self._change(
                    msgspec.structs.replace(
                        stored,
                        metadata=msgspec.structs.replace(stored.metadata, deletion_timestamp=when),
                    )
                )
            else:
                self.delete(stored)

        await self._write("delete_pod", deed, pod)

    async def evict_pod(self, pod: PodRef) -> None:
        """As ``delete_pod``, at the cost of the budgets that select it; the condition says that it
        was evicted.
        """

        def deed() -> None:
            stored = self._pod(pod, "POST eviction")
            mine = [
                one
                for one in self.others.get(PodDisruptionBudget, {}).values()
                if _selects(one, stored)
            ]
            if any(one.status.disruptions_allowed < 1 for one in mine):
                raise EvictionBlocked(
                    "POST eviction",
                    429,
                    "TooManyRequests",
                    "Cannot evict pod as it would violate the pod's disruption budget.",
                )
            for one in mine:
                left = msgspec.structs.replace(
                    one.status, disruptions_allowed=one.status.disruptions_allowed - 1
                )
                self.put(msgspec.structs.replace(one, status=left))
            evicted = PodCondition(
                "DisruptionTarget", "True", "EvictionByEvictionAPI", "Eviction API: evicting"
            )
            metadata = msgspec.structs.replace(
                stored.metadata, deletion_timestamp="2026-01-01T00:00:00Z"
            )
            status = msgspec.structs.replace(
                stored.status, conditions=(*(stored.status.conditions or ()), evicted)
            )
            self._change(msgspec.structs.replace(stored, metadata=metadata, status=status))

        await self._write("evict_pod", deed, pod)

    async def profile_status(self, name: str, status: Mapping[str, Any]) -> None:
        """Merge."""
        await self._write(
            "profile_status", lambda: self._merge("SchedulerProfile", name, status), name, status
        )

    async def plugin_config_status(self, name: str, status: Mapping[str, Any]) -> None:
        """Merge."""
        await self._write(
            "plugin_config_status", lambda: self._merge("PluginConfig", name, status), name, status
        )

    async def create_revision(self, revision: StoredRevision) -> None:
        """Store it once."""

        def deed() -> None:
            if revision.name in self.stored:
                raise Conflict("POST controllerrevisions", 409, "AlreadyExists", revision.name)
            self.stored[revision.name] = revision

        await self._write("create_revision", deed, revision)

    async def delete_revision(self, name: str) -> None:
        """Forget it."""
        await self._write("delete_revision", lambda: self.stored.pop(name, None), name)

    async def revision_trial(self, name: str, document: str) -> None:
        """Keep it there."""

        def deed() -> None:
            if name not in self.stored:
                raise NotFound("PATCH controllerrevisions", 404, "NotFound", name)
            self.stored[name] = dataclasses.replace(self.stored[name], trial=document)

        await self._write("revision_trial", deed, name, document)

    async def delete_replica(self, identity: str) -> None:
        """Forget it."""
        await self._write("delete_replica", lambda: self.announced.pop(identity, None), identity)

    # ---- ports.kube.VolumeWriter and ClaimWriter -------------------------------------------------

    async def bind_volume(self, volume: PersistentVolume) -> None:
        """Only in the state that was seen."""

        def deed() -> None:
            stored = self._seen(volume, "PATCH persistentvolumes")
            spec = msgspec.structs.replace(stored.spec, claim_ref=volume.spec.claim_ref)
            self._change(msgspec.structs.replace(stored, metadata=volume.metadata, spec=spec))

        await self._write("bind_volume", deed, volume)

    async def select_node(self, claim: PersistentVolumeClaim) -> None:
        """Only in the state that was seen."""

        def deed() -> None:
            self._change(
                msgspec.structs.replace(
                    self._seen(claim, "PATCH persistentvolumeclaims"), metadata=claim.metadata
                )
            )

        await self._write("select_node", deed, claim)

    async def protect_claim(self, claim: ResourceClaim) -> ResourceClaim:
        """The same claim in a new state; finalizers are kept in ``protected``."""

        def deed() -> ResourceClaim:
            stored = self._seen(claim, "PATCH resourceclaims")
            if key(claim) in self.protected:
                return stored
            self.protected.add(key(claim))
            changed: ResourceClaim = self._change(stored)
            return changed

        return await self._write("protect_claim", deed, claim)

    async def reserve_claim(
        self, claim: ResourceClaim, consumer: Consumer, allocation: Allocation | None
    ) -> ResourceClaim:
        """Only in the state that was seen; devices are given once, and before anybody may have the
        claim.
        """

        def deed() -> ResourceClaim:
            stored = self._seen(claim, "PATCH resourceclaims/status")
            if (stored.status.allocation is None) == (allocation is None) or (
                allocation is not None and key(claim) not in self.protected
            ):
                raise Invalid("PATCH resourceclaims/status", 422, "Invalid", "status.allocation")
            holders = (*(stored.status.reserved_for or ()), consumer)
            status = msgspec.structs.replace(
                stored.status,
                reserved_for=holders,
                allocation=allocation or stored.status.allocation,
            )
            changed: ResourceClaim = self._change(msgspec.structs.replace(stored, status=status))
            return changed

        return await self._write("reserve_claim", deed, claim, consumer, allocation)

    async def release_claim(self, claim: ResourceClaim, consumer: Consumer) -> None:
        """In any state."""

        def deed() -> None:
            stored = self._seen(claim, "PATCH resourceclaims/status", newest=False)
            reserved = stored.status.reserved_for or ()
            holders = tuple(one for one in reserved if one.uid != consumer.uid)
            self._change(
                msgspec.structs.replace(
                    stored,
                    status=msgspec.structs.replace(stored.status, reserved_for=holders or None),
                )
            )

        await self._write("release_claim", deed, claim, consumer)

    async def deallocate_claim(self, claim: ResourceClaim) -> None:
        """Only in the state that was seen."""

        def deed() -> None:
            stored = self._seen(claim, "PATCH resourceclaims/status")
            self._change(msgspec.structs.replace(stored, status=ResourceClaimStatus()))

        await self._write("deallocate_claim", deed, claim)

    async def create_claim(self, claim: ResourceClaim, prefix: str) -> ResourceClaim:
        """Under a name that nobody had, and protected."""

        def deed() -> ResourceClaim:
            name = f"{prefix}{next(self._versions)}"
            created: ResourceClaim = self._change(
                msgspec.structs.replace(
                    claim,
                    metadata=msgspec.structs.replace(claim.metadata, name=name, uid=f"uid-{name}"),
                )
            )
            self.protected.add(key(created))
            return created

        return await self._write("create_claim", deed, claim, prefix)

    async def delete_claim(self, claim: ResourceClaim) -> None:
        """At once."""

        def deed() -> None:
            self.delete(self._seen(claim, "DELETE resourceclaims", newest=False))
            self.protected.discard(key(claim))

        await self._write("delete_claim", deed, claim)

    async def pod_claim(
        self, pod: PodRef, claim: str, mappings: Sequence[ContainerExtendedResourceRequest]
    ) -> None:
        """Set it."""

        def deed() -> None:
            stored = self._pod(pod, "PATCH status")
            told = PodExtendedResourceClaimStatus(tuple(mappings), claim)
            self._change(
                msgspec.structs.replace(
                    stored,
                    status=msgspec.structs.replace(
                        stored.status, extended_resource_claim_status=told
                    ),
                )
            )

        await self._write("pod_claim", deed, pod, claim, mappings)

    # ---- ports.kube.Announcer --------------------------------------------------------------------

    async def announce(self, identity: str, revisions: Mapping[str, str]) -> None:
        """Remember it."""
        self.announced[identity] = dict(revisions)

    async def withdraw(self, identity: str) -> None:
        """Forget it."""
        self.announced.pop(identity, None)

    # ---- ports.kube.Reads ------------------------------------------------------------------------

    async def pod_node(self, pod: PodRef) -> str | None:
        """As stored."""
        await self._turn("pod_node")
        stored = self.pods.get(pod.uid)
        return stored.spec.node_name if stored is not None else None

    async def node_names(self) -> Sequence[str]:
        """As stored."""
        await self._turn("node_names")
        return [node.metadata.name for node in self.nodes.values()]

    async def pod_places(self) -> Sequence[PodNode]:
        """As stored."""
        await self._turn("pod_places")
        live = [
            pod for pod in self.pods.values() if pod.status.phase not in ("Succeeded", "Failed")
        ]
        return [
            PodNode(
                pod.metadata.uid,
                key(pod),
                pod.spec.node_name,
                pod.metadata.deletion_timestamp is not None,
            )
            for pod in live
        ]

    async def pod_json(self, pod: PodRef) -> bytes | None:
        """What is known of it."""
        await self._turn("pod_json")
        stored = self.pods.get(pod.uid)
        return msgspec.json.encode(stored) if stored is not None else None

    async def nodes_json(self) -> Mapping[str, bytes]:
        """What is known of them."""
        await self._turn("nodes_json")
        return {
            name.removeprefix("/"): msgspec.json.encode(node) for name, node in self.nodes.items()
        }

    async def secret(self, name: str) -> Mapping[str, bytes] | None:
        """As set by the test."""
        await self._turn("secret")
        return self.secrets.get(name)

    async def resource_claim(self, namespace: str, name: str) -> ResourceClaim | None:
        """As stored."""
        await self._turn("resource_claim")
        return self.others.get(ResourceClaim, {}).get(f"{namespace}/{name}")

    async def revisions(self) -> Sequence[StoredRevision]:
        """As stored."""
        await self._turn("revisions")
        return list(self.stored.values())

    async def revision(self, name: str) -> StoredRevision | None:
        """As stored."""
        await self._turn("revision")
        return self.stored.get(name)

    async def replicas(self) -> Sequence[ReplicaAnnouncement]:
        """As announced."""
        await self._turn("replicas")
        return [
            ReplicaAnnouncement(identity, revisions)
            for identity, revisions in sorted(self.announced.items())
        ]

    async def dead_replicas(self) -> Sequence[str]:
        """As set by the test."""
        await self._turn("dead_replicas")
        return list(self.dead)

    async def lease_renewed(self, namespace: str, name: str) -> bool:
        """As set by the test."""
        await self._turn("lease_renewed")
        return f"{namespace}/{name}" in self.renewed

    async def serves(self, namespace: str, lease: str, profile: str) -> bool:
        """Whatever it renews."""
        await self._turn("serves")
        return f"{namespace}/{lease}" in self.renewed

    async def quarantined(self) -> Mapping[str, str]:
        """``quarantine``."""
        await self._turn("quarantined")
        return dict(self.quarantine)

    async def allowed(self, right: AccessRight) -> bool:
        """Everything but ``forbidden``."""
        await self._turn("allowed")
        return right[:3] not in self.forbidden

    # ---- inside ----------------------------------------------------------------------------------

    async def _write(self, method: str, deed: Callable[[], Answer], *arguments: Any) -> Answer:
        if self._fence is not None:
            self._fence.check(method)

        def carry_out() -> Answer:
            answer = deed()
            self.written.append(Written(method, arguments))
            return answer

        self.in_flight[method] += 1
        try:
            await self._turn(method, carry_out)
            return carry_out()
        finally:
            self.in_flight[method] -= 1

    async def _turn(self, method: str, deed: Callable[[], object] | None = None) -> None:
        """Wait as a request does; raise what the test scripted."""
        await asyncio.sleep(0)
        if (gate := self._gates.get(method)) is not None:
            await gate.wait()
        if self._failures[method]:
            error, done = self._failures[method].popleft()
            if done and deed is not None:
                deed()
            raise error

    def _pod(self, pod: PodRef, request: str) -> Pod:
        if (stored := self.pods.get(pod.uid)) is not None:
            return stored
        if any(
            other.metadata.name == pod.name and other.metadata.namespace == pod.namespace
            for other in self.pods.values()
        ):
            raise Conflict(request, 409, "Conflict", f"another pod has the name {pod.name} now")
        raise NotFound(request, 404, "NotFound", f'pods "{pod.name}" not found')

    def _seen(self, obj: Obj, request: str, newest: bool = True) -> Obj:
        """What is stored of an object, if that is the one that is meant, and (``newest``) in the
        state that is given.
        """
        stored: Obj | None = self.others.get(type(obj), {}).get(key(obj))
        if stored is None:
            raise NotFound(request, 404, "NotFound", f'"{key(obj)}" not found')
        if stored.metadata.uid != obj.metadata.uid:
            raise Conflict(request, 409, "Conflict", f"another object has the name {key(obj)} now")
        if newest and stored.metadata.resource_version != obj.metadata.resource_version:
            raise Conflict(request, 409, "Conflict", "the object has been modified")
        return stored

    def _change(self, obj: HasMetadata) -> Any:
        """Store it, and tell of it unless that is switched off."""
        return self._store(obj) if self.silent else self.put(obj)

    def _store(self, obj: HasMetadata) -> Any:
        self.version = next(self._versions)
        metadata = msgspec.structs.replace(obj.metadata, resource_version=str(self.version))
        stored: Any = msgspec.structs.replace(obj, metadata=metadata)  # type: ignore[type-var]  # every object is a struct
        self._of(stored)[1][self._identity(stored)] = stored
        return stored

    def _merge(self, kind: str, name: str, status: Mapping[str, Any]) -> None:
        self.statuses[kind, name] = merge_patch(self.statuses.get((kind, name)), status)

    def _kinds(self) -> tuple[tuple[list[Any], dict[str, Any]], ...]:
        return (
            *(
                (sinks, self.others.setdefault(kind, {}))
                for kind, sinks in self.other_sinks.items()
            ),
            (self.node_sinks, self.nodes),
            (self.pod_sinks, self.pods),
        )

    def _of(self, obj: HasMetadata) -> tuple[list[Any], dict[str, Any]]:
        return self._kinds()[[*self.other_sinks, Node, Pod].index(type(obj))]

    @staticmethod
    def _identity(obj: HasMetadata) -> str:
        return obj.metadata.uid if isinstance(obj, Pod) else key(obj)


def _selects(budget: PodDisruptionBudget, pod: Pod) -> bool:
    return budget.metadata.namespace == pod.metadata.namespace and compile_selector(
        budget.spec.selector
    ).matches(pod.metadata.labels)


def merge_patch(target: Any, patch: Any) -> Any:
    """RFC 7386: objects are merged, null removes, all else replaces."""
    if not isinstance(patch, Mapping):
        return patch
    old = target if isinstance(target, Mapping) else {}
    kept = {key: value for key, value in old.items() if key not in patch}
    return kept | {
        key: merge_patch(old.get(key), value) for key, value in patch.items() if value is not None
    }


class InMemoryUncachedReader:
    """``ports.kube.UncachedReader`` of an InMemoryKube's objects of a kind. Pages have two;
    ``page`` and ``read`` can be scripted there.
    """

    def __init__(self, kube: InMemoryKube, kind: type[Any]) -> None:
        self.resource = kind.__name__
        self._kube = kube
        self._kind = kind

    @property
    def _objects(self) -> list[Any]:
        kube, kind = self._kube, self._kind
        found: dict[str, Any] = (
            kube.pods if kind is Pod else kube.nodes if kind is Node else kube.others.get(kind, {})
        )
        return [
            obj
            for obj in found.values()
            if kind is not Pod or obj.status.phase not in ("Succeeded", "Failed")
        ]

    async def page(self, token: str) -> ListedPage:
        """As stored now; a real list shows one moment."""
        await self._kube._turn("page")
        start = int(token or 0)
        objects = [obj.metadata for obj in self._objects[start : start + 2]]
        return ListedPage(
            self._kube.version, objects, str(start + 2) if start + 2 < len(self._objects) else ""
        )

    async def read(self, namespace: str, name: str) -> ObjectAtVersion[Any]:
        """As stored."""
        self._kube.looked_at.append(name)
        await self._kube._turn("read")
        named = (
            obj
            for obj in self._objects
            if (obj.metadata.namespace, obj.metadata.name) == (namespace, name)
        )
        return ObjectAtVersion(self._kube.version, next(named, None))


class ScriptedInformer:
    """``ports.kube.Informer`` that a test moves by hand."""

    def __init__(self, resource: str, optional: bool = False) -> None:
        self.resource = resource
        self.optional = optional
        self.has_synced = False
        self.age = 0.0
        self.failures = 0
        self.caught_up = asyncio.Event()
        self.calls: list[str] = []

    async def run(self) -> None:
        """Until cancelled."""
        self.calls.append("run")
        await asyncio.get_running_loop().create_future()

    async def wait_caught_up(self) -> None:
        """Until the test sets ``caught_up``."""
        self.calls.append("catch up")
        await self.caught_up.wait()


class ScriptedHttp:
    """``ports.http_calls.HttpSession`` that answers from a script and keeps the calls; a call
    without an answer fails the test.
    """

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.answers: collections.deque[bytes | Exception | Callable[[Any], Awaitable[bytes]]] = (
            collections.deque()
        )
        self.default: bytes | None = None

    async def call(self, call: Any) -> bytes:
        """The next answer."""
        if call.guard is not None:
            call.guard()
        self.calls.append(call)
        if not self.answers:
            if self.default is None:
                raise AssertionError(f"nobody foresaw {call.method} {call.path}")
            return self.default
        answer = self.answers.popleft()
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, bytes) else await answer(call)

    def stream(self, path: str) -> Any:
        """Not for this fake."""
        raise AssertionError(f"nobody foresaw a stream of {path}")
