"""Live revisions: which revision decides for each schedulerName, and whether this replica leads, or
observes.
"""

from __future__ import annotations

from typing import Protocol

from moorage.core.cycle.context import Decision
from moorage.core.framework.holds import Hold
from moorage.core.framework.revisions import Revision
from moorage.core.objects.pods import Pod


class LiveTrial(Protocol):
    """A trial under way: a second revision of a profile decides about the same pods."""

    def revision_for(self, pod: Pod, /) -> Revision:
        """The revision by which a pod is decided now."""

    def compare(self, outcome: Decision, seconds: float, /) -> None:
        """This was decided by ``revision_for``'s answer, in so much time, and nothing is done about
        it yet: hear the other revision. Raises nothing.
        """


class LiveRevisions(dict[str, Revision]):
    """The live revisions by schedulerName. ``ProfileSwapper`` writes them, on a standby too."""

    def __init__(self) -> None:
        super().__init__()
        self.trials: dict[str, LiveTrial] = {}
        """By schedulerName. ``ProfileTrials`` writes them."""
        self.holds: dict[str, Hold] = {}
        """By schedulerName, why pods are not tried. ``RevisionActivator`` writes them."""
        self.leading = False
        """Whether this replica has the lease, and decides: it writes events and revisions."""
        self.observing = False
        """Whether it has the lease of an observer: it decides nothing."""
        self.deciding = False
        """Whether it may place pods: from when it leads until it begins to stop."""

    def lead(self) -> None:
        """This replica has the lease, and what it knows is up to date."""
        self.leading = self.deciding = True

    def observe(self) -> None:
        """This replica has the lease of an observer, and what it knows is up to date."""
        self.observing = True

    @property
    def answering(self) -> bool:
        """Whether this replica has the lease: it writes statuses, records, and is whom to ask."""
        return self.leading or self.observing

    def owns(self, scheduler_name: str) -> bool:
        """Whether pods with this schedulerName are for us to place and to write to."""
        return self.deciding and scheduler_name in self
