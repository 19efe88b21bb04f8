"""The actors' contract: what an actor is, and what it does things with."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, TypeAlias, runtime_checkable

from moorage.core.framework.status import Status
from moorage.core.objects.pods import Pod
from moorage.engine.binding.actors.object_waiter import ObjectWaiter
from moorage.engine.binding.actors.siblings import Siblings
from moorage.engine.binding.permit import WaitingPods
from moorage.ports.clock import Clock
from moorage.ports.kube import KubeReader, KubeWriter


@dataclasses.dataclass(frozen=True, slots=True)
class ActorTools:
    """What actors are made with; each keeps of it what it needs.

    ``objects`` shows what the watches bring, ``waiting_pods`` the pods that are held at permit,
    ``siblings`` the other members of a pod's group. ``turns``, by schedulerName: a pod
    writes to its claims and volumes in a turn, as the API server puts off what is over the few
    hundred requests that it keeps of a client. Those that have their turn go on to be bound before
    others of their profile begin.
    """

    writes: KubeWriter
    reads: KubeReader
    clock: Clock
    objects: ObjectWaiter
    waiting_pods: WaitingPods
    siblings: Siblings
    turns: Mapping[str, asyncio.Semaphore]


UndoPreBind: TypeAlias = Callable[[], Awaitable[None]]
"""Takes back what an actor did for a pod."""


@dataclasses.dataclass(frozen=True, slots=True)
class PermitWait:
    """permit's answer for a pod that has to wait, at most so many seconds."""

    seconds: float


@runtime_checkable
class PermitActor(Protocol):
    """May hold a pod back after it got its node, or refuse it."""

    async def permit(self, pod: Pod, node: str, reserved: Any) -> Status | PermitWait:
        """SUCCESS when the pod may go on; a rejection sends it back to the queue.

        A ``PermitWait`` keeps it until ``ActorTools.waiting_pods`` allows or rejects it.
        """


@runtime_checkable
class PreBindActor(Protocol):
    """Does what must be done before the pod is bound."""

    async def pre_bind(self, pod: Pod, node: str, reserved: Any) -> UndoPreBind | None:
        """Return when it is done; what it returns takes that back, should the pod not be bound
        after all.

        A step that fails, or is broken off, takes back itself what it did.
        """


@runtime_checkable
class PostFilterActor(Protocol):
    """Does what its plugin's postFilter wants to be done for a pod that no node takes."""

    async def run_action(self, pod: Pod, action: Any) -> None:
        """Return when it is done. Raises EdgeError when it could not be."""


@runtime_checkable
class BindActor(Protocol):
    """Binds pods to nodes, for the extension point bind."""

    async def bind(self, pod: Pod, node: str, reserved: Any) -> Status:
        """SUCCESS when bound; SKIP leaves it to the next bind plugin."""


@runtime_checkable
class PostBindActor(Protocol):
    """Hears of a binding."""

    async def post_bind(self, pod: Pod, node: str, reserved: Any) -> None:
        """The pod is bound; nothing can be refused any more."""


Actor: TypeAlias = object
"""One object per plugin, with the method of each extension point that its plugin acts at."""
ActorFactory: TypeAlias = Callable[[ActorTools], Actor]
