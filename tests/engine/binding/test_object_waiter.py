"""Following: whoever waits for an object is told of its next change, and only of that."""

from __future__ import annotations

import asyncio

from moorage.core.columns.cache import Cache
from moorage.core.objects.storage import (
    AnnotatedMeta,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
)
from moorage.engine.binding.actors.object_waiter import ObjectWaiter
from tests.fakes.clocks import settle


def claim(name: str) -> PersistentVolumeClaim:
    """A claim of this name."""
    return PersistentVolumeClaim(
        AnnotatedMeta(name=name, namespace="default"), PersistentVolumeClaimSpec()
    )


def test_a_change_wakes_who_waits_for_that_object() -> None:
    """One that comes, one that goes; another object's change is nothing to them, nor one before
    they began to wait.
    """

    async def story() -> None:
        cache = Cache()
        store, following = cache.store, ObjectWaiter(cache)
        store.put(claim("a"))
        first = following.next_change((PersistentVolumeClaim, "default/a"))
        second = following.next_change((PersistentVolumeClaim, "default/a"))
        await settle()
        store.put(claim("b"))
        await settle()
        assert not first.done()
        second.cancel()
        await settle()
        store.remove(PersistentVolumeClaim, "default/a")
        await asyncio.wait_for(first, 1)
        assert not following.objects(PersistentVolumeClaim).get("default/a")
        again = following.next_change((PersistentVolumeClaim, "default/a"))
        await settle()
        store.put(claim("a"))
        await asyncio.wait_for(again, 1)

    asyncio.run(story())
