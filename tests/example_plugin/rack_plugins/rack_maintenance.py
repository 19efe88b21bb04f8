"""A scalar plugin: asked for one node at a time, it keeps pods away from racks that are being
worked on.
"""

import dataclasses
from collections.abc import Mapping
from typing import ClassVar

from moorage.plugin_api import (
    ActionType,
    ClusterEventWithHint,
    Code,
    EventResource,
    Lister,
    Node,
    Pod,
    Reason,
)
from rack_plugins.racks import LABEL, Rack

MAINTENANCE = Reason(
    "RackMaintenance",
    "node(s) were in a rack under maintenance",
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
)


@dataclasses.dataclass(frozen=True)
class RackMaintenance:
    """Refuses nodes whose rack has ``spec.maintenance: true``."""

    name: ClassVar[str] = "RackMaintenance"
    required_kinds: ClassVar[frozenset[type]] = frozenset({Rack})
    events_to_register: ClassVar[tuple[ClusterEventWithHint, ...]] = (
        ClusterEventWithHint(Rack.resource, ActionType.UPDATE | ActionType.DELETE),
        ClusterEventWithHint(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL),
    )

    def prepare(self, _pod: Pod, store: Lister) -> Mapping[str, Rack]:
        """All racks by name, for ``filter_node``."""
        return store.objects(Rack)

    def filter_node(self, _pod: Pod, node: Node, racks: Mapping[str, Rack]) -> Reason | None:
        """None where the pod may go."""
        rack = racks.get((node.metadata.labels or {}).get(LABEL, ""))
        return MAINTENANCE if rack is not None and rack.spec.maintenance else None
