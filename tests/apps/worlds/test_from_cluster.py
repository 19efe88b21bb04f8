"""Worlds from an API server: scripted ones that refuse, and the embedded cluster."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from moorage.apps.exit_status import NoAnswer
from moorage.apps.explain.first_lines import first_line
from moorage.apps.explain.one_group import explain_found, find_group
from moorage.apps.explain.one_pod import explain, explain_under
from moorage.apps.worlds.cluster_choice import ClusterChoice
from moorage.apps.worlds.deciding import in_tree_resolver
from moorage.apps.worlds.from_cluster import from_cluster, look
from moorage.apps.worlds.world import World
from moorage.core.explaining.pending_pods import Limits
from moorage.core.objects.meta import Namespace
from moorage.core.objects.pod_groups import API
from tests.adapters.api_server import Answer, StubApiServer, answers, api_server, status

PROFILES = "/apis/moorage.dev/v1alpha1/schedulerprofiles"
STORED = "/apis/apps/v1/namespaces/home/controllerrevisions"
NAMED = {"name": "n", "uid": "u-n"}
NODES = {"metadata": {"resourceVersion": "1"}, "items": [{"metadata": NAMED}]}
NONE = {"metadata": {"resourceVersion": "1"}, "items": []}


def profile(spec: dict[str, Any], **status: Any) -> dict[str, Any]:
    """A list of one profile."""
    body = {"metadata": {"name": "batch", "uid": "u", "generation": 2}, "spec": spec}
    return {**NONE, "items": [{**body, "status": status}]}


def kubeconfig(folder: Path, url: str) -> ClusterChoice:
    """A file with two contexts, of which the current one leads nowhere."""
    clusters = {"there": url, "nowhere": "http://127.0.0.1:1"}
    document = {
        "current-context": "nowhere",
        "clusters": [{"name": name, "cluster": {"server": at}} for name, at in clusters.items()],
        "users": [],
        "contexts": [{"name": name, "context": {"cluster": name}} for name in clusters],
    }
    (folder / "kubeconfig").write_text(json.dumps(document))
    return ClusterChoice(str(folder / "kubeconfig"), "there")


def seen(folder: Path, scripted: dict[str, Answer]) -> tuple[World, StubApiServer]:
    """The world of an API server that has these answers beside one node, and no pods."""

    async def scenario() -> tuple[World, StubApiServer]:
        async with api_server() as server:
            usual = {"/version": answers({}), "/api/v1/nodes": answers(NODES)}
            for path, answer in {"/api/v1/pods": answers(NONE), **usual, **scripted}.items():
                server.then("GET", path, answer)
            return await look(kubeconfig(folder, server.url), in_tree_resolver()), server

    return asyncio.run(scenario())


def test_what_is_not_there_or_forbidden_is_said(tmp_path: Path) -> None:
    """And the rest goes on, with kube-scheduler's own profile."""
    made, server = seen(tmp_path, {"/api/v1/services": status(403, "Forbidden")})
    forbidden, absent = made.warnings
    assert forbidden == "no right to list services: taken as if there were none"
    assert "schedulerprofiles" in absent and "resourceclaims" in absent
    assert list(made.profiles) == ["default-scheduler"]
    assert list(made.context.cache.nodes.row_of) == ["n"]
    assert made.origin == f"the API server alone, {server.url} (context there)"


def test_a_profile_that_means_nothing_here_is_not_taken_for_anothers(tmp_path: Path) -> None:
    """One with a package's plugin, without that package: nothing is said by other rules."""
    spec = {"plugins": {"filter": {"enabled": [{"name": "Strange"}]}}}
    pod = {"metadata": {"name": "p", "namespace": "ns", "uid": "u"}}
    pods = {**NONE, "items": [{**pod, "spec": {"schedulerName": "batch", "containers": []}}]}
    found = {PROFILES: answers(profile(spec)), "/api/v1/pods": answers(pods)}
    world, _ = seen(tmp_path, found)
    (of_it,) = world.context.cache.waiting.values()
    explained = explain(world, of_it, in_tree_resolver(), Limits())
    assert explained["verdict"] == "NotResolved"
    line = (
        "ns/p is not explained: the SchedulerProfile that decides for 'batch' means nothing here: "
    )
    assert first_line(explained).startswith(line)
    assert "Strange" in first_line(explained) and first_line(explained).endswith("--config?")


