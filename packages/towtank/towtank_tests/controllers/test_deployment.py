"""Deployments on virtual time: sizes, rollouts, what their status says."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from towtank.controllers import replica_set
from towtank.controllers.client import is_active, parse_time
from towtank.controllers.rollout import rollout_target
from towtank.model import conditions
from towtank.model.api_errors import forbidden
from towtank_tests.controllers.harness import ControllerHarness, deployment, template

DEPLOYMENTS, SETS, PODS = "deployments.apps", "replicasets.apps", "pods"
COST = "controller.kubernetes.io/pod-deletion-cost"


def images(cluster: ControllerHarness) -> list[str]:
    """Of the pods that count, sorted."""
    return sorted(
        stored.body["spec"]["containers"][0]["image"]
        for stored in cluster.store.list(PODS)
        if is_active(stored.body)
    )


def roll_to(image: str) -> Any:
    """A change of a Deployment: its pods shall be of this image."""
    return lambda body: body["spec"].update(template=template(image))


def scale_to(replicas: int) -> Any:
    """A change of a Deployment or a ReplicaSet."""
    return lambda body: body["spec"].update(replicas=replicas)


def rolled_out(body: dict[str, Any]) -> bool:
    """What `kubectl rollout status` waits for."""
    status, wanted = body.get("status", {}), body["spec"]["replicas"]
    updated = status.get("updatedReplicas", 0)
    observed = status.get("observedGeneration", 0) >= body["metadata"]["generation"]
    return bool(
        observed
        and updated >= wanted
        and status.get("replicas", 0) <= updated <= status.get("availableReplicas", 0)
    )


def test_pods_come_and_the_status_tells() -> None:
    """From nothing to available, with owners and names as kubectl users know them."""
    cluster = ControllerHarness()
    cluster.create(DEPLOYMENTS, "web", spec=deployment(3))
    cluster.settle()
    (name,) = cluster.names(SETS)
    pods = cluster.names(PODS)
    assert len(pods) == 3 and all(pod.startswith(f"{name}-") for pod in pods)
    before = cluster.get(DEPLOYMENTS, "web")
    assert (
        not rolled_out(before)
        and not conditions.holds(before, "Available")
        and before["status"]["unavailableReplicas"] == 3
    )
    cluster.run(2)
    after = cluster.get(DEPLOYMENTS, "web")
    assert (
        rolled_out(after)
        and conditions.holds(after, "Available")
        and conditions.holds(after, "Progressing")
    )
    assert conditions.find(after, "Progressing")["reason"] == "NewReplicaSetAvailable"
    assert after["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "1"
    assert "unavailableReplicas" not in after["status"]
    pod = cluster.get(PODS, pods[0])
    assert pod["metadata"]["labels"]["pod-template-hash"] == name.removeprefix("web-")
    assert pod["metadata"]["ownerReferences"][0]["controller"] is True


def test_a_template_that_comes_back_is_a_new_revision_of_the_old_set() -> None:
    """`kubectl rollout undo`."""
    cluster = ControllerHarness()
    cluster.create(DEPLOYMENTS, "web", spec=deployment(2))
    cluster.run(2)
    (first,) = cluster.names(SETS)
    for image in ("app:2", "app:1"):
        cluster.change(DEPLOYMENTS, "web", roll_to(image))
        cluster.run(20)
        assert images(cluster) == [image] * 2
        assert rolled_out(cluster.get(DEPLOYMENTS, "web"))
    assert cluster.get(SETS, first)["spec"]["replicas"] == 2
    annotations = cluster.get(SETS, first)["metadata"]["annotations"]
    assert annotations["deployment.kubernetes.io/revision"] == "3"
    assert annotations["deployment.kubernetes.io/revision-history"] == "1"


def test_a_paused_deployment_is_scaled_and_does_not_roll() -> None:
    """Until it goes on."""
    cluster = ControllerHarness()
    cluster.create(DEPLOYMENTS, "web", spec=deployment(2))
    cluster.run(2)
    cluster.change(
        DEPLOYMENTS,
        "web",
        lambda body: body["spec"].update(paused=True, template=template("app:2")),
    )
    cluster.run(20)
    assert images(cluster) == ["app:1"] * 2
    assert (
        conditions.find(cluster.get(DEPLOYMENTS, "web"), "Progressing")["reason"]
        == "DeploymentPaused"
    )
    cluster.change(DEPLOYMENTS, "web", scale_to(4))
    cluster.run(20)
    assert images(cluster) == ["app:1"] * 4
    cluster.change(DEPLOYMENTS, "web", lambda body: body["spec"].update(paused=False))
    cluster.run(40)
    assert images(cluster) == ["app:2"] * 4
    assert rolled_out(cluster.get(DEPLOYMENTS, "web"))


def test_recreate_waits_until_the_old_pods_are_gone() -> None:
    """At no moment there are pods of both."""
    cluster = ControllerHarness()
    cluster.create(DEPLOYMENTS, "web", spec=deployment(3, strategy={"type": "Recreate"}))
    cluster.run(2)
    seen = set()
    cluster.watchers.append(
        lambda: seen.add(
            frozenset(body["spec"]["containers"][0]["image"] for body in cluster.verbs.every(PODS))
        )
    )
    cluster.change(DEPLOYMENTS, "web", roll_to("app:2"))
    cluster.run(20)
    assert images(cluster) == ["app:2"] * 3
    assert frozenset({"app:1", "app:2"}) not in seen and frozenset() in seen


def test_a_rollout_that_does_not_move_is_late_and_may_recover() -> None:
    """Nobody binds its pods."""
    cluster = ControllerHarness(binds=False)
    cluster.create(DEPLOYMENTS, "web", spec=deployment(2))
    cluster.run(601)
    late = conditions.find(cluster.get(DEPLOYMENTS, "web"), "Progressing")
    assert (late["status"], late["reason"]) == ("False", "ProgressDeadlineExceeded")
    for pod in cluster.names(PODS):
        cluster.bind(pod)
    cluster.run(5)
    assert (
        conditions.find(cluster.get(DEPLOYMENTS, "web"), "Progressing")["reason"]
        == "NewReplicaSetAvailable"
    )


def test_early_templates_are_forgotten() -> None:
    """But as many as revisionHistoryLimit says."""
    cluster = ControllerHarness()
    cluster.create(DEPLOYMENTS, "web", spec=deployment(1, revisionHistoryLimit=2))
    for number in range(5):
        cluster.change(DEPLOYMENTS, "web", roll_to(f"app:{number}"))
        cluster.run(20)
    kept = [
        cluster.get(SETS, name)["spec"]["template"]["spec"]["containers"][0]["image"]
        for name in cluster.names(SETS)
    ]
    assert sorted(kept) == ["app:2", "app:3", "app:4"]


def test_what_cannot_be_read_is_no_hindrance() -> None:
    """A cost that is none is 0; a time that is none was long ago."""
    metadata = {"creationTimestamp": "2030-01-01T00:00:00Z"}
    unread = {"type": "Ready", "status": "True", "lastTransitionTime": "2030-13-01T00:00:00Z"}
    odd = {
        "metadata": {**metadata, "annotations": {COST: "--5"}},
        "spec": {},
        "status": {"conditions": [unread]},
    }
    old = {"metadata": {**metadata, "creationTimestamp": "0000-01-01T00:00:00Z"}, "spec": {}}
    cheap = {"metadata": {**metadata, "annotations": {COST: "-1"}}, "spec": {}}
    assert replica_set.surplus([odd, old, cheap], 3) == [cheap, old, odd]
    for text in (
        "0000-01-01T00:00:00Z",
        "2030-13-01T00:00:00Z",
        "0001-01-01T00:00:00+05:00",
        "2030-01-01",
        "",
    ):
        assert parse_time(text) < parse_time("9999-12-31T23:59:59Z")


def test_a_large_surplus_is_ranked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for each burst; again when the size changes."""
    ranked: list[int] = []
    surplus = replica_set.surplus

    def counted(pods: Any, number: int) -> Any:
        ranked.append(number)
        return surplus(pods, number)

    monkeypatch.setattr(replica_set, "surplus", counted)
    cluster = ControllerHarness()
    cluster.create(DEPLOYMENTS, "web", spec=deployment(100))
    cluster.run(5)
    last = cluster.names(PODS)[50]
    cluster.change(PODS, last, lambda body: body["metadata"].update(annotations={COST: "7"}))
    cluster.change(DEPLOYMENTS, "web", scale_to(1))
    cluster.run(60)
    assert (cluster.names(PODS), ranked) == ([last], [99])
    cluster.change(DEPLOYMENTS, "web", scale_to(0))
    cluster.run(60)
    assert (cluster.names(PODS), ranked) == ([], [99, 1])


