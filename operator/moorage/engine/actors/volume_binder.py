"""Having the volumes of a pod bound or made."""

from __future__ import annotations

from typing import Any

from moorage.core.objects import Pod
from moorage.engine.actors.contract import Tools
from moorage.ports.errors import EdgeError


class VolumeBinder:
    """Keeps pods from being bound before their volumes. Source: kube-scheduler VolumeBinding (v1.36)."""

    def __init__(self, tools: Tools) -> None:
        self._writes = tools.writes

    async def pre_bind(self, pod: Pod, node: str, reserved: Any) -> None:
        """Nothing is to be done for a pod whose claims are bound; for others, what has to be written is not built yet."""
        if reserved is not None:
            raise EdgeError(f"claims of the pod are not bound ({', '.join(reserved.claims)}): Moorage can't have volumes bound yet")