def test_groups_of_an_api_that_is_not_served(tmp_path: Path) -> None:
    """It is not the PodGroup that lacks: no PodGroup could be there. One that is served and empty
    has none.
    """
    spec = {"schedulerName": "default-scheduler", "schedulingGroup": {"podGroupName": "g"}}
    meta = {"name": "p", "namespace": "ns", "uid": "u"}
    pods = answers({**NONE, "items": [{"metadata": meta, "spec": {**spec, "containers": []}}]})
    world, _ = seen(tmp_path, {"/api/v1/pods": pods})
    assert API in world.unserved
    assert said_of(world).startswith(f"the API server does not serve PodGroups of {API} (Kuberne")
    served = {"/api/v1/pods": pods, f"/apis/{API}/podgroups": answers(NONE)}
    world, _ = seen(tmp_path, served)
    assert API not in world.unserved
    assert said_of(world) == f"there is no PodGroup ns/g ({API})"


def said_of(world: World) -> str:
    """What is missing, by the pod and its group alike."""
    (pod,) = world.context.cache.waiting.values()
    resolver = in_tree_resolver()
    group = find_group(world.context.cache, "ns/g")
    assert group is not None
    texts = [
        explain(world, pod, resolver, Limits())["message"],
        explain_found(world, group, resolver, Limits())["message"],
        explain_under(world, pod, "default-scheduler", resolver)["message"],
    ]
    assert len(set(texts)) == 1
    return str(texts[0].partition("scheduling queue: ")[2])


def test_how_far_a_large_cluster_is_read_is_told(tmp_path: Path) -> None:
    """As the API server says beside the first object how many more there are."""
    told = list[str]()

    async def scenario() -> None:
        async with api_server() as server:
            many = {**NODES, "metadata": {"resourceVersion": "1", "remainingItemCount": 4999}}
            for path, answer in (("/version", {}), ("/api/v1/nodes", many), ("/api/v1/pods", NONE)):
                server.then("GET", path, answers(answer))
            await look(kubeconfig(tmp_path, server.url), in_tree_resolver(), told.append)

    asyncio.run(scenario())
    assert told[0] == "0 of 5,000 nodes, 0 pods"


def test_priority_classes_are_read(tmp_path: Path) -> None:
    """For pods that are to come; who may not list them is told."""
    path = "/apis/scheduling.k8s.io/v1/priorityclasses"
    gold = {"metadata": {"name": "gold"}, "value": 7, "globalDefault": True}
    made, _ = seen(tmp_path, {path: answers({**NONE, "items": [gold]})})
    assert (made.priorities["gold"], made.priorities[""]) == (7, 7)
    made, _ = seen(tmp_path, {path: status(403, "Forbidden")})
    assert made.warnings[0].startswith("no right to list priorityclasses")


def test_nothing_but_lists_is_asked_for(tmp_path: Path) -> None:
    """No watch, no write; pods that have ended are left to the API server."""
    _, server = seen(tmp_path, {})
    assert {request.method for request in server.requests} == {"GET"}
    assert not [request for request in server.requests if "watch" in request.query]
    queries = server.queries("/api/v1/pods")
    assert {query["fieldSelector"] for query in queries} == {
        "status.phase!=Succeeded,status.phase!=Failed"
    }


@pytest.mark.parametrize("resource", ["pods", "nodes"])
def test_without_pods_or_nodes_there_is_no_world(tmp_path: Path, resource: str) -> None:
    """An answer about nothing would look like one."""
    with pytest.raises(NoAnswer, match=f"{resource} cannot be listed at http.*: not for you"):
        seen(tmp_path, {f"/api/v1/{resource}": status(403, "Forbidden", "not for you")})


def test_profiles_decide_as_the_operator_resolves_them(tmp_path: Path) -> None:
    """Without Default, as kube-scheduler is not known to run."""
    made, _ = seen(tmp_path, {PROFILES: answers(profile({"preset": "BinPack"}))})
    assert list(made.profiles) == ["batch"]


