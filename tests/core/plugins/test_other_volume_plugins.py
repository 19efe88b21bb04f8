"""VolumeRestrictions, NodeVolumeLimits and VolumeZone beside their vectors: what is supposed, whose
claims count, what wakes a pod.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from moorage.core.columns.store import Store
from moorage.core.framework.cluster_events import ActionType, ClusterEvent, EventResource
from moorage.core.framework.status import Code
from moorage.core.objects.meta import HasMetadata
from moorage.core.objects.storage import (
    CSIDriver,
    CSINode,
    CSINodeSpec,
    PersistentVolume,
    StorageClass,
)
from moorage.core.plugins.node_volume_limits import NodeVolumeLimits
from moorage.core.plugins.volume_restrictions import VolumeRestrictions, VolumeRestrictionsState
from moorage.core.plugins.volume_zone import VolumeZone
from moorage.core.volumes.pod_volumes import ClaimUse
from tests.builders import make_node
from tests.core.plugins.volume_binding.test_plugin import FOREIGN, OWN, USES, is_woken
from tests.core.storage_builders import (
    Storage,
    csi,
    make_attachment,
    make_claim,
    make_class,
    make_csi_node,
    make_volume,
    with_claims,
)
from tests.core.volume_strategies import pod

LIMIT = ("node(s) exceed max volume count",)

# ---- VolumeRestrictions --------------------------------------------------------------------------


def test_users_of_a_claim_for_one_pod_alone_are_counted() -> None:
    """Once for each volume, and not those of another namespace's claim of the same name, which
    kube-scheduler counts too.
    """
    snapshot = Storage().context.snapshot
    plugin, wanted = (
        VolumeRestrictions(),
        VolumeRestrictionsState((), frozenset({ClaimUse("a", "c")}), 1),
    )
    twice = [
        {"persistentVolumeClaim": {"claimName": "c"}},
        {"persistentVolumeClaim": {"claimName": "c"}},
    ]
    assert plugin.adjust(wanted, with_claims("q", "c"), 0, -1, snapshot).users == 0
    assert plugin.adjust(wanted, pod("q", "a", twice), 0, 1, snapshot).users == 3
    assert plugin.adjust(wanted, pod("q", "b", twice), 0, 1, snapshot) is wanted
    assert plugin.adjust(wanted, with_claims("q", "d"), 0, 1, snapshot) is wanted


def test_a_claim_for_one_pod_alone_in_use() -> None:
    """Keeps other pods off all nodes, until its user goes; an ephemeral volume's claim of the same
    name is another use.
    """
    storage = Storage(make_claim("q-v0", "v", mode="ReadWriteOncePod"), make_volume("v"))
    assert storage.refused(with_claims("p", "q-v0")) == {}
    storage.put(pod("q", "a", [{"ephemeral": {}}], "n0"))
    assert storage.refused(with_claims("p", "q-v0")) == {}
    storage.put(with_claims("q", "q-v0", node="n0"))
    assert set(storage.refused(with_claims("p", "q-v0"))) == {"n0", "n1"}
    storage.context.cache.remove("uid-a-q")
    assert storage.refused(with_claims("p", "q-v0")) == {}


DISK = [{"gcePersistentDisk": {"pdName": "d"}}]


@pytest.mark.parametrize(
    ("gone", "woken"),
    [
        (pod("q", "a", [{"persistentVolumeClaim": {"claimName": "c"}}], "n"), True),
        (pod("q", "b", [{"persistentVolumeClaim": {"claimName": "c"}}], "n"), False),
        (pod("q", "a", DISK, "n"), True),
        (pod("q", "b", DISK, "n"), True),
        (pod("q", "a", [{"persistentVolumeClaim": {"claimName": "d"}}], "n"), False),
    ],
)
def test_whose_end_frees_a_disk_or_claim(gone: HasMetadata, woken: bool) -> None:
    """A pod of the same namespace with the same claim, or of any with the same disk."""
    waiting = pod("p", "a", [*DISK, {"persistentVolumeClaim": {"claimName": "c"}}])
    event = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE, gone)
    assert is_woken(VolumeRestrictions(), waiting, event) == woken


# ---- NodeVolumeLimits ----------------------------------------------------------------------------


def own_claim(owner: str, volume: str = "") -> Any:
    """The claim of the ephemeral volume of pod ``p``, owned by a pod."""
    owners = [{"kind": "Pod", "uid": f"uid-a-{owner}", "controller": True}]
    return make_claim("p-v0", volume, ownerReferences=owners)


def test_a_claim_that_a_pod_does_not_own() -> None:
    """Of a pod on a node it does not count; a pod to be placed is refused, and others are not
    hindered.
    """
    storage = Storage(
        make_csi_node("n0", 1),
        make_claim("c", "w"),
        make_volume("w", csi=csi("w")),
        make_volume("v", csi=csi("v")),
        nodes=("n0",),
    )
    storage.put(pod("p", "a", [{"ephemeral": {}}], "n0"), own_claim("p", "v"))
    assert storage.refused(with_claims("q", "c")) == {"n0": LIMIT}
    storage.put(own_claim("somebody", "v"))
    assert storage.refused(with_claims("q", "c")) == {}
    storage.context.cache.remove("uid-a-p")
    plugin, wanted = NodeVolumeLimits(), pod("p", "a", [{"ephemeral": {}}])
    state = plugin.pre_filter(wanted, storage.context.snapshot).state
    (code,) = plugin.filter(state, storage.context.snapshot, slice(0, 1)).tolist()
    assert plugin.explain(state, code)[0][1] == "a/p-v0 was not created for pod a/p"


def test_pods_with_ephemeral_volumes_are_told_apart() -> None:
    """Each has claims of its own."""
    snapshot = Storage().context.snapshot
    plugin = NodeVolumeLimits()
    one, other = (plugin.sign_pod(pod(name, "a", [{"ephemeral": {}}]), snapshot) for name in "pq")
    assert one != other
    assert plugin.sign_pod(with_claims("p", "c"), snapshot) == b""


@pytest.mark.parametrize(
    ("source", "attached"),
    [
        (
            {"gcePersistentDisk": {"pdName": "d"}},
            ("pd.csi.storage.gke.io", "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d"),
        ),
        ({"awsElasticBlockStore": {"volumeID": "vol-1"}}, ("ebs.csi.aws.com", "vol-1")),
        ({"awsElasticBlockStore": {"volumeID": "aws://z/vol-1"}}, ("ebs.csi.aws.com", "vol-1")),
        ({"azureDisk": {"diskURI": "u", "kind": "Managed"}}, ("disk.csi.azure.com", "u")),
        ({"cinder": {"volumeID": "u"}}, ("cinder.csi.openstack.org", "u")),
        ({"portworxVolume": {"volumeID": "u"}}, ("pxd.portworx.com", "u")),
        ({"azureDisk": {"diskURI": "u", "kind": "Dedicated"}}, None),
        ({"awsElasticBlockStore": {"volumeID": "aws://z/odd"}}, None),
        ({"iscsi": {"iqn": "i"}}, None),
    ],
)
def test_volumes_that_were_in_tree(
    source: dict[str, Any], attached: tuple[str, str] | None
) -> None:
    """They count for the CSI driver that took over, in a pod's spec and as volumes of claims; those
    that can't be translated do not.
    """
    storage = Storage(nodes=("n0",))
    storage.put(
        pod("p", "a", [source], "n0"),
        make_volume("v", **source),
        make_claim("c", "v"),
        with_claims("q", "c", node="n0"),
    )
    mounted = storage.context.cache.volumes._mounted
    assert [(volume.driver, volume.handle) for volume in mounted] == (
        [attached] if attached else []
    )


@pytest.mark.parametrize(
    ("zones", "handle"),
    [
        ("us-east1-b", "projects/UNSPECIFIED/zones/us-east1-b/disks/d"),
        ("us-east1-b__us-east1-c", "projects/UNSPECIFIED/regions/us-east1/disks/d"),
        ("us-east1-b__us-east2-c", None),
        ("odd__us-east1-c", None),
    ],
)
def test_regional_disks(zones: str, handle: str | None) -> None:
    """A disk in several zones of one region is known by the region."""
    storage = Storage(make_claim("c", "v"), with_claims("q", "c", node="n0"))
    storage.put(
        make_volume(
            "v", gcePersistentDisk={"pdName": "d"}, labels={"topology.kubernetes.io/zone": zones}
        )
    )
    assert [volume.handle for volume in storage.context.cache.volumes._mounted] == (
        [handle] if handle else []
    )


def drivers(**counts: int | None) -> CSINode:
    """A node with these limits."""
    said = [{"name": name, "allocatable": {"count": count}} for name, count in counts.items()]
    return msgspec.convert({"metadata": {"name": "n"}, "spec": {"drivers": said}}, CSINode)


def driver(name: str, insists: bool | None) -> CSIDriver:
    """One that wants to be installed where its volumes go, or not."""
    document = {"metadata": {"name": name}, "spec": {"preventPodSchedulingIfMissing": insists}}
    return msgspec.convert(document, CSIDriver)


INSISTS, RELAXED = driver("x", True), driver("x", None)


@pytest.mark.parametrize("insists", [True, False, None])
def test_a_driver_may_insist_on_being_installed(insists: bool | None) -> None:
    """Then nodes without it are refused, also without a CSINode; volumes that were in-tree count
    only where there is one.
    """
    storage = Storage(
        make_claim("c", "v"),
        make_volume("v", csi=csi("x-1")),
        *(driver(name, insists) for name in ("x", "ebs.csi.aws.com")),
        make_csi_node("n0", 1),
        make_csi_node("n1", None),
        nodes=("n0", "n1", "n2"),
    )
    storage.put(msgspec.structs.replace(make_csi_node("n1", None), spec=CSINodeSpec()))
    missing = ("x CSI driver is not installed on the node",)
    expected = {"n1": missing, "n2": missing} if insists else {}
    assert storage.refused(with_claims("p", "c")) == expected
    missing = ("ebs.csi.aws.com CSI driver is not installed on the node",)
    assert storage.refused(WITH_DISK) == ({"n0": missing, "n1": missing} if insists else {})
    storage.put(driver("x", None), driver("ebs.csi.aws.com", None))
    assert storage.refused(with_claims("p", "c")) == storage.refused(WITH_DISK) == {}


WITH_DISK = pod("p", "a", [{"awsElasticBlockStore": {"volumeID": "vol-1"}}])


@pytest.mark.parametrize(
    ("waiting", "event", "woken"),
    [
        (USES, ClusterEvent(EventResource.CSI_NODE, ActionType.ADD, None, drivers()), True),
        (
            USES,
            ClusterEvent(EventResource.CSI_NODE, ActionType.UPDATE, drivers(x=1), drivers(x=2)),
            True,
        ),
        (
            USES,
            ClusterEvent(
                EventResource.CSI_NODE, ActionType.UPDATE, drivers(x=1), drivers(x=1, y=1)
            ),
            True,
        ),
        (
            USES,
            ClusterEvent(EventResource.CSI_NODE, ActionType.UPDATE, drivers(x=1), drivers(x=None)),
            True,
        ),
        (
            USES,
            ClusterEvent(
                EventResource.CSI_NODE, ActionType.UPDATE, drivers(x=1, y=None), drivers(x=1)
            ),
            False,
        ),
        (
            USES,
            ClusterEvent(EventResource.CSI_NODE, ActionType.UPDATE, drivers(x=2), drivers(x=1)),
            False,
        ),
        (
            USES,
            ClusterEvent(EventResource.CSI_DRIVER, ActionType.UPDATE, INSISTS, RELAXED),
            True,
        ),
        (USES, ClusterEvent(EventResource.CSI_DRIVER, ActionType.DELETE, INSISTS, None), True),
        (USES, ClusterEvent(EventResource.CSI_DRIVER, ActionType.DELETE, RELAXED, None), False),
        (
            USES,
            ClusterEvent(
                EventResource.ASSIGNED_POD, ActionType.DELETE, with_claims("q", "d", node="n")
            ),
            True,
        ),
        (
            USES,
            ClusterEvent(
                EventResource.ASSIGNED_POD,
                ActionType.DELETE,
                pod("q", "a", [{"cinder": {"volumeID": "u"}}], "n"),
            ),
            True,
        ),
        (
            USES,
            ClusterEvent(EventResource.UNSCHEDULED_POD, ActionType.DELETE, with_claims("q", "d")),
            False,
        ),
        (
            USES,
            ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE, pod("q", "a", [{}], "n")),
            False,
        ),
        (
            USES,
            ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD, None, OWN),
            True,
        ),
        (
            USES,
            ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD, None, FOREIGN),
            False,
        ),
        (
            USES,
            ClusterEvent(
                EventResource.VOLUME_ATTACHMENT, ActionType.DELETE, make_attachment("at", "n", "v")
            ),
            True,
        ),
        (
            WITH_DISK,
            ClusterEvent(
                EventResource.VOLUME_ATTACHMENT, ActionType.DELETE, make_attachment("at", "n", "v")
            ),
            False,
        ),
    ],
)
def test_what_makes_room_for_volumes(waiting: Any, event: ClusterEvent, woken: bool) -> None:
    """By event."""
    assert is_woken(NodeVolumeLimits(), waiting, event) == woken


@pytest.mark.parametrize("insists", [True, False])
def test_a_driver_that_was_missed_wakes(insists: bool) -> None:
    """One that did not insist was not missed."""
    event = ClusterEvent(EventResource.CSI_NODE, ActionType.UPDATE, drivers(), drivers(y=None))
    store = Store()
    store.put(driver("y", insists))
    (wake,) = (one for one in NodeVolumeLimits().events_to_register if one.matches(event))
    assert wake.hint is not None
    assert wake.hint(USES, event, store) is insists


# ---- VolumeZone ----------------------------------------------------------------------------------


def test_a_nodes_newer_label_stands_for_a_volumes_older_one() -> None:
    """A node that still has the older one is judged by it."""
    old, new = "failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"
    storage = Storage(
        make_class(), make_claim("c", "v"), make_volume("v", labels={old: "z"}), nodes=()
    )
    for name, labels in {
        "new": {new: "z"},
        "old": {old: "z"},
        "both": {old: "y", new: "z"},
        "none": {},
        "other": {new: "y"},
    }.items():
        storage.context.cache.put_node(make_node(name, labels=labels))
    assert set(storage.refused(with_claims("p", "c"))) == {"both", "other"}


ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"


@pytest.mark.parametrize(
    ("labels", "refused"),
    [
        ({ZONE: "a"}, {"b", "a_b", "a__b", "region"}),
        ({ZONE: "a__b"}, {"a_b", "a__b", "region"}),
        ({ZONE: "b__c__a"}, {"a_b", "a__b", "region"}),
        ({ZONE: "a_b"}, {"a", "b", "a__b", "region"}),
        ({ZONE: ""}, set()),
        ({ZONE: "a____b"}, set()),
        ({ZONE: "a__ __b"}, set()),
        ({ZONE: " a __ b"}, {"a_b", "a__b", "region"}),
        ({REGION: "r__s"}, {"a", "b", "a_b", "a__b"}),
        ({ZONE: "a__b", REGION: "r"}, {"a", "b", "a_b", "a__b", "region"}),
        ({ZONE: "a____b", REGION: "s"}, {"a", "b", "a_b", "a__b", "region"}),
        ({}, set()),
    ],
)
def test_a_volume_may_be_in_several_zones(labels: dict[str, str], refused: set[str]) -> None:
    """With two underscores between, and blanks, which kube-scheduler leaves out; a list with an
    empty part says nothing, and a node without any zone or region takes all.
    """
    storage = Storage(make_class(), make_claim("c", "v"), make_volume("v", labels=labels), nodes=())
    for zone in ("a", "b", "a_b", "a__b"):
        storage.context.cache.put_node(make_node(zone, labels={ZONE: zone}))
    storage.context.cache.put_node(make_node("region", labels={REGION: "r"}))
    storage.context.cache.put_node(make_node("anywhere"))
    assert set(storage.refused(with_claims("p", "c"))) == refused


@pytest.mark.parametrize(
    ("objects", "class_", "reasons"),
    [
        ([make_class()], "static", ()),
        ([make_class(mode="Immediate")], "static", ("PersistentVolume had no name",)),
        (
            [make_class(mode=None)],
            "static",
            ('VolumeBindingMode not set for StorageClass "static"',),
        ),
        ([], "static", ('storageclass.storage.k8s.io "static" not found',)),
        ([make_class()], "", ("PersistentVolumeClaim had no pv name and storageClass name",)),
    ],
)
def test_a_claim_without_volume_waits_for_its_pod_or_the_pod_for_it(
    objects: list[HasMetadata], class_: str, reasons: tuple[str, ...]
) -> None:
    """In kube-scheduler's words."""
    annotations = {"volume.beta.kubernetes.io/storage-class": class_}
    storage = Storage(make_claim("c", annotations=annotations), *objects)
    prepared = VolumeZone().pre_filter(with_claims("p", "c"), storage.context.snapshot)
    assert prepared.status.reasons == reasons
    assert (prepared.status.code is Code.SKIP) is (not reasons)


