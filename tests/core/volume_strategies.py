"""Hypothesis strategies for pods with volumes and the storage that they meet. Few names, so that
they often speak of each other.
"""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import strategies as st

from moorage.core.framework.registry import build_registry
from moorage.core.framework.revisions import EnabledPlugins, PluginRef, RequestedProfile, resolve
from moorage.core.objects.meta import HasMetadata
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod
from moorage.core.objects.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from moorage.core.plugins.intree import INTREE, PRESETS
from tests.core.placement_strategies import lists, mostly
from tests.oracle.volumes import PLUGINS, SELECTED, ZONES

HOST, EBS_ZONE = "kubernetes.io/hostname", "topology.ebs.csi.aws.com/zone"
NODE_NAMES = [f"n{i}" for i in range(4)]
NAMESPACES = ["a", "a", "b"]
CLAIMS = [f"c{i}" for i in range(4)]
VOLUMES = [f"v{i}" for i in range(5)]
POD_NAMES = [f"p{i}" for i in range(6)]
CLASSES = ["wait", "wait", "wait", "static", "static", "static", "ebs", "now"]
GOING = "2026-01-01T00:00:00Z"
_BOUND = {"pv.kubernetes.io/bind-completed": "yes"}
_SIZES = ["1Gi", "2Gi", "3Gi"]

_ENABLED = EnabledPlugins(
    tuple(map(PluginRef, ("PrioritySort", *PLUGINS, "DefaultBinder"))), ("*",)
)
REVISION = resolve(
    RequestedProfile("volumes", plugins={"multiPoint": _ENABLED}), build_registry(INTREE), PRESETS
)


def node(name: str, body: dict[str, Any]) -> Node:
    """A node of this name."""
    labels = {HOST: name, **{key: zone for key, zone in body.items() if zone is not None}}
    return msgspec.convert(
        {"metadata": {"name": name, "labels": labels}, "status": {"allocatable": {"pods": "99"}}},
        Node,
    )


node_bodies = st.fixed_dictionaries(
    {ZONES[0]: st.sampled_from(["z0", "z0", "z1", None])},
    optional={EBS_ZONE: st.sampled_from(["z0", "z1"]), ZONES[1]: st.just("r0")},
)

# ---- pods ----------------------------------------------------------------------------------------

claim_volumes = st.sampled_from(CLAIMS).map(
    lambda name: {"persistentVolumeClaim": {"claimName": name}}
)
disks = st.one_of(
    st.builds(lambda ro: {"gcePersistentDisk": {"pdName": "d", "readOnly": ro}}, st.booleans()),
    st.just({"awsElasticBlockStore": {"volumeID": "h0"}}),
    st.builds(lambda ro: {"iscsi": {"iqn": "i", "readOnly": ro}}, st.booleans()),
    st.builds(
        lambda seen, ro: {"rbd": {"monitors": seen, "pool": "p", "image": "i", "readOnly": ro}},
        lists(st.sampled_from(["m1", "m2"]), 2),
        st.booleans(),
    ),
)
others_than_claims: st.SearchStrategy[dict[str, Any]] = st.one_of(
    disks, st.sampled_from([{"ephemeral": {}}, {"ephemeral": {}}, {}])
)
_one = st.one_of(claim_volumes, claim_volumes, others_than_claims)
volume_lists: st.SearchStrategy[list[dict[str, Any]]] = st.one_of(
    lists(claim_volumes, 3, 1), lists(claim_volumes, 3, 1), lists(_one, 3)
)


def pod(name: str, namespace: str, volumes: list[dict[str, Any]], node_name: str = "") -> Pod:
    """A pod of this name with these volumes, called v0, v1 and so on."""
    named = [{"name": f"v{i}", **one} for i, one in enumerate(volumes)]
    meta = {"name": name, "namespace": namespace, "uid": f"uid-{namespace}-{name}"}
    return msgspec.convert(
        {"metadata": meta, "spec": {"volumes": named, "nodeName": node_name}}, Pod
    )


# ---- volumes -------------------------------------------------------------------------------------


