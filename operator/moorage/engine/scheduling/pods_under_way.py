"""Pods under way: those that were taken from the queue and are not bound yet, wherever they are."""

from __future__ import annotations

from moorage.core.framework.revisions import Revision
from moorage.engine.binding.binder import Binder
from moorage.engine.scheduling.extender_cycles import ExtenderCycles
from moorage.engine.scheduling.group_attempts import GroupAttempts


class PodsUnderWay:
    """Counts pods between queue and node, and breaks off what is done for them."""

    def __init__(
        self, group_attempts: GroupAttempts, extenders: ExtenderCycles, binder: Binder
    ) -> None:
        self._group_attempts = group_attempts
        self._extenders = extenders
        self._binder = binder

    def count(self, revision: Revision) -> int:
        """How many pods are on their way by this revision."""
        return (
            self._extenders.count(revision)
            + self._binder.count(revision)
            + self._group_attempts.count(revision)
        )

    def interrupt_pod(self, uid: str) -> None:
        """The pod is gone, is going, or has a node: what is under way for it is broken off, as far
        as it can be.
        """
        self._extenders.interrupt_pod(uid)
        self._binder.interrupt_pod(uid)

    def interrupt_profile(self, scheduler_name: str, why: str) -> None:
        """What is under way for this profile's pods is broken off, as far as it can be."""
        self._extenders.interrupt_profile(scheduler_name, why)
        self._binder.interrupt_profile(scheduler_name, why)