def test_a_volume_that_moves_is_seen() -> None:
    """Of a pod that was judged before, too."""
    storage = Storage(make_class(), make_claim("c", "v"), zoned("z"), nodes=())
    storage.context.cache.put_node(make_node("n0", labels={"topology.kubernetes.io/zone": "z"}))
    assert storage.refused(with_claims("p", "c")) == {}
    storage.put(zoned("y"))
    assert storage.refused(with_claims("p", "c")) == {
        "n0": ("node(s) had no available volume zone",)
    }


def zoned(zone: str) -> PersistentVolume:
    """A volume in a zone."""
    return make_volume("v", labels={"topology.kubernetes.io/zone": zone, "colour": zone})


@pytest.mark.parametrize(
    ("event", "woken"),
    [
        (ClusterEvent(EventResource.STORAGE_CLASS, ActionType.ADD, None, make_class()), True),
        (
            ClusterEvent(
                EventResource.STORAGE_CLASS, ActionType.ADD, None, make_class(mode="Immediate")
            ),
            False,
        ),
        (
            ClusterEvent(
                EventResource.PERSISTENT_VOLUME_CLAIM,
                ActionType.UPDATE,
                make_claim("c"),
                make_claim("c", "v"),
            ),
            True,
        ),
        (ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD, None, OWN), False),
        (ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD, None, FOREIGN), False),
        (ClusterEvent(EventResource.PERSISTENT_VOLUME, ActionType.ADD, None, zoned("a")), True),
        (
            ClusterEvent(
                EventResource.PERSISTENT_VOLUME, ActionType.UPDATE, zoned("a"), zoned("b")
            ),
            True,
        ),
        (
            ClusterEvent(
                EventResource.PERSISTENT_VOLUME, ActionType.UPDATE, zoned("a__b"), zoned("b__a")
            ),
            False,
        ),
    ],
)
def test_what_moves_a_volume(event: ClusterEvent, woken: bool) -> None:
    """By event."""
    assert is_woken(VolumeZone(), USES, event) == woken


def test_a_claim_without_name_is_refused() -> None:
    """Kube-scheduler's text; the API server admits none."""
    assert isinstance(make_class(), StorageClass)
    prepared = VolumeZone().pre_filter(with_claims("p", ""), Storage().context.snapshot)
    assert prepared.status.reasons == ("PersistentVolumeClaim had no name",)
