"""VolumeBinding: who gets which volume, what is assumed, and what wakes a pod."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from moorage.core.columns.snapshot import Snapshot
from moorage.core.columns.store import Store
from moorage.core.cycle.cycle import unreserve_and_forget
from moorage.core.framework.cluster_events import ActionType, ClusterEvent, EventResource
from moorage.core.framework.utilization_shape import UtilizationShapePoint
from moorage.core.objects.meta import HasMetadata, Labels
from moorage.core.objects.pods import Pod
from moorage.core.objects.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolumeClaim,
    StorageClass,
)
from moorage.core.plugins.volume_binding.plugin import PodVolumes, VolumeBinding, VolumeBindingArgs
from moorage.core.plugins.volume_binding.volume_checks import VOLUME_GONE
from moorage.core.volumes.claims import BOUND_BY_CONTROLLER, SELECTED_NODE
from tests.builders import make_node
from tests.core.storage_builders import Storage, make_claim, make_class, make_volume, with_claims
from tests.core.volume_strategies import pod

NOTHING_FREE = "node(s) didn't find available persistent volumes to bind"
OUT_OF_REACH = "node(s) didn't match PersistentVolume's node affinity"


# ---- who gets which volume -----------------------------------------------------------------------


def test_claims_of_one_class_share_scarce_volumes() -> None:
    """Two claims do not fit a node with one volume; one with two, of which one is too small for
    both, neither.
    """
    storage = Storage(
        make_class(),
        make_claim("small"),
        make_claim("large", size="2Gi"),
        nodes=("n0", "n1", "n2", "n3"),
    )
    storage.put(make_volume("v0", "n0", "2Gi"))
    storage.put(make_volume("v1", "n1", "2Gi"), make_volume("w1", "n1"))
    storage.put(make_volume("v2", "n2"), make_volume("w2", "n2"))
    storage.put(make_volume("v3", "n3", "2Gi"), make_volume("w3", "n3", "2Gi"))
    assert storage.refused(with_claims("p", "large", "small")) == {
        "n0": (NOTHING_FREE,),
        "n2": (NOTHING_FREE,),
    }


def test_the_smallest_claim_chooses_first() -> None:
    """It takes the smallest volume, also if a larger claim could use no other: as in
    kube-scheduler.
    """
    storage = Storage(make_class(), make_claim("small"), nodes=("n0",))
    document = msgspec.to_builtins(make_claim("gold", size="2Gi"))
    document["spec"]["selector"] = {"matchLabels": {"grade": "gold"}}
    storage.put(msgspec.convert(document, PersistentVolumeClaim))
    storage.put(
        make_volume("v", "n0", "2Gi", labels={"grade": "gold"}), make_volume("w", "n0", "3Gi")
    )
    assert storage.refused(with_claims("p", "gold", "small")) == {"n0": (NOTHING_FREE,)}
    storage.put(make_volume("u", "n0", "1Gi"))
    placement = storage.place(with_claims("p", "gold", "small"))
    assert {pv.metadata.name for pv in work_of(placement).volumes} == {"u", "v"}


def test_one_reason_of_unbound_claims() -> None:
    """What can't be made first ends it, the smallest first; a bound claim out of reach is told
    besides.
    """
    capacities = msgspec.convert(
        {"metadata": {"name": "x"}, "spec": {"storageCapacity": True}}, CSIDriver
    )
    storage = Storage(capacities, make_class(), make_class("made", "x"), nodes=("n0",))
    document = msgspec.to_builtins(make_claim("large", size="2Gi"))
    document["spec"]["storageClassName"] = "made"
    storage.put(
        msgspec.convert(document, PersistentVolumeClaim),
        make_claim("small"),
        make_claim("far", "v"),
    )
    storage.put(make_volume("v", "elsewhere"))
    assert storage.refused(with_claims("p", "large")) == {
        "n0": ("node(s) did not have enough free storage",)
    }
    assert storage.refused(with_claims("p", "large", "small")) == {"n0": (NOTHING_FREE,)}
    assert storage.refused(with_claims("p", "far", "large")) == {
        "n0": (OUT_OF_REACH, "node(s) did not have enough free storage")
    }


def test_two_volumes_of_one_claim() -> None:
    """They need one volume between them."""
    storage = Storage(make_class(), make_claim("c"), make_volume("v", "n0"), nodes=("n0",))
    assert storage.refused(with_claims("p", "c", "c")) == {}


@pytest.mark.parametrize(
    ("labels", "terms", "migrated", "refused"),
    [
        (
            {},
            [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["z"]}],
            False,
            ["csi", "none"],
        ),
        (
            {},
            [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["z"]}],
            True,
            ["old", "none"],
        ),
        ({"failure-domain.beta.kubernetes.io/zone": "z__y"}, None, False, []),
        ({"failure-domain.beta.kubernetes.io/zone": "z__y"}, None, True, ["old", "none"]),
        ({"failure-domain.beta.kubernetes.io/region": "r"}, None, True, []),
    ],
    ids=["in-tree", "migrated", "labels in-tree", "labels migrated", "region alone"],
)
def test_volumes_that_were_in_tree(
    labels: Labels, terms: list[Any] | None, migrated: bool, refused: list[str]
) -> None:
    """Where the CSI driver has taken over, its own zone label counts, and the zones that the volume
    is labelled with.
    """
    storage = Storage(make_class(), make_claim("c", "v"), nodes=())
    places = {
        "old": {"topology.kubernetes.io/zone": "z"},
        "csi": {"topology.ebs.csi.aws.com/zone": "z"},
        "none": {},
    }
    notes = (
        {"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/aws-ebs"}
        if migrated
        else {}
    )
    for name, there in places.items():
        storage.context.cache.put_node(make_node(name, labels=there))
        storage.put(msgspec.convert({"metadata": {"name": name, "annotations": notes}}, CSINode))
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": terms}]}} if terms else None
    storage.put(
        make_volume(
            "v",
            awsElasticBlockStore={"volumeID": "aws://z/vol-1"},
            labels=labels,
            nodeAffinity=affinity,
        )
    )
    said = storage.refused(with_claims("p", "c"))
    assert sorted(name for name, reasons in said.items() if reasons == (OUT_OF_REACH,)) == sorted(
        refused
    )


# ---- assuming ------------------------------------------------------------------------------------


def work_of(placement: Any) -> PodVolumes:
    """What is to be written for a placement."""
    work = placement.reservations["VolumeBinding"].value
    assert isinstance(work, PodVolumes)
    return work


def test_what_was_chosen_is_taken_until_given_up() -> None:
    """The next pod gets the other volume, a third one none; one that gives up gives back."""
    claims = [make_claim(f"c{i}") for i in range(3)]
    storage = Storage(make_class(), *claims, make_volume("v0", "n0"), make_volume("v1", "n1"))
    first, second = storage.place(with_claims("p0", "c0")), storage.place(with_claims("p1", "c1"))
    assert {first.node, second.node} == {"n0", "n1"}
    assert storage.refused(with_claims("p2", "c2")) == {
        "n0": (NOTHING_FREE,),
        "n1": (NOTHING_FREE,),
    }
    unreserve_and_forget(first, storage.context.cache)
    unreserve_and_forget(first, storage.context.cache)
    assert storage.place(with_claims("p2", "c2")).node == first.node


def test_what_is_written() -> None:
    """The volume names the claim, and that a controller chose it; one that was set aside by
    somebody only gets the rest of the name.
    """
    storage = Storage(
        make_class(), make_claim("c", resourceVersion="7"), make_volume("v"), nodes=("n0",)
    )
    (pv,) = work_of(storage.place(with_claims("p", "c"))).volumes
    assert pv.spec.claim_ref is not None
    ref = msgspec.to_builtins(pv.spec.claim_ref)
    assert ref == {
        "kind": "PersistentVolumeClaim",
        "apiVersion": "v1",
        "namespace": "a",
        "name": "c",
        "uid": "uid-c",
        "resourceVersion": "7",
    }
    assert pv.metadata.annotations == {BOUND_BY_CONTROLLER: "yes"}
    aside = Storage(
        make_class(),
        make_claim("c"),
        make_volume("v", claimRef={"namespace": "a", "name": "c"}),
        nodes=("n0",),
    )
    (pv,) = work_of(aside.place(with_claims("p", "c"))).volumes
    assert pv.spec.claim_ref is not None
    assert (pv.spec.claim_ref.uid, pv.metadata.annotations) == ("uid-c", None)


def test_a_volume_to_be_made_for_a_node_is_not_made_for_another() -> None:
    """A second pod with the claim must go to the same node, before the API server shows the choice
    and when it does.
    """
    storage = Storage(make_class("static", "x"), make_claim("c"))
    placement = storage.place(with_claims("p", "c"))
    work = work_of(placement)
    assert ([claim.metadata.annotations for claim in work.provisions], work.volumes) == (
        [{SELECTED_NODE: placement.node}],
        (),
    )
    (other,) = {"n0", "n1"} - {placement.node}
    assert storage.refused(with_claims("q", "c")) == {other: (NOTHING_FREE,)}
    storage.put(*work.provisions)
    assert storage.refused(with_claims("q", "c")) == {other: (NOTHING_FREE,)}


@pytest.mark.parametrize("changed", ["volume", "claim"])
def test_what_the_api_server_shows_counts_more(changed: str) -> None:
    """An object that changed is not what was assumed of it any more, and giving up does not bring
    that back.
    """
    storage = Storage(
        make_class("static", "x" if changed == "claim" else "kubernetes.io/no-provisioner"),
        make_claim("c"),
        make_claim("d"),
    )
    if changed == "volume":
        storage.put(make_volume("v", "n0"))
    placement = storage.place(with_claims("p", "c"))
    if changed == "volume":
        assert set(storage.refused(with_claims("q", "d"))) == {"n0", "n1"}
        storage.put(make_volume("v", "n1", version="2"))
        assert set(storage.refused(with_claims("q", "d"))) == {"n0"}
        unreserve_and_forget(placement, storage.context.cache)
        assert set(storage.refused(with_claims("q", "d"))) == {"n0"}
    else:
        storage.put(make_claim("c", resourceVersion="9"))
        assert storage.refused(with_claims("q", "c")) == {}
        unreserve_and_forget(placement, storage.context.cache)
        assert storage.refused(with_claims("q", "c")) == {}


def test_a_volume_that_changed_after_it_was_chosen() -> None:
    """Its newest state says who can reach it, also for the claim that is bound to it by then."""
    storage = Storage(make_class(), make_claim("c"), make_volume("v", "n0"))
    assert storage.place(with_claims("p", "c")).node == "n0"
    storage.put(make_volume("v", "n1", version="2"), make_claim("c", "v"))
    assert storage.refused(with_claims("q", "c")) == {"n0": (OUT_OF_REACH,)}


def test_room_that_comes_and_goes_is_seen() -> None:
    """Of a pod that was judged before, too."""
    storage = Storage(driver(True), make_class("static", "x"), make_claim("c"), nodes=("n0",))
    wanted, full = with_claims("p", "c"), {"n0": ("node(s) did not have enough free storage",)}
    assert storage.refused(wanted) == full
    there = {"metadata": {"name": "r"}, "storageClassName": "static", "nodeTopology": {}}
    storage.put(msgspec.convert({**there, "capacity": "1Gi"}, CSIStorageCapacity))
    assert storage.refused(wanted) == {}
    storage.put(msgspec.convert({**there, "capacity": "1023Mi"}, CSIStorageCapacity))
    assert storage.refused(wanted) == full
    storage.put(driver(False))
    assert storage.refused(wanted) == {}


def test_a_volume_that_is_gone_is_on_no_node() -> None:
    """Its claim stays bound to it; other plugins for volumes say so first, where they are asked."""
    storage = Storage(make_class(), make_claim("c", "v"))
    plugin, snapshot = VolumeBinding(VolumeBindingArgs()), Snapshot(storage.context.cache)
    state = plugin.pre_filter(with_claims("p", "c"), snapshot).state
    codes = plugin.filter(state, snapshot, snapshot.nodes.all_rows)
    assert [plugin.explain(state, code)[0][0] for code in codes.tolist()] == [VOLUME_GONE] * 2


def test_nothing_is_to_be_written_for_bound_claims() -> None:
    """Nor for pods without claims."""
    storage = Storage(make_class(), make_claim("c", "v"), make_volume("v", "n0"))
    assert storage.place(with_claims("p", "c")).reservations["VolumeBinding"].value is None
    assert "VolumeBinding" not in storage.place(with_claims("q")).reservations


# ---- faults, arguments, wakes --------------------------------------------------------------------


def test_a_class_without_binding_mode_is_a_fault() -> None:
    """The API server fills it in, so nobody knows what is meant; kube-scheduler's text."""
    storage = Storage(make_class(mode=None), make_claim("c"))
    wanted = with_claims("p", "c")
    assert storage.refused(wanted) == {
        "": (
            (
                'running PreFilter plugin "VolumeBinding": VolumeBindingMode not set for '
                'StorageClass "static"'
            ),
        )
    }