def test_where_a_spec_is_refused_the_last_good_revision_decides(tmp_path: Path) -> None:
    """As the operator has stored it."""
    bad = profile({"preset": "BinPak"}, activeRevision="abcd", claimedBy="home/moorage")
    good = profile({"preset": "Spread"})["items"][0]
    stored = {"metadata": {"name": "batch-abcd"}, "data": {"profile": good, "pluginConfigs": {}}}
    made, server = seen(
        tmp_path, {PROFILES: answers(bad), STORED: answers({**NONE, "items": [stored]})}
    )
    assert list(made.profiles) == ["batch"]
    assert any("its spec is refused" in warning for warning in made.warnings)
    (query,) = server.queries(STORED)
    assert query["fieldSelector"] == "metadata.name=batch-abcd"


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"paused": True}, {}),
        ({"rollout": {"strategy": "Canary"}}, {"trial": {"verdict": "SoFarNoWorse"}}),
    ],
)
def test_where_a_spec_is_held_another_revision_decides(
    tmp_path: Path, spec: dict[str, Any], said: dict[str, Any]
) -> None:
    """Paused, or on trial: as the operator has stored it; else the spec, which is no fault."""
    held = profile({"preset": "BinPack", **spec}, activeRevision="ab", claimedBy="home/m", **said)
    good = profile({"preset": "Spread"})["items"][0]
    stored = {"metadata": {"name": "batch-ab"}, "data": {"profile": good, "pluginConfigs": {}}}
    there = {PROFILES: answers(held), STORED: answers({**NONE, "items": [stored]})}
    made, _ = seen(tmp_path, there)
    assert any("its spec is paused, or on trial" in warning for warning in made.warnings)
    alone, _ = seen(tmp_path, {PROFILES: answers(held)})
    assert not any("its spec" in warning for warning in alone.warnings)
    assert made.profiles["batch"].id != alone.profiles["batch"].id


@pytest.mark.parametrize("claimed", ["", "home/moorage"])
def test_a_profile_without_a_good_revision_is_left_out(tmp_path: Path, claimed: str) -> None:
    """And said, with its error."""
    bad = profile({"preset": "BinPak"}, activeRevision="abcd", claimedBy=claimed)
    made, _ = seen(tmp_path, {PROFILES: answers(bad), STORED: status(403, "Forbidden")})
    assert list(made.profiles) == ["default-scheduler"]
    assert any('did you mean "BinPack"' in warning for warning in made.warnings)


def test_no_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line says where it was looked, and what to try."""
    choice = kubeconfig(tmp_path, "http://127.0.0.1:1")
    with pytest.raises(
        NoAnswer, match=r"no answer from http://127.0.0.1:1 \(context there\): cannot connect"
    ):
        from_cluster(choice, in_tree_resolver())
    with pytest.raises(NoAnswer, match="no such file"):
        from_cluster(ClusterChoice("nowhere"), in_tree_resolver())
    monkeypatch.setenv("KUBECONFIG", "one:two")
    with pytest.raises(NoAnswer, match="none of these files is there"):
        from_cluster(ClusterChoice(), in_tree_resolver())


def test_an_unknown_user_is_told(tmp_path: Path) -> None:
    """It is no matter of the network."""
    with pytest.raises(NoAnswer, match="does not know us: who are you"):
        seen(tmp_path, {"/version": status(401, "Unauthorized", "who are you")})


def test_who_may_not_ask_for_the_version_may_still_list(tmp_path: Path) -> None:
    """Rights to non-resources are often taken away."""
    made, _ = seen(tmp_path, {"/version": status(403, "Forbidden")})
    assert list(made.context.cache.nodes.row_of) == ["n"]


def test_namespaces_and_waiting_pods_come_in(tmp_path: Path) -> None:
    """Each where decisions look for it."""
    pod = {"metadata": {"name": "p", "namespace": "d", "uid": "u-p"}, "spec": {}}
    namespace = {"metadata": {"name": "d"}}
    made, _ = seen(
        tmp_path,
        {
            "/api/v1/pods": answers({**NONE, "items": [pod]}),
            "/api/v1/namespaces": answers({**NONE, "items": [namespace]}),
        },
    )
    assert list(made.context.cache.waiting) == ["u-p"]
    assert list(made.context.cache.store.objects(Namespace)) == ["d"]


def test_a_context_that_there_is_not(tmp_path: Path) -> None:
    """The nearest is named, and all that there are."""
    choice = ClusterChoice(kubeconfig(tmp_path, "http://127.0.0.1:1").kubeconfig, "thre")
    text = 'there is no context thre; did you mean "there"\\?; there are: there, nowhere'
    with pytest.raises(NoAnswer, match=text):
        from_cluster(choice, in_tree_resolver())
