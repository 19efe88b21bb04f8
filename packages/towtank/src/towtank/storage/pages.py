"""Lists in pages.

The store's lists are snapshots, so a client that reads page after page sees one revision: what is
left for it is kept for a while under its continue token.
"""

from __future__ import annotations

import collections
import dataclasses
import secrets
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import TypeAlias

from towtank.model import object_selectors
from towtank.model.api_errors import ApiError, bad_request, expired
from towtank.model.requests import ListOptions, RequestTarget, parsed_version
from towtank.storage.store import RevisionStore, Stored

MAX_CONTINUED_LISTS = 100
CONTINUE_LIFETIME = timedelta(minutes=5)
_GONE = (
    "The provided continue parameter is too old to display a consistent list result. You can "
    "start a new list without the continue "
    "parameter."
)


@dataclasses.dataclass(frozen=True, slots=True)
class ListPage:
    """A page of a list: ``items`` are as stored, in order."""

    items: Iterable[Stored]
    revision: int
    continue_: str = ""
    remaining: int | None = None


_Question: TypeAlias = tuple[str, ...]
"""Of what a list was asked for: a token goes on with that only."""


def _question(target: RequestTarget, options: ListOptions) -> _Question:
    resource = target.resource
    return (
        resource.group,
        resource.plural,
        target.namespace,
        options.label_selector,
        options.field_selector,
    )


class Pages:
    """Lists, and what is left of those that were read in part."""

    def __init__(self, store: RevisionStore, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._clock = clock
        self._left: collections.OrderedDict[
            str, tuple[datetime, _Question, int, Sequence[Stored]]
        ] = collections.OrderedDict()

    def list(self, target: RequestTarget, options: ListOptions) -> ListPage:
        """A page. Raises ApiError 400 and 410."""
        question = _question(target, options)
        if options.continue_:
            revision, found = self._resume(options, question)
        else:
            revision, found = self._store.revision, self._chosen(target, options)
            _check_version(options, revision)
        if not options.limit or len(found) <= options.limit:
            return ListPage(found, revision)
        page, rest = found[: options.limit], found[options.limit :]
        remaining = None if options.label_selector or options.field_selector else len(rest)
        return ListPage(page, revision, self._keep(question, revision, rest), remaining)

    def _chosen(self, target: RequestTarget, options: ListOptions) -> Sequence[Stored]:
        wanted = object_selectors.object_filter(
            target.resource, options.label_selector, options.field_selector
        )
        found = self._store.list(target.resource.key, target.namespace)
        if target.name:  # a watch or a list of one object
            found = [stored for stored in found if stored.key[1] == target.name]
        return found if wanted is None else [stored for stored in found if wanted(stored.body)]

    def _keep(self, question: _Question, revision: int, rest: Sequence[Stored]) -> str:
        token = secrets.token_urlsafe(12)
        self._left[token] = (self._clock(), question, revision, rest)
        if len(self._left) > MAX_CONTINUED_LISTS:
            self._left.popitem(last=False)
        return token

    def _resume(self, options: ListOptions, question: _Question) -> tuple[int, Sequence[Stored]]:
        """A page may be asked for again, so its token stays."""
        if options.resource_version not in ("", "0"):
            raise bad_request("specifying resource version is not allowed when using continue")
        when, asked, revision, rest = self._left.get(options.continue_, (None, (), 0, ()))
        if when is None or asked != question or self._clock() - when > CONTINUE_LIFETIME:
            raise expired(_GONE)
        return revision, rest


def _check_version(options: ListOptions, revision: int) -> None:
    """Whether the version that is asked for can be served: there is only the newest."""
    if version := options.resource_version:
        number = parsed_version(version, "invalid resource version: ")
        require_reached(number, revision)
        if options.resource_version_match == "Exact" and number != revision:
            raise expired(
                f"The resourceVersion for the provided list is too old: {version}, current: "
                f"{revision}"
            )


def require_reached(version: int, revision: int) -> None:
    """Raises ApiError 504 for a version of the future."""
    if version > revision:
        cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
        message = f"Timeout: Too large resource version: {version}, current: {revision}"
        raise ApiError(504, "Timeout", message, {"causes": [cause], "retryAfterSeconds": 1})