def test_pods_that_cannot_be_made_are_reported() -> None:
    """And tried again."""
    cluster = ControllerHarness()
    strategy = cluster.target(PODS, "").resource.strategy
    with pytest.MonkeyPatch.context() as patch:

        def refuse(body: object, reads: object) -> None:
            raise forbidden("pods", "", "", "no PriorityClass with name high was found")

        patch.setattr(strategy, "admit", refuse)
        cluster.create(DEPLOYMENTS, "web", spec=deployment(1))
        cluster.run(3)
        failure = conditions.find(cluster.get(DEPLOYMENTS, "web"), "ReplicaFailure")
        assert failure["reason"] == "FailedCreate" and "no PriorityClass" in failure["message"]
    cluster.run(60)
    assert rolled_out(cluster.get(DEPLOYMENTS, "web"))
    assert not conditions.find(cluster.get(DEPLOYMENTS, "web"), "ReplicaFailure")


@pytest.mark.parametrize("key", [SETS, "replicationcontrollers"])
def test_pods_are_adopted_and_let_go_by_their_labels(key: str) -> None:
    """A pod that is relabelled is replaced and stays; one that fits is taken in place of a new
    one.
    """
    cluster = ControllerHarness()
    selector = {"matchLabels": {"app": "web"}} if key == SETS else {"app": "web"}
    cluster.create(
        PODS,
        "stray",
        metadata={"labels": {"app": "web"}},
        spec={"containers": [{"name": "main", "image": "app:1"}]},
    )
    cluster.create(key, "web", spec={"replicas": 2, "selector": selector, "template": template()})
    cluster.run(2)
    assert len(cluster.names(PODS)) == 2
    assert cluster.get(PODS, "stray")["metadata"]["ownerReferences"][0]["name"] == "web"
    cluster.change(PODS, "stray", lambda body: body["metadata"].update(labels={"app": "debug"}))
    cluster.run(2)
    assert len(cluster.names(PODS)) == 3
    assert not cluster.get(PODS, "stray")["metadata"].get("ownerReferences")
    cluster.change(PODS, "stray", lambda body: body["metadata"].update(labels={"app": "web"}))
    cluster.run(40)
    assert len(cluster.names(PODS)) == 2
    assert cluster.get(key, "web")["status"]["readyReplicas"] == 2


