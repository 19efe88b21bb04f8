"""Objects of any kind, on the embedded cluster."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from moorage.api import yaml_documents
from moorage.apps import resources
from moorage.apps.install.cluster_objects import ClusterObjects, KindNotServed
from moorage.apps.install.object_keys import Kind, ObjectKey, installation_of, key_of, kinds_of
from moorage.apps.worlds.cluster_choice import ClusterChoice
from moorage.apps.worlds.reaching import connected
from moorage.ports.errors import Conflict, Invalid, Retryable
from moorage.ports.http_calls import HttpCall
from towtank import Cluster, ClusterSettings
from towtank.controllers.manager import ControllerSettings

CONFIG_MAP = Kind("v1", "ConfigMap")
ROLE = Kind("rbac.authorization.k8s.io/v1", "ClusterRole")


@contextlib.asynccontextmanager
async def cluster() -> AsyncIterator[ClusterObjects]:
    """An API server without controllers."""
    settings = ClusterSettings(controllers=ControllerSettings.none())
    async with Cluster(settings) as made:
        choice = ClusterChoice(str(made.kubeconfig))
        async with connected(choice, waits_alone=False) as connection:
            yield ClusterObjects(connection.session)


def run(scenario: Callable[[ClusterObjects], Awaitable[None]]) -> None:
    """On a cluster of its own."""

    async def all_of_it() -> None:
        async with cluster() as objects:
            await scenario(objects)

    asyncio.run(all_of_it())


def document(kind: Kind, name: str, namespace: str = "", **labels: str) -> dict[str, Any]:
    """An object of ours; labels by the last part of their key."""
    prefixes = {"shard-of": "moorage.dev/"}
    own = {"part_of": "moorage", **labels}
    keys = {key.replace("_", "-"): value for key, value in own.items()}
    labelled = {f"{prefixes.get(key, 'app.kubernetes.io/')}{key}": it for key, it in keys.items()}
    place = {"namespace": namespace} if namespace else {}
    metadata = {"name": name, "labels": labelled, **place}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}


def test_applying_again_changes_nothing() -> None:
    """What others wrote beside stays; a field that is left out goes."""

    async def scenario(objects: ClusterObjects) -> None:
        body = document(CONFIG_MAP, "a", "default")
        first = await objects.apply({**body, "data": {"x": "1", "y": "2"}})
        again = await objects.apply({**body, "data": {"x": "1", "y": "2"}})
        assert again["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
        less = await objects.apply({**body, "data": {"x": "3"}})
        assert less["data"] == {"x": "3"}
        assert (await objects.get(key_of(body)) or {})["data"] == {"x": "3"}

    run(scenario)


def test_a_dry_run_writes_nothing() -> None:
    """It is judged all the same."""

    async def scenario(objects: ClusterObjects) -> None:
        body = document(CONFIG_MAP, "a", "default")
        await objects.apply(body, dry_run=True)
        assert await objects.get(key_of(body)) is None
        with pytest.raises(Invalid):
            await objects.apply({**body, "data": {"x": 5}}, dry_run=True)

    run(scenario)


def test_deleting() -> None:
    """What is gone is gone; another object of the name is not meant."""

    async def scenario(objects: ClusterObjects) -> None:
        body = document(ROLE, "a")
        made = await objects.apply(body)
        with pytest.raises(Conflict):
            await objects.delete(key_of(body), uid="another")
        assert await objects.delete(key_of(body), uid=made["metadata"]["uid"])
        assert await objects.get(key_of(body)) is None
        assert not await objects.delete(key_of(body))

    run(scenario)


def test_what_is_not_served() -> None:
    """It is told by name; with its CRD it is served, without asking again for what is known."""
    profile = Kind("moorage.dev/v1alpha1", "SchedulerProfile")

    async def scenario(objects: ClusterObjects) -> None:
        assert not await objects.serves(profile)
        with pytest.raises(KindNotServed, match=r"serve SchedulerProfile of moorage\.dev/v1alpha1"):
            await objects.get(ObjectKey(*profile, "a"))
        assert await objects.list_ours([profile]) == []
        for crd in yaml_documents.load_all(resources.crds()):
            await objects.apply(crd)
        while not await objects.serves(profile):  # the server is in this loop
            await asyncio.sleep(0)
        assert await objects.get(ObjectKey(*profile, "a")) is None

    run(scenario)


def test_all_that_is_in_a_namespace() -> None:
    """Objects of any kind, once each, by their metadata; none of elsewhere."""

    async def scenario(objects: ClusterObjects) -> None:
        for name in ("n", "other"):
            await objects.apply(document(Kind("v1", "Namespace"), name))
            await objects.apply({**document(CONFIG_MAP, "a", name), "data": {"a": "b"}})
        lease = Kind("coordination.k8s.io/v1", "Lease")
        await objects.apply({**document(lease, "l", "n"), "spec": {"holderIdentity": "me"}})
        found = await objects.list_all_in("n")
        assert [str(key_of(one)) for one in found.objects] == ["ConfigMap n/a", "Lease n/l"]
        assert not found.unseen and not any("data" in one for one in found.objects)

    run(scenario)


class SilentGroup:
    """An API server with a group behind which nobody answers, and metrics, which cannot be deleted;
    ``streams`` nothing.
    """

    async def call(self, call: HttpCall) -> bytes:
        """One answer."""
        if "a.example" in call.path:
            raise Retryable("503: nobody there")
        of_metrics = {"name": "pods", "kind": "PodMetrics", "namespaced": True, "verbs": ["list"]}
        answers: dict[str, Any] = {
            "/apis": {
                "groups": [
                    {"preferredVersion": it, "versions": [it]}
                    for it in ({"groupVersion": "a.example/v1"}, {"groupVersion": "metrics/v1"})
                ]
            },
            "/apis/metrics/v1": {"resources": [of_metrics]},
            "/api/v1": {"resources": []},
        }
        return json.dumps(answers[call.path]).encode()

    def stream(self, path: str) -> AsyncGenerator[bytes, None]:
        """Never asked for."""
        raise NotImplementedError(path)


def test_a_group_without_an_answer_is_told() -> None:
    """As nobody knows what of it is in the namespace."""
    found = asyncio.run(ClusterObjects(SilentGroup()).list_all_in("n"))
    assert not found.objects
    assert [*found.unseen] == ["nobody knows what of a.example/v1 is in it: 503: nobody there"]


def test_whose_an_object_is() -> None:
    """Lists are of all namespaces, and of ours alone; shards belong to their installation."""
    bodies = [
        document(CONFIG_MAP, "a", "default", instance="one"),
        document(CONFIG_MAP, "b", "kube-system", instance="one-0", **{"shard-of": "one"}),
        document(CONFIG_MAP, "c", "default", instance="two"),
        document(CONFIG_MAP, "d", "default", part_of="another", instance="one"),
        document(ROLE, "e"),
    ]

    async def scenario(objects: ClusterObjects) -> None:
        for body in bodies:
            await objects.apply(body)
        kinds = kinds_of(bodies)
        assert kinds == (CONFIG_MAP, ROLE)
        found = await objects.list_ours(kinds)
        assert [(one["metadata"]["name"], installation_of(one)) for one in found] == [
            ("a", "one"),
            ("c", "two"),
            ("b", "one"),
            ("e", ""),
        ]
        assert {Kind(one["apiVersion"], one["kind"]) for one in found} == {*kinds}

    run(scenario)
