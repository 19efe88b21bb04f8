"""`moorage install` on the embedded cluster, as it is typed."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import pytest
from typer.testing import CliRunner

from moorage.api import yaml_documents
from moorage.apps import resources
from moorage.apps.cli import app
from moorage.apps.install.object_keys import ObjectKey, key_of
from moorage.apps.install.variants import Options, documents, every_kind
from moorage.ports.http_calls import MERGE_PATCH, HttpCall
from tests.apps.install.playing import Played, played

NAMESPACE = "moorage-system"
POLICY = ObjectKey("networking.k8s.io/v1", "NetworkPolicy", "moorage", NAMESPACE)


class Done(NamedTuple):
    """How a command ended."""

    status: int
    text: str
    errors: str

    @property
    def lines(self) -> list[str]:
        """What it said."""
        return self.text.splitlines()


def typed(*words: str) -> Done:
    """`moorage install` with these words."""
    done = CliRunner().invoke(app, ["install", *words])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return Done(done.exit_code, done.stdout, done.stderr)


def scenario(of: Callable[[Played], Awaitable[None]]) -> None:
    """On a cluster of its own."""

    async def whole() -> None:
        async with played() as there:
            await of(there)

    asyncio.run(whole())


async def install(there: Played, *words: str) -> Done:
    """What `moorage install` does there."""
    return await asyncio.to_thread(typed, *words, "--kubeconfig", str(there.kubeconfig))


async def versions(there: Played) -> dict[ObjectKey, Any]:
    """The resourceVersion of each object of ours, but for those that controllers write."""
    found = await there.objects.list_ours(every_kind())
    return {
        key_of(one): one["metadata"].get("generation") or one["metadata"]["resourceVersion"]
        for one in found
    }


def test_install_again_and_as_another_variant() -> None:
    """The first makes all, and waits until a replica leads; the second changes nothing; what is
    in the set no more is removed, and nothing of others.
    """
    other = documents("observer", (), Options(name="other"))

    async def of(there: Played) -> None:
        first = await install(there, "--component", "network-policy")
        assert (first.status, first.errors) == (0, "")
        assert first.lines[0].startswith("Moorage works as moorage-system/moorage at https://")
        assert first.lines[0].endswith(" leads, 2 of 2 replicas answer.")
        assert "NetworkPolicy moorage-system/moorage" in first.lines[1]
        before = await versions(there)
        assert POLICY in before
        again = await install(there, "--component", "network-policy")
        assert again.status == 0
        assert again.lines[1].startswith("  nothing has changed: ")
        assert await versions(there) == before
        for body in other:
            if body["kind"] == "ClusterRole":
                await there.objects.apply(body)
        observing = await install(there, "--variant", "observer")
        assert observing.status == 0
        assert observing.lines[0].startswith("To be removed, as what was asked for has it no more:")
        assert "ClusterRole moorage-deciding" in observing.lines[0]
        wanted = documents("observer", (), Options())
        roles = [one for one in other if one["kind"] == "ClusterRole"]
        assert {*await versions(there)} == {key_of(one) for one in (*wanted, *roles)}
        (removed,) = (line for line in observing.lines if line.startswith("  removed: "))
        assert "ClusterRole moorage-deciding" in removed
        assert "NetworkPolicy moorage-system/moorage" in removed

    scenario(of)


def test_admission() -> None:
    """Its authority is made once, and the webhook believes it; the next run changes neither."""
    webhook = ObjectKey(
        "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "moorage"
    )
    secret = ObjectKey("v1", "Secret", "moorage-admission-tls", NAMESPACE)

    async def of(there: Played) -> None:
        first = await install(there, "--component", "admission")
        assert (first.status, first.errors) == (0, "")
        data = (await there.objects.get(secret) or {})["data"]
        believing = (await there.objects.get(webhook) or {})["webhooks"]
        assert {one["clientConfig"]["caBundle"] for one in believing} == {data["ca.crt"]}
        again = await install(there, "--component", "admission")
        assert again.lines[1].startswith("  nothing has changed: ")
        assert (await there.objects.get(secret) or {})["data"] == data
        without = await install(there)
        assert without.status == 0
        assert await there.objects.get(webhook) is None

    scenario(of)


def test_a_second_one_in_the_namespace() -> None:
    """The Namespace stays the first one's, with its labels, until that is there no more."""
    key = ObjectKey("v1", "Namespace", NAMESPACE)

    async def of(there: Played) -> None:
        assert (await install(there)).status == 0
        before = await there.objects.get(key)
        second = await install(there, "--name", "b", "--variant", "observer")
        assert (second.status, second.errors) == (0, "")
        assert await there.objects.get(key) == before
        await there.objects.delete(ObjectKey("apps/v1", "Deployment", "moorage", NAMESPACE))
        assert (await install(there, "--name", "b", "--variant", "observer")).status == 0
        after = await there.objects.get(key) or {}
        assert after["metadata"]["labels"]["app.kubernetes.io/instance"] == "b"

    scenario(of)


def test_shards() -> None:
    """Each has a leader of its own."""

    async def of(there: Played) -> None:
        done = await install(there, "--shards", "2", "--replicas", "1", "--name", "harbor")
        assert (done.status, done.errors) == (0, "")
        for line, name in zip(done.lines, ("harbor-0", "harbor-1"), strict=False):
            assert line.startswith(f"Moorage works as moorage-system/{name} at ")
            assert f": {name}-" in line
        assert "  left out" not in "".join(done.lines)
        assert done.lines[-1] == "Profiles choose it by spec.controllerName: harbor-0, harbor-1"

    scenario(of)