amounts = st.one_of(st.integers(0, 4), st.sampled_from(["0%", "25%", "50%", "100%"]))


@settings(max_examples=25, deadline=None)
@given(replicas=st.integers(0, 12), surge=amounts, unavailable=amounts, then=st.integers(0, 12))
def test_a_rollout_keeps_its_bounds(
    replicas: int, surge: int | str, unavailable: int | str, then: int
) -> None:
    """At no step fewer are available than allowed, or more are there; scaled midway, it ends at the
    new size.
    """
    assume(any(str(amount).strip("%") != "0" for amount in (surge, unavailable)))
    cluster = ControllerHarness()
    strategy = {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable},
    }
    cluster.create(DEPLOYMENTS, "web", spec=deployment(replicas, strategy=strategy))
    cluster.run(5)
    bounds = rollout_target(replicas, surge, unavailable)

    def check() -> None:
        pods = [body for body in cluster.verbs.every(PODS) if is_active(body)]
        assert sum(conditions.holds(pod, "Ready") for pod in pods) >= bounds.min_available
        assert (
            sum(body["spec"]["replicas"] for body in cluster.verbs.every(SETS)) <= bounds.max_total
        )

    cluster.watchers.append(check)
    cluster.change(DEPLOYMENTS, "web", roll_to("app:2"))
    cluster.run(200)
    assert images(cluster) == ["app:2"] * replicas
    assert rolled_out(cluster.get(DEPLOYMENTS, "web"))
    cluster.watchers.clear()
    cluster.change(DEPLOYMENTS, "web", roll_to("app:3"))
    cluster.run(1.5)
    cluster.change(DEPLOYMENTS, "web", scale_to(then))
    cluster.run(200)
    assert images(cluster) == ["app:3"] * then
    assert rolled_out(cluster.get(DEPLOYMENTS, "web"))


