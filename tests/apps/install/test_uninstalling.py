"""`moorage uninstall` on the embedded cluster, with its controllers: what it says, and how it
ends.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeAlias

import pytest

from moorage.apps.authority.authority_setting import Installed
from moorage.apps.exit_status import ExitStatus, NoAnswer, WrongUse
from moorage.apps.install import uninstalling
from moorage.apps.install.cluster_objects import ClusterObjects
from moorage.apps.install.findings import HELM
from moorage.apps.install.inventories import CRD, of
from moorage.apps.install.object_keys import Document, ObjectKey, key_of
from moorage.apps.install.removing import NotGone
from moorage.apps.install.uninstalling import Leaving, run
from moorage.apps.install.variants import Options, documents
from moorage.apps.worlds.cluster_choice import ClusterChoice
from moorage.apps.worlds.reaching import connected
from moorage.ports.errors import Forbidden
from towtank import Cluster

HERE: Final = Leaving(Installed("moorage-system", "moorage"), 30.0, yes=True)
BLUE: Final = Leaving(Installed("blue-system", "blue"), 30.0, yes=True)
PROFILE: Final = ObjectKey("moorage.dev/v1alpha1", "SchedulerProfile", "a")
CONFIG: Final = {"plugin": "NodeResourcesFit", "args": {}}
Uninstall: TypeAlias = Callable[[Leaving], Awaitable[ExitStatus]]


def on_a_cluster(scenario: Callable[[ClusterObjects, Uninstall], Awaitable[None]]) -> None:
    """With nobody's objects, and the command for it."""

    async def all_of_it() -> None:
        async with Cluster() as made:
            choice = ClusterChoice(str(made.kubeconfig))

            async def uninstall(asked: Leaving) -> ExitStatus:
                return await asyncio.to_thread(run, choice, asked)

            async with connected(choice, waits_alone=False) as connection:
                await scenario(ClusterObjects(connection.session), uninstall)

    asyncio.run(all_of_it())


async def install(objects: ClusterObjects, options: Options = Options()) -> list[Document]:  # noqa: B008 - frozen
    """All of an installation; namespaces and kinds first."""
    whole = documents("default", ["admission", "assign"], options)
    first = ("Namespace", CRD)
    for one in sorted(whole, key=lambda one: one["kind"] not in first):
        await objects.apply(one)
    return whole


async def left(objects: ClusterObjects, whole: list[Document]) -> list[str]:
    """Those that are there yet."""
    return [str(key_of(one)) for one in whole if await _is_there(objects, one)]


async def _is_there(objects: ClusterObjects, one: Document) -> bool:
    return await objects.get(key_of(one)) is not None


def profile(controller: str = "moorage") -> Document:
    """One, of an installation."""
    spec = {"controllerName": controller, "schedulerName": "a"}
    metadata = {"name": PROFILE.name}
    return {
        "apiVersion": PROFILE.api_version,
        "kind": PROFILE.kind,
        "metadata": metadata,
        "spec": spec,
    }


def test_a_dry_run_only_says(capsys: pytest.CaptureFixture[str]) -> None:
    """What goes, in order, and the profiles; nothing is written."""

    async def scenario(objects: ClusterObjects, uninstall: Uninstall) -> None:
        whole = await install(objects)
        await objects.apply(profile())
        await objects.apply({**profile(), "kind": "PluginConfig", "spec": CONFIG})
        asked = dataclasses.replace(HERE, dry_run=True, yes=False)
        assert await uninstall(asked) is ExitStatus.YES
        assert len(await left(objects, whole)) == len(whole)

    on_a_cluster(scenario)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Removing moorage-system/moorage at https://")
    assert [line.split(":")[0].strip() for line in lines[1:]] == [
        "what asks the operator",
        "the operator",
        "its pods",
        "profiles",
        "all else",
        "the namespace, with all that is in it",
        "1 SchedulerProfile",
        "1 PluginConfig",
    ]