def _within(key: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": "In", "values": list(values)}]}


affinities = st.sampled_from(
    [
        None,
        [_within(ZONES[0], "z0")],
        [_within(ZONES[0], "z0", "z1")],
        [_within(HOST, "n0")],
        [_within(HOST, "n1")],
        [_within(HOST, "n1"), _within(ZONES[0], "z1")],
        [{"matchExpressions": [{"key": ZONES[1], "operator": "DoesNotExist"}]}],
        [],
    ]
)
sources = st.one_of(
    st.builds(
        lambda driver, i: {"csi": {"driver": driver, "volumeHandle": f"h{i}"}},
        st.sampled_from(["x", "y"]),
        st.integers(0, 2),
    ),
    st.builds(lambda i: {"awsElasticBlockStore": {"volumeID": f"h{i}"}}, st.integers(0, 1)),
    st.just({}),
)
claim_refs = mostly(
    None,
    st.builds(
        lambda namespace, name, own: {
            "namespace": namespace,
            "name": name,
            "uid": f"uid-{namespace}-{name}" if own else "",
        },
        st.sampled_from(NAMESPACES),
        st.sampled_from(CLAIMS),
        st.booleans(),
    ),
)
volume_specs = st.fixed_dictionaries(
    {
        "capacity": st.sampled_from([*_SIZES, "3Gi", "3Gi"]).map(lambda size: {"storage": size}),
        "accessModes": lists(st.sampled_from(["ReadWriteOnce", "ReadOnlyMany"]), 2, 1),
        "storageClassName": st.sampled_from(["wait", "static", "static", "static"]),
        "nodeAffinity": affinities.map(
            lambda terms: None if terms is None else {"required": {"nodeSelectorTerms": terms}}
        ),
        "claimRef": claim_refs,
        "volumeMode": mostly(None, mostly("Filesystem", st.just("Block"))),
    }
)
zone_labels = st.sampled_from(
    [
        {},
        {},
        {ZONES[0]: "z0"},
        {ZONES[0]: "z0__z1"},
        {ZONES[0]: "z0__"},
        {"failure-domain.beta.kubernetes.io/zone": "z1"},
    ]
)


def _volume(
    name: str, spec: dict[str, Any], source: dict[str, Any], labels: dict[str, str], state: str
) -> PersistentVolume:
    # the twin does not translate labels
    labels = {} if "awsElasticBlockStore" in source else labels
    meta = {
        "name": name,
        "labels": labels,
        "deletionTimestamp": GOING if state == "Going" else None,
    }
    phase = "Available" if state == "Going" else state
    return msgspec.convert(
        {"metadata": meta, "spec": {**spec, **source}, "status": {"phase": phase}}, PersistentVolume
    )


states = mostly("Available", st.sampled_from(["Bound", "Released", "Going"]))


def volumes_named(names: st.SearchStrategy[str]) -> st.SearchStrategy[PersistentVolume]:
    """Volumes with one of these names."""
    return st.builds(_volume, names, volume_specs, sources, zone_labels, states)


# ---- claims --------------------------------------------------------------------------------------

claim_specs = st.fixed_dictionaries(
    {
        "storageClassName": st.sampled_from([*CLASSES, *CLASSES, *CLASSES, "gone", ""]),
        "accessModes": st.sampled_from(
            [["ReadWriteOnce"], ["ReadWriteOnce"], ["ReadOnlyMany"], ["ReadWriteOncePod"]]
        ),
        "resources": st.sampled_from([*_SIZES, *_SIZES, None]).map(
            lambda size: {"requests": {"storage": size}} if size else None
        ),
        "volumeMode": mostly(None, mostly(None, st.just("Block"))),
        "selector": mostly(None, mostly(None, st.just({"matchLabels": {ZONES[0]: "z0"}}))),
    }
)
bindings: st.SearchStrategy[tuple[str, dict[str, str]]] = st.one_of(
    st.sampled_from(VOLUMES).map(lambda name: (name, _BOUND)),
    st.sampled_from([("", {})] * 8 + [("", {SELECTED: "n0"}), ("v0", {})]),
    st.just(("", {})),
)


def _claim(
    namespace: str,
    name: str,
    spec: dict[str, Any],
    binding: tuple[str, dict[str, str]],
    state: tuple[str, str],
) -> PersistentVolumeClaim:
    """``state``: a phase (or Going), and the pod that owns it."""
    phase, owner = state
    owners = (
        [{"kind": "Pod", "uid": f"uid-{namespace}-{owner}", "controller": True}] if owner else None
    )
    meta = {
        "name": name,
        "namespace": namespace,
        "uid": f"uid-{namespace}-{name}",
        "annotations": binding[1],
        "ownerReferences": owners,
    }
    if phase == "Going":
        meta["deletionTimestamp"] = GOING
    document = {
        "metadata": meta,
        "spec": {**spec, "volumeName": binding[0]},
        "status": {"phase": phase},
    }
    return msgspec.convert(document, PersistentVolumeClaim)


phases = st.sampled_from(["Pending"] * 20 + ["Lost", "Going"]).map(lambda phase: (phase, ""))


def claims_named(
    namespaces: st.SearchStrategy[str], names: st.SearchStrategy[str]
) -> st.SearchStrategy[PersistentVolumeClaim]:
    """Claims with one of these names."""
    return st.builds(_claim, namespaces, names, claim_specs, bindings, phases)


ephemeral_claims = st.builds(
    lambda namespace, owner, i, mine, spec, binding: _claim(
        namespace, f"{owner}-v{i}", spec, binding, ("Pending", owner if mine else "somebody")
    ),
    st.sampled_from(NAMESPACES),
    st.sampled_from([*POD_NAMES, "new"]),
    st.integers(0, 1),
    mostly(True, st.just(False)),
    claim_specs,
    bindings,
)

# ---- classes, drivers, attachments ---------------------------------------------------------------

_PROVISIONERS = {"static": "kubernetes.io/no-provisioner", "ebs": "kubernetes.io/aws-ebs"}
topologies = mostly(
    None,
    st.sampled_from(
        [
            [{"matchLabelExpressions": [{"key": ZONES[0], "values": ["z0"]}]}],
            [{"matchLabelExpressions": []}],
        ]
    ),
)


def _class(name: str, allowed: list[Any] | None) -> StorageClass:
    document = {
        "metadata": {"name": name},
        "provisioner": _PROVISIONERS.get(name, "x"),
        "volumeBindingMode": "Immediate" if name == "now" else "WaitForFirstConsumer",
        "allowedTopologies": allowed,
    }
    return msgspec.convert(document, StorageClass)


capacities = st.builds(
    lambda i, name, topology, room, most: msgspec.convert(
        {
            "metadata": {"name": f"cap{i}", "namespace": "a"},
            "storageClassName": name,
            "nodeTopology": topology,
            "capacity": room,
            "maximumVolumeSize": most,
        },
        CSIStorageCapacity,
    ),
    st.integers(0, 2),
    st.sampled_from(["wait", "ebs"]),
    st.sampled_from([None, {}, {"matchLabels": {ZONES[0]: "z0"}}, {"matchLabels": {HOST: "n1"}}]),
    st.sampled_from(["0", "2Gi", "9Gi", None]),
    mostly(None, st.just("1Gi")),
)
drivers = st.builds(
    lambda name, tells, insists: msgspec.convert(
        {
            "metadata": {"name": name},
            "spec": {"storageCapacity": tells, "preventPodSchedulingIfMissing": insists},
        },
        CSIDriver,
    ),
    mostly("x", st.just("ebs.csi.aws.com")),
    st.booleans(),
    mostly(None, st.booleans()),
)
limits = st.dictionaries(
    st.sampled_from(["x", "y", "ebs.csi.aws.com", "pd.csi.storage.gke.io"]),
    st.sampled_from([0, 1, 1, 2, None]),
)
migrated = st.sampled_from(
    [{}, {"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/aws-ebs,other"}]
)


def _csi_node(name: str, counts: dict[str, int | None], notes: dict[str, str]) -> CSINode:
    said = [{"name": driver, "allocatable": {"count": count}} for driver, count in counts.items()]
    return msgspec.convert(
        {"metadata": {"name": name, "annotations": notes}, "spec": {"drivers": said}}, CSINode
    )


def csi_nodes_named(names: st.SearchStrategy[str]) -> st.SearchStrategy[CSINode]:
    """CSINodes with one of these names."""
    return st.builds(_csi_node, names, limits, migrated)


attachments = st.builds(
    lambda i, driver, where, name: msgspec.convert(
        {
            "metadata": {"name": f"va{i}"},
            "spec": {
                "attacher": driver,
                "nodeName": where,
                "source": {"persistentVolumeName": name},
            },
        },
        VolumeAttachment,
    ),
    st.integers(0, 2),
    st.sampled_from(["x", "y"]),
    st.sampled_from([*NODE_NAMES, "elsewhere"]),
    st.sampled_from(VOLUMES),
)
others: st.SearchStrategy[HasMetadata] = st.one_of(
    claims_named(st.sampled_from(NAMESPACES), st.sampled_from(CLAIMS)),
    ephemeral_claims,
    volumes_named(st.sampled_from(VOLUMES)),
    st.builds(_class, st.sampled_from(CLASSES), topologies),
    capacities,
    drivers,
    csi_nodes_named(st.sampled_from([*NODE_NAMES, "elsewhere"])),
    attachments,
)
everything: st.SearchStrategy[tuple[HasMetadata, ...]] = st.tuples(
    *(st.builds(_class, st.just(name), topologies) for name in sorted(set(CLASSES))),
    *(claims_named(st.just("a"), st.just(name)) for name in CLAIMS),
    *(volumes_named(st.just(name)) for name in VOLUMES),
    *(csi_nodes_named(st.just(name)) for name in NODE_NAMES[:2]),
    drivers,
    capacities,
    attachments,
)
"""Enough for most pods to be placed."""
