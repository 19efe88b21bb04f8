"""A scalar plugin: asked for one node at a time, it keeps pods away from racks that are being worked on."""

import dataclasses
from collections.abc import Mapping
from typing import ClassVar

from moorage.plugin_api import Action, Code, Node, Objects, Pod, Reason, Resource, Wake
from rack_plugins.racks import LABEL, Rack

MAINTENANCE = Reason("RackMaintenance", "node(s) were in a rack under maintenance", Code.UNRESOLVABLE)


@dataclasses.dataclass(frozen=True)
class RackMaintenance:
    """Refuses nodes whose rack has ``spec.maintenance: true``."""

    name: ClassVar[str] = "RackMaintenance"
    kinds: ClassVar[frozenset[type]] = frozenset({Rack})
    wakes: ClassVar[tuple[Wake, ...]] = (
        Wake(Rack.resource, Action.UPDATE | Action.DELETE),
        Wake(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL),
    )

    def prepare(self, _pod: Pod, store: Objects) -> Mapping[str, Rack]:
        """All racks by name, for ``filter_node``."""
        return store.objects(Rack)

    def filter_node(self, _pod: Pod, node: Node, racks: Mapping[str, Rack]) -> Reason | None:
        """None where the pod may go."""
        rack = racks.get((node.metadata.labels or {}).get(LABEL, ""))
        return MAINTENANCE if rack is not None and rack.spec.maintenance else None
