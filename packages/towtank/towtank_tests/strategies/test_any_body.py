"""Whatever a client sends that is of the right types: it is stored, and comes to rest, or is
refused.
"""

from __future__ import annotations

import contextlib
import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from towtank.model.api_errors import ApiError
from towtank.model.kinds import APIResource
from towtank.model.requests import RequestTarget, WriteOptions
from towtank.model.schema_nodes import SchemaNode
from towtank.storage.verbs import copied
from towtank.strategies import kind_registry
from towtank_tests.strategies.case_cluster import CaseCluster, merged
from towtank_tests.strategies.cases import named, pod, workload

_STORED = [
    resource
    for resource in kind_registry.resources()
    if "update" in resource.verbs and not resource.mapping
]
_TEXTS = st.sampled_from(
    [
        "",
        "a",
        "b",
        "x/y",
        "x/y/z",
        "A b",
        "Always",
        "Exists",
        "In",
        "NoExecute",
        "ClusterIP",
        "RollingUpdate",
    ]
)
_AMOUNTS = st.sampled_from(["1", "1Gi", "-1", "0.5", "250m", "much", "", 2])
_NUMBERS = st.sampled_from([-1, 0, 1, 7, 100_000])
_DEEPEST = 7
_CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
_JOB = {
    "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "b"}]}}
}
_GOOD = {
    "pods": pod("any"),
    "services": named("any", spec={"ports": [{"port": 80}]}),
    "jobs.batch": named("any", spec=_JOB),
    "persistentvolumeclaims": named("any", spec=_CLAIM),
    "persistentvolumes": named(
        "any", spec={**_CLAIM, "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/a"}}
    ),
    **{
        f"{plural}.apps": workload("any")
        for plural in ("deployments", "replicasets", "statefulsets", "daemonsets")
    },
}
"""What is needed for an object to be stored."""


def _values(node: SchemaNode, depth: int = 0) -> st.SearchStrategy[Any]:
    """Values of the types that a schema asks for; nothing is sure to be there."""
    if node.int_or_string:
        return st.one_of(_AMOUNTS, _NUMBERS)
    simple = {"string": _TEXTS, "integer": _NUMBERS, "number": _NUMBERS, "boolean": st.booleans()}
    if node.type in simple:
        return simple[node.type]
    if depth > _DEEPEST:
        return st.just([] if node.type == "array" else {})
    if node.type == "array":
        return st.lists(_later(node.items or SchemaNode(), depth + 1), max_size=2)
    if node.additional is not None:
        return st.dictionaries(_TEXTS, _later(node.additional, depth + 1), max_size=2)
    fields = {name: _later(child, depth + 1) for name, child in node.properties.items()}
    if depth == 0:
        fields = {
            name: strategy
            for name, strategy in fields.items()
            if name not in {"apiVersion", "kind", "metadata"}
        }
    few = (
        st.lists(st.sampled_from(sorted(fields)), max_size=5, unique=True)
        if fields
        else st.just([])
    )
    return few.flatmap(lambda names: st.fixed_dictionaries({name: fields[name] for name in names}))


def _later(node: SchemaNode, depth: int) -> st.SearchStrategy[Any]:
    return st.deferred(lambda: _values(node, depth))


@pytest.mark.parametrize("resource", _STORED, ids=lambda resource: resource.key)
@settings(max_examples=15, deadline=None)
@given(st.data())
def test_any_body_is_stored_or_refused(resource: APIResource, data: st.DataObject) -> None:
    """And what is stored can be read and written back, changed and deleted."""
    cluster = CaseCluster()
    namespace = "default" if resource.namespaced else ""
    target = RequestTarget(resource, namespace, "any")
    first = data.draw(_values(resource.schema))
    with contextlib.suppress(ApiError):
        cluster.verbs.create(
            RequestTarget(resource, namespace),
            copy.deepcopy(merged(_GOOD.get(resource.key, named("any")), first)),
            WriteOptions(),
        )
    stored = cluster.verbs.store.get(resource.key, namespace, "any")
    if stored is None:
        return
    assert cluster.verbs.update(target, copied(stored), WriteOptions()) == (stored.body, False)
    second = data.draw(_values(resource.schema))
    for subresource in ("", "status"):
        with contextlib.suppress(ApiError):
            cluster.verbs.patch(
                RequestTarget(resource, namespace, "any", subresource),
                lambda old: copy.deepcopy(merged(old, second)),
                WriteOptions(),
            )
