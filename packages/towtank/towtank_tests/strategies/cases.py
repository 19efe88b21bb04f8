"""What is asked of both, a kube-apiserver and the embedded cluster: requests by name, each a list
of steps.

Steps of one case follow upon one another; cases share a cluster, so each has names of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

Body: TypeAlias = dict[str, Any]
Step: TypeAlias = tuple[str, str, Body | None]
"""Method (MERGE is a merge patch), path and body."""

CORE: Final = "/api/v1/namespaces/default"
APPS: Final = "/apis/apps/v1/namespaces/default"
BATCH: Final = "/apis/batch/v1/namespaces/default"
POLICY: Final = "/apis/policy/v1/namespaces/default"
STORAGE: Final = "/apis/storage.k8s.io/v1"
PODS: Final = f"{CORE}/pods"
MAPS: Final = f"{CORE}/configmaps"
CLAIMS: Final = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
REQUEST: Final = {"name": "r", "exactly": {"deviceClassName": "gpu"}}
GROUPS: Final = "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups"
TEMPLATES: Final = "/apis/scheduling.k8s.io/v1beta1/namespaces/default/workloads"
RUNTIMES: Final = "/apis/node.k8s.io/v1/runtimeclasses"
ADMISSION: Final = "/apis/admissionregistration.k8s.io/v1"
FLOWS: Final = "/apis/flowcontrol.apiserver.k8s.io/v1"
RULE: Final = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["CREATE"],
    "resources": ["pods"],
}
TOLERATION: Final = {"key": "k", "operator": "Exists"}
CONSUMER: Final = {"resource": "pods", "name": "p", "uid": "uid-1"}


def named(name: str, **rest: Any) -> Body:
    """An object of that name."""
    return {"metadata": {"name": name}, **rest}


def pod(name: str, **spec: Any) -> Body:
    """A pod of one container."""
    return named(name, spec={"containers": [{"name": "main", "image": "busybox:1"}], **spec})


def container(**rest: Any) -> Body:
    """A pod's only container."""
    return {"containers": [{"name": "main", "image": "busybox:1", **rest}]}


def template(**labels: str) -> Body:
    """A pod template."""
    return {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "main", "image": "busybox"}]},
    }


def workload(name: str, **spec: Any) -> Body:
    """A Deployment, ReplicaSet, StatefulSet or DaemonSet."""
    return named(
        name,
        spec={"selector": {"matchLabels": {"app": name}}, "template": template(app=name), **spec},
    )


def create(path: str, *bodies: Body) -> list[Step]:
    """Create these."""
    return [("POST", path, body) for body in bodies]


def finalized(name: str, *finalizers: str) -> Body:
    """An object of that name, with these."""
    return {"metadata": {"name": name, "finalizers": list(finalizers)}}


def deletions(path: str, body: Body, *propagations: str) -> list[Step]:
    """Create, then delete again and again; who else holds it holds it to the end."""
    one = f"{path}/{body['metadata']['name']}"
    steps: list[Step] = [("POST", path, body)]
    for propagation in propagations:
        said = {"propagationPolicy": propagation} if propagation else None
        steps += [("DELETE", one, said), ("GET", one, None)]
    return steps


def changes(path: str, body: Body, *patches: Body) -> list[Step]:
    """Create, then patch again and again."""
    return [
        ("POST", path, body),
        *(("MERGE", f"{path}/{body['metadata']['name']}", patch) for patch in patches),
    ]


_JOB: Final = named("d9", spec={"template": {"spec": {**container(), "restartPolicy": "Never"}}})

