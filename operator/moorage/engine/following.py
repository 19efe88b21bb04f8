"""Following: the objects that the watches bring, and a way to wait until one of them changes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, TypeVar

from moorage.core.columns.store import Store
from moorage.core.objects import HasMetadata, key

T = TypeVar("T", bound=HasMetadata)


class Following:
    """The store's newest states, for whoever has to wait for them. Belongs to the event loop's thread."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: dict[type[Any], dict[str, set[asyncio.Future[None]]]] = {}

    def objects(self, kind: type[T]) -> Mapping[str, T]:
        """All objects of a kind by ``namespace/name`` (or name)."""
        return self._store.objects(kind)

    async def change(self, kind: type[HasMetadata], name: str) -> None:
        """Return when the object of this ``namespace/name`` comes, changes or goes the next time. Cancel it to stop waiting."""
        if kind not in self._waiting:
            self._waiting[kind] = {}
            self._store.follow(kind, lambda old, new: self._changed(kind, old, new))
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting = self._waiting[kind].setdefault(name, set())
        waiting.add(future)
        try:
            await future
        finally:
            waiting.discard(future)
            if not waiting:
                self._waiting[kind].pop(name, None)

    def _changed(self, kind: type[Any], old: HasMetadata | None, new: HasMetadata | None) -> None:
        obj = new or old
        if obj is not None and self._waiting[kind]:
            for future in self._waiting[kind].get(key(obj), ()):
                if not future.done():
                    future.set_result(None)
