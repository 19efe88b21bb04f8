"""Waiting until a resource version has been reached."""

from __future__ import annotations

import asyncio
import dataclasses
import logging

log = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class VersionWaiter:
    """A caller of catch_up, and the version that it waits for."""

    target: str
    done: asyncio.Future[None]

    def finish(self) -> None:
        """End the wait, unless the caller has given it up."""
        if not self.done.done():
            self.done.set_result(None)


def is_reached(version: str, target: str) -> bool:
    """Whether ``version`` is ``target`` or later: the API promises integers from 1.35 on; other texts can only be equal."""
    try:
        return int(version) >= int(target)
    except ValueError:
        log.warning("resource versions %r and %r cannot be compared, only equal ones count as reached", version, target)
        return version == target
