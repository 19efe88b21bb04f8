"""Removing what an installation has in a cluster, step by step, until it is gone.

A step begins when the one before it is over. It has a deadline; then it is said what it waits for.
That something is gone already, or that its namespace is going, is success.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from moorage.apps.exit_status import CommandError, ExitStatus
from moorage.apps.install.departures import Departure, DepartureStep
from moorage.apps.install.inventories import DEPLOYMENT, NAMESPACE
from moorage.apps.install.object_keys import Document, ObjectKey, key_of
from moorage.ports.errors import Conflict, NotFound, Retryable

POLL_SECONDS: Final = 0.2
_PROBLEMS: Final = ("Deletion", "Remaining", "Failure")
"""Parts of the types of a Namespace's conditions that say why it is still there."""


class NotGone(CommandError):
    """Something is still there, or nobody wants it to go."""

    status = ExitStatus.NO


class Removed(Protocol):
    """A cluster, as far as things are removed from it. Raises EdgeError."""

    async def get(self, key: ObjectKey) -> Document | None:
        """The object, None where there is none."""

    async def delete(self, key: ObjectKey, *, uid: str, foreground: bool) -> None:
        """Have it deleted, with what belongs to it first where that is ``foreground``."""


class Removal:
    """Steps one after another, each within ``seconds``; ``say`` is told what is done."""

    def __init__(
        self,
        cluster: Removed,
        say: Callable[[str], None],
        *,
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cluster = cluster
        self._say = say
        self._seconds = seconds
        self._clock = clock
        self.removed: Final[list[Document]] = []

    async def run(self, plan: Departure) -> None:
        """All of it. Raises NotGone, EdgeError."""
        for step in plan.steps:
            await self.step(step)

    async def step(self, step: DepartureStep) -> None:
        """One step; what is gone is in ``removed``, however it ends. Raises NotGone, EdgeError."""
        if step.documents:
            await self._gone(step.what, step.documents)
            self._say(f"{step.what}: {names(step.documents)} gone")

    async def _gone(self, what: str, documents: Iterable[Document]) -> None:
        """Delete these, and wait until none is there. Raises NotGone."""
        end = self._clock() + self._seconds
        left = {key_of(one): one for one in documents}
        asked: set[ObjectKey] = set()
        while left:
            for key, one in [*left.items()]:
                there = await self._still_there(key, one, asked)
                if there is None:
                    self.removed.append(left.pop(key))
                else:
                    left[key] = there
            if left and self._clock() > end:
                raise NotGone(_waiting(what, left, self._seconds))
            if left:
                await asyncio.sleep(POLL_SECONDS)

    async def _still_there(
        self, key: ObjectKey, known: Document, asked: set[ObjectKey]
    ) -> Document | None:
        """The object as it is now, after it was asked to go; None once it is gone."""
        uid = str(known["metadata"].get("uid", ""))
        try:
            if key not in asked:
                await self._cluster.delete(key, uid=uid, foreground=key.kind == DEPLOYMENT)
                asked.add(key)
            found = await self._cluster.get(key)
        except NotFound:
            return None  # with its kind, or its namespace
        except Conflict:
            asked.add(key)  # it is going, or another one of its name is there
            found = await self._cluster.get(key)
        except Retryable:
            return known
        return found if found is not None and found["metadata"]["uid"] == uid else None


def names(documents: Sequence[Document]) -> str:
    """The objects, by kind, each with its namespace."""
    kinds: dict[str, list[str]] = {}
    for one in documents:
        key = key_of(one)
        name = f"{key.namespace}/{key.name}" if key.namespace else key.name
        kinds.setdefault(key.kind, []).append(name)
    return ", ".join(f"{kind} {' '.join(dict.fromkeys(found))}" for kind, found in kinds.items())


def _waiting(what: str, left: Mapping[ObjectKey, Document], seconds: float) -> str:
    lines = [f"  {key}: {'; '.join(_holding(one)) or 'is there'}" for key, one in left.items()]
    return "\n".join((f"{what}: still there after {seconds:.0f} s:", *lines))


def _holding(document: Document) -> Iterator[str]:
    """What keeps an object that is to go."""
    metadata, status = document["metadata"], document.get("status") or {}
    if "deletionTimestamp" not in metadata:
        yield "nobody has begun to delete it"
    if finalizers := metadata.get("finalizers"):
        yield f"its finalizers: {', '.join(finalizers)}"
    for condition in status.get("conditions") or ():
        if _tells(document["kind"], condition):
            yield f"{condition['type']}: {condition.get('message')}"
    if node := (document.get("spec") or {}).get("nodeName"):
        yield f"the kubelet of node {node} ends it"


def _tells(kind: str, condition: Mapping[str, Any]) -> bool:
    """Whether a condition says why the object is still there."""
    if kind == NAMESPACE:
        told = any(part in condition["type"] for part in _PROBLEMS)
        return told and bool(condition["status"] == "True")
    return bool(condition["type"] == "Terminating")