def test_where_it_does_not_work() -> None:
    """What is wrong is said, what is done stays, and what was to go does not go yet."""

    async def of(there: Played) -> None:
        there.plays = False
        failed = await install(there, "--timeout", "1s")
        assert failed.status == 1
        said = "Moorage does not work, after 1 s: 0 of 2 pods Ready."
        assert failed.lines[0] == said
        assert any(
            line.startswith("  Deployment moorage-system/moorage: Avail") for line in failed.lines
        )
        assert sum(line.startswith("  Pod moorage-") for line in failed.lines) == 2
        assert "  Lease moorage-system/moorage: nobody holds it" in failed.lines
        assert failed.lines[-1].startswith("Next: mend what is wrong")
        there.plays = True
        mended = await install(there)
        assert mended.status == 0
        assert mended.lines[1].startswith("  nothing has changed: ")

    scenario(of)


def test_what_is_in_the_way() -> None:
    """It is looked for first, and said with what to do; without the look the API server refuses the
    object, and its words are told.
    """

    async def of(there: Played) -> None:
        old = documents("default", (), Options())
        (deployment,) = (copy.deepcopy(one) for one in old if one["kind"] == "Deployment")
        await there.objects.apply(next(one for one in old if one["kind"] == "Namespace"))
        labels = {**deployment["spec"]["selector"]["matchLabels"], "older": "yes"}
        deployment["spec"]["selector"]["matchLabels"] = labels
        deployment["spec"]["template"]["metadata"]["labels"] = labels
        await there.objects.apply(deployment)
        before = await versions(there)
        found = await install(there)
        assert (found.status, found.errors) == (1, "")
        assert found.lines[0].startswith("Nothing was installed at https://")
        assert found.lines[0].endswith(": 1 thing is in the way.")
        assert found.lines[2].startswith("    kubectl -n moorage-system delete deployment moorage")
        assert await versions(there) == before
        refused = await install(there, "--skip-preflight")
        assert refused.status == 1
        assert refused.lines[0].startswith("Moorage is not wholly installed at https://")
        assert "CustomResourceDefinition" in refused.lines[1]
        assert refused.lines[1].startswith("  made: ")
        assert refused.lines[-1].startswith("Next: mend what is wrong, and type the same again")
        assert refused.errors.startswith(
            "moorage: the API server refuses Deployment moorage-system/moorage: "
        )
        assert "immutable" in refused.errors

    scenario(of)


def test_what_others_manage() -> None:
    """It stops the installation, with or without a look before, unless it is to be taken over."""
    (service,) = (one for one in documents("default", (), Options()) if one["kind"] == "Service")

    async def of(there: Played) -> None:
        assert (await install(there)).status == 0
        path = f"/api/v1/namespaces/{NAMESPACE}/services/{service['metadata']['name']}"
        patch = json.dumps({"metadata": {"labels": {"app.kubernetes.io/name": "ships"}}}).encode()
        mine = HttpCall("PATCH", f"{path}?fieldManager=somebody", patch, MERGE_PATCH)
        await there.session.call(mine)
        before = await versions(there)
        found = await install(there)
        assert (found.status, len(found.lines)) == (1, 4)
        told = (
            "  Service moorage-system/moorage: .metadata.labels.app.kubernetes.io/name is managed"
        )
        assert found.lines[1] == f'{told} by "somebody" using v1'
        assert found.lines[2].startswith("    take it over by --force-conflicts")
        refused = await install(there, "--skip-preflight")
        assert refused.status == 1 and 'conflict with "somebody"' in refused.errors
        assert refused.errors.rstrip().endswith("; --force-conflicts takes it over")
        assert await versions(there) == before
        taken = await install(there, "--force-conflicts")
        assert (taken.status, taken.errors) == (0, "")
        assert "  changed: Service moorage-system/moorage" in taken.lines
        assert f'{told} by "somebody" using v1: taken over' in taken.lines
        assert (await install(there)).status == 0

    scenario(of)


def test_where_the_api_server_says_no_in_between() -> None:
    """What was made until then is told."""

    async def of(there: Played) -> None:
        done = await install(there, "--lease-namespace", "absent", "--skip-preflight")
        assert done.status == 3
        assert 'namespaces "absent" not found' in done.errors
        assert done.lines[0].startswith("Moorage is not wholly installed at https://")
        assert done.lines[1].startswith("  made: CustomResourceDefinition")

    scenario(of)


@pytest.mark.parametrize("variant", resources.variants())
def test_a_dry_run_prints_yaml(variant: str) -> None:
    """It asks no cluster; each object comes after what it needs."""
    components = [] if variant == "observer" else ["--component", "admission"]
    done = typed("--variant", variant, *components, "--dry-run", "--kubeconfig", "/absent")
    assert (done.status, done.errors) == (0, "")
    found = yaml_documents.load_all(done.text)
    wanted = documents(variant, components[1:], Options())
    assert sorted(map(key_of, found)) == sorted(map(key_of, wanted))
    assert all(one in wanted for one in found)
    kinds = [one["kind"] for one in found]
    order = ["CustomResourceDefinition", "Namespace", "ClusterRole", "ConfigMap", "Deployment"]
    if components:
        order.append("ValidatingWebhookConfiguration")
    places = [kinds.index(one) for one in order]
    assert places == sorted(places)


def test_what_was_typed_wrong() -> None:
    """Nobody is asked."""
    done = typed("--variant", "hah", "--kubeconfig", "/absent")
    assert (done.status, done.text) == (2, "")
    assert done.errors.startswith("moorage: --variant hah: use one of default, ")
