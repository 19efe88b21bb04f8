"""The default binder: binds as everybody does."""

from __future__ import annotations

from typing import Any

from moorage.core.framework.status import SUCCESS, Status
from moorage.core.objects.pods import Pod
from moorage.engine.binding.actors.contract import ActorTools
from moorage.ports.kube import pod_ref


class DefaultBinder:
    """Binds through the API server's binding subresource. Source: kube-scheduler DefaultBinder
    (v1.37).
    """

    def __init__(self, tools: ActorTools) -> None:
        self._writes = tools.writes

    async def bind(self, pod: Pod, node: str, reserved: Any) -> Status:
        """POST the Binding with the pod's UID."""
        await self._writes.bind(pod_ref(pod), node)
        return SUCCESS
