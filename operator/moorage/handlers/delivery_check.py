"""The delivery check: does Kopf deliver what the API server has?

Lists are of metadata, by small pages, as an object may have a megabyte and a half; what is owed is
read by its name.

At the start both kinds are listed once; when Kopf has delivered all that these lists hold, the
engine is told that everything is listed. From then on both kinds are listed every minute. What Kopf
still owes of such a list after a grace period is handed over by ourselves, so a lost change is at
most about a minute late. When that happens three times in a row to a kind, Kopf's watcher of it is
dead; nothing outside Kopf can revive it, so the process ends and is started anew.

A list that fails is no sign of anything: the state stays as it is, and readiness tells of it until
the first list of each kind is in.
"""

from __future__ import annotations

import json
import logging
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from moorage.api.bodies import Kept
from moorage.api.json_depth import parseable
from moorage.handlers.deliveries import Deliveries, ObjectListing, version_of
from moorage.ports.clock import Clock
from moorage.ports.errors import EdgeError, NotFound, Retryable
from moorage.ports.http_calls import METADATA_ALONE, HttpCall, HttpSession, next_page
from moorage.ports.repeated_logs import once_per_failure
from moorage.ports.retrying import Backoff, retrying

log = logging.getLogger(__name__)

PERIOD_SECONDS = 60.0
"""Seconds between two comparisons."""
GRACE_SECONDS = 5.0
"""Seconds that Kopf has to deliver what a list holds: a watch is behind a list by the time of one
event's way, far below a second.
"""
FIRST_GRACE_SECONDS = 15.0
"""The same for the first lists, with Kopf's discovery and its own lists in it."""
POLL_SECONDS = 0.1
"""Seconds between two looks during a grace period."""
MAX_FAILED_COMPARISONS = 3
"""Comparisons in a row, each with something owed, after which a watcher counts as dead."""
PAGE = 50
"""Objects a page: annotations, and who manages which field, may fill a megabyte of each."""
RETRY_SECONDS = Backoff(0.5, 5.0)
"""Until a list that failed is tried again."""


_ARE_THEY_INSTALLED = "; are the CRDs installed (moorage crds | kubectl apply -f -)?"


class WatcherDied(Exception):
    """Kopf delivers nothing of a kind any more."""


class DeliveryCheck:
    """``run`` it beside Kopf. ``base`` is the API's path, as in /apis/GROUP/VERSION; ``listed`` is
    called once all is delivered.
    """

    def __init__(
        self,
        session: HttpSession,
        clock: Clock,
        base: str,
        kinds: Sequence[Deliveries],
        listed: Callable[[], None],
    ) -> None:
        self._session = session
        self._clock = clock
        self._base = base
        self._kinds = kinds
        self._listed = listed
        self._failed_comparisons = {kind.plural: 0 for kind in kinds}
        self.problem: str | None = "profiles are not listed yet"
        """Why the first lists are not in yet; None once they are."""

    async def run(self) -> None:
        """See to the first lists, then compare every minute until cancelled. Raises WatcherDied."""
        for kind in self._kinds:
            await self._settle(
                kind,
                await self._patiently(kind, {"limit": str(PAGE)}, METADATA_ALONE),
                FIRST_GRACE_SECONDS,
            )
        self.problem = None
        self._listed()
        while True:
            await self._clock.sleep(PERIOD_SECONDS)
            for kind in self._kinds:
                await self._compare(kind)

    async def _compare(self, kind: Deliveries) -> None:
        try:
            listing = await self._list(kind, {"limit": str(PAGE)}, METADATA_ALONE)
        except EdgeError as error:
            text = "%s could not be listed for comparison with what Kopf has delivered: %s"
            log.warning(text, kind.plural, error, extra=once_per_failure(error))
            return
        complete = await self._settle(kind, listing, GRACE_SECONDS)
        failed = 0 if complete else self._failed_comparisons[kind.plural] + 1
        self._failed_comparisons[kind.plural] = failed
        if failed >= MAX_FAILED_COMPARISONS:
            raise WatcherDied(
                f"Kopf has missed changes of {kind.plural} in {MAX_FAILED_COMPARISONS} "
                f"comparisons in a row: its watcher is dead"
            )

    async def _settle(self, kind: Deliveries, listing: ObjectListing, seconds: float) -> bool:
        """Wait until all of the listing has been delivered; False when we had to do it ourselves in
        the end.
        """
        until = self._clock.boottime() + seconds
        while owed := kind.missing(listing):
            if self._clock.boottime() >= until:
                text = "Kopf has not delivered what the API server has of %s, it is done now: %s"
                log.error(text, kind.plural, owed)
                for name in owed:
                    query = {"fieldSelector": f"metadata.name={name}"}
                    kind.redeliver(name, await self._patiently(kind, query))
                return False
            await self._clock.sleep(POLL_SECONDS)
        return True

    async def _patiently(
        self, kind: Deliveries, query: Mapping[str, str], accept: str = ""
    ) -> ObjectListing:
        """A list, however long that takes."""

        def failing(error: EdgeError, delay: float) -> None:
            hint = _ARE_THEY_INSTALLED if isinstance(error, NotFound) else ""
            problem = f"{kind.plural} cannot be listed: {error}{hint}"
            # it is none of readiness once the first lists are in
            self.problem = self.problem and problem
            log.warning("%s, next attempt in %.1f s", problem, delay, extra=once_per_failure(error))

        return await retrying(
            lambda: self._list(kind, query, accept), RETRY_SECONDS, self._clock, failing
        )

    async def _list(
        self, kind: Deliveries, query: Mapping[str, str], accept: str = ""
    ) -> ObjectListing:
        """All pages, which show one moment."""
        objects: dict[str, Any] = {}
        token = ""
        while True:
            page = urllib.parse.urlencode({**query, **({"continue": token} if token else {})})
            path = f"{self._base}/{kind.plural}?{page}"
            body = await self._session.call(HttpCall("GET", path, accept=accept))
            try:
                page_objects, version, following = _page(body)
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise Retryable(f"GET {path}: not a list: {error!r}: {body[:200]!r}") from error
            objects |= page_objects
            if not (token := next_page(f"GET {path}", token, following)):
                return ObjectListing(version, objects)


def _page(body: bytes) -> tuple[dict[str, Any], int, str]:
    """The objects by name, the list's version, and the token of the next page, "" for none."""
    found = json.loads(parseable(body))
    items = [item for item in found["items"] or () if version_of(item)]
    objects = {item["metadata"]["name"]: Kept(item) for item in items}
    metadata = found["metadata"]
    return objects, int(metadata["resourceVersion"]), metadata.get("continue") or ""
