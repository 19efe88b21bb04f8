"""Subresources and reviews beyond what is recorded of a kube-apiserver."""

from __future__ import annotations

from typing import Any

import pytest

from towtank.model.api_errors import ApiError
from towtank.model.kinds import APIResource, ScaleSubresource
from towtank.model.requests import RequestTarget, WriteOptions
from towtank.strategies import crd
from towtank.subresources import scale_subresource
from towtank.subresources.review import TokenIssuer as TokensProtocol
from towtank.subresources.subresource_table import SubresourceTable
from towtank_tests.strategies.case_cluster import CaseCluster, FakeTokenIssuer
from towtank_tests.strategies.cases import CORE, PODS, POLICY, named, pod

_REVIEWS = "/apis/authentication.k8s.io/v1"


def _review(cluster: CaseCluster, kind: str, body: Any, user: str = "admin") -> Any:
    tokens: TokensProtocol = FakeTokenIssuer()
    target = cluster.target(f"{_REVIEWS}/{kind}")
    found = SubresourceTable(tokens).find(target)
    assert found and found.create
    return found.create(cluster.verbs, target, body, WriteOptions(user=user))[1]["status"]


def test_a_token_that_was_given_out_is_known() -> None:
    """Its user is the account's, in the groups of accounts."""
    cluster = CaseCluster()
    cluster.ask("POST", f"{CORE}/serviceaccounts", named("robot"))
    target = cluster.target(f"{CORE}/serviceaccounts/robot/token")
    found = SubresourceTable(FakeTokenIssuer()).find(target)
    assert found and found.create
    code, request = found.create(
        cluster.verbs, target, {"metadata": {}, "spec": {"expirationSeconds": 600}}, WriteOptions()
    )
    assert (code, request["status"]["expirationTimestamp"]) == (201, "2030-01-01T00:10:00Z")
    status = _review(cluster, "tokenreviews", {"spec": {"token": request["status"]["token"]}})
    assert status["authenticated"] is True
    assert status["user"] == {
        "username": "system:serviceaccount:default:robot",
        "groups": [
            "system:serviceaccounts",
            "system:serviceaccounts:default",
            "system:authenticated",
        ],
    }


def test_everybody_is_told_who_he_is() -> None:
    """kubectl auth whoami."""
    assert (
        _review(CaseCluster(), "selfsubjectreviews", {}, "system:serviceaccount:a:b")["userInfo"][
            "username"
        ]
        == "system:serviceaccount:a:b"
    )


def test_dry_runs_change_nothing() -> None:
    """Of a binding and of an eviction."""
    cluster = CaseCluster()
    cluster.ask("POST", PODS, pod("waiting"))
    cluster.ask("POST", PODS, pod("running", nodeName="n"))
    cluster.ask("MERGE", f"{PODS}/running/status", {"status": {"phase": "Running"}})
    before = cluster.verbs.store.revision
    for name, subresource, body in (
        ("waiting", "binding", named("waiting", target={"name": "n"})),
        ("running", "eviction", named("running")),
    ):
        target = cluster.target(f"{PODS}/{name}/{subresource}")
        found = SubresourceTable(FakeTokenIssuer()).find(target)
        assert found and found.create
        assert found.create(cluster.verbs, target, body, WriteOptions(dry_run=True))[0] == 201
    assert cluster.verbs.store.revision == before


@pytest.mark.parametrize(("policy", "code"), [("IfHealthyBudget", 429), ("AlwaysAllow", 201)])
def test_a_pod_that_is_not_ready_may_be_evicted_where_the_budget_says_so(
    policy: str, code: int
) -> None:
    """Although nothing is left of the budget."""
    cluster = CaseCluster()
    labelled = {"metadata": {"name": "sick", "labels": {"app": "a"}}}
    spec = {
        "minAvailable": 1,
        "selector": {"matchLabels": {"app": "a"}},
        "unhealthyPodEvictionPolicy": policy,
    }
    cluster.ask("POST", f"{POLICY}/poddisruptionbudgets", named("budget", spec=spec))
    cluster.ask(
        "MERGE",
        f"{POLICY}/poddisruptionbudgets/budget/status",
        {"status": {"observedGeneration": 1, "desiredHealthy": 1}},
    )
    cluster.ask("POST", PODS, {**pod("sick", nodeName="n"), **labelled})
    cluster.ask("MERGE", f"{PODS}/sick/status", {"status": {"phase": "Running"}})
    assert cluster.ask("POST", f"{PODS}/sick/eviction", named("sick"))[0] == code


def test_a_custom_resource_is_scaled_where_its_definition_says() -> None:
    """Paths of the definition; a selector that is text already."""
    cluster = CaseCluster()
    resource = APIResource(
        "example.com",
        "v1",
        "gangs",
        "Gang",
        has_status=True,
        custom=True,
        generation=True,
        strategy=crd.CustomResourceStrategy(),
        scale=ScaleSubresource(".spec.size.members", ".status.members", ".status.selector"),
    )
    target = RequestTarget(resource, "default", "g", "scale")
    body = {
        "apiVersion": "example.com/v1",
        "kind": "Gang",
        "metadata": {"name": "g"},
        "spec": {"size": {"members": 3}},
    }
    cluster.verbs.create(RequestTarget(resource, "default"), body, WriteOptions())
    status = {"status": {"members": 2, "selector": "a=b"}}
    cluster.verbs.patch(
        RequestTarget(resource, "default", "g", "status"),
        lambda old: {**old, **status},
        WriteOptions(),
    )
    assert scale_subresource.get(cluster.verbs, target)["spec"] == {"replicas": 3}
    assert scale_subresource.get(cluster.verbs, target)["status"] == {
        "replicas": 2,
        "selector": "a=b",
    }
    scale_subresource.change(
        cluster.verbs, target, lambda scale: {**scale, "spec": {"replicas": 5}}, WriteOptions()
    )
    stored = cluster.verbs.get(target).body
    assert (stored["spec"], stored["metadata"]["generation"]) == ({"size": {"members": 5}}, 2)
    with pytest.raises(ApiError, match="modified"):
        scale_subresource.change(
            cluster.verbs,
            target,
            lambda scale: {**scale, "metadata": {"name": "g", "resourceVersion": "1"}},
            WriteOptions(),
        )
