"""Permit: pods that have their node and are held back until plugins let them go on.

A permit actor that answers with a ``PermitWait`` makes the pod wait, its node reserved. It goes on
when every plugin that holds it has allowed it; the first rejection, or the first hold that is over,
sends it back to the queue. Whoever has the registry may allow or reject: actors
(``ActorTools.waiting_pods``), preemption, a profile that is suspended.
Source: kube-scheduler WaitingPod, WaitOnPermit (v1.37).
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Iterator, Mapping

from moorage.core.framework.status import Code, Status
from moorage.core.objects.pods import Pod
from moorage.ports.clock import Clock

MAX_PERMIT_SECONDS = 900.0
"""Seconds that a pod is held at most, whatever its plugins say."""


@dataclasses.dataclass(frozen=True, slots=True)
class PermitRejection:
    """Why a pod waits no longer at permit: the plugin that rejected it, or whose hold was over, and
    what it says.
    """

    plugin: str
    status: Status


@dataclasses.dataclass(slots=True)
class WaitingPod:
    """A pod that is held; ``pending_plugins`` are those that have not allowed it yet."""

    pod: Pod
    node: str
    pending_plugins: set[str]
    answer: asyncio.Future[PermitRejection | None]

    def allow(self, plugin: str) -> None:
        """As far as this plugin is concerned the pod may go on."""
        self.pending_plugins.discard(plugin)
        if not self.pending_plugins and not self.answer.done():
            self.answer.set_result(None)

    def reject(self, plugin: str, message: str) -> None:
        """Send it back to the queue; ``plugin`` counts as who refused it."""
        if not self.answer.done():
            self.answer.set_result(PermitRejection(plugin, Status(Code.UNSCHEDULABLE, (message,))))


class WaitingPods:
    """The pods that wait at permit. Belongs to the event loop's thread."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._pods: dict[str, WaitingPod] = {}

    def __iter__(self) -> Iterator[WaitingPod]:
        """Those that wait now."""
        return iter(list(self._pods.values()))

    def get(self, uid: str) -> WaitingPod | None:
        """The pod with this UID if it waits."""
        return self._pods.get(uid)

    def reject(self, uid: str, plugin: str, message: str) -> bool:
        """Reject this pod if it waits; whether it did."""
        pod = self._pods.get(uid)
        if pod is not None:
            pod.reject(plugin, message)
        return pod is not None

    async def wait_on_permit(
        self, pod: Pod, node: str, holds: Mapping[str, float]
    ) -> PermitRejection | None:
        """Keep the pod until it is allowed (None) or rejected. ``holds``: plugin -> seconds that it
        may be held for it.
        """
        waiting = WaitingPod(pod, node, set(holds), asyncio.get_running_loop().create_future())
        self._pods[pod.metadata.uid] = waiting
        timers = [
            asyncio.ensure_future(self._expire(waiting, plugin, min(seconds, MAX_PERMIT_SECONDS)))
            for plugin, seconds in holds.items()
        ]
        try:
            return await waiting.answer
        finally:
            del self._pods[pod.metadata.uid]
            for timer in timers:
                timer.cancel()

    async def _expire(self, waiting: WaitingPod, plugin: str, seconds: float) -> None:
        await self._clock.sleep(seconds)
        if plugin in waiting.pending_plugins:
            waiting.reject(
                plugin, f"rejected due to timeout after waiting {seconds:g}s at plugin {plugin}"
            )
