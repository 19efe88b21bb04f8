"""A cluster without a process: its store, what answers requests, and what moves. ``cluster`` gives it sockets, tests ask it directly."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Final

from towtank.answering.discovery import Discovery
from towtank.answering.dispatch import Answering
from towtank.answering.openapi import OpenApi
from towtank.controllers import Controllers, Settings
from towtank.definitions import Definitions
from towtank.model.catalogue import Catalogue
from towtank.model.kinds import Body
from towtank.model.requests import Target, WriteOptions
from towtank.serving.watching import Watches
from towtank.storage.store import Store
from towtank.storage.verbs import Verbs
from towtank.strategies import built_in
from towtank.subresources.dispatch import Subresources
from towtank.subresources.tokens import IssuedTokens


class Parts:
    """``clock`` gives the time, ``uids`` new UIDs; ``bodies`` are there besides what every cluster begins with."""

    def __init__(self, clock: Callable[[], datetime], uids: Callable[[], str], moving: Settings, bodies: Iterable[Body] = ()) -> None:
        self.catalogue: Final = Catalogue(built_in.resources())
        self.verbs: Final = Verbs(Store(), clock, uids)
        self.watches: Final = Watches(self.verbs)
        self.tokens: Final = IssuedTokens(self.verbs)
        Definitions(self.verbs, self.catalogue, self.watches.end)
        self.controllers: Final = Controllers(self.verbs, self.catalogue, moving)
        self.verbs.store.listen_to_all(self.controllers.told)
        subresources = Subresources(self.tokens)
        discovery = Discovery(self.catalogue, subresources, OpenApi(self.catalogue, self.verbs.find))
        self.answering: Final = Answering(self.verbs, self.catalogue, subresources, discovery)
        for body in (*built_in.initial_objects(), *bodies):
            self._make(body)

    def _make(self, body: Body) -> None:
        resource = self.catalogue.of_kind(body["apiVersion"], body["kind"])
        if resource is None:
            raise ValueError(f"no resource serves {body['apiVersion']}/{body['kind']}")
        namespace = body["metadata"].get("namespace", "") if resource.namespaced else ""
        self.verbs.create(Target(resource, namespace), body, WriteOptions(manager="towtank"))