_PODS: Final[Mapping[str, Sequence[Step]]] = {
    "a pod": create(PODS, pod("plain")),
    "pods that say much": create(
        PODS,
        named(
            "much",
            spec={
                "initContainers": [
                    {"name": "first", "image": "a:latest", "restartPolicy": "Always"}
                ],
                "containers": [
                    {
                        "name": "main",
                        "image": "registry:5000/a/b",
                        "ports": [{"containerPort": 80}],
                        "resources": {"limits": {"cpu": "1000m", "memory": "1Gi"}},
                        "livenessProbe": {"httpGet": {"port": 80}},
                        "readinessProbe": {"exec": {"command": ["true"]}, "periodSeconds": 5},
                        "lifecycle": {"preStop": {"httpGet": {"port": 80}}},
                        "env": [
                            {"name": "N", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}
                        ],
                        "volumeMounts": [{"name": "config", "mountPath": "/c"}],
                    }
                ],
                "volumes": [
                    {"name": "nothing"},
                    {"name": "config", "configMap": {"name": "c"}},
                    {"name": "secret", "secret": {"secretName": "s"}},
                    {"name": "host", "hostPath": {"path": "/h"}},
                    {
                        "name": "all",
                        "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]},
                    },
                    {
                        "name": "down",
                        "downwardAPI": {
                            "items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.name"}}]
                        },
                    },
                    {
                        "name": "own",
                        "ephemeral": {
                            "volumeClaimTemplate": {
                                "spec": {
                                    "accessModes": ["ReadWriteOnce"],
                                    "resources": {"requests": {"storage": "1Gi"}},
                                }
                            }
                        },
                    },
                ],
                "serviceAccountName": "robot",
                "topologySpreadConstraints": [
                    {
                        "maxSkew": 1,
                        "topologyKey": "zone",
                        "whenUnsatisfiable": "DoNotSchedule",
                        "labelSelector": {"matchLabels": {"a": "b"}},
                    }
                ],
            },
        ),
    ),
    "host network": create(
        PODS,
        pod(
            "host",
            hostNetwork=True,
            containers=[{"name": "a", "image": "b", "ports": [{"containerPort": 80}]}],
        ),
    ),
    "guaranteed": create(
        PODS, pod("guaranteed", **container(resources={"limits": {"cpu": "1", "memory": "1Gi"}}))
    ),
    "burstable": create(
        PODS, pod("burstable", **container(resources={"requests": {"cpu": "0.5"}}))
    ),
    "classes of service": create(
        PODS,
        *(
            pod(name, **container(resources=resources))
            for name, resources in {
                "equal": {
                    "requests": {"cpu": "1", "memory": "1Gi"},
                    "limits": {"cpu": "1000m", "memory": "1024Mi"},
                },
                "less": {"requests": {"cpu": "500m"}, "limits": {"cpu": "1", "memory": "1Gi"}},
                "unlimited": {"requests": {"cpu": "1", "memory": "1Gi"}},
                "half-limited": {"limits": {"cpu": "1"}},
                "limited-to-nothing": {"limits": {"cpu": "0", "memory": "0"}},
                "wants-nothing": {"requests": {"cpu": "0"}, "limits": {"cpu": "1"}},
                "others": {"limits": {"example.com/gpu": "1"}},
            }.items()
        ),
        pod(
            "one-of-two",
            containers=[
                {"name": "a", "image": "a", "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}},
                {"name": "b", "image": "b"},
            ],
        ),
        pod(
            "first-too",
            initContainers=[
                {"name": "a", "image": "a", "resources": {"requests": {"memory": "1Gi"}}}
            ],
            **container(resources={"limits": {"cpu": "1", "memory": "1Gi"}}),
        ),
    ),
    "classes of service of whole pods": create(
        PODS,
        *(
            pod(name, resources=resources, **container(resources={"requests": {"cpu": "1"}}))
            for name, resources in {
                "whole": {
                    "requests": {"cpu": "2", "memory": "2Gi"},
                    "limits": {"cpu": "2", "memory": "2Gi"},
                },
                "whole-less": {
                    "requests": {"cpu": "1", "memory": "2Gi"},
                    "limits": {"cpu": "2", "memory": "2Gi"},
                },
                "whole-unlimited": {"requests": {"cpu": "2"}},
            }.items()
        ),
        pod("whole-nothing", resources={}),
    ),
    "no containers": create(PODS, named("none", spec={}), named("empty", spec={"containers": []})),
    "bad names": create(
        PODS,
        pod("Bad_Name"),
        pod("a" * 254),
        pod(""),
        *(
            {**pod("keys"), "metadata": {"name": "keys", "labels": {key: "b"}}}
            for key in ("/a", "a/b/c", "X/b", "a" * 64, "a/")
        ),
        {
            **pod("values"),
            "metadata": {"name": "values", "labels": {"a": "b" * 64}, "annotations": {"a b": "c"}},
        },
        {
            **pod("finalizers"),
            "metadata": {"name": "finalizers", "finalizers": ["x", "a/b/c", "foregroundDeletion"]},
        },
        {**pod("owned"), "metadata": {"name": "owned", "ownerReferences": [{"kind": "X"}]}},
        pod("selector", nodeSelector={"a b": "c d"}),
        pod("node", nodeName="A b"),
        pod("gate", schedulingGates=[{"name": "a b"}]),
    ),
    "what is empty": [
        *changes(
            PODS,
            {
                **pod(
                    "hollow",
                    nodeSelector={},
                    tolerations=[],
                    volumes=[],
                    imagePullSecrets=[],
                    affinity={},
                    readinessGates=[],
                    topologySpreadConstraints=[],
                    resourceClaims=[],
                    **container(
                        env=[],
                        args=[],
                        command=[],
                        ports=[],
                        volumeMounts=[],
                        resources={"limits": {}, "requests": {}},
                    ),
                ),
                "metadata": {
                    "name": "hollow",
                    "labels": {},
                    "annotations": {},
                    "finalizers": [],
                    "ownerReferences": [],
                },
            },
            {"metadata": {"labels": {"a": "b"}}},
            {"metadata": {"labels": {"a": None}, "annotations": {}}},
        ),
        *create(
            f"{CORE}/configmaps",
            named("hollow", data={}, binaryData={}),
            named("undecided", immutable=False),
        ),
        *create(f"{CORE}/secrets", named("hollow", data={}, stringData={})),
        *create(f"{CORE}/serviceaccounts", named("hollow", secrets=[], imagePullSecrets=[])),
        *create(
            "/api/v1/nodes",
            named(
                "hollow",
                spec={"unschedulable": False, "taints": []},
                status={"conditions": [], "images": []},
            ),
        ),
        *create(
            f"{STORAGE}/storageclasses",
            named(
                "hollow",
                provisioner="x",
                parameters={},
                mountOptions=[],
                allowVolumeExpansion=False,
            ),
        ),
        *create(
            f"{APPS}/deployments",
            workload("hollow", replicas=0),
        ),
        *create(
            f"{CORE}/services",
            named("hollow", spec={"ports": [{"port": 80}], "selector": {}, "externalIPs": []}),
        ),
    ],
    "debugged": [
        *create(PODS, pod("debugged", nodeName="n")),
        (
            "MERGE",
            f"{PODS}/debugged/ephemeralcontainers",
            {"spec": {"ephemeralContainers": [{"name": "more", "image": "busybox"}]}},
        ),
        ("GET", f"{PODS}/debugged/ephemeralcontainers", None),
    ],
    "bad containers": create(
        PODS,
        pod("twice", containers=[{"name": "a", "image": "b"}, {"name": "a", "image": "b"}]),
        pod("nameless", containers=[{"image": "b"}]),
        pod("capital", containers=[{"name": "A", "image": "b"}]),
        pod("imageless", containers=[{"name": "a"}]),
        pod("init-imageless", initContainers=[{"name": "i"}]),
    ),
    "resources": create(
        PODS,
        pod("over", **container(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}})),
        pod("below", **container(resources={"requests": {"cpu": "-1"}})),
        pod("unreadable", **container(resources={"requests": {"cpu": "much"}})),
        pod("unknown", **container(resources={"requests": {"gpu": "1"}})),
        pod("device", **container(resources={"requests": {"example.com/gpu": "1"}})),
        pod("device-half", **container(resources={"limits": {"example.com/gpu": "0.5"}})),
        pod(
            "device-differs",
            **container(
                resources={"limits": {"example.com/gpu": "2"}, "requests": {"example.com/gpu": "1"}}
            ),
        ),
    ),
    "bad enumerations": create(
        PODS,
        pod("restart", restartPolicy="Sometimes"),
        pod("dns", dnsPolicy="Some"),
        pod("pull", **container(imagePullPolicy="Now")),
        pod("preempt", preemptionPolicy="Maybe"),
    ),
    "bad tolerations": create(
        PODS,
        pod("tol-op", tolerations=[{"key": "a", "operator": "Some"}]),
        pod("tol-value", tolerations=[{"key": "a", "operator": "Exists", "value": "b"}]),
        pod("tol-empty", tolerations=[{"operator": "Equal"}]),
        pod("tol-effect", tolerations=[{"key": "a", "effect": "Some"}]),
        pod(
            "tol-seconds",
            tolerations=[{"key": "a", "effect": "NoSchedule", "tolerationSeconds": 1}],
        ),
    ),
    "tolerations": create(
        PODS,
        pod("tolerant", tolerations=[{"operator": "Exists"}]),
        pod("half", tolerations=[{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}]),
    ),
    "bad spreading": create(
        PODS,
        pod(
            "spread",
            topologySpreadConstraints=[
                {"maxSkew": 0, "topologyKey": "", "whenUnsatisfiable": "Perhaps"}
            ],
        ),
        pod(
            "spread-twice",
            topologySpreadConstraints=[
                {"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule"}
            ]
            * 2,
        ),
        pod(
            "spread-domains",
            topologySpreadConstraints=[
                {
                    "maxSkew": 1,
                    "topologyKey": "a",
                    "whenUnsatisfiable": "ScheduleAnyway",
                    "minDomains": 2,
                }
            ],
        ),
    ),
    "bad affinity": create(
        PODS,
        pod(
            "terms",
            affinity={
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}
                }
            },
        ),
        pod(
            "in",
            affinity={
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [
                            {"matchExpressions": [{"key": "a", "operator": "In"}]}
                        ]
                    }
                }
            },
        ),
        pod(
            "topology",
            affinity={
                "podAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": ""}]
                }
            },
        ),
        pod(
            "weight",
            affinity={
                "podAntiAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {"weight": 0, "podAffinityTerm": {"topologyKey": "a"}}
                    ]
                }
            },
        ),
    ),
    "bad volumes": create(
        PODS,
        pod("mount", **container(volumeMounts=[{"name": "v", "mountPath": "/v"}])),
        pod("volumes", volumes=[{"name": "v", "emptyDir": {}}, {"name": "v", "emptyDir": {}}]),
        pod("claim", volumes=[{"name": "v", "persistentVolumeClaim": {}}]),
    ),
    "bad ports": create(
        PODS, pod("port", **container(ports=[{"containerPort": 0}, {"containerPort": 70000}]))
    ),
    "bad labels": create(
        PODS, {**pod("labels"), "metadata": {"name": "labels", "labels": {"a b": "c", "d": "e f"}}}
    ),
    "negative grace": create(PODS, pod("negative", terminationGracePeriodSeconds=-1)),
    "gates": [
        *changes(
            PODS,
            pod("gated", schedulingGates=[{"name": "example.com/a"}, {"name": "example.com/b"}]),
            {"spec": {"schedulingGates": [{"name": "example.com/b"}], "nodeSelector": {"a": "b"}}},
            {"spec": {"schedulingGates": [{"name": "example.com/b"}, {"name": "example.com/c"}]}},
        ),
        ("POST", f"{PODS}/gated/binding", named("gated", target={"kind": "Node", "name": "n"})),
        ("MERGE", f"{PODS}/gated", {"spec": {"schedulingGates": []}}),
        ("MERGE", f"{PODS}/gated", {"spec": {"nodeSelector": {"a": "c"}}}),
        ("POST", PODS, pod("gated-node", nodeName="n", schedulingGates=[{"name": "a"}])),
        ("POST", PODS, pod("gated-twice", schedulingGates=[{"name": "a"}, {"name": "a"}])),
    ],
    "changes of a pod": changes(
        PODS,
        pod("changing"),
        {"metadata": {"labels": {"a": "b"}}},
        {"spec": {"activeDeadlineSeconds": 10}},
        {"spec": {"activeDeadlineSeconds": 20}},
        {"spec": {"tolerations": [{"key": "x", "operator": "Exists"}]}},
        {"spec": {"containers": [{"name": "main", "image": "busybox:2"}]}},
        {"spec": {"containers": [{"name": "main", "image": "busybox:2", "command": ["x"]}]}},
        {
            "spec": {
                "containers": [
                    {"name": "main", "image": "busybox:2"},
                    {"name": "more", "image": "busybox:2"},
                ]
            }
        },
        {"spec": {"nodeName": "n"}},
        {"spec": {"priority": 5}},
        {"spec": {"schedulerName": "other"}},
        {"status": {"phase": "Running"}},
    ),
    "priority": [
        *create(
            "/apis/scheduling.k8s.io/v1/priorityclasses",
            named("high", value=1000, description="x"),
            named("polite", value=10, preemptionPolicy="Never"),
            named("system-own", value=10),
            named("too-high", value=2000000000),
            named("policy", value=1, preemptionPolicy="Some"),
        ),
        *create(
            PODS,
            pod("higher", priorityClassName="high"),
            pod("polite", priorityClassName="polite"),
            pod("no-class", priorityClassName="none"),
        ),
        *create(
            PODS,
            pod("own-priority", priority=7),
            pod("own-class", priorityClassName="high", priority=7),
        ),
        *create(PODS, pod("system", priorityClassName="system-node-critical")),
        *create(PODS, pod("own-policy", priorityClassName="high", preemptionPolicy="Never")),
        ("MERGE", "/apis/scheduling.k8s.io/v1/priorityclasses/high", {"value": 2000}),
        ("MERGE", "/apis/scheduling.k8s.io/v1/priorityclasses/high", {"preemptionPolicy": "Never"}),
        ("MERGE", "/apis/scheduling.k8s.io/v1/priorityclasses/high", {"description": "y"}),
        ("GET", "/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical", None),
        ("GET", "/apis/scheduling.k8s.io/v1/priorityclasses/system-cluster-critical", None),
    ],
    "a global default": [
        *create(
            "/apis/scheduling.k8s.io/v1/priorityclasses",
            named("usual", value=5, globalDefault=True),
            named("second", value=6, globalDefault=True),
        ),
        *create(PODS, pod("usual")),
        ("DELETE", "/apis/scheduling.k8s.io/v1/priorityclasses/usual", None),
        ("DELETE", "/apis/scheduling.k8s.io/v1/priorityclasses/second", None),
    ],
    "status": [
        *create(PODS, {**pod("status"), "status": {"phase": "Failed"}}),
        (
            "MERGE",
            f"{PODS}/status/status",
            {
                "status": {"phase": "Running", "podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}]},
                "spec": {"nodeName": "m"},
            },
        ),
        (
            "MERGE",
            f"{PODS}/status/status",
            {"metadata": {"labels": {"a": "b"}}, "status": {"nominatedNodeName": "n"}},
        ),
        ("MERGE", f"{PODS}/status/status", {"status": {"qosClass": "Guaranteed"}}),
        ("POST", f"{PODS}/status/binding", named("status", target={"kind": "Node", "name": "n"})),
        ("GET", f"{PODS}/status", None),
    ],
    "binding": [
        *create(PODS, pod("bound")),
        ("POST", f"{PODS}/bound/binding", named("bound", target={"kind": "Pod", "name": "n"})),
        ("POST", f"{PODS}/bound/binding", named("bound", target={})),
        ("POST", f"{PODS}/bound/binding", named("other", target={"name": "n"})),
        ("POST", f"{PODS}/bound/binding", {"target": {"name": "n"}}),
        ("GET", f"{PODS}/bound", None),
        ("POST", f"{PODS}/bound/binding", named("bound", target={"kind": "Node", "name": "n"})),
        ("POST", f"{CORE}/bindings", named("bound", target={"kind": "Node", "name": "n"})),
        ("POST", f"{CORE}/bindings", {"target": {"kind": "Node", "name": "n"}}),
        ("POST", f"{PODS}/missing/binding", named("missing", target={"kind": "Node", "name": "n"})),
        ("DELETE", f"{PODS}/bound", None),
        ("POST", PODS, pod("bound-2")),
        (
            "POST",
            f"{PODS}/bound-2/binding",
            {
                "metadata": {"name": "bound-2", "uid": "11111111-1111-1111-1111-111111111111"},
                "target": {"kind": "Node", "name": "n"},
            },
        ),
        (
            "POST",
            f"{PODS}/bound-2/binding",
            {
                "metadata": {"name": "bound-2", "annotations": {"a": "b"}, "labels": {"c": "d"}},
                "target": {"kind": "Node", "name": "n"},
            },
        ),
        ("GET", f"{PODS}/bound-2", None),
    ],
    "deletion": [
        *create(
            PODS,
            pod("unbound"),
            pod("on-node", nodeName="n"),
            pod("finished", nodeName="n"),
            pod("quick", nodeName="n", terminationGracePeriodSeconds=0),
        ),
        ("DELETE", f"{PODS}/unbound", None),
        ("DELETE", f"{PODS}/on-node", None),
        ("DELETE", f"{PODS}/quick", None),
        ("MERGE", f"{PODS}/finished/status", {"status": {"phase": "Succeeded"}}),
        ("DELETE", f"{PODS}/finished", None),
        ("GET", f"{PODS}/finished", None),
        ("GET", f"{PODS}/on-node", None),
        ("GET", f"{PODS}/quick", None),
    ],
    **{
        f"what becomes of dependents of {name}": deletions(path, body, *policies)
        for name, path, body, policies in (
            (
                "what has all finalizers",
                MAPS,
                finalized("d1", "example.com/b", "example.com/a", "orphan"),
                ("Foreground", "Background", "Orphan", ""),
            ),
            (
                "what others hold",
                MAPS,
                finalized("d2", "example.com/a"),
                ("Background", "Foreground", "", "Orphan"),
            ),
            ("what waits", MAPS, finalized("d3", "foregroundDeletion", "example.com/a"), ("",)),
            ("what orphans", MAPS, finalized("d4", "orphan", "example.com/a"), ("Orphan", "")),
            (
                "what owns pods",
                f"{APPS}/replicasets",
                {**workload("d5"), **finalized("d5", "orphan", "example.com/a")},
                ("", "Background", "Foreground", "Foreground"),
            ),
            ("what runs to its end", f"{BATCH}/jobs", _JOB, ("", "Background", "Foreground")),
            (
                "what controls replicas",
                f"{CORE}/replicationcontrollers",
                {**named("d10", spec={"template": template(app="d10")})},
                ("", ""),
            ),
            (
                "what ends by and by",
                PODS,
                {**pod("d6", nodeName="n"), **finalized("d6", "orphan", "example.com/a")},
                ("Foreground", "Background", "Orphan", ""),
            ),
            (
                "what has ended",
                PODS,
                {**pod("d7"), **finalized("d7", "orphan", "example.com/a")},
                ("Foreground", "Background", "Orphan", ""),
            ),
        )
    },
    "dependents are orphaned or waited for": create(
        MAPS, finalized("d8", "foregroundDeletion", "orphan", "x")
    ),
    "resize": [
        *create(
            PODS,
            pod("resized", **container(resources={"requests": {"cpu": "1"}})),
            pod("best-effort"),
        ),
        (
            "MERGE",
            f"{PODS}/resized/resize",
            {
                "spec": {
                    "containers": [
                        {
                            "name": "main",
                            "image": "busybox:1",
                            "resources": {"requests": {"cpu": "2"}},
                        }
                    ]
                }
            },
        ),
        ("MERGE", f"{PODS}/resized/resize", {"spec": {"priority": 4}}),
        (
            "MERGE",
            f"{PODS}/best-effort/resize",
            {
                "spec": {
                    "containers": [
                        {
                            "name": "main",
                            "image": "busybox:1",
                            "resources": {"requests": {"cpu": "2"}},
                        }
                    ]
                }
            },
        ),
    ],
}


