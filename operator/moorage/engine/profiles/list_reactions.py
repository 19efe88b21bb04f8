"""List reactions: what happens when a whole list of a kind is in."""

from __future__ import annotations

import dataclasses

from moorage.core.queue.pod_group_members import PodGroupTracker
from moorage.engine.intake.synced_kinds import SyncedKinds
from moorage.engine.profiles.swap import ProfileSwapper
from moorage.ports.stored_kinds import POD_GROUPS, StoredKind


@dataclasses.dataclass(frozen=True, slots=True)
class ListReactions:
    """``ListListener``: profiles may have waited for the list, and so may pod groups."""

    pod_groups: PodGroupTracker
    synced: SyncedKinds
    swapper: ProfileSwapper

    def kind_listed(self, kind: StoredKind, served: bool) -> None:
        """Mark it, and recheck those that may have waited for it."""
        self.synced.listed(kind, served)
        if kind in POD_GROUPS:
            self.pod_groups.kind_listed(kind.api, served)
        self.swapper.recheck_kinds()
