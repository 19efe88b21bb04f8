"""The table of volumes on nodes: what counts, whatever comes first."""

from __future__ import annotations

import itertools

import pytest

from moorage.core.columns.change_log import Aspect
from moorage.core.objects.meta import HasMetadata
from moorage.core.objects.storage import VolumeAttachment
from tests.builders import make_node
from tests.core.storage_builders import (
    Storage,
    csi,
    make_attachment,
    make_claim,
    make_csi_node,
    make_volume,
    with_claims,
)

OBJECTS: tuple[HasMetadata, ...] = (
    make_csi_node("n0", 3),
    make_claim("c", "v"),
    make_volume("v", csi=csi("h")),
    make_volume("w", csi=csi("other")),
    make_attachment("at", "n0", "w"),
    with_claims("p", "c", node="n0"),
)


@pytest.mark.parametrize("order", list(itertools.permutations(range(len(OBJECTS))))[::37])
def test_order_of_arrival_does_not_matter(order: tuple[int, ...]) -> None:
    """A volume that a pod uses and one that is attached take two of three places, also of a node
    that comes last.
    """
    storage = Storage(*(OBJECTS[i] for i in order), nodes=())
    storage.context.cache.put_node(make_node("n0"))
    spare = storage.context.cache.volumes.spare("x")
    assert spare is not None
    assert spare.tolist() == [1]
    early = Storage(*(OBJECTS[i] for i in order), nodes=("n0",)).context.cache.volumes.spare("x")
    assert early is not None
    assert early.tolist() == [1]


@pytest.mark.parametrize("i", range(len(OBJECTS) - 1))
def test_rows_that_change_are_noted(i: int) -> None:
    """Whatever object comes last, the row of its node is asked again."""
    storage = Storage(
        *(one for one in OBJECTS if one is not OBJECTS[i] and one is not OBJECTS[3]),
        nodes=("n1", "n0"),
    )
    storage.put(OBJECTS[3])
    nodes = storage.context.cache.nodes
    reader = nodes.reader(frozenset({Aspect.VOLUMES}))
    reader.catch_up(nodes.rows)
    storage.put(OBJECTS[i])
    changed = reader.catch_up(100)
    assert changed is not None
    assert changed.tolist() == ([nodes.row_of["n0"]])


def test_a_volume_counts_once() -> None:
    """Two pods that share it, and its attachment, take one place; the last one to go frees it."""
    storage = Storage(
        *OBJECTS, make_attachment("again", "n0", "v"), with_claims("q", "c", node="n0")
    )
    cache = storage.context.cache
    found = []
    for uid in ("uid-a-p", "uid-a-q"):
        spare = cache.volumes.spare("x")
        assert spare is not None
        found.append(int(spare[0]))
        cache.remove(uid)
    cache.store.remove(VolumeAttachment, "again")
    spare = cache.volumes.spare("x")
    assert spare is not None
    assert [*found, int(spare[0])] == [1, 1, 2]
