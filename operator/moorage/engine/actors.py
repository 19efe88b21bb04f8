"""Actors: the half of a plugin that does something, after the decision: permit, preBind, bind, postBind.

An actor is registered under its plugin's name and gets, when it is made, only the ports that it declares. Of the decision it sees
the pod, the node and its own plugin's reservation. Failures raise ``ports.errors.EdgeError``; everything reserved is then undone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias, runtime_checkable

from moorage.core.claim_objects import DeviceClass, ResourceClaim
from moorage.core.columns.requests import pod_requests
from moorage.core.columns.store import Objects
from moorage.core.devices.extended_resources import PREFIX
from moorage.core.framework.interfaces import Point
from moorage.core.framework.registry import Registry
from moorage.core.objects import Pod, key
from moorage.core.storage_objects import PersistentVolumeClaim
from moorage.core.verdicts import SUCCESS, Status
from moorage.core.volumes import claim_uses, is_bound
from moorage.ports.errors import EdgeError
from moorage.ports.kube import PodRef, Writes


@runtime_checkable
class PermitActor(Protocol):
    """May hold a pod back after it got its node, or refuse it."""

    async def permit(self, pod: Pod, node: str, reserved: Any) -> Status:
        """SUCCESS when the pod may go on; a refusal sends it back to the queue."""


@runtime_checkable
class PreBindActor(Protocol):
    """Does what must be done before the pod is bound."""

    async def pre_bind(self, pod: Pod, node: str, reserved: Any) -> None:
        """Return when it is done."""


@runtime_checkable
class BindActor(Protocol):
    """Binds pods."""

    async def bind(self, pod: Pod, node: str, reserved: Any) -> Status:
        """SUCCESS when bound; SKIP leaves it to the next bind plugin."""


@runtime_checkable
class PostBindActor(Protocol):
    """Is told of a binding."""

    async def post_bind(self, pod: Pod, node: str, reserved: Any) -> None:
        """The pod is bound; nothing can be refused any more."""


Actor: TypeAlias = object
"""One object per plugin, with the method of each extension point that its plugin acts at."""
ActorFactory: TypeAlias = Callable[[Writes], Actor]

_PROTOCOLS: dict[Point, type[Any]] = {
    Point.PERMIT: PermitActor,
    Point.PRE_BIND: PreBindActor,
    Point.BIND: BindActor,
    Point.POST_BIND: PostBindActor,
}


class DefaultBinder:
    """Binds through the API server's binding subresource. Source: kube-scheduler DefaultBinder (v1.36)."""

    def __init__(self, writes: Writes) -> None:
        self._writes = writes

    async def bind(self, pod: Pod, node: str, reserved: Any) -> Status:
        """POST the Binding with the pod's UID."""
        await self._writes.bind(pod_ref(pod), node)
        return SUCCESS


class VolumeBinder:
    """Keeps pods from being bound before their volumes. Source: kube-scheduler VolumeBinding (v1.36)."""

    def __init__(self, writes: Writes) -> None:
        self._writes = writes

    async def pre_bind(self, pod: Pod, node: str, reserved: Any) -> None:
        """Nothing is to be done for a pod whose claims are bound; for others, what has to be written is not built yet."""
        if reserved is not None:
            raise EdgeError(f"claims of the pod are not bound ({', '.join(reserved.claims)}): Moorage can't have volumes bound yet")


class DeviceBinder:
    """Keeps pods from being bound before their claims are allocated and reserved. Source: kube-scheduler DynamicResources (v1.36)."""

    def __init__(self, writes: Writes) -> None:
        self._writes = writes

    async def pre_bind(self, pod: Pod, node: str, reserved: Any) -> None:
        """Nothing is to be done where all claims are allocated and reserved for the pod; writing that is not built yet."""
        claims = reserved.claims if reserved is not None else ()
        lacking = [key(claim) for claim, allocation in claims if allocation is not None or not _is_for(claim, pod)]
        if lacking:
            raise EdgeError(f"claims of the pod are not allocated to it ({', '.join(lacking)}): Moorage can't have claims allocated yet")


def would_fail(pod: Pod, store: Objects) -> bool:
    """Whether one of these two would keep the pod from being bound, for want of what is not built yet: nobody goes in vain for it."""
    claims = store.objects(PersistentVolumeClaim)
    unbound = any((claim := claims.get(use.key)) is None or not is_bound(claim) for use in claim_uses(pod))
    names = {one.spec.extended_resource_name for one in store.objects(DeviceClass).values()}
    delegated = any(name in names or name.startswith(PREFIX) for name, _ in pod_requests(pod).others)
    return unbound or delegated or bool(pod.spec.resource_claims)


def _is_for(claim: ResourceClaim, pod: Pod) -> bool:
    return any(consumer.uid == pod.metadata.uid for consumer in claim.status.reserved_for or ())


ACTORS: dict[str, ActorFactory] = {"DefaultBinder": DefaultBinder, "VolumeBinding": VolumeBinder, "DynamicResources": DeviceBinder}
"""The actors in the tree, by plugin name."""


def join(registry: Registry, factories: Mapping[str, ActorFactory], writes: Writes) -> dict[str, Actor]:
    """Make the actors. Raises ValueError when a plugin lacks the half that it says it has, or an actor has no plugin."""
    if strangers := [name for name in factories if name not in registry]:
        raise ValueError(f"actors without a plugin: {', '.join(strangers)}")
    actors: dict[str, Actor] = {}
    for name, spec in registry.items():
        if not spec.acts_at:
            continue
        if name not in factories:
            raise ValueError(f"plugin {name!r} acts at {', '.join(sorted(point.value for point in spec.acts_at))} but has no actor")
        actor = actors[name] = factories[name](writes)
        for point in spec.acts_at:
            if not isinstance(actor, _PROTOCOLS[point]):
                raise ValueError(f"the actor of plugin {name!r} lacks the method for {point.value}")
    return actors


def pod_ref(pod: Pod) -> PodRef:
    """The pod as writes name it."""
    return PodRef(pod.metadata.namespace, pod.metadata.name, pod.metadata.uid)