def device(name: str, request: str = "r") -> Body:
    """An allocation's result."""
    return {"request": request, "driver": "example.com", "pool": "p", "device": name}


def allocated(name: str, *results: Body, **status: Any) -> Step:
    """Write a claim's status."""
    allocation = {"allocation": {"devices": {"results": list(results)}}} if results else {}
    return ("MERGE", f"{CLAIMS}/{name}/status", {"status": {**allocation, **status}})


def _counted(name: str, allowed: int, healthy: int, desired: int) -> Step:
    """What a controller found of a budget."""
    status = {
        "observedGeneration": 1,
        "disruptionsAllowed": allowed,
        "currentHealthy": healthy,
        "desiredHealthy": desired,
    }
    return (
        "MERGE",
        f"{POLICY}/poddisruptionbudgets/{name}/status",
        {"status": {**status, "expectedPods": healthy}},
    )


_EVICTIONS: Final[Mapping[str, Sequence[Step]]] = {
    "eviction without a budget": [
        *create(PODS, pod("evicted"), pod("evicted-2", nodeName="n")),
        ("POST", f"{PODS}/evicted/eviction", named("evicted")),
        ("POST", f"{PODS}/evicted-2/eviction", named("evicted-2")),
        ("GET", f"{PODS}/evicted-2", None),
        ("POST", f"{PODS}/missing/eviction", named("missing")),
        ("POST", f"{PODS}/evicted-2/eviction", named("another")),
    ],
    "eviction with a budget": [
        (
            "POST",
            f"{POLICY}/poddisruptionbudgets",
            named("one", spec={"minAvailable": 1, "selector": {"matchLabels": {"app": "pdb"}}}),
        ),
        *create(
            PODS,
            {
                **pod("budget", nodeName="n"),
                "metadata": {"name": "budget", "labels": {"app": "pdb"}},
            },
        ),
        *create(
            PODS,
            {
                **pod("budget-2", nodeName="n"),
                "metadata": {"name": "budget-2", "labels": {"app": "pdb"}},
            },
        ),
        (
            "MERGE",
            f"{PODS}/budget/status",
            {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}},
        ),
        (
            "MERGE",
            f"{PODS}/budget-2/status",
            {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}},
        ),
        ("POST", f"{PODS}/budget/eviction", named("budget")),
        (
            "MERGE",
            f"{POLICY}/poddisruptionbudgets/one/status",
            {
                "status": {
                    "observedGeneration": 1,
                    "disruptionsAllowed": 1,
                    "currentHealthy": 2,
                    "desiredHealthy": 1,
                    "expectedPods": 2,
                }
            },
        ),
        (
            "POST",
            f"{PODS}/budget/eviction",
            named(
                "budget",
                deleteOptions={"preconditions": {"uid": "11111111-1111-1111-1111-111111111111"}},
            ),
        ),
        ("POST", f"{PODS}/budget/eviction", named("budget", deleteOptions={"dryRun": ["All"]})),
        ("POST", f"{PODS}/budget/eviction", named("budget")),
        ("GET", f"{PODS}/budget", None),
        ("GET", f"{POLICY}/poddisruptionbudgets/one", None),
        ("POST", f"{PODS}/budget-2/eviction", named("budget-2")),
    ],
    "eviction within a budget": [
        (
            "POST",
            f"{POLICY}/poddisruptionbudgets",
            named(
                "within", spec={"minAvailable": 1, "selector": {"matchLabels": {"app": "within"}}}
            ),
        ),
        *create(
            PODS,
            {
                **pod("within", nodeName="n"),
                "metadata": {"name": "within", "labels": {"app": "within"}},
            },
        ),
        (
            "MERGE",
            f"{PODS}/within/status",
            {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}},
        ),
        _counted("within", 0, 1, 1),
        ("POST", f"{PODS}/within/eviction", named("within")),
        _counted("within", 2, 3, 1),
        ("POST", f"{PODS}/within/eviction", named("within", deleteOptions={"dryRun": ["All"]})),
        ("GET", f"{POLICY}/poddisruptionbudgets/within", None),
        (
            "POST",
            f"{PODS}/within/eviction",
            named("within", deleteOptions={"gracePeriodSeconds": 7}),
        ),
        ("GET", f"{PODS}/within", None),
        ("GET", f"{POLICY}/poddisruptionbudgets/within", None),
        ("POST", f"{PODS}/within/eviction", named("within")),
        *create(
            PODS,
            {
                **pod("unready", nodeName="n"),
                "metadata": {"name": "unready", "labels": {"app": "within"}},
            },
        ),
        (
            "MERGE",
            f"{PODS}/unready/status",
            {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}},
        ),
        _counted("within", 0, 0, 1),
        ("POST", f"{PODS}/unready/eviction", named("unready")),
        _counted("within", 0, 1, 1),
        ("POST", f"{PODS}/unready/eviction", named("unready")),
        (
            "POST",
            f"{POLICY}/poddisruptionbudgets",
            named(
                "within-2", spec={"minAvailable": 1, "selector": {"matchLabels": {"app": "within"}}}
            ),
        ),
        *create(
            PODS,
            {
                **pod("twofold", nodeName="n"),
                "metadata": {"name": "twofold", "labels": {"app": "within"}},
            },
        ),
        ("MERGE", f"{PODS}/twofold/status", {"status": {"phase": "Running"}}),
        ("POST", f"{PODS}/twofold/eviction", named("twofold")),
    ],
}

