"""A cluster without a process: its store, what answers requests, and what moves. ``cluster`` gives
it sockets, tests ask it directly.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Final

from towtank.controllers.manager import ControllerManager, ControllerSettings
from towtank.crd_registry import CRDRegistry
from towtank.handlers.discovery import DiscoveryHandler
from towtank.handlers.dispatcher import RequestDispatcher
from towtank.handlers.openapi import OpenAPIHandler
from towtank.model.catalogue import Catalogue
from towtank.model.kinds import Body
from towtank.model.requests import RequestTarget, WriteOptions
from towtank.serving.watch_streams import Watches
from towtank.storage.store import RevisionStore
from towtank.storage.verbs import Verbs
from towtank.strategies import kind_registry
from towtank.subresources.subresource_table import SubresourceTable
from towtank.subresources.token_issuer import IssuedTokens


class ApiServer:
    """``clock`` gives the time, ``uids`` new UIDs; ``bodies`` are there besides what every cluster
    begins with.
    """

    def __init__(
        self,
        clock: Callable[[], datetime],
        uids: Callable[[], str],
        controllers: ControllerSettings,
        bodies: Iterable[Body] = (),
    ) -> None:
        self.catalogue: Final = Catalogue(kind_registry.resources())
        self.verbs: Final = Verbs(RevisionStore(), clock, uids)
        self.watches: Final = Watches(self.verbs)
        self.tokens: Final = IssuedTokens(self.verbs)
        CRDRegistry(self.verbs, self.catalogue, self.watches.end)
        self.controllers: Final = ControllerManager(self.verbs, self.catalogue, controllers)
        self.verbs.store.subscribe_to_all(self.controllers.on_change)
        subresources = SubresourceTable(self.tokens)
        discovery = DiscoveryHandler(
            self.catalogue, subresources, OpenAPIHandler(self.catalogue, self.verbs.find)
        )
        self.dispatcher: Final = RequestDispatcher(
            self.verbs, self.catalogue, subresources, discovery
        )
        for body in (*kind_registry.initial_objects(), *bodies):
            self.create(copy.deepcopy(body))  # who gave it may give it to another cluster

    def create(self, body: Body) -> Body:
        """Create an object of a kind that is served, as a client would. Raises ApiError."""
        resource = self.catalogue.of_kind(body["apiVersion"], body["kind"])
        if resource is None:
            raise ValueError(f"no resource serves {body['apiVersion']}/{body['kind']}")
        namespace = body["metadata"].get("namespace", "") if resource.namespaced else ""
        return self.verbs.create(
            RequestTarget(resource, namespace), body, WriteOptions(manager="towtank")
        )
