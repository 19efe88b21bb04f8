"""Of the invented cluster: pods, explained."""

from __future__ import annotations

from typing import Any

from tests.apps.ui.harbor import GPU, Document, moment, told

FILTERS = [
    "NodeUnschedulable",
    "NodeName",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
    "PodTopologySpread",
    "InterPodAffinity",
    "DynamicResources",
]
ZONE_OF = {
    "gpu-a100-0117": "fra1-c",
    "gpu-a100-0203": "fra1-b",
    "gpu-a100-0088": "fra1-a",
    "gpu-a100-0031": "fra1-a",
    "general-1843": "fra1-a",
    "general-0406": "fra1-a",
    "general-0977": "fra1-b",
    "general-2210": "fra1-b",
    "highmem-0052": "fra1-a",
}


def pod_documents() -> dict[str, Document]:
    """One of each kind."""
    return {
        "ml/eval-vision-0": _pending(),
        "shop/checkout-7c9d5b8f64-x2lqp": _bound(),
        "reports/backfill-x1": _gated(),
        "ml/train-llm-0": _member(),
        "shop/legacy-0": _untried("shop/legacy-0", "NoProfile", FOREIGN, "binpak"),
        "reports/held-0": _untried("reports/held-0", "Suspended", SUSPENDED, "batch"),
        "shop/leaving-0": _untried("shop/leaving-0", "BeingDeleted", DELETED, "binpack"),
    }


def _about(pod: str, scheduler: str, revision: str, **more: Any) -> Document:
    return {
        "pod": pod,
        "uid": f"uid-{pod.partition('/')[2]}",
        "created": moment(minutes=47),
        "schedulerName": scheduler,
        "revision": revision,
        "zones": ZONE_OF,
        "history": [],
        **more,
    }


def _pending() -> Document:
    return told(
        "PodExplanation",
        "No node has 4 GPUs and 96Gi of memory free; 2 nodes lack 1 GPU. Pending for 47m, 7 "
        "attempts.",
        verdict="Pending",
        message="none of 5000 nodes takes it",
        **_about(
            "ml/eval-vision-0", "gpu-jobs", "51be07c4", priority=1000, owner="Job ml/eval-vision"
        ),
        asks={"cpu": "12", "memory": "96Gi", GPU: "4", "pods": "1"},
        nodes=5000,
        placement=None,
        plugins=FILTERS,
        refusals=[
            _refusal(
                "NodeResourcesFit", "Insufficient memory", 3, {"gpu-a100-0031": {"memory": "28Gi"}}
            ),
            _refusal(
                "NodeResourcesFit",
                f"Insufficient {GPU}",
                221,
                {
                    "gpu-a100-0117": {GPU: "1"},
                    "gpu-a100-0203": {GPU: "1"},
                    "gpu-a100-0088": {GPU: "2"},
                },
            ),
            _refusal(
                "TaintToleration",
                "node(s) had untolerated taint(s)",
                4,
                {"gpu-a100-0003": {}},
                ["maintenance=planned:NoSchedule"],
            ),
            _refusal("NodeUnschedulable", "node(s) were unschedulable", 12, {"gpu-a100-0007": {}}),
            _refusal(
                "NodeAffinity",
                "node(s) didn't match Pod's node affinity/selector",
                4760,
                {"general-0001": {}},
                ["pool in (gpu-a100)"],
                resolvable=False,
            ),
        ],
        changes=[
            _change("request", f"{GPU} 4 -> 3", 2, "gpu-a100-0117", _patch(GPU, "3")),
            _change("request", "memory 96Gi -> 68Gi", 1, "gpu-a100-0031", _patch("memory", "68Gi")),
            _change(
                "move a pod",
                "ml/notebook-ana-0",
                1,
                "gpu-a100-0117",
                [],
                "gpu-a100-0117 -> gpu-a100-0204",
            ),
            _change("toleration", "maintenance=planned:NoSchedule", 2, "gpu-a100-0063", []),
            _change("add nodes", "1 like gpu-a100-0117", 1, "gpu-a100-0117-1", []),
        ],
        preemption={
            "helps": False,
            "node": "",
            "victims": [],
            "message": "on all 224 nodes left, every pod has priority 1000 or higher",
        },
        wakesOn=[
            {"plugin": "NodeResourcesFit", "resource": "Pod", "actions": ["Delete"]},
            {
                "plugin": "NodeResourcesFit",
                "resource": "Node",
                "actions": ["Add", "UpdateNodeAllocatable"],
            },
        ],
        wait={
            "queue": "unschedulable",
            "attempts": 7,
            "since": moment(seconds=10),
            "until": moment(seconds=-290),
            "gatingPlugin": "",
            "roomHeldUntil": None,
        },
        notAsked=[],
        foreign=False,
    )


