"""The outcome of a binding: how far it is, and how it ended."""

from __future__ import annotations

import dataclasses
import enum
import logging

from moorage.core.cycle.context import Diagnosis, ScheduleResult
from moorage.core.framework.status import SUCCESS, Status, error_status
from moorage.core.objects.meta import key
from moorage.ports.errors import EdgeError, Fenced
from moorage.ports.repeated_logs import once_per_bug

log = logging.getLogger(__name__)

STEP_LIMIT_SECONDS = 3600.0
"""Seconds that one plugin may take to prepare a binding; those in the tree have shorter limits of
their own.
"""
CALL_LIMIT_SECONDS = 120.0
"""Seconds that one plugin or extender may take to bind a pod, or to hear that it is bound."""


class BindingStage(enum.Enum):
    """How far a binding is."""

    WAITING = enum.auto()
    """For its turn, or for an answer that nobody else's code gives."""
    PREPARING = enum.auto()
    """Nothing irrevocable has been sent: it may be broken off."""
    SENDING = enum.auto()
    """The pod may be bound by now."""
    ENDING = enum.auto()
    """What was sent is out of our hands: its outcome is read, or what was prepared taken back."""
    POST_BIND = enum.auto()
    """It is bound."""


STAGE_LIMIT_SECONDS = {
    BindingStage.PREPARING: STEP_LIMIT_SECONDS,
    BindingStage.SENDING: CALL_LIMIT_SECONDS,
    BindingStage.POST_BIND: CALL_LIMIT_SECONDS,
}
"""Seconds that one step may take."""


@dataclasses.dataclass(frozen=True, slots=True)
class BindingOutcome:
    """How a binding ended: bound to our node; ``gone``; or refused, or failed, with ``status``."""

    bound: bool
    status: Status = SUCCESS
    gone: bool = False
    """It is not ours any more: the pod is gone, or bound elsewhere."""
    fenced: bool = False
    """It was not sent, as this replica may not lead any more: nothing is to be reported."""
    unschedulable_plugins: frozenset[str] = frozenset()
    """The plugin that refused it at permit, if one did."""
    node_changed: bool = False
    """The node changed under the decision, by somebody else's doing, and does not take the pod any
    more.
    """

    def diagnosis(self, placement: ScheduleResult) -> Diagnosis:
        """Why this placement came to nothing."""
        return Diagnosis(
            pod=placement.pod,
            revision=placement.revision,
            code=self.status.code,
            message=self.status.message,
            unschedulable_plugins=self.unschedulable_plugins,
        )


BOUND = BindingOutcome(True)
GONE = BindingOutcome(False, gone=True)
INTERRUPTED = BindingOutcome(False, error_status("the binding was interrupted"))


def failed_outcome(placement: ScheduleResult, running: str, error: BaseException) -> BindingOutcome:
    """The outcome when a plugin raised this; a bug of it is logged with where it is."""
    known = isinstance(error, EdgeError)
    if not known:
        log.error(
            "%s failed with a bug",
            running,
            exc_info=error,
            extra=once_per_bug(error, pod=key(placement.pod), node=placement.node),
        )
    text = (
        f"binding rejected: {running and f'running {running}: '}{error if known else repr(error)}"
    )
    return BindingOutcome(False, error_status(text), fenced=isinstance(error, Fenced))