actions = st.lists(
    st.one_of(
        st.tuples(st.just("create"), st.sampled_from("ab"), st.integers(0, 6)),
        st.tuples(st.just("scale"), st.sampled_from("ab"), st.integers(0, 6)),
        st.tuples(st.just("roll"), st.sampled_from("ab"), st.integers(1, 3)),
        st.tuples(st.just("kill"), st.sampled_from("ab"), st.integers(0, 9)),
        st.tuples(
            st.sampled_from(["Background", "Foreground", "Orphan"]),
            st.sampled_from("ab"),
            st.just(0),
        ),
        st.tuples(st.just("wait"), st.just(""), st.integers(0, 5)),
    ),
    max_size=12,
)


def act(cluster: ControllerHarness, what: str, name: str, number: int) -> None:
    """One action of a user, where it is possible."""
    labels = {"app": name}
    present = cluster.store.get(DEPLOYMENTS, "default", name)
    if what == "wait":
        cluster.run(number)
    elif what == "create" and not present:
        pods = template("app:1", labels)
        cluster.create(
            DEPLOYMENTS,
            name,
            spec=deployment(number, selector={"matchLabels": labels}, template=pods),
        )
    elif what == "scale" and present:
        cluster.change(DEPLOYMENTS, name, scale_to(number))
    elif what == "roll" and present:
        cluster.change(
            DEPLOYMENTS,
            name,
            lambda body: body["spec"].update(template=template(f"app:{number}", labels)),
        )
    elif what == "kill":
        for pod in cluster.names(PODS)[number : number + 1]:
            cluster.delete(PODS, pod)
    elif what in ("Background", "Foreground", "Orphan") and present:
        cluster.delete(DEPLOYMENTS, name, what)


@settings(max_examples=40, deadline=None)
@given(actions)
def test_whatever_users_do_it_ends_as_they_want(sequence: list[tuple[str, str, int]]) -> None:
    """As many pods as wanted, of the wanted template; nobody whose owner is gone."""
    cluster = ControllerHarness()
    for action in sequence:
        act(cluster, *action)
    cluster.run(300)
    for stored in cluster.store.list(DEPLOYMENTS):
        wanted, app = stored.body["spec"], stored.key[1]
        image = wanted["template"]["spec"]["containers"][0]["image"]
        pods = [
            body for body in cluster.verbs.every(PODS) if body["metadata"]["labels"]["app"] == app
        ]
        assert [pod["spec"]["containers"][0]["image"] for pod in pods] == [image] * wanted[
            "replicas"
        ]
        assert rolled_out(stored.body)
    uids = {
        stored.body["metadata"]["uid"]
        for key in (DEPLOYMENTS, SETS, PODS)
        for stored in cluster.store.list(key)
    }
    for key in (SETS, PODS):
        for body in cluster.verbs.every(key):
            assert all(
                owner["uid"] in uids for owner in body["metadata"].get("ownerReferences", ())
            )
