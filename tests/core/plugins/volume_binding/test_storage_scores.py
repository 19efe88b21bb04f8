"""Nodes are ranked by the storage that a pod would use of them, as kube-scheduler 1.37 does."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from moorage.core.columns.snapshot import Snapshot
from moorage.core.framework.utilization_shape import UtilizationShapePoint
from moorage.core.objects.storage import (
    CSIDriver,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
)
from moorage.core.plugins.volume_binding.plugin import (
    VolumeBinding,
    VolumeBindingArgs,
)
from moorage.core.plugins.volume_binding.storage_scores import taken_sizes
from moorage.core.plugins.volume_binding.volume_needs import choose, labels_of, volume_claims_of
from moorage.core.volumes.claims import size
from tests.core.storage_builders import Storage, make_claim, make_class, make_volume, with_claims


def scores(storage: Storage, *claims: str, **args: Any) -> list[int]:
    """Of all nodes."""
    plugin, snapshot = VolumeBinding(VolumeBindingArgs(**args)), Snapshot(storage.context.cache)
    state = plugin.pre_score(with_claims("p", *claims), snapshot).state
    found: list[int] = plugin.score(state, snapshot, snapshot.nodes.all_rows).tolist()
    return found


def room(name: str, node: str, capacity: str | None, most: str | None = None) -> CSIStorageCapacity:
    """So much room on a node."""
    return msgspec.convert(
        {
            "metadata": {"name": name},
            "storageClassName": "static",
            "nodeTopology": {"matchLabels": {"kubernetes.io/hostname": node}},
            "capacity": capacity,
            "maximumVolumeSize": most,
        },
        CSIStorageCapacity,
    )


DRIVER = msgspec.convert({"metadata": {"name": "x"}, "spec": {"storageCapacity": True}}, CSIDriver)


def test_the_smaller_volume_is_used_up() -> None:
    """The less of a volume is used the better, unless the shape says otherwise; a pod without
    claims, or with bound ones, ranks nothing.
    """
    storage = Storage(make_class(), make_claim("c"), make_claim("d", "v0"))
    storage.put(make_volume("v1", "n0", "2Gi"), make_volume("v2", "n1", "4Gi"))
    assert scores(storage, "c") == [50, 75]
    full = UtilizationShapePoint(0, 0), UtilizationShapePoint(100, 10)
    assert scores(storage, "c", shape=full) == [50, 25]
    assert scores(storage) == scores(storage, "d") == [0, 0]


def test_room_counts_where_no_volume_does() -> None:
    """Two claims share the room of their class, of the smallest place that has enough for a volume;
    a place that does not say how much there is counts for nothing.
    """
    storage = Storage(DRIVER, make_class("static", "x"), make_claim("c"), make_claim("d"))
    storage.put(room("a", "n0", "8Gi"), room("b", "n0", "4Gi", "4Gi"))
    assert scores(storage, "c", "d") == [50, 0]
    storage.put(room("c", "n1", None, "5Gi"))
    assert scores(storage, "c", "d") == [50, 0]
    storage.put(make_volume("v1", "n0", "1Gi"))
    assert scores(storage, "c", "d") == [0, 0], "one of them would use a volume up"


def test_the_mean_of_classes_is_rounded() -> None:
    """Half up."""
    storage = Storage(make_class(), make_class("other"), make_claim("c"), nodes=("n0",))
    other = msgspec.to_builtins(make_claim("d"))
    other["spec"]["storageClassName"] = "other"
    storage.put(msgspec.convert(other, PersistentVolumeClaim))
    volume = msgspec.to_builtins(make_volume("v1", "n0", "3Gi"))
    volume["spec"]["storageClassName"] = "other"
    storage.put(make_volume("v0", "n0", "2Gi"), msgspec.convert(volume, PersistentVolume))
    assert scores(storage, "c", "d") == [59]  # of 50 and 67


@given(
    st.lists(
        st.tuples(st.sampled_from(["n0", "n1", "n2"]), st.integers(1, 5), st.booleans()), max_size=9
    ),
    st.lists(st.tuples(st.integers(1, 4), st.booleans()), min_size=1, max_size=3),
    st.booleans(),
)
def test_sizes_are_those_of_the_choice(
    volumes: list[tuple[str, int, bool]], claims: list[tuple[int, bool]], picky: bool
) -> None:
    """That is made row by row, whether claims choose among the same volumes or not."""
    storage = Storage(make_class(), nodes=("n0", "n1", "n2"))
    for i, (node, gigabytes, gold) in enumerate(volumes):
        labels = {"grade": "gold"} if gold else {}
        storage.put(make_volume(f"v{i}", node, f"{gigabytes}Gi", labels=labels))
    wanted = []
    for i, (gigabytes, gold) in enumerate(claims):
        document = msgspec.to_builtins(make_claim(f"c{i}", size=f"{gigabytes}Gi"))
        if gold and picky:
            document["spec"]["selector"] = {"matchLabels": {"grade": "gold"}}
        wanted.append(msgspec.convert(document, PersistentVolumeClaim))
        storage.put(wanted[-1])
    snapshot = Snapshot(storage.context.cache)
    needs = volume_claims_of(wanted, snapshot)
    rows = np.array([snapshot.nodes.row_of[node] for node in ("n2", "n0", "n1")])
    found = {want.claim.metadata.name: taken for want, taken in taken_sizes(needs, snapshot, rows)}
    for i, row in enumerate(rows.tolist()):
        labels = labels_of(snapshot.nodes.names[row], snapshot)
        chosen = choose(needs.to_bind, labels, snapshot)
        for want, pv in zip(needs.to_bind, chosen, strict=True):
            taken = -1 if pv is None else size(pv)
            assert found[want.claim.metadata.name][i] == taken