_WORKLOADS: Final[Mapping[str, Sequence[Step]]] = {
    "workloads": [
        *create(
            f"{APPS}/deployments",
            workload("one"),
            workload("zero", replicas=0, strategy={"type": "Recreate"}),
        ),
        *create(f"{APPS}/replicasets", workload("one")),
        *create(
            f"{APPS}/statefulsets",
            workload("one"),
            workload(
                "claims",
                serviceName="x",
                volumeClaimTemplates=[
                    named(
                        "data",
                        spec={
                            "accessModes": ["ReadWriteOnce"],
                            "resources": {"requests": {"storage": "1Gi"}},
                        },
                    )
                ],
            ),
        ),
        *create(f"{APPS}/daemonsets", workload("one")),
        *create(
            f"{BATCH}/jobs",
            named(
                "one",
                spec={
                    "template": {
                        "spec": {
                            "restartPolicy": "Never",
                            "containers": [{"name": "a", "image": "b"}],
                        }
                    }
                },
            ),
        ),
        *create(
            f"{BATCH}/jobs",
            named(
                "indexed",
                spec={
                    "completions": 3,
                    "parallelism": 2,
                    "completionMode": "Indexed",
                    "template": {
                        "spec": {
                            "restartPolicy": "OnFailure",
                            "containers": [{"name": "a", "image": "b"}],
                        }
                    },
                },
            ),
        ),
        *create(
            f"{CORE}/replicationcontrollers", named("one", spec={"template": template(app="one")})
        ),
        *create(f"{APPS}/controllerrevisions", named("one", revision=1, data={"a": 1})),
    ],
    "bad workloads": [
        *create(
            f"{APPS}/deployments",
            named("nothing", spec={}),
            workload("differs", template=template(app="other")),
            workload("negative", replicas=-1),
            workload(
                "never",
                template={
                    "metadata": {"labels": {"app": "never"}},
                    "spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "b"}]},
                },
            ),
            workload(
                "rolling",
                strategy={
                    "type": "RollingUpdate",
                    "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0},
                },
            ),
            workload("odd", strategy={"type": "Odd"}),
        ),
        *create(
            f"{APPS}/replicasets",
            workload("differs", template=template(app="other")),
            named("nothing", spec={}),
        ),
        *create(f"{APPS}/statefulsets", workload("differs", template=template(app="other"))),
        *create(f"{APPS}/daemonsets", workload("differs", template=template(app="other"))),
        *create(
            f"{BATCH}/jobs",
            named(
                "always", spec={"template": {"spec": {"containers": [{"name": "a", "image": "b"}]}}}
            ),
        ),
    ],
    "changes of workloads": [
        *changes(
            f"{APPS}/deployments",
            workload("changing"),
            {"spec": {"replicas": 3}},
            {
                "spec": {
                    "selector": {"matchLabels": {"app": "x"}},
                    "template": {"metadata": {"labels": {"app": "x"}}},
                }
            },
            {"metadata": {"annotations": {"a": "b"}}},
        ),
        *changes(
            f"{APPS}/replicasets",
            workload("changing"),
            {
                "spec": {
                    "selector": {"matchLabels": {"app": "changing", "b": "c"}},
                    "template": {"metadata": {"labels": {"b": "c"}}},
                }
            },
        ),
        *changes(
            f"{APPS}/statefulsets",
            workload("changing"),
            {"spec": {"replicas": 2}},
            {"spec": {"serviceName": "y"}},
        ),
        *changes(
            f"{BATCH}/jobs",
            named(
                "changing",
                spec={
                    "suspend": True,
                    "template": {
                        "spec": {
                            "restartPolicy": "Never",
                            "containers": [{"name": "a", "image": "b"}],
                        }
                    },
                },
            ),
            {"spec": {"parallelism": 4}},
            {"spec": {"completions": 4}},
            {"spec": {"suspend": False}},
            {"spec": {"template": {"spec": {"nodeSelector": {"a": "b"}}}}},
        ),
    ],
    "scale": [
        *create(f"{APPS}/deployments", workload("scaled", replicas=2)),
        ("GET", f"{APPS}/deployments/scaled/scale", None),
        ("MERGE", f"{APPS}/deployments/scaled/scale", {"spec": {"replicas": 5}}),
        ("PUT", f"{APPS}/deployments/scaled/scale", named("scaled", spec={"replicas": 1})),
        ("PUT", f"{APPS}/deployments/scaled/scale", named("other", spec={"replicas": 1})),
        ("MERGE", f"{APPS}/deployments/scaled/scale", {"spec": {"replicas": -5}}),
        ("GET", f"{APPS}/deployments/scaled", None),
        ("GET", f"{APPS}/deployments/missing/scale", None),
        *create(f"{APPS}/statefulsets", workload("scaled")),
        ("MERGE", f"{APPS}/statefulsets/scaled/scale", {"spec": {"replicas": 5}}),
        *create(f"{APPS}/replicasets", workload("scaled")),
        ("MERGE", f"{APPS}/replicasets/scaled/scale", {"spec": {"replicas": 5}}),
        *create(
            f"{CORE}/replicationcontrollers",
            named("scaled", spec={"template": template(app="one")}),
        ),
        ("MERGE", f"{CORE}/replicationcontrollers/scaled/scale", {"spec": {"replicas": 5}}),
    ],
}

