"""What is found before objects are applied, on the embedded cluster; rights and Pod Security are
tried on a real API server.
"""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Awaitable, Callable
from typing import Any

from moorage.apps.install.cluster_objects import ClusterObjects
from moorage.apps.install.findings import HELM, Obstacle
from moorage.apps.install.object_keys import Document, key_of
from moorage.apps.install.preflight import preflight
from moorage.apps.install.variants import Options, documents
from moorage.apps.worlds.cluster_choice import ClusterChoice
from moorage.apps.worlds.reaching import Connection, connected
from towtank import Cluster, ClusterSettings
from towtank.controllers.manager import ControllerSettings

NOW = datetime.datetime(2026, 5, 1, 12, tzinfo=datetime.UTC)
Scenario = Callable[[ClusterObjects, Callable[..., Awaitable[list[Obstacle]]]], Awaitable[None]]


def run(scenario: Scenario) -> None:
    """On a cluster of its own, with the preflight of any documents there."""

    async def all_of_it() -> None:
        settings = ClusterSettings(controllers=ControllerSettings.none())
        async with Cluster(settings) as made:
            choice = ClusterChoice(str(made.kubeconfig))
            async with connected(choice, waits_alone=False) as connection:
                await scenario(ClusterObjects(connection.session), _preflight(connection))

    asyncio.run(all_of_it())


def _preflight(connection: Connection) -> Callable[..., Awaitable[list[Obstacle]]]:
    async def look(objects: list[Document], version: str = "v1.37.0") -> list[Obstacle]:
        return await preflight(connection.session, version, objects, NOW)

    return look


def default(*components: str, variant: str = "default") -> list[Document]:
    """What is to be applied."""
    return documents(variant, components, Options())


def one(objects: list[Document], kind: str) -> Document:
    """The only object of a kind."""
    (found,) = (each for each in objects if each["kind"] == kind)
    return found


async def apply(objects: ClusterObjects, documents_: list[Document]) -> None:
    """Namespaces first."""
    for document in sorted(documents_, key=lambda each: each["kind"] != "Namespace"):
        await objects.apply(document)


def test_a_good_cluster_has_nothing_against_it() -> None:
    """Neither an empty one, nor one in which it is installed; nothing is written."""

    async def scenario(objects: ClusterObjects, look: Any) -> None:
        whole = default("admission", "assign", "network-policy")
        assert await look(whole) == []
        assert await objects.get(key_of(one(whole, "Namespace"))) is None
        await apply(objects, whole)
        assert await look(whole) == []
        assert await look(default(variant="ha")) == []

    run(scenario)


def test_each_fault_is_found() -> None:
    """A version, a kind that is not served, Helm, a selector, a missing namespace, a Lease."""

    async def scenario(objects: ClusterObjects, look: Any) -> None:
        whole = default()
        role, deployment = one(whole, "Service"), one(whole, "Deployment")
        await objects.apply(one(whole, "Namespace"))
        await objects.apply(
            {**role, "metadata": {**role["metadata"], "annotations": {HELM: "moorage"}}}
        )
        labels = {"app.kubernetes.io/name": "moorage"}
        older = {**deployment["spec"], "selector": {"matchLabels": labels}}
        await objects.apply({**deployment, "spec": older})
        await objects.apply(_lease("kube-scheduler", "kube-system"))
        await objects.apply(_lease("moorage", "moorage-system"))
        found = await look(
            documents(
                "default-scheduler",
                ["monitoring", "namespaced-lease"],
                Options(lease_namespace="leases"),
            ),
            version="v1.33.1",
        )
        told = [finding.what for finding in found]
        for text in (
            "Kubernetes v1.33.1 is older",
            "kube-scheduler places the pods of default-scheduler",
            "Service moorage-system/moorage is managed by Helm, release moorage",
            "Deployment moorage-system/moorage selects its pods by other labels",
            'Role leases/moorage-lease: namespaces "leases" not found',
            "the API server has no ServiceMonitor of monitoring.coreos.com/v1",
        ):
            assert any(what.startswith(text) for what in told), (text, told)
        assert len([finding for finding in found if not finding.stops]) == 2

    run(scenario)


def _lease(name: str, namespace: str) -> Document:
    spec = {
        "holderIdentity": "another_1",
        "renewTime": NOW.isoformat(timespec="microseconds"),
        "leaseDurationSeconds": 15,
    }
    metadata = {"name": name, "namespace": namespace}
    api = "coordination.k8s.io/v1"
    return {"apiVersion": api, "kind": "Lease", "metadata": metadata, "spec": spec}