def test_two_leave_one_after_the_other(capsys: pytest.CaptureFixture[str]) -> None:
    """The first one takes nothing that the other needs; the last one takes the kinds, too."""

    async def scenario(objects: ClusterObjects, uninstall: Uninstall) -> None:
        ours = await install(objects)
        options = Options(namespace="blue-system", name="blue", controller_name="blue")
        theirs = await install(objects, options)
        await objects.apply(profile("blue"))
        assert await uninstall(HERE) is ExitStatus.YES
        kinds = [str(key_of(one)) for one in of(ours, CRD)]
        assert await left(objects, ours) == kinds
        assert len(await left(objects, theirs)) == len(theirs)
        assert await objects.get(PROFILE) is not None
        assert await uninstall(BLUE) is ExitStatus.YES
        assert not await left(objects, theirs)

    on_a_cluster(scenario)
    said = capsys.readouterr().out
    assert "Stays: CustomResourceDefinition pluginconfigs.moorage.dev: installation blue-s" in said


@pytest.mark.parametrize("options", [Options(shards=2), Options(controller_name="team-a")])
def test_what_was_said_to_stay_stays(options: Options, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing says any more whose profiles the installation served when it is looked at again, nor
    when the command is typed again.
    """

    async def scenario(objects: ClusterObjects, uninstall: Uninstall) -> None:
        whole = await install(objects, options)
        await objects.apply(profile("moorage"))
        kinds = [str(key_of(one)) for one in of(whole, CRD)]
        for _ in range(2):
            assert await uninstall(HERE) is ExitStatus.YES
            assert await left(objects, whole) == kinds
            assert await objects.get(PROFILE) is not None

    on_a_cluster(scenario)
    assert "kubectl delete crd schedulerprofiles.moorage.dev" in capsys.readouterr().out


def test_a_namespace_with_somebody_elses_objects_stays(capsys: pytest.CaptureFixture[str]) -> None:
    """All of ours goes from it; what keeps it is named."""

    async def scenario(objects: ClusterObjects, uninstall: Uninstall) -> None:
        whole = await install(objects)
        guest = {"name": "theirs", "namespace": "moorage-system"}
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": guest}
        await objects.apply(secret)
        assert await uninstall(HERE) is ExitStatus.YES
        assert await left(objects, [*whole, secret]) == [
            "Namespace moorage-system",
            "Secret moorage-system/theirs",
        ]

    on_a_cluster(scenario)
    said = capsys.readouterr().out
    assert "Stays: Namespace moorage-system: Secret moorage-system/theirs is there, which" in said


def test_who_comes_while_the_prompt_waits_keeps_the_kinds(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cluster is looked at once more before they go."""

    async def scenario(objects: ClusterObjects, uninstall: Uninstall) -> None:
        ours = await install(objects)
        loop = asyncio.get_running_loop()

        def confirmed(_: str) -> bool:
            options = Options(namespace="blue-system", name="blue", controller_name="blue")
            asyncio.run_coroutine_threadsafe(install(objects, options), loop).result()
            return True

        monkeypatch.setattr(uninstalling, "confirmed", confirmed)
        assert await uninstall(dataclasses.replace(HERE, yes=False)) is ExitStatus.YES
        assert await left(objects, ours) == [str(key_of(one)) for one in of(ours, CRD)]

    on_a_cluster(scenario)
    out = capsys.readouterr()
    assert "Stays: CustomResourceDefinition" in out.out + out.err


def test_a_profile_that_another_may_serve_by_then_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The cluster is looked at once more before users' objects go, too."""

    async def scenario(objects: ClusterObjects, uninstall: Uninstall) -> None:
        await install(objects)
        await install(objects, Options(namespace="blue", name="blue", controller_name="blue"))
        await objects.apply(profile())
        loop = asyncio.get_running_loop()

        def confirmed(_: str) -> bool:
            options = Options(namespace="green", name="green", controller_name="moorage")
            asyncio.run_coroutine_threadsafe(install(objects, options), loop).result()
            return True

        monkeypatch.setattr(uninstalling, "confirmed", confirmed)
        assert await uninstall(dataclasses.replace(HERE, yes=False)) is ExitStatus.YES
        assert await objects.get(PROFILE) is not None

    on_a_cluster(scenario)


@pytest.mark.parametrize("place", [("moorage-system", "a,moorage"), ("a/b", "moorage"), ("n", "")])
def test_no_name_is_more_than_a_name(place: tuple[str, str]) -> None:
    """Or a selector with it would find others' pods; nothing is asked of a cluster."""
    with pytest.raises(WrongUse, match=r"^--name(space)? "):
        run(ClusterChoice("/nowhere"), dataclasses.replace(HERE, place=Installed(*place)))


def test_profiles_are_kept(capsys: pytest.CaptureFixture[str]) -> None:
    """With their kinds; a second time it is said how they go."""

    async def scenario(objects: ClusterObjects, uninstall: Uninstall) -> None:
        whole = await install(objects)
        await objects.apply(profile())
        await uninstall(dataclasses.replace(HERE, keep_profiles=True))
        assert await left(objects, whole) == [str(key_of(one)) for one in of(whole, CRD)]
        assert await objects.get(PROFILE) is not None
        await uninstall(HERE)
        assert await objects.get(PROFILE) is not None

    on_a_cluster(scenario)
    assert "kubectl delete crd pluginconfigs.moorage.dev" in capsys.readouterr().out


def altered(one: Document, **metadata: Any) -> Document:
    """With other metadata."""
    return {**one, "metadata": {**one["metadata"], **metadata}}


def test_what_helm_manages_is_helms() -> None:
    """Nothing is removed."""

    async def scenario(objects: ClusterObjects, uninstall: Uninstall) -> None:
        whole = await install(objects)
        (service, *_) = of(whole, "Service")
        await objects.apply(altered(service, annotations={HELM: "moorage"}))
        with pytest.raises(NotGone, match="helm uninstall moorage -n moorage-system, then"):
            await uninstall(HERE)
        assert len(await left(objects, whole)) == len(whole)

    on_a_cluster(scenario)


def test_what_does_not_go_is_named() -> None:
    """With the finalizer that somebody else has set; once that is gone, a second time ends it."""

    async def scenario(objects: ClusterObjects, uninstall: Uninstall) -> None:
        whole = await install(objects)
        (config,) = of(whole, "ConfigMap")
        await objects.apply(altered(config, finalizers=["example.com/a"]))
        with pytest.raises(NotGone) as error:
            await uninstall(dataclasses.replace(HERE, seconds=3.0))
        lines = str(error.value).splitlines()
        assert lines == [
            "all else: still there after 3 s:",
            "  ConfigMap moorage-system/moorage-config: its finalizers: example.com/a",
            *lines[2:],
        ]
        gone, remains, advice = lines[2:]
        assert gone.startswith("Removed so far: ") and "Deployment moorage-system/moorage" in gone
        assert remains == "Left: ConfigMap moorage-system/moorage-config, Namespace moorage-system"
        assert advice == "Once that is mended, type the same command again."
        await objects.apply(config)
        assert await uninstall(HERE) is ExitStatus.YES
        assert not await left(objects, whole)

    on_a_cluster(scenario)


def test_a_right_that_is_missing_half_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said which, what is gone by then, what is left, and what to do."""
    delete = ClusterObjects.delete

    async def refused(self: ClusterObjects, key: ObjectKey, **options: Any) -> bool:
        if key.kind == CRD:
            raise Forbidden("DELETE crd", 403)
        return await delete(self, key, **options)

    async def scenario(objects: ClusterObjects, uninstall: Uninstall) -> None:
        await install(objects)
        with monkeypatch.context() as patched:
            patched.setattr(ClusterObjects, "delete", refused)
            with pytest.raises(NoAnswer) as error:
                await uninstall(HERE)
        what, gone, remains, advice = str(error.value).splitlines()
        assert what.endswith("it takes the rights of a cluster's administrator")
        assert gone.startswith("Removed so far: MutatingAdmissionPolicyBinding moorage-assign,")
        assert "Deployment moorage-system/moorage" in gone
        assert remains.startswith("Left: CustomResourceDefinition pluginconfigs.moorage.dev")
        assert remains.endswith("Namespace moorage-system")
        assert advice == "Once that is mended, type the same command again."

    on_a_cluster(scenario)
