"""A columnar plugin with arguments: asked for all nodes at once, it prefers nodes of one rack."""

import dataclasses
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import MinLen

from moorage.plugin_api import (
    ARGUMENTS,
    SUCCESS,
    ActionType,
    Aspect,
    ClusterEventWithHint,
    EventResource,
    Pod,
    PreFilterResult,
    Rows,
    Scores,
    Snapshot,
    Violation,
)
from rack_plugins.racks import LABEL


@dataclasses.dataclass(frozen=True)
class SameRackArgs:
    """Arguments, as in a profile's pluginConfig: every field has a default."""

    __pydantic_config__: ClassVar = ARGUMENTS

    preferred_rack: Annotated[str, MinLen(1)] = "default"
    """preferredRack: the rack that pods are drawn to."""

    def validate(self) -> list[Violation]:
        """What annotations cannot say."""
        if "/" in self.preferred_rack:
            return [Violation("preferredRack", self.preferred_rack, "a rack's name has no slash")]
        return []


@dataclasses.dataclass(frozen=True)
class SameRack:
    """Scores 100 for nodes of the preferred rack, 0 for all others."""

    args: SameRackArgs

    name: ClassVar[str] = "SameRack"
    reads: ClassVar[frozenset[Aspect]] = frozenset({Aspect.LABELS})
    events_to_register: ClassVar[tuple[ClusterEventWithHint, ...]] = (
        ClusterEventWithHint(EventResource.NODE, ActionType.UPDATE_NODE_LABEL),
    )

    def prepare_score(self, _pod: Pod, _snapshot: Snapshot) -> PreFilterResult:
        """What ``score`` needs, once for all pods that ask for the same."""
        return PreFilterResult(SUCCESS, self.args.preferred_rack)

    def score(self, state: Any, snapshot: Snapshot, rows: Rows) -> Scores:
        """int64[len(rows)]: nodes are rows of a table, and a label is a column of small numbers,
        one for each value.
        """
        column = snapshot.nodes.labels.column(LABEL)
        return np.where(column.codes[rows] == column.code(state), 100, 0)