def test_who_leads_by_the_name_is_found() -> None:
    """Where no Deployment of this installation is there; the Lease's namespace may be another."""

    async def scenario(objects: ClusterObjects, look: Any) -> None:
        await objects.apply(one(default(), "Namespace"))
        await objects.apply(_lease("moorage", "moorage-system"))
        (found,) = await look(default())
        assert found.what.startswith("another_1 leads by Lease moorage-system/moorage")
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "leases"}}
        await objects.apply(space)
        there = documents("default", [], Options(lease_namespace="leases"))
        assert await look(there) == []
        await objects.apply(_lease("moorage", "leases"))
        (found,) = await look(there)
        assert found.what.startswith("another_1 leads by Lease leases/moorage")

    run(scenario)


def test_an_installation_of_the_same_name_elsewhere() -> None:
    """By its Deployment, and by what is one in the cluster; another name is in nobody's way."""

    async def scenario(objects: ClusterObjects, look: Any) -> None:
        await apply(objects, default("admission"))
        there = Options(namespace="elsewhere")
        (found,) = await look(documents("default", ["admission"], there))
        assert found.what.startswith("installation moorage is in namespace moorage-system: ")
        for text in (
            "ClusterRoleBinding moorage",
            "RoleBinding kube-system/moorage",
            "FlowSchema moorage",
            "ValidatingWebhookConfiguration moorage",
            "Deployment moorage-system/moorage",
        ):
            assert text in found.what
        named = Options(namespace="elsewhere", name="other")
        assert await look(documents("default", ["admission"], named)) == []

    run(scenario)


def test_a_namespace_that_is_only_named() -> None:
    """By a subject that somebody added: nobody is told to uninstall what runs elsewhere."""

    async def scenario(objects: ClusterObjects, look: Any) -> None:
        whole = default()
        await apply(objects, whole)
        binding = next(each for each in whole if each["kind"] == "ClusterRoleBinding")
        added = {**binding["subjects"][0], "namespace": "tools"}
        await objects.apply({**binding, "subjects": [*binding["subjects"], added]})
        (found,) = await look(whole)
        assert found.what.endswith(f"is named by: {key_of(binding)}")
        assert "uninstall" not in found.do

    run(scenario)


def test_another_installation_in_the_namespace() -> None:
    """It goes on with its pods, as its label allows; one of the same level may come."""

    async def scenario(objects: ClusterObjects, look: Any) -> None:
        await apply(objects, default(variant="default-scheduler"))
        (found,) = await look(documents("default", [], Options(name="b")))
        assert found.stops and found.what.startswith("Namespace moorage-system has pod-security")
        assert await look(documents("default-scheduler", [], Options(name="b"))) == []
        assert await look(documents("default", [], Options("elsewhere", "b"))) == []

    run(scenario)


def test_a_namespace_of_others_is_left_alone() -> None:
    """Unless it is said to be for Moorage."""

    async def scenario(objects: ClusterObjects, look: Any) -> None:
        space: Document = {"apiVersion": "v1", "kind": "Namespace"}
        await objects.apply({**space, "metadata": {"name": "moorage-system"}})
        (found,) = await look(default())
        assert found.stops and found.what.startswith("Namespace moorage-system is not Moorage's")
        labels = {"app.kubernetes.io/name": "moorage"}
        await objects.apply({**space, "metadata": {"name": "moorage-system", "labels": labels}})
        assert await look(default()) == []

    run(scenario)


def test_a_field_that_the_new_kind_does_not_know_is_found() -> None:
    """In a profile that has it: before it would be dropped."""

    async def scenario(objects: ClusterObjects, look: Any) -> None:
        whole = default()
        crds = [each for each in default() if each["kind"] == "CustomResourceDefinition"]
        (profiles,) = (each for each in crds if each["metadata"]["name"].startswith("sched"))
        schema = profiles["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        schema["properties"]["spec"]["properties"]["later"] = {"type": "string"}
        for each in crds:
            await objects.apply(each)
        profile = {
            "apiVersion": "moorage.dev/v1alpha1",
            "kind": "SchedulerProfile",
            "metadata": {"name": "p"},
            "spec": {"later": "x"},
        }
        await objects.apply(profile)
        (found,) = await look(whole)
        assert found.what.startswith("SchedulerProfile p has spec.later, which the new Custom")

    run(scenario)
