"""Errands: what postFilter plugins want to be done for a pod that no node takes, beside evictions.

The plugin decides, its actor does it, off the loop. The pod stays in flight meanwhile: what the errand changes wakes it when it is
back in the queue, and not before.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import TypeAlias

from moorage.core.cycle.context import Diagnosis
from moorage.core.objects.meta import key
from moorage.core.queue.queued_pod import Entry
from moorage.engine.background_tasks import Background
from moorage.engine.binding.actors.contract import Actor, ErrandActor
from moorage.ports.errors import EdgeError
from moorage.ports.guards import FAULTS, tell


@dataclasses.dataclass(frozen=True, slots=True)
class Errand:
    """What is under way for a pod: all the errands of its diagnosis. ``seconds``: how long the decision took."""

    entry: Entry
    diagnosis: Diagnosis
    seconds: float


Finish: TypeAlias = Callable[[Errand, str], None]
"""Called on the loop's thread when a pod's errands have ended, whatever happened; "" when all are done, else why not."""


class Errands:
    """Runs errands."""

    def __init__(self, actors: Mapping[str, Actor]) -> None:
        self.work = Background("an errand")
        self._actors = actors

    def start(self, errand: Errand, finish: Finish) -> None:
        """Do it in the background."""
        self.work.start(self._run(errand, finish))

    async def _run(self, errand: Errand, finish: Finish) -> None:
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
        except FAULTS as error:
            tell("an errand", error, pod=key(pod))
            why = repr(error)
        finally:
            finish(errand, why)