def _refusal(
    plugin: str,
    reason: str,
    nodes: int,
    nearest: dict[str, dict[str, str]],
    details: list[str] | None = None,
    *,
    resolvable: bool = True,
) -> Document:
    return {
        "plugin": plugin,
        "reasons": [reason],
        "nodes": nodes,
        "resolvable": resolvable,
        "nearest": [
            {"node": name, "lacks": lacks, "details": details or [], "heldFor": []}
            for name, lacks in nearest.items()
        ],
    }


def _patch(resource: str, value: str) -> list[Document]:
    name = resource.replace("/", "~1")
    path = f"/spec/containers/0/resources/requests/{name}"
    return [{"op": "replace", "path": path, "value": value}]


def _change(
    kind: str, text: str, fits: int, node: str, patch: list[Document], effect: str = ""
) -> Document:
    return {
        "changes": [{"kind": kind, "text": text, "effect": effect}],
        "patch": patch,
        "fits": fits,
        "nodes": [node],
        "node": node,
        "verified": True,
    }


def _bound() -> Document:
    weights = {
        "TaintToleration": 3,
        "NodeAffinity": 2,
        "NodeResourcesFit": 20,
        "VolumeBinding": 1,
        "PodTopologySpread": 2,
        "InterPodAffinity": 2,
    }
    rows = {
        "general-1843": (300, 120, 1880, 0, 160, 0),
        "general-0406": (300, 120, 1880, 0, 160, 0),
        "general-0977": (300, 120, 1860, 0, 172, 0),
        "general-2210": (300, 0, 1900, 0, 172, 0),
        "highmem-0052": (300, 200, 1640, 0, 160, 0),
    }
    name = "shop/checkout-7c9d5b8f64-x2lqp"
    decision = {"time": 1795789926.412, "pod": name, "profile": "binpack", "revision": "9d02aa71"}
    return told(
        "PodExplanation",
        "Went to general-1843, one of 2 nodes with the highest score, at 14:32:06.412 by binpack "
        "9d02aa71.",
        verdict="Bound",
        message="is on general-1843",
        **_about(
            name, "binpack", "9d02aa71", priority=5000, owner="ReplicaSet shop/checkout-7c9d5b8f64"
        )
        | {"history": [{**decision, "node": "general-1843", "score": 2460, "message": ""}]},
        asks={"cpu": "500m", "memory": "1Gi", "pods": "1"},
        node="general-1843",
        nodes=5000,
        passed=3166,
        plugins=FILTERS,
        wait=None,
        weights=weights,
        scores=[
            {"node": node, "scores": dict(zip(weights, row, strict=True)), "total": sum(row)}
            for node, row in rows.items()
        ],
        best=["general-1843", "general-0406"],
        choice="general-1843",
        refusal=None,
        refusals=[
            _refusal(
                "NodeResourcesFit", "Insufficient cpu", 1402, {"general-0001": {"cpu": "100m"}}
            ),
            _refusal(
                "NodeResourcesFit", "Insufficient memory", 416, {"general-0002": {"memory": "1Gi"}}
            ),
            _refusal(
                "TaintToleration", "node(s) had untolerated taint(s)", 4, {"gpu-a100-0003": {}}
            ),
            _refusal("NodeUnschedulable", "node(s) were unschedulable", 12, {"gpu-a100-0007": {}}),
        ],
        notAsked=[],
        foreign=False,
    )


