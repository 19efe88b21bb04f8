"""The order in which nodes are looked at when not all of them are: round the zones, one node of
each in turn.

Only a profile that samples (percentageOfNodesToScore) needs it, so the list is made when asked for;
what is in it does not go by when that is.
Source: kube-scheduler's ``nodeTree`` (v1.37), in words of our own.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from moorage.core.objects.nodes import Node

_REGION = ("topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region")
_ZONE = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")


def zone_key(node: Node) -> str:
    """Region and zone of a node as one text, "" when it has neither."""
    labels = node.metadata.labels or {}
    region = next((labels[key] for key in _REGION if key in labels), "")
    zone = next((labels[key] for key in _ZONE if key in labels), "")
    return f"{region}:\x00:{zone}" if region or zone else ""


class NodeOrder:
    """Node names by zone, zones and nodes in the order in which they came.

    A node that changes its zone takes its new place when nodes come or go the next time, as in
    kube-scheduler.
    """

    def __init__(self) -> None:
        self._zone_of: dict[str, str] = {}
        self._zones: dict[str, dict[str, None]] = {}
        self._names: tuple[str, ...] | None = None
        self._stands = False
        """Whether a zone has changed since nodes came or went."""

    def put(self, node: Node) -> None:
        """Add a node; one whose zone changed goes to the end of its new zone."""
        name, zone = node.metadata.name, zone_key(node)
        if self._zone_of.get(name) == zone:
            return
        if name in self._zone_of:
            names = self.names
            self._take_out(name)
            self._names, self._stands = names, True
        else:
            self._names, self._stands = None, False
        self._zone_of[name] = zone
        self._zones.setdefault(zone, {})[name] = None

    def remove(self, name: str) -> None:
        """Take a node out; an emptied zone loses its place. Unknown names are ignored."""
        if name in self._zone_of:
            self._take_out(name)
            self._names, self._stands = None, False

    def arrivals(self) -> Iterator[str]:
        """All nodes' names in an order in which they may be put to have zones, and nodes in each,
        as they are here.
        """
        return itertools.chain.from_iterable(self._zones.values())

    @property
    def standing(self) -> tuple[str, ...]:
        """The list that stands until nodes come or go although a zone has changed; () for none."""
        return self.names if self._stands else ()

    def keep(self, names: tuple[str, ...]) -> None:
        """Have this list stand until nodes come or go."""
        self._names, self._stands = names, True

    def _take_out(self, name: str) -> None:
        zone = self._zone_of.pop(name)
        del self._zones[zone][name]
        if not self._zones[zone]:
            del self._zones[zone]

    @property
    def names(self) -> tuple[str, ...]:
        """All nodes' names in visiting order."""
        if self._names is None:
            self._names = tuple(self._interleaved())
        return self._names

    def _interleaved(self) -> Iterator[str]:
        columns = [iter(zone) for zone in self._zones.values()]
        while columns:
            for column in tuple(columns):
                name = next(column, None)
                if name is None:
                    columns.remove(column)
                else:
                    yield name
