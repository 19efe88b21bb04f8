"""Definitions at work: their names are accepted, and what they define is served from then on.

A definition is created as it came. Within the same call it is told here, gets its names or is told
who has them, by a write of the server's own, and is served: nobody comes in between.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from towtank.model import times
from towtank.model.catalogue import Catalogue
from towtank.model.json_values import cloned
from towtank.model.kinds import Body
from towtank.model.requests import SERVER, RequestTarget, WriteOptions
from towtank.storage.store import StoreChange
from towtank.storage.verbs import Verbs
from towtank.strategies import crd


class CRDRegistry:
    """Follows the definitions of a store; ``ended`` is told the qualified names of resources that
    are not served any more.
    """

    def __init__(self, verbs: Verbs, catalogue: Catalogue, ended: Callable[[str], None]) -> None:
        self._verbs: Final = verbs
        self._catalogue: Final = catalogue
        self._resource: Final = next(each for each in catalogue if each.key == crd.KEY)
        self._ended: Final = ended
        verbs.store.subscribe(crd.KEY, self._on_change)

    def _on_change(self, change: StoreChange) -> None:
        body = change.now.body
        group, plural = body["spec"]["group"], body["spec"]["names"]["plural"]
        served = [] if change.type == "DELETED" else crd.resources(body)
        self._catalogue.replace(group, plural, served)
        if not served:
            self._ended(f"{plural}.{group}")
        self._accept_names(group)

    def _accept_names(self, group: str) -> None:
        """Write the status of a definition that can have other names now; who comes next is looked
        at when that is told.
        """
        every, now = self._verbs.every(crd.KEY), times.timestamp(self._verbs.clock())
        for definition in every:
            if definition["spec"]["group"] == group and (
                renamed := crd.renamed(definition, every, now)
            ):
                self._write(renamed)
                return

    def _write(self, definition: Body) -> None:
        target = RequestTarget(self._resource, "", definition["metadata"]["name"], "status")
        self._verbs.patch(
            target,
            lambda old: {**old, "status": cloned(definition["status"])},
            WriteOptions(manager=SERVER),
        )