def test_arguments() -> None:
    """Kube-scheduler's texts."""
    shape = UtilizationShapePoint(50, 0), UtilizationShapePoint(50, 10)
    faults = VolumeBindingArgs(-1, shape).validate()
    assert [(fault.path, fault.message) for fault in faults] == [
        ("bindTimeoutSeconds", "invalid BindTimeoutSeconds, should not be a negative value"),
        ("shape[1].utilization", "values must be sorted in increasing order"),
    ]
    assert VolumeBindingArgs(0, ()).validate() == []
    assert VolumeBindingArgs(0).validate() == []


def driver(tells: bool | None) -> CSIDriver:
    """A driver that tells its room, or not."""
    return msgspec.convert(
        {"metadata": {"name": "x"}, "spec": {"storageCapacity": tells}}, CSIDriver
    )


def room(amount: str | None, most: str | None = None) -> CSIStorageCapacity:
    """So much room, or volumes of at most this size."""
    return msgspec.convert(
        {"metadata": {"name": "r"}, "capacity": amount, "maximumVolumeSize": most},
        CSIStorageCapacity,
    )


def taken_over(*plugins: str) -> CSINode:
    """A node on which CSI drivers took these over."""
    notes = {"storage.alpha.kubernetes.io/migrated-plugins": ",".join(plugins)}
    return msgspec.convert({"metadata": {"name": "n", "annotations": notes}}, CSINode)


