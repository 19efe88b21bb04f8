"""The object waiter: shows the objects that the watches bring, and waits until one of them
changes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias, TypeVar

from moorage.core.columns.cache import Cache
from moorage.core.columns.store import Lister
from moorage.core.objects.meta import HasMetadata, key
from moorage.core.objects.nodes import Node
from moorage.ports.clock import Clock

T = TypeVar("T", bound=HasMetadata)
KindAndName: TypeAlias = tuple[type[HasMetadata], str]
"""An object's kind and its ``namespace/name`` (or name)."""


class ObjectWaiter:
    """The cache's newest states, for whoever has to wait for them. Belongs to the event loop's
    thread.
    """

    def __init__(self, cache: Cache) -> None:
        self._store = cache.store
        self._nodes = cache.nodes
        self._waiting: dict[type[Any], dict[str, set[asyncio.Future[None]]]] = {}

    @property
    def store(self) -> Lister:
        """All objects but pods and nodes, and what is kept of them, assumptions too."""
        return self._store

    def objects(self, kind: type[T]) -> Mapping[str, T]:
        """All objects of a kind by ``namespace/name`` (or name)."""
        return self._store.objects(kind)

    def node(self, name: str) -> Node | None:
        """The node of this name."""
        row = self._nodes.row_of.get(name)
        return self._nodes.nodes[row] if row is not None else None

    def next_change(self, *names: KindAndName) -> asyncio.Future[None]:
        """Done when one of these objects comes, changes or goes the next time, counted from now.
        Cancel it to stop waiting.
        """
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        for kind, name in names:
            if kind not in self._waiting:
                self._waiting[kind] = {}
                self._store.follow(kind, lambda old, new, kind=kind: self._changed(kind, old, new))  # type: ignore[misc]  # bound now
            self._waiting[kind].setdefault(name, set()).add(future)
        future.add_done_callback(lambda _: self._forget(future, names))
        return future

    async def wait_until(
        self,
        done: Callable[[], bool],
        names: Callable[[], Iterable[KindAndName]],
        clock: Clock,
        seconds: float,
    ) -> bool:
        """Wait, at most so long, until ``done`` says so, which is asked now and at each change of
        these objects; whether it did.
        """
        timer = asyncio.ensure_future(clock.sleep(seconds))
        try:
            while not done():
                if timer.done():
                    return False
                change = self.next_change(*names())
                try:
                    await asyncio.wait({timer, change}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    change.cancel()
            return True
        finally:
            timer.cancel()

    def _changed(self, kind: type[Any], old: HasMetadata | None, new: HasMetadata | None) -> None:
        obj = new or old
        if obj is not None and self._waiting[kind]:
            for future in self._waiting[kind].get(key(obj), ()):
                if not future.done():
                    future.set_result(None)

    def _forget(self, future: asyncio.Future[None], names: Iterable[KindAndName]) -> None:
        for kind, name in names:
            waiting = self._waiting[kind].get(name, set())
            waiting.discard(future)
            if not waiting:
                self._waiting[kind].pop(name, None)
