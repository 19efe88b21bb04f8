"""Errands: what postFilter plugins want to be done for a pod that no node takes, beside evictions.

The plugin decides, its actor does it, off the loop. The pod stays in flight meanwhile: what the errand changes wakes it when it is
back in the queue, and not before.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Callable, Mapping

from moorage.core.backlog.entries import Entry
from moorage.core.cycle import Diagnosis
from moorage.core.objects import key
from moorage.engine.actors.contract import Actor, ErrandActor
from moorage.ports.errors import EdgeError

log = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, slots=True)
class Errand:
    """What is under way for a pod: all the errands of its diagnosis. ``seconds``: how long the decision took."""

    entry: Entry
    diagnosis: Diagnosis
    seconds: float


class Errands:
    """Runs errands; ``finish(errand, error)`` is called on the loop's thread when a pod's have ended, "" when all are done."""

    def __init__(self, actors: Mapping[str, Actor]) -> None:
        self._actors = actors
        self._tasks: set[asyncio.Task[None]] = set()
        self.finish: Callable[[Errand, str], None]

    def start(self, errand: Errand) -> None:
        """Do it in the background."""
        task = asyncio.get_running_loop().create_task(self._run(errand))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def settle(self, seconds: float) -> int:
        """Wait at most so long for all to end; returns how many did not."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)
        return len(self._tasks)

    async def _run(self, errand: Errand) -> None:
        pod, why = errand.diagnosis.pod, "it was interrupted"
        try:
            for name, wish in errand.diagnosis.errands.items():
                actor = self._actors.get(name)
                if not isinstance(actor, ErrandActor):
                    raise TypeError(f"the actor of plugin {name!r} runs no errands")
                await actor.run_errand(pod, wish)
            why = ""
        except EdgeError as error:
            why = str(error)
        except Exception as error:
            log.exception("an errand failed with a bug", extra={"pod": key(pod)})
            why = repr(error)
        finally:
            self.finish(errand, why)