def _member() -> Document:
    """Of a gang of 24, eight of which find no node; room is held for it."""
    why = "0/5000 nodes are available: 224 Insufficient nvidia.com/gpu."
    placed = [f"gpu-a100-{i:04}" for i in range(16)]
    members = [
        {
            "pod": f"ml/train-llm-{i}",
            "node": placed[i] if i < len(placed) else "",
            "placed": False,
            "message": "" if i < len(placed) else why,
        }
        for i in range(24)
    ]
    no_help = {"helps": False, "victims": [], "message": "No preemption victims found"}
    group = {
        "name": "ml/train-llm",
        "api": "scheduling.k8s.io/v1beta1",
        "gang": True,
        "minCount": 24,
        "priority": 2000,
        "topologyKey": "",
        "present": 24,
        "begun": False,
        "members": members,
        "placements": [{"name": "", "members": 16, "reason": why, "tried": True}],
        "refused": "ml/train-llm-16",
        "refusals": [
            _refusal("NodeResourcesFit", f"Insufficient {GPU}", 224, {placed[0]: {GPU: "8"}})
        ],
        "changes": [_change("minCount", "24 -> 16", 16, placed[0], [])],
        "changesNotTried": 0,
        "preemption": {**no_help, "nodes": []},
        "roomHeldOn": [{"pod": "ml/train-llm-0", "node": placed[0]}],
    }
    return told(
        "PodExplanation",
        "ml/train-llm-0 waits with its group: 16 of 24 members of ml/train-llm find a node, and 24 "
        f"are needed together. {why} Pending for 47m.",
        verdict="Pending",
        message=why,
        **_about("ml/train-llm-0", "gpu-jobs", "51be07c4", priority=2000, owner="Job ml/train-llm"),
        asks={"cpu": "12", GPU: "8", "pods": "1"},
        nodes=5000,
        placement=None,
        placedTogether=24,
        plugins=FILTERS,
        refusals=group["refusals"],
        changes=group["changes"],
        changesNotTried=0,
        preemption={**no_help, "node": ""},
        wakesOn=[],
        group=group,
        wait={
            "queue": "backoff",
            "attempts": 7,
            "since": moment(seconds=10),
            "until": moment(seconds=-4),
            "gatingPlugin": "",
            "roomHeldUntil": moment(seconds=-210),
        },
        notAsked=[],
        foreign=False,
    )


def _gated() -> Document:
    return told(
        "PodExplanation",
        "Gated: kueue.x-k8s.io/admission is to be removed first. Pending for 18m.",
        verdict="Gated",
        message="SchedulingGates: waiting for scheduling gates: kueue.x-k8s.io/admission",
        **_about(
            "reports/backfill-x1", "batch", "7a40d3e8", priority=0, owner="Job reports/backfill"
        ),
        asks={"cpu": "2", "memory": "4Gi", "pods": "1"},
        nodes=5000,
        placement=None,
        plugins=FILTERS,
        refusals=[],
        changes=[],
        preemption={"helps": False, "node": "", "victims": [], "message": ""},
        wakesOn=[],
        wait={
            "queue": "gated",
            "attempts": 0,
            "since": moment(minutes=18),
            "until": None,
            "gatingPlugin": "SchedulingGates",
            "roomHeldUntil": None,
        },
        notAsked=[],
        foreign=False,
    )


FOREIGN = "no SchedulerProfile decides for 'binpak'; did you mean binpack?"
SUSPENDED = "the SchedulerProfile that decides for 'batch' is suspended"
DELETED = "it is being deleted, and will not be placed"


def _untried(pod: str, verdict: str, text: str, scheduler: str) -> Document:
    return told(
        "PodExplanation",
        f"{pod} waits: {text}",
        verdict=verdict,
        message=text,
        **_about(pod, scheduler, "", priority=0, owner=None),
        plugins=FILTERS,
        wait=None,
    )
