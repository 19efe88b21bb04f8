"""The gang permitter: GangScheduling's half at permit."""

from __future__ import annotations

from typing import Any

from moorage.core.framework.status import SUCCESS, Status
from moorage.core.objects.pods import Pod
from moorage.engine.binding.actors.contract import ActorTools


class GroupPermitter:
    """Permits every pod: a group's members come here once enough of them are placed."""

    def __init__(self, _tools: ActorTools) -> None:
        """Nothing is needed."""

    async def permit(self, _pod: Pod, _node: str, _reserved: Any) -> Status:
        """At once."""
        return SUCCESS