def allowed(*values: str) -> StorageClass:
    """A class for these zones."""
    terms = (
        [{"matchLabelExpressions": [{"key": "zone", "values": list(values)}]}] if values else None
    )
    return msgspec.convert({"metadata": {"name": "s"}, "allowedTopologies": terms}, StorageClass)


USES = pod("p", "a", [{"persistentVolumeClaim": {"claimName": "c"}}, {"ephemeral": {}}])
OWN = msgspec.convert({"metadata": {"name": "p-v1", "namespace": "a"}}, PersistentVolumeClaim)
FOREIGN = msgspec.convert({"metadata": {"name": "c", "namespace": "b"}}, PersistentVolumeClaim)


@pytest.mark.parametrize(
    ("resource", "old", "new", "woken"),
    [
        (EventResource.PERSISTENT_VOLUME_CLAIM, None, make_claim("c"), True),
        (EventResource.PERSISTENT_VOLUME_CLAIM, make_claim("c"), make_claim("c", "v"), True),
        (EventResource.PERSISTENT_VOLUME_CLAIM, None, OWN, True),
        (EventResource.PERSISTENT_VOLUME_CLAIM, None, FOREIGN, False),
        (EventResource.PERSISTENT_VOLUME_CLAIM, None, make_claim("d"), False),
        (EventResource.PERSISTENT_VOLUME, None, make_volume("v"), True),
        (EventResource.PERSISTENT_VOLUME, make_volume("v"), make_volume("v", size="2Gi"), True),
        (EventResource.STORAGE_CLASS, None, allowed(), True),
        (EventResource.STORAGE_CLASS, allowed("a"), allowed("a", "b"), True),
        (EventResource.STORAGE_CLASS, allowed("a"), allowed("a"), False),
        (EventResource.CSI_NODE, None, taken_over(), True),
        (EventResource.CSI_NODE, taken_over("a"), taken_over("a", "b"), True),
        (EventResource.CSI_NODE, taken_over("b", "a"), taken_over("a", "b"), False),
        (EventResource.CSI_DRIVER, driver(True), driver(False), True),
        (EventResource.CSI_DRIVER, driver(True), driver(None), True),
        (EventResource.CSI_DRIVER, driver(False), driver(True), False),
        (EventResource.CSI_DRIVER, None, driver(False), False),
        (EventResource.CSI_STORAGE_CAPACITY, None, room("0"), True),
        (EventResource.CSI_STORAGE_CAPACITY, room("1Gi"), room("2Gi"), True),
        (EventResource.CSI_STORAGE_CAPACITY, room("9Gi", "1Gi"), room("3Gi", "2Gi"), True),
        (EventResource.CSI_STORAGE_CAPACITY, room("2Gi"), room("9Gi", "1Gi"), False),
        (EventResource.CSI_STORAGE_CAPACITY, room("2Gi"), room("2Gi"), False),
    ],
)
def test_what_wakes_a_pod(
    resource: EventResource, old: HasMetadata | None, new: HasMetadata, woken: bool
) -> None:
    """By event."""
    event = ClusterEvent(resource, ActionType.ADD if old is None else ActionType.UPDATE, old, new)
    assert is_woken(VolumeBinding(), USES, event) == woken


def is_woken(plugin: Any, waiting: Pod, event: ClusterEvent) -> bool:
    """Whether a registration of the plugin lets the event wake the pod."""
    return any(
        wake.matches(event) and (wake.hint is None or wake.hint(waiting, event, Store()))
        for wake in plugin.events_to_register
    )
