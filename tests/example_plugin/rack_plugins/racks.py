"""The custom resource that the plugins read."""

from typing import ClassVar

from moorage.plugin_api import ObjectMeta, Struct

LABEL = "example.com/rack"
"""On nodes: the rack that they stand in."""


class RackSpec(Struct, frozen=True):
    """The part of a rack's spec that is read; all other fields are skipped."""

    maintenance: bool = False


class Rack(Struct, frozen=True):
    """A rack (example.com/v1). ``resource`` is what the operator lists and watches, and what
    ClusterEventWithHint speaks of.
    """

    resource: ClassVar[str] = "racks.v1.example.com"
    metadata: ObjectMeta
    spec: RackSpec = RackSpec()
