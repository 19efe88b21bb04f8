"""Conditions of PluginConfigs: Active says whether the profiles run what was edited."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import make_pod
from tests.engine.profiles.test_trials import CANARY, successor
from tests.engine.running import Running
from tests.engine.test_out_of_tree import in_a_loop
from tests.engine.worlds import a_body, a_config
from tests.fakes.kube import InMemoryKube

GPU = "example.com/gpu"


def config(generation: int, /, *, uid: str = "uid-fit", **args: Any) -> dict[str, Any]:
    """A PluginConfig whose content is another with each generation."""
    args = args or {"ignoredResources": [f"{GPU}{generation}"]}
    return a_config("fit", uid=uid, generation=generation, **args)


def profile(name: str, generation: int = 1, **spec: Any) -> dict[str, Any]:
    """A profile that references it."""
    entry = {"name": "NodeResourcesFit", "configRef": {"name": "fit"}}
    return a_body(name, generation=generation, pluginConfig=[entry], **spec)


async def edit(world: Running, body: dict[str, Any], seconds: float = 2) -> None:
    """An object changes, and that is reconciled and told."""
    name = body["metadata"]["name"]
    if body["kind"] == "PluginConfig":
        world.engine.plugin_config_changed(name, body)
    else:
        world.engine.profile_changed(name, body)
    await world.clock.advance(seconds)


def active(world: Running) -> tuple[str, str, str]:
    """Status, reason and message of Active, as it was last written; about the newest generation."""
    status = world.kube.statuses["PluginConfig", "fit"]
    found = next(one for one in status["conditions"] if one["type"] == "Active")
    assert found["observedGeneration"] == status["observedGeneration"]
    return found["status"], found["reason"], found["message"]


@in_a_loop
async def test_an_edit_is_told_once_all_run_it() -> None:
    """`kubectl wait --for=condition=Active` ends then."""
    async with Running().leading(profile("a"), profile("b")) as world:
        await edit(world, config(1))
        assert active(world) == ("True", "Running", "generation 1 is run by 2 profiles")
        gate = world.kube.hold("create_revision")
        await edit(world, config(2))
        assert active(world) == (
            "False",
            "Waiting",
            (
                "2 of 2 profiles not at generation 2: a runs generation 1 (Waiting), "
                "b runs generation 1 (Waiting)"
            ),
        )
        gate.set()
        await world.clock.advance(2)
        assert active(world) == ("True", "Running", "generation 2 is run by 2 profiles")


@in_a_loop
async def test_an_edit_that_changes_nothing_is_run_at_once() -> None:
    """No swap is needed for it."""
    async with Running().leading(profile("a")) as world:
        await edit(world, config(1, ignoredResources=[GPU]))
        await edit(world, config(2, ignoredResources=[GPU]))
        assert active(world) == ("True", "Running", "generation 2 is run by 1 profile")


@in_a_loop
async def test_bad_arguments_are_told_with_who_goes_on() -> None:
    """The text that `kubectl get pcfg -o wide` shows."""
    async with Running().leading(profile("a")) as world:
        await edit(world, config(1))
        await edit(world, config(2, ignoredResource=[]))
        status, reason, message = active(world)
        assert (status, reason) == ("False", "InvalidPluginArgs")
        assert message.startswith("spec.args.ignoredResource: ")
        behind = "1 of 1 profile not at generation 2: a runs generation 1 (LastGood)"
        assert message.endswith(behind)


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"preset": "Best"}, "LastGood"),
        ({"paused": True}, "Paused"),
        ({"rollout": CANARY}, "Trial"),
    ],
)
@in_a_loop
async def test_a_profile_that_stays_behind_is_named(spec: dict[str, Any], reason: str) -> None:
    """With its reason; the others run it."""
    async with Running().leading(profile("a"), profile("b")) as world:
        await edit(world, config(1))
        await edit(world, profile("b", 2, **spec))
        await edit(world, config(2))
        text = f"1 of 2 profiles not at generation 2: b runs generation 1 ({reason})"
        assert active(world) == ("False", reason, text)


@in_a_loop
async def test_a_trial_that_passes_ends_it() -> None:
    """Only then do all pods go by the new arguments."""
    async with Running().leading(profile("test", rollout=CANARY)) as world:
        await edit(world, config(1))
        await edit(world, config(2))
        assert active(world)[:2] == ("False", "Trial")
        for i in range(5):
            world.kube.put(make_pod(f"p{i}"))
        await world.clock.advance(3)
        assert active(world) == ("True", "Running", "generation 2 is run by 1 profile")


@in_a_loop
async def test_a_suspended_profile_runs_what_would_decide() -> None:
    """As status.pluginConfigs of the profile has it; who waits for an edit need not know of it."""
    async with Running().leading(profile("a", suspend=True)) as world:
        await edit(world, config(1))
        assert active(world)[:2] == ("True", "Running")


@in_a_loop
async def test_one_that_nobody_references() -> None:
    """It is not known whether it will be run; Accepted says that it could be."""
    async with Running().leading(profile("a")) as world:
        await edit(world, config(1))
        await edit(world, a_body("a", generation=2))
        assert active(world) == ("Unknown", "Unused", "no SchedulerProfile references it")


@in_a_loop
async def test_another_one_of_the_same_name_is_another() -> None:
    """Its generations begin anew."""
    async with Running().leading(profile("a")) as world:
        await edit(world, config(1))
        await edit(world, profile("a", 2, paused=True))
        await edit(world, config(1, uid="another", ignoredResources=["x/y"]))
        assert active(world)[2].endswith("a runs one of this name that was deleted (Paused)")


@in_a_loop
async def test_a_takeover_says_nothing_untrue() -> None:
    """A new leader knows who uses it before it writes, and writes nothing that stays as it was."""
    kube = InMemoryKube()
    async with Running(kube).leading(profile("a")) as world:
        await edit(world, config(1))
        status = kube.statuses["PluginConfig", "fit"]
    kube.written.clear()
    second = successor(kube)
    second.engine.plugin_config_changed("fit", {**config(1), "status": status})
    await second.engine.restore()
    async with second.leading(profile("a")) as world:
        await world.clock.advance(5)
        assert kube.statuses["PluginConfig", "fit"]["conditions"] == status["conditions"]
        writes = [one for one in kube.written if one.method == "plugin_config_status"]
        told = [one.arguments[1] for one in writes]
        assert all(one["profiles"] == ["a"] for one in told)


@in_a_loop
async def test_many_that_stay_behind_are_counted() -> None:
    """A message names a few."""
    names = [f"p{i}" for i in range(8)]
    async with Running().leading(*(profile(name, paused=True) for name in names)) as world:
        await edit(world, config(1))
        message = active(world)[2]
        assert message.startswith(
            "8 of 8 profiles not at generation 1: p0 does not run it (Paused)"
        )
        assert message.endswith(" and 3 more")


@pytest.mark.parametrize(("kind", "mended"), [("Active", 0), ("Accepted", 1)])
@in_a_loop
async def test_another_installation_says_who_runs_it_there(kind: str, mended: int) -> None:
    """The two do not correct each other for ever; what holds for both is mended."""
    async with Running().leading(profile("a")) as world:
        await edit(world, config(1))
        status = world.kube.statuses["PluginConfig", "fit"]
        theirs = [
            {**one, "status": "Unknown"} if one["type"] == kind else one
            for one in status["conditions"]
        ]
        body = {**config(1), "status": {**status, "conditions": theirs, "profileCount": 0}}
        body["metadata"]["resourceVersion"] = "12345"
        world.kube.written.clear()
        await edit(world, body, 5)
        writes = [one for one in world.kube.written if one.method == "plugin_config_status"]
        assert len(writes) == mended
