"""Post-filter actions: what postFilter plugins want to be done for a pod that no node takes, beside
evictions.

The plugin decides, its actor does it, off the loop. The pod stays in flight meanwhile: what the
action changes wakes it when it is back in the queue, and not before.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import TypeAlias

from moorage.core.cycle.context import Diagnosis
from moorage.core.framework.guard import PluginFault
from moorage.core.objects.meta import key
from moorage.core.queue.queued_pod import QueuedPodInfo
from moorage.engine.background_tasks import BackgroundTasks
from moorage.engine.binding.actors.contract import Actor, PostFilterActor
from moorage.ports.errors import EdgeError
from moorage.ports.guards import FAULTS, log_bug


@dataclasses.dataclass(frozen=True, slots=True)
class PostFilterAction:
    """What is under way for a pod: all the actions of its diagnosis. ``seconds``: how long the
    decision took.
    """

    entry: QueuedPodInfo
    diagnosis: Diagnosis
    seconds: float


ActionsCallback: TypeAlias = Callable[[PostFilterAction, str], None]
"""Called on the loop's thread when a pod's actions have ended, whatever happened; "" when all are
done, else why not.
"""


class PostFilterActions:
    """Carries out what postFilter plugins want to be done."""

    def __init__(self, actors: Mapping[str, Actor]) -> None:
        self.tasks = BackgroundTasks("a postFilter action")
        self._actors = actors

    def start(self, action: PostFilterAction, on_done: ActionsCallback) -> None:
        """Do it in the background."""
        self.tasks.start(self._run(action, on_done))

    async def _run(self, action: PostFilterAction, on_done: ActionsCallback) -> None:
        pod, why = action.diagnosis.pod, "it was interrupted"
        try:
            for name, wish in action.diagnosis.post_filter_actions.items():
                actor = self._actors.get(name)
                if not isinstance(actor, PostFilterActor):
                    text = "wants an action and has no actor that acts at postFilter"
                    raise EdgeError(f"plugin {name!r} {text}")
                await actor.run_action(pod, wish)
            why = ""
        except (EdgeError, PluginFault) as error:
            why = str(error)
        except FAULTS as error:
            log_bug("a postFilter action", error, pod=key(pod))
            why = repr(error)
        finally:
            on_done(action, why)
