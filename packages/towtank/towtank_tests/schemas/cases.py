"""What is asked: objects of one custom resource with a field for each word of a schema, and objects
of built-in kinds.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

Body = dict[str, Any]
GROUP: Final = "g.example.com"
RECORDED: Final = Path(__file__).parent / "recorded.json"
KIND: Final = "Shape"
TEXT: Final[Body] = {"type": "string"}
WHOLE: Final[Body] = {"type": "integer"}


def fields(properties: Body, **more: Any) -> Body:
    """The schema of an object."""
    return {"type": "object", "properties": properties, **more}


def array(items: Body, **more: Any) -> Body:
    """The schema of a list."""
    return {"type": "array", "items": items, **more}


def keyed(*keys: str) -> Body:
    """The words of a list whose items are told apart by keys."""
    return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}


_OPEN: Final = {"x-kubernetes-preserve-unknown-fields": True}

SPEC: Final = fields(
    {
        "string": TEXT,
        "integer": WHOLE,
        "wide": {"type": "integer", "format": "int64"},
        "narrow": {"type": "integer", "format": "int32"},
        "number": {"type": "number"},
        "boolean": {"type": "boolean"},
        "list": array(TEXT),
        "map": {"type": "object", "additionalProperties": WHOLE},
        "object": fields(
            {"inner": WHOLE, "deep": fields({"a": TEXT, "b": array(fields({"c": TEXT}))})}
        ),
        "port": {"x-kubernetes-int-or-string": True},
        "limited-port": {"x-kubernetes-int-or-string": True, "pattern": "^[0-9]+%$", "minimum": 1},
        "choice": {"type": "string", "enum": ["one", "two"]},
        "number-choice": {"type": "integer", "enum": [1, 2]},
        "least": {"type": "integer", "minimum": 1},
        "most": {"type": "integer", "maximum": 9},
        "above": {"type": "number", "minimum": 0, "exclusiveMinimum": True},
        "below": {"type": "number", "maximum": 1.5, "exclusiveMaximum": True},
        "least-fraction": {"type": "number", "minimum": 0.5},
        "multiple": {"type": "integer", "multipleOf": 5},
        "short": {"type": "string", "maxLength": 3},
        "long": {"type": "string", "minLength": 3},
        "pattern": {"type": "string", "pattern": "^[a-z]+$"},
        "few": array(WHOLE, maxItems=2),
        "many": array(WHOLE, minItems=2),
        "small": {"type": "object", "additionalProperties": WHOLE, "maxProperties": 1},
        "big": {"type": "object", "additionalProperties": WHOLE, "minProperties": 2},
        "required": fields({"a": TEXT, "b": WHOLE}, required=["b", "a"]),
        "items": array(fields({"a": WHOLE, "b": TEXT}, required=["a"])),
        "set": array(TEXT, **{"x-kubernetes-list-type": "set"}),
        "number-set": array(WHOLE, **{"x-kubernetes-list-type": "set"}),
        "list-map": array(fields({"k": TEXT, "v": TEXT}, required=["k"]), **keyed("k")),
        "two-keys": array(
            fields({"p": WHOLE, "q": {**TEXT, "default": "TCP"}}, required=["p"]), **keyed("p", "q")
        ),
        "nullable": {"type": "string", "nullable": True},
        "default": fields(
            {"a": {**TEXT, "default": "x"}, "b": {**WHOLE, "default": 3, "nullable": True}}
        ),
        "default-items": array(fields({"a": {**TEXT, "default": "x"}, "b": TEXT})),
        "default-values": {
            "type": "object",
            "additionalProperties": fields({"a": {**WHOLE, "default": 1}}),
        },
        "default-nested": fields(
            {
                "a": fields(
                    {"b": {**WHOLE, "default": 1}, "c": {**WHOLE, "default": 2}}, default={"b": 7}
                )
            }
        ),
        "open": {"type": "object", **_OPEN},
        "open-object": fields({"a": fields({"b": WHOLE})}, **_OPEN),
        "embedded": {"type": "object", "x-kubernetes-embedded-resource": True, **_OPEN},
        "closed-embedded": fields(
            {"spec": fields({"a": WHOLE})}, **{"x-kubernetes-embedded-resource": True}
        ),
        "any-of": {"type": "string", "anyOf": [{"pattern": "^a"}, {"pattern": "b$"}]},
        "one-of": {"type": "integer", "oneOf": [{"minimum": 5}, {"maximum": 7}]},
        "all-of": {"type": "integer", "allOf": [{"minimum": 5}, {"maximum": 7}]},
        "not": {"type": "string", "not": {"pattern": "^a"}},
        "one-required": fields(
            {"a": TEXT, "b": TEXT}, oneOf=[{"required": ["a"]}, {"required": ["b"]}]
        ),
        **{
            f"format-{name}": {"type": "string", "format": name}
            for name in (
                "date",
                "date-time",
                "byte",
                "ipv4",
                "ipv6",
                "cidr",
                "uuid",
                "email",
                "hostname",
                "uri",
                "duration",
                "mac",
                "nothing",
            )
        },
    }
)
DEFINITION: Final[Body] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"shapes.{GROUP}"},
    "spec": {
        "group": GROUP,
        "names": {"plural": "shapes", "kind": KIND},
        "scope": "Cluster",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": fields({"spec": SPEC, "top": {**WHOLE, "default": 4}})
                },
            }
        ],
    },
}

_DATES: Final = ("2024-02-30", "2024-02-03", "2024-2-3", "today", "")
_TIMES: Final = (
    "2024-02-03T04:05:06Z",
    "2024-02-03T04:05:06.789+01:00",
    "2024-02-03 04:05:06Z",
    "2024-02-03T04:05:06",
    "2024-02-03",
)

SPECS: Final[dict[str, tuple[Any, ...]]] = {
    "string": ("a", 1, 1.5, True, None, [], {}, ""),
    "integer": (1, "a", 1.0, 1.5, True, None, [], {}, 2**62, -3),
    "wide": (1, 1.5),
    "narrow": (1, 1.5, "a", True, {}, [], 2**31, -(2**31) - 1),
    "number": (1, 1.5, "a", False, 1e30),
    "boolean": (True, "true", 1, None),
    "list": ([], [1] * 12, ["a"], [1, "b", 2.5], "a", {}, [None], None),
    "map": ({}, {"a": 1, "b": "x"}, [], {"a": None}, {"a.b": "x"}),
    "object": (
        {"inner": 1, "outer": 2},
        {"deep": {"x": 1, "b": [{"c": "d", "e": 1}, {"f": {}}]}, "y": 1},
        {"inner": "a"},
        {"deep": {"b": [{"c": 1}, {"c": 2}]}},
        [],
    ),
    "port": (1, "a", 1.5, True, [], None),
    "limited-port": (1, 0, "5%", "5"),
    "choice": ("one", "three", 1),
    "number-choice": (1, 3),
    "least": (1, 0),
    "most": (9, 10),
    "above": (0.1, 0, -1.5),
    "below": (1.4, 1.5, 2),
    "least-fraction": (0.5, 0.25, 0),
    "multiple": (10, 11),
    "short": ("abc", "abcd", "äöü", "äöüß"),
    "long": ("abc", "ab", "äö"),
    "pattern": ("abc", "ABC", "a\nb", 'a"b'),
    "few": ([1, 2], [1, 2, 3]),
    "many": ([1, 2], [1]),
    "small": ({"a": 1}, {"a": 1, "b": 2}),
    "big": ({"a": 1, "b": 2}, {"a": 1}),
    "required": ({"a": "x", "b": 1}, {}, {"a": 1}, {"a": None, "b": None}),
    "items": ([{"a": 1}, {"b": "x"}, {"a": "y", "b": 1}], [1], [None]),
    "set": (["a", "b"], ["a", "b", "a", "a"]),
    "number-set": ([1, 2, 1],),
    "list-map": (
        [{"k": "a"}, {"k": "b"}],
        [{"k": "a", "v": "x"}, {"k": "a"}],
        [{"v": "x"}, {"v": "y"}],
    ),
    "two-keys": ([{"p": 1}, {"p": 1, "q": "UDP"}], [{"p": 1}, {"p": 1, "q": "TCP"}]),
    "nullable": (None, "a", 1),
    "default": ({}, {"a": None, "b": None}, {"a": "y"}, None),
    "default-items": ([{}, {"b": "c"}], []),
    "default-values": ({"x": {}, "y": {"a": 2}},),
    "default-nested": ({}, {"a": {}}, {"a": None}),
    "open": ({"a": {"b": 1}}, [1]),
    "open-object": ({"x": 1, "a": {"b": 1, "c": 2}},),
    "embedded": (
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "foo": 1}, "x": 1},
        {"x": 1},
        {},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": 1}},
        {"apiVersion": 1, "kind": "Pod"},
    ),
    "closed-embedded": (
        {"apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": {"a": 1, "b": 2}, "x": 1},
    ),
    "any-of": ("a", "cb", "c"),
    "one-of": (4, 6, 8),
    "all-of": (4, 6, 8),
    "not": ("b", "a"),
    "one-required": ({"a": "x"}, {}, {"a": "x", "b": "y"}),
    "format-date": (*_DATES, 1, 1.5, True, {}, []),
    "format-date-time": (*_TIMES, "2024-02-03t04:05:06z", "x"),
    "format-byte": ("YQ==", "YQ", "a b", "", "!"),
    "format-ipv4": ("1.2.3.4", "1.2.3", "::1"),
    "format-ipv6": ("::1", "1.2.3.4", "g"),
    "format-cidr": ("10.0.0.0/8", "10.1.0.0/8", "10.0.0.0", "::/0"),
    "format-uuid": (
        "123e4567-e89b-12d3-a456-426614174000",
        "123e4567e89b12d3a456426614174000",
        "x",
    ),
    "format-email": ("a@b.c", "a"),
    "format-hostname": ("a.b", "a_b", "-"),
    "format-uri": ("http://a/b", "a b"),
    "format-duration": ("1h30m", "3 days", "x"),
    "format-mac": ("01:02:03:04:05:06", "x"),
    "format-nothing": ("x", 1),
}
"""What one field of the spec is given, one object a value."""

SEVERAL: Final[dict[str, Body]] = {
    "two faults": {"spec": {"string": 1, "integer": "a"}},
    "spec is text": {"spec": "a"},
    "spec is null": {"spec": None},
    "no spec": {},
    "top is text": {"top": "a", "spec": {}},
    "unknown at the root": {"other": 1, "spec": {"string": "a", "unknown": 1}, "status": {}},
    "labels": {"metadata": {"name": "a", "labels": {"a": 1}}},
    "null label": {"metadata": {"name": "a", "labels": {"a": None}}},
    "unknown metadata": {"metadata": {"name": "a", "foo": 1}},
    "generation": {"metadata": {"name": "a", "generation": "x"}},
    "time": {"metadata": {"name": "a", "creationTimestamp": "x"}},
    "no time": {"metadata": {"name": "a", "creationTimestamp": None}},
    "unknown and faulty": {"spec": {"unknown": 1, "string": 1}},
}

_PODS: Final = "/api/v1/namespaces/default/pods"


def _pod(**spec: Any) -> tuple[str, Body]:
    return _PODS, {
        "apiVersion": "v1",
        "kind": "Pod",
        "spec": {"containers": [{"name": "a", "image": "b"}], **spec},
    }


def _container(**said: Any) -> tuple[str, Body]:
    return _pod(containers=[{"name": "a", "image": "b", **said}])


BUILT_IN: Final[dict[str, tuple[str, Body]]] = {
    "unknown": _pod(foo=1, affinity={"nodeAffinity": {"bar": {}}}),
    "unknown in items": _pod(
        containers=[
            {"name": "a", "image": "b"},
            {"name": "c", "image": "b", "imagee": "x", "env": [{"name": "A", "valu": 1}]},
        ]
    ),
    "priority": _pod(priority="high"),
    "priority fraction": _pod(priority=1.5),
    "priority whole fraction": _pod(priority=1.0),
    "priority large": _pod(priority=2**40),
    "host network": _pod(hostNetwork="yes"),
    "node name fraction": _pod(nodeName=1.5),
    "node name": _pod(nodeName=1),
    "node name object": _pod(nodeName={}),
    "node selector": _pod(nodeSelector={"a": 1}),
    "node selector list": _pod(nodeSelector=["a"]),
    "containers object": _pod(containers={}),
    "containers text": _pod(containers="a"),
    "container text": _pod(containers=["a"]),
    "container name": _container(name=1),
    "command": _container(command="sh"),
    "command number": _container(command=[1]),
    "ports": _container(ports=[{"containerPort": "80"}]),
    "resources": _container(resources={"requests": {"cpu": True}}),
    "resources text": _container(resources={"requests": {"cpu": "x"}}),
    "resources list": _container(resources=[]),
    "requests list": _container(resources={"requests": []}),
    "requests object": _container(resources={"requests": {"cpu": {}}}),
    "requests suffix": _container(resources={"requests": {"cpu": "1foo"}}),
    "requests points": _container(resources={"requests": {"cpu": "1.2.3"}}),
    "requests E": _container(resources={"requests": {"cpu": "1e3", "memory": "1E"}}),
    "requests number": _container(resources={"requests": {"cpu": 1}}),
    "probe port": _container(livenessProbe={"httpGet": {"port": []}}),
    "probe port fraction": _container(livenessProbe={"httpGet": {"port": 1.5}}),
    "affinity": _pod(affinity="a"),
    "weight": _pod(
        affinity={
            "nodeAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": "1", "preference": {}}
                ]
            }
        }
    ),
    "tolerations": _pod(tolerations=[{"tolerationSeconds": "1"}]),
    "volume": _pod(volumes=[{"name": "v", "hostPath": "/"}]),
    "volume inlined": _pod(volumes=[{"name": "v", "emptyDir": {"sizeLimit": []}}]),
    "volume mode": _pod(volumes=[{"name": "v", "secret": {"secretName": "a", "defaultMode": "x"}}]),
    "spec": (_PODS, {"apiVersion": "v1", "kind": "Pod", "spec": "a"}),
    "labels": (_PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a": 1}}}),
    "labels list": (_PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": []}}),
    "owner": (
        _PODS,
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"ownerReferences": [{"controller": "yes"}]},
        },
    ),
    "timestamp": (
        _PODS,
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"creationTimestamp": "x"}},
    ),
    "timestamp day": (
        _PODS,
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"creationTimestamp": "2024-01-02"}},
    ),
    "timestamp zone": (
        _PODS,
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"creationTimestamp": "2024-01-02T03:04:05"},
        },
    ),
    "timestamp micro": (
        _PODS,
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"creationTimestamp": "2024-01-02T03:04:05.123Z"},
        },
    ),
    "timestamp number": (
        _PODS,
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"creationTimestamp": 1}},
    ),
    "replicas": (
        "/apis/apps/v1/namespaces/default/deployments",
        {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": "3"}},
    ),
    "template": (
        "/apis/apps/v1/namespaces/default/deployments",
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "spec": {"template": {"spec": {"containers": [{"name": 1}]}}},
        },
    ),
    "selector": (
        "/apis/apps/v1/namespaces/default/deployments",
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "spec": {"selector": {"matchExpressions": [{"values": "a"}]}},
        },
    ),
    "max surge": (
        "/apis/apps/v1/namespaces/default/deployments",
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "spec": {"strategy": {"rollingUpdate": {"maxSurge": True}}},
        },
    ),
    "value": (
        "/apis/scheduling.k8s.io/v1/priorityclasses",
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": "a"},
    ),
    "value fraction": (
        "/apis/scheduling.k8s.io/v1/priorityclasses",
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 1.5},
    ),
    "data": (
        "/api/v1/namespaces/default/configmaps",
        {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": 1}},
    ),
    "secret": (
        "/api/v1/namespaces/default/secrets",
        {"apiVersion": "v1", "kind": "Secret", "data": {"a": "!"}},
    ),
    "secret cut": (
        "/api/v1/namespaces/default/secrets",
        {"apiVersion": "v1", "kind": "Secret", "data": {"a": "YWJjYQ"}},
    ),
    "secret number": (
        "/api/v1/namespaces/default/secrets",
        {"apiVersion": "v1", "kind": "Secret", "data": {"a": 1}},
    ),
    "capacity": (
        "/api/v1/nodes",
        {"apiVersion": "v1", "kind": "Node", "status": {"capacity": {"cpu": "x"}}},
    ),
    "renew": (
        "/apis/coordination.k8s.io/v1/namespaces/default/leases",
        {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": {"renewTime": "x"}},
    ),
    "renew whole": (
        "/apis/coordination.k8s.io/v1/namespaces/default/leases",
        {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "spec": {"renewTime": "2024-01-02T03:04:05Z"},
        },
    ),
    "renew milliseconds": (
        "/apis/coordination.k8s.io/v1/namespaces/default/leases",
        {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "spec": {"renewTime": "2024-01-02T03:04:05.123Z"},
        },
    ),
    "lease seconds": (
        "/apis/coordination.k8s.io/v1/namespaces/default/leases",
        {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "spec": {"leaseDurationSeconds": "x"},
        },
    ),
    "storage": (
        "/api/v1/namespaces/default/persistentvolumeclaims",
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "spec": {"resources": {"requests": {"storage": "x"}}},
        },
    ),
    "volume of claim": (
        "/api/v1/persistentvolumes",
        {"apiVersion": "v1", "kind": "PersistentVolume", "spec": {"claimRef": "a"}},
    ),
    "csi": (
        "/api/v1/persistentvolumes",
        {"apiVersion": "v1", "kind": "PersistentVolume", "spec": {"csi": {"driver": 1}}},
    ),
    "rules": (
        "/apis/rbac.authorization.k8s.io/v1/clusterroles",
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "rules": [{"verbs": "get"}],
        },
    ),
}
"""A path, and what is posted there beyond a name."""


def custom(body: Body) -> Body:
    """An object of the custom resource."""
    return {"apiVersion": f"{GROUP}/v1", "kind": KIND, "metadata": {"name": "a"}, **body}