_CLUSTER: Final[Mapping[str, Sequence[Step]]] = {
    "namespaces": [
        *create(
            "/api/v1/namespaces",
            named("new"),
            named("other", spec={"finalizers": ["example.com/a"]}),
            named("Bad"),
            named("with.dot"),
        ),
        ("MERGE", "/api/v1/namespaces/new", {"metadata": {"labels": {"a": "b"}}}),
        (
            "MERGE",
            "/api/v1/namespaces/new",
            {"metadata": {"labels": {"kubernetes.io/metadata.name": "x"}}},
        ),
        ("POST", "/api/v1/namespaces/nowhere/pods", pod("a")),
        ("DELETE", "/api/v1/namespaces/default", None),
        ("DELETE", "/api/v1/namespaces/kube-system", None),
        ("DELETE", "/api/v1/namespaces/new", None),
        ("GET", "/api/v1/namespaces/new", None),
        ("POST", "/api/v1/namespaces/new/pods", pod("a")),
        ("DELETE", "/api/v1/namespaces/new", None),
        ("PUT", "/api/v1/namespaces/new/finalize", named("new", spec={"finalizers": []})),
        ("GET", "/api/v1/namespaces/new", None),
        ("GET", "/api/v1/namespaces/default", None),
        ("GET", "/api/v1/namespaces/kube-node-lease", None),
    ],
    "nodes": [
        *create(
            "/api/v1/nodes",
            named("node"),
            named("full", status={"capacity": {"cpu": "4", "memory": "1Gi"}}),
            named(
                "tainted",
                spec={"taints": [{"key": "a", "effect": "NoSchedule"}], "unschedulable": True},
            ),
            named("bad-taint", spec={"taints": [{"key": "a", "effect": "Some"}]}),
            named(
                "twice",
                spec={
                    "taints": [
                        {"key": "a", "effect": "NoSchedule"},
                        {"key": "a", "effect": "NoSchedule"},
                    ]
                },
            ),
            named("keyless", spec={"taints": [{"effect": "NoSchedule"}]}),
            named("pod-cidr", spec={"podCIDR": "10.0.0.0/24"}),
            named("empty-effect", spec={"taints": [{"key": "a"}]}),
        ),
        (
            "MERGE",
            "/api/v1/nodes/node",
            {"spec": {"unschedulable": True, "taints": [{"key": "a", "effect": "NoExecute"}]}},
        ),
        ("MERGE", "/api/v1/nodes/node", {"spec": {"providerID": "a://b"}}),
        ("MERGE", "/api/v1/nodes/node", {"spec": {"providerID": "a://c"}}),
        ("MERGE", "/api/v1/nodes/node", {"status": {"capacity": {"cpu": "2"}}}),
        (
            "MERGE",
            "/api/v1/nodes/node/status",
            {
                "status": {
                    "capacity": {"cpu": "2"},
                    "conditions": [{"type": "Ready", "status": "True"}],
                }
            },
        ),
        ("MERGE", "/api/v1/nodes/node/status", {"status": {"allocatable": {"cpu": "-2"}}}),
        ("MERGE", "/api/v1/nodes/pod-cidr", {"spec": {"podCIDR": "10.0.1.0/24"}}),
        ("DELETE", "/api/v1/nodes/node", None),
    ],
    "services": [
        *create(
            f"{CORE}/services",
            named("web", spec={"ports": [{"port": 80}], "selector": {"app": "a"}}),
            named(
                "headless",
                spec={"clusterIP": "None", "selector": {"app": "a"}, "ports": [{"port": 80}]},
            ),
            named("headless-portless", spec={"clusterIP": "None", "selector": {"app": "a"}}),
            named(
                "named-ports",
                spec={
                    "ports": [
                        {"port": 80, "name": "a", "targetPort": "http"},
                        {"port": 81, "name": "b", "protocol": "UDP"},
                    ]
                },
            ),
            named("outside", spec={"type": "ExternalName", "externalName": "example.com"}),
            named("portless", spec={}),
            named("nameless-ports", spec={"ports": [{"port": 80}, {"port": 81}]}),
            named("bad-port", spec={"ports": [{"port": 0}]}),
            named("bad.name", spec={"ports": [{"port": 80}]}),
            named("odd-type", spec={"type": "Odd", "ports": [{"port": 80}]}),
        ),
        ("MERGE", f"{CORE}/services/web", {"spec": {"ports": [{"port": 81}]}}),
        ("MERGE", f"{CORE}/services/headless", {"spec": {"clusterIP": "10.0.0.9"}}),
        *create(
            f"{CORE}/endpoints",
            named("web", subsets=[{"addresses": [{"ip": "10.1.1.1"}], "ports": [{"port": 80}]}]),
        ),
    ],
    "configuration": [
        *create(
            f"{CORE}/configmaps",
            named("c", data={"a": "b"}),
            named("fixed", immutable=True, data={"a": "b"}),
            named("bad", data={"a b": "c"}),
        ),
        ("MERGE", f"{CORE}/configmaps/fixed", {"data": {"a": "c"}}),
        ("MERGE", f"{CORE}/configmaps/fixed", {"immutable": False}),
        *create(
            f"{CORE}/secrets",
            named("s", stringData={"a": "b"}),
            named("typed", type="example.com/t", data={"a": "Yg=="}),
        ),
        *create(
            f"{CORE}/secrets", named("bad", data={"a": "?"}), named("tls", type="kubernetes.io/tls")
        ),
        ("MERGE", f"{CORE}/secrets/s", {"type": "example.com/other"}),
        ("MERGE", f"{CORE}/secrets/s", {"stringData": {"c": "d"}}),
        *create(
            f"{CORE}/serviceaccounts",
            named("robot"),
            named("automount", automountServiceAccountToken=False),
        ),
    ],
    "storage": [
        *create(
            f"{STORAGE}/storageclasses",
            named("plain", provisioner="example.com/p"),
            named(
                "waiting",
                provisioner="p",
                volumeBindingMode="WaitForFirstConsumer",
                reclaimPolicy="Retain",
                allowVolumeExpansion=True,
            ),
            named("nobody"),
            named("odd", provisioner="p", volumeBindingMode="Odd", reclaimPolicy="Odd"),
        ),
        ("MERGE", f"{STORAGE}/storageclasses/plain", {"provisioner": "other"}),
        ("MERGE", f"{STORAGE}/storageclasses/plain", {"reclaimPolicy": "Retain"}),
        ("MERGE", f"{STORAGE}/storageclasses/plain", {"parameters": {"a": "b"}}),
        ("MERGE", f"{STORAGE}/storageclasses/plain", {"volumeBindingMode": "WaitForFirstConsumer"}),
        ("MERGE", f"{STORAGE}/storageclasses/plain", {"allowVolumeExpansion": True}),
        *create(
            f"{STORAGE}/csinodes",
            named("n", spec={"drivers": []}),
            named(
                "m",
                spec={
                    "drivers": [
                        {
                            "name": "example.com",
                            "nodeID": "x",
                            "topologyKeys": ["a"],
                            "allocatable": {"count": 3},
                        }
                    ]
                },
            ),
        ),
        *create(
            f"{STORAGE}/csidrivers",
            named("example.com"),
            named("second.example.com", spec={"attachRequired": False, "storageCapacity": True}),
        ),
        *create(
            f"{STORAGE}/namespaces/default/csistoragecapacities",
            named("c", storageClassName="plain", capacity="10Gi"),
        ),
        *create(
            f"{STORAGE}/volumeattachments",
            named(
                "a",
                spec={"attacher": "x", "nodeName": "n", "source": {"persistentVolumeName": "p"}},
            ),
        ),
    ],
    "claims and volumes": [
        *create(
            f"{CORE}/persistentvolumeclaims",
            named(
                "claim",
                spec={
                    "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": "1Gi"}},
                    "storageClassName": "plain",
                },
            ),
            named("modeless", spec={"resources": {"requests": {"storage": "1Gi"}}}),
            named("sizeless", spec={"accessModes": ["ReadWriteOnce"]}),
            named(
                "odd", spec={"accessModes": ["Odd"], "resources": {"requests": {"storage": "1Gi"}}}
            ),
        ),
        (
            "MERGE",
            f"{CORE}/persistentvolumeclaims/claim",
            {"spec": {"accessModes": ["ReadOnlyMany"]}},
        ),
        ("MERGE", f"{CORE}/persistentvolumeclaims/claim", {"spec": {"volumeName": "v"}}),
        ("MERGE", f"{CORE}/persistentvolumeclaims/claim", {"spec": {"volumeName": "w"}}),
        (
            "MERGE",
            f"{CORE}/persistentvolumeclaims/claim",
            {"spec": {"resources": {"requests": {"storage": "2Gi"}}}},
        ),
        (
            "MERGE",
            f"{CORE}/persistentvolumeclaims/claim/status",
            {"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}},
        ),
        *create(
            "/api/v1/persistentvolumes",
            named(
                "volume",
                spec={
                    "accessModes": ["ReadWriteOnce"],
                    "capacity": {"storage": "1Gi"},
                    "hostPath": {"path": "/a"},
                },
            ),
            named(
                "csi",
                spec={
                    "accessModes": ["ReadWriteOnce"],
                    "capacity": {"storage": "1Gi"},
                    "storageClassName": "plain",
                    "csi": {"driver": "example.com", "volumeHandle": "h"},
                    "claimRef": {"namespace": "default", "name": "claim"},
                },
            ),
            named(
                "sourceless",
                spec={"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}},
            ),
            named("modeless", spec={"capacity": {"storage": "1Gi"}, "hostPath": {"path": "/a"}}),
            named("sizeless", spec={"accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/a"}}),
            named(
                "local",
                spec={
                    "accessModes": ["ReadWriteOnce"],
                    "capacity": {"storage": "1Gi"},
                    "local": {"path": "/a"},
                },
            ),
        ),
        ("MERGE", "/api/v1/persistentvolumes/csi", {"spec": {"csi": {"volumeHandle": "i"}}}),
        (
            "MERGE",
            "/api/v1/persistentvolumes/csi",
            {"spec": {"persistentVolumeReclaimPolicy": "Delete"}},
        ),
        (
            "MERGE",
            "/api/v1/persistentvolumes/volume",
            {"spec": {"claimRef": {"namespace": "default", "name": "x"}}},
        ),
        ("MERGE", "/api/v1/persistentvolumes/volume/status", {"status": {"phase": "Bound"}}),
    ],
    "budgets": [
        *create(
            f"{POLICY}/poddisruptionbudgets",
            named("plain", spec={"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}),
            named("percent", spec={"maxUnavailable": "50%"}),
            named("both", spec={"minAvailable": 1, "maxUnavailable": 1}),
            named("negative", spec={"minAvailable": -1}),
            named("odd", spec={"minAvailable": "x"}),
            named("empty"),
            named("policy", spec={"minAvailable": 1, "unhealthyPodEvictionPolicy": "Odd"}),
        ),
        ("MERGE", f"{POLICY}/poddisruptionbudgets/plain", {"spec": {"minAvailable": 2}}),
    ],
    "leases": [
        *create(
            "/apis/coordination.k8s.io/v1/namespaces/default/leases",
            named("lease"),
            named(
                "held",
                spec={
                    "holderIdentity": "a",
                    "leaseDurationSeconds": 15,
                    "renewTime": "2026-01-01T00:00:00.000000Z",
                },
            ),
            named("short", spec={"leaseDurationSeconds": 0}),
        ),
        (
            "MERGE",
            "/apis/coordination.k8s.io/v1/namespaces/default/leases/held",
            {"spec": {"leaseTransitions": -1}},
        ),
    ],
    "events": [
        *create(
            f"{CORE}/events",
            {
                **named(
                    "old",
                    reason="R",
                    message="m",
                    type="Normal",
                    count=2,
                    source={"component": "c", "host": "h"},
                    firstTimestamp="2026-01-01T00:00:00Z",
                    lastTimestamp="2026-01-01T00:00:01Z",
                ),
                "involvedObject": {"kind": "Pod", "namespace": "default", "name": "p", "uid": "u"},
            },
        ),
        ("GET", "/apis/events.k8s.io/v1/namespaces/default/events/old", None),
        *create(
            "/apis/events.k8s.io/v1/namespaces/default/events",
            named(
                "new",
                eventTime="2026-01-01T00:00:00.000000Z",
                reportingController="example.com/c",
                reportingInstance="i",
                action="A",
                reason="R",
                type="Warning",
                note="n",
                regarding={"kind": "Pod", "namespace": "default", "name": "p", "apiVersion": "v1"},
                related={"kind": "Node", "name": "n"},
                series={"count": 2, "lastObservedTime": "2026-01-01T00:00:00.000000Z"},
            ),
        ),
        ("GET", f"{CORE}/events/new", None),
        (
            "MERGE",
            "/apis/events.k8s.io/v1/namespaces/default/events/new",
            {"series": {"count": 3, "lastObservedTime": "2026-01-01T00:00:01.000000Z"}},
        ),
        *create(f"{CORE}/events", {**named("elsewhere"), "involvedObject": {"namespace": "other"}}),
        *create(f"{CORE}/events", {**named("little"), "involvedObject": {}}),
        *create(
            f"{CORE}/events",
            {**named("node-event"), "involvedObject": {"kind": "Node", "name": "n"}},
        ),
    ],
    "devices": [
        *create(
            "/apis/resource.k8s.io/v1/deviceclasses",
            named("gpu", spec={"selectors": [{"cel": {"expression": "true"}}]}),
            named("none", spec={}),
        ),
        *create(
            "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims",
            named(
                "claim",
                spec={
                    "devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}
                },
            ),
            named(
                "all",
                spec={
                    "devices": {
                        "requests": [
                            {
                                "name": "r",
                                "exactly": {"deviceClassName": "gpu", "allocationMode": "All"},
                            }
                        ]
                    }
                },
            ),
            named(
                "first",
                spec={
                    "devices": {
                        "requests": [
                            {
                                "name": "r",
                                "firstAvailable": [{"name": "s", "deviceClassName": "gpu"}],
                            }
                        ]
                    }
                },
            ),
            named("empty", spec={}),
        ),
        *create(
            "/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates",
            named(
                "t",
                spec={
                    "spec": {
                        "devices": {
                            "requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]
                        }
                    }
                },
            ),
        ),
        *create(
            "/apis/resource.k8s.io/v1/resourceslices",
            named(
                "s",
                spec={
                    "driver": "example.com",
                    "nodeName": "n",
                    "pool": {"name": "p", "resourceSliceCount": 1},
                    "devices": [
                        {
                            "name": "d",
                            "attributes": {"a": {"string": "x"}},
                            "capacity": {"m": {"value": "1Gi"}},
                        }
                    ],
                },
            ),
        ),
        (
            "MERGE",
            "/apis/resource.k8s.io/v1/resourceslices/s",
            {"spec": {"driver": "other.example.com"}},
        ),
    ],
    "allocations": [
        *create(
            CLAIMS,
            named("a", spec={"devices": {"requests": [REQUEST]}}),
            named("b", spec={"devices": {"requests": [REQUEST]}}),
        ),
        allocated("a", reservedFor=[CONSUMER]),
        allocated("a", device("gpu-0"), reservedFor=[CONSUMER]),
        allocated("a", reservedFor=[CONSUMER, CONSUMER]),
        allocated("a", reservedFor=[{"resource": "", "name": "", "uid": ""}]),
        allocated("a", device("gpu-1")),
        ("MERGE", f"{CLAIMS}/a/status", {"status": {"allocation": None}}),
        ("MERGE", f"{CLAIMS}/a/status", {"status": {"allocation": None, "reservedFor": None}}),
        allocated("b", device("gpu-0", request="other")),
        allocated("b"),
    ],
    "runtimes": [
        *create(
            RUNTIMES,
            named("plain", handler="h"),
            named(
                "vault", handler="vault", overhead={"podFixed": {"cpu": "0.250", "memory": "120Mi"}}
            ),
            named(
                "placed",
                handler="h",
                scheduling={"nodeSelector": {"a": "b"}, "tolerations": [TOLERATION]},
            ),
            named("none"),
            named("bad", handler="A_B"),
            named("negative", handler="h", overhead={"podFixed": {"cpu": "-1"}}),
        ),
        ("MERGE", f"{RUNTIMES}/plain", {"handler": "other"}),
        *create(
            PODS,
            pod("of-nobody", runtimeClassName="nobody"),
            pod("of-vault", runtimeClassName="vault"),
            pod("more", runtimeClassName="vault", overhead={"cpu": "1"}),
            pod("same", runtimeClassName="vault", overhead={"cpu": "250m", "memory": "120Mi"}),
            pod("not-plain", runtimeClassName="plain", overhead={"cpu": "1"}),
            pod("without", overhead={"cpu": "1"}),
            pod(
                "in-place",
                runtimeClassName="placed",
                nodeSelector={"c": "d"},
                tolerations=[TOLERATION],
            ),
            pod("torn", runtimeClassName="placed", nodeSelector={"a": "z"}),
            pod("told", runtimeClassName="placed"),
        ),
    ],
    "roles": [
        *create(
            "/apis/rbac.authorization.k8s.io/v1/clusterroles",
            named("r", rules=[{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]),
        ),
        *create(
            "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles", named("r", rules=[])
        ),
        *create(
            "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
            named(
                "r",
                roleRef={"kind": "ClusterRole", "name": "r"},
                subjects=[
                    {"kind": "ServiceAccount", "name": "a", "namespace": "b"},
                    {"kind": "User", "name": "u"},
                ],
            ),
        ),
        *create(
            "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings",
            named(
                "r", roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
            ),
        ),
        (
            "MERGE",
            "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/r",
            {"roleRef": {"name": "x"}},
        ),
    ],
    **{
        f"{kind} webhooks": create(
            f"{ADMISSION}/{kind}webhookconfigurations",
            named(
                "w",
                webhooks=[
                    {
                        "name": "a.example.com",
                        "clientConfig": {"service": {"namespace": "default", "name": "s"}},
                        "sideEffects": "None",
                        "admissionReviewVersions": ["v1"],
                        "rules": [RULE],
                    }
                ],
            ),
        )
        for kind in ("validating", "mutating")
    },
    "policies": changes(
        f"{ADMISSION}/mutatingadmissionpolicies",
        named(
            "p",
            spec={
                "matchConstraints": {"resourceRules": [RULE], "excludeResourceRules": [RULE]},
                "mutations": [
                    {
                        "patchType": "ApplyConfiguration",
                        "applyConfiguration": {"expression": "Object{}"},
                    }
                ],
                "reinvocationPolicy": "Never",
            },
        ),
        {"spec": {"failurePolicy": "Ignore"}},
    ),
    "policies' bindings": changes(
        f"{ADMISSION}/mutatingadmissionpolicybindings",
        named("b", spec={"policyName": "p"}),
        {"spec": {"matchResources": {"resourceRules": [RULE]}}},
    ),
    "flows": create(
        f"{FLOWS}/flowschemas",
        named("f", spec={"priorityLevelConfiguration": {"name": "exempt"}}),
        named("g", spec={"priorityLevelConfiguration": {"name": "none"}, "matchingPrecedence": 20}),
    ),
    "levels of priority": changes(
        f"{FLOWS}/prioritylevelconfigurations",
        named("l", spec={"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}),
        {"spec": {"limited": {"limitResponse": {"type": "Queue", "queuing": {"queues": 20}}}}},
    ),
    "reviews": [
        *create(
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
            {
                "spec": {
                    "resourceAttributes": {
                        "verb": "list",
                        "resource": "pods",
                        "namespace": "default",
                    }
                }
            },
            {"spec": {}},
        ),
        *create(
            "/apis/authorization.k8s.io/v1/subjectaccessreviews",
            {
                "spec": {
                    "user": "admin",
                    "groups": ["system:masters"],
                    "resourceAttributes": {"verb": "list", "resource": "pods"},
                }
            },
        ),
        *create(
            "/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews",
            {
                "spec": {
                    "user": "admin",
                    "groups": ["system:masters"],
                    "resourceAttributes": {
                        "verb": "list",
                        "resource": "pods",
                        "namespace": "default",
                    },
                }
            },
        ),
        *create(
            "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
            {"spec": {"namespace": "default"}},
        ),
        *create("/apis/authentication.k8s.io/v1/selfsubjectreviews", {}),
        *create(
            "/apis/authentication.k8s.io/v1/tokenreviews",
            {"spec": {"token": "nobody's"}},
            {"spec": {}},
        ),
        *create(f"{CORE}/serviceaccounts/missing/token", {"spec": {}}),
        *create(f"{CORE}/serviceaccounts", named("speaker")),
        *create(
            f"{CORE}/serviceaccounts/speaker/token",
            {"spec": {"expirationSeconds": 7200}},
            {"spec": {"expirationSeconds": 5}},
        ),
    ],
}


def group(name: str, least: int = 2, **spec: Any) -> Body:
    """A PodGroup that wants so many pods at once."""
    return named(name, spec={"schedulingPolicy": {"gang": {"minCount": least}}, **spec})


_GROUPS: Final[Mapping[str, Sequence[Step]]] = {
    "groups": create(
        GROUPS,
        group("critical", priorityClassName="system-node-critical"),
        group("own-priority", priority=7),
        group("no-class", priorityClassName="nobody"),
        group("none", 0),
        group("negative", -1),
        group("two-modes", disruptionMode={"single": {}, "all": {}}),
        named("no-policy", spec={}),
        named("basic", spec={"schedulingPolicy": {"basic": {}}, "disruptionMode": {"all": {}}}),
    ),
    "changes of groups": changes(
        GROUPS,
        group("changed", 3),
        {"spec": {"schedulingPolicy": {"gang": {"minCount": 1}}}},
        {"spec": {"schedulingPolicy": {"gang": None, "basic": {}}}},
        {"spec": {"disruptionMode": {"single": None, "all": {}}}},
        {"spec": {"priority": 3}},
        {"status": {"conditions": []}},
    ),
    "deleted groups": deletions(GROUPS, group("deleted"), "", "Foreground"),
    "templates of groups": create(
        TEMPLATES,
        named("one", spec={"podGroupTemplates": [{"name": "a", **group("a")["spec"]}]}),
        named("none", spec={"podGroupTemplates": []}),
    ),
    "members": [
        *create(PODS, pod("member", schedulingGroup={"podGroupName": "g"})),
        *create(PODS, pod("of-none", schedulingGroup={})),
        ("MERGE", f"{PODS}/member", {"spec": {"schedulingGroup": {"podGroupName": "h"}}}),
    ],
}

CASES: Final[Mapping[str, Sequence[Step]]] = {
    **_PODS,
    **_GROUPS,
    **_EVICTIONS,
    **_WORKLOADS,
    **_CLUSTER,
}
