"""What is refused or warned of before it is stored: what the condition Accepted would say."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from moorage.api.bodies import Body
from moorage.api.conditions import REFERENCE_REASONS, ConditionReason, ConditionType
from moorage.core.framework.revisions import FieldError
from moorage.engine.profiles.admission import AdmissionJudge, AdmissionVerdict, Kind
from moorage.engine.profiles.config_conditions import config_conditions
from moorage.engine.profiles.ownership import KUBE_SCHEDULER
from moorage.engine.profiles.profile_conditions import condition_for
from tests.engine.running import Running
from tests.engine.worlds import a_body, a_config


def enabled(point: str, *names: str) -> dict[str, Any]:
    """A profile with these plugins at the point."""
    return {"plugins": {point: {"enabled": [{"name": name} for name in names]}}}


def with_args(plugin: str, **args: Any) -> dict[str, Any]:
    """A profile with these arguments."""
    return {"pluginConfig": [{"name": plugin, "args": args}]}


def with_ref(plugin: str, config: str) -> dict[str, Any]:
    """A profile that takes them from a PluginConfig."""
    return {"pluginConfig": [{"name": plugin, "configRef": {"name": config}}]}


REASON = ConditionReason
BAD_PROFILES: dict[str, tuple[dict[str, Any], set[str], set[str]]] = {
    # name: (spec, reasons of errors, reasons of warnings)
    "good": ({}, set(), set()),
    "unreadable": ({"podMaxBackoffSeconds": "ten"}, {REASON.INVALID_SPEC}, set()),
    "too large": ({"weights": {f"P{i}": 1 for i in range(500)}}, {REASON.INVALID_SPEC}, set()),
    "two backoffs": (
        {"podInitialBackoffSeconds": 9, "podMaxBackoffSeconds": 3},
        {REASON.INVALID_SPEC},
        set(),
    ),
    "misspelt": (enabled("filter", "NodeNam"), {REASON.UNKNOWN_PLUGIN}, set()),
    "to come": (
        enabled("filter", "DeferredPodScheduling"),
        {REASON.NOT_YET_SUPPORTED},
        set(),
    ),
    "arguments": (
        with_args("NodeResourcesFit", ignoredResources=3),
        {REASON.INVALID_PLUGIN_ARGS},
        set(),
    ),
    "another order": (enabled("queueSort", "NodeName"), {REASON.QUEUE_SORT_CONFLICT}, set()),
    "no such config": (
        with_ref("NodeResourcesFit", "none"),
        set(),
        {REASON.PLUGIN_CONFIG_NOT_FOUND},
    ),
    "a bad config": (with_ref("NodeResourcesFit", "bad"), set(), {REASON.PLUGIN_CONFIG_INVALID}),
    "another's config": (with_ref("NodeName", "fit"), set(), {REASON.PLUGIN_MISMATCH}),
    "both": (
        {**enabled("filter", "NodeNam"), **with_ref("NodeResourcesFit", "none")},
        {REASON.UNKNOWN_PLUGIN},
        {REASON.PLUGIN_CONFIG_NOT_FOUND},
    ),
    "another one's name": ({"schedulerName": "test"}, {REASON.NAME_CONFLICT}, set()),
    "kube-scheduler's name": (
        {"schedulerName": "default-scheduler"},
        set(),
        {REASON.DEFAULT_SCHEDULER_ACTIVE},
    ),
    "another installation's": (
        {"controllerName": "others", **enabled("filter", "NodeNam")},
        set(),
        set(),
    ),
}
BAD_CONFIGS: dict[str, tuple[dict[str, Any], set[str], set[str]]] = {
    "good": ({"plugin": "NodeName"}, set(), set()),
    "unreadable": ({"plugin": 3}, {REASON.INVALID_SPEC}, set()),
    "arguments": (
        {"plugin": "NodeResourcesFit", "args": {"ignoredResources": 3}},
        {REASON.INVALID_PLUGIN_ARGS},
        set(),
    ),
    "another installation's": ({"plugin": "Theirs"}, set(), {REASON.UNKNOWN_PLUGIN}),
    "to come": ({"plugin": "DeferredPodScheduling"}, set(), {REASON.NOT_YET_SUPPORTED}),
}


async def settled(world: Running, *bodies: Body) -> None:
    """These objects are there, and were looked into."""
    for body in bodies:
        tell = world.engine.plugin_config_changed
        if body["kind"] == "SchedulerProfile":
            tell = world.engine.profile_changed
        tell(body["metadata"]["name"], body)
    await world.clock.advance(1.0)


def judged(world: Running, kind: Kind, new: Body, old: Body | None = None) -> AdmissionVerdict:
    """The verdict, which changes nothing: neither records nor what decides."""
    judge: AdmissionJudge = world.engine.admission_judge
    records = world.engine.records
    before = {name: dataclasses.replace(one) for name, one in records.profiles.items()}
    configs, live = dict(records.configs), dict(world.engine.live)
    verdict = judge.judge(kind, new, old)
    assert records.profiles == before
    assert (records.configs, dict(world.engine.live)) == (configs, live)
    return verdict


def run(scenario: Callable[[Running], Any]) -> None:
    """With a profile ``test``, a good and a bad PluginConfig, and a running kube-scheduler."""

    async def main() -> None:
        async with Running().leading() as world:
            world.kube.renewed.add(KUBE_SCHEDULER)
            bad: dict[str, Any] = {"ignoredResources": 3}
            await settled(world, a_config("fit"), a_config("bad", **bad))
            await scenario(world)

    asyncio.run(main())


@pytest.mark.parametrize("case", BAD_PROFILES)
def test_a_profile_is_judged_as_accepted_says_it(case: str) -> None:
    """Word for word; errors and warnings together are all that the conditions would have."""
    spec, errors, warnings = BAD_PROFILES[case]

    async def scenario(world: Running) -> None:
        new = a_body("new", created="2026-01-02T00:00:00Z", **spec)
        verdict = judged(world, "SchedulerProfile", new)
        assert {error.reason for error in verdict.errors} == errors
        await settled(world, new)
        record = world.engine.records.profiles.get("new")
        found: tuple[FieldError, ...] = record.errors if record is not None else ()
        assert {error.reason for error in found} == errors | warnings
        accepted = [error for error in found if error.reason in errors]
        assert verdict.errors == tuple(accepted)
        if warnings <= REFERENCE_REASONS:  # of others' doings no more is known than that they may
            assert verdict.warnings == tuple(str(one) for one in found if one.reason in warnings)
            own = [one for one in found if one.reason not in REFERENCE_REASONS]
            condition = condition_for(ConditionType.ACCEPTED, own, REASON.VALID)
            assert condition.status is (not verdict.errors)
        else:
            assert len(verdict.warnings) == len(warnings)

    run(scenario)


@pytest.mark.parametrize("case", BAD_CONFIGS)
def test_a_plugin_config_is_judged_as_accepted_says_it(case: str) -> None:
    """But for plugins that this installation does not know: another one may."""
    spec, errors, warnings = BAD_CONFIGS[case]

    async def scenario(world: Running) -> None:
        new = a_config("new") | {"spec": spec}
        verdict = judged(world, "PluginConfig", new)
        assert {error.reason for error in verdict.errors} == errors
        faults = world.engine.swapper.config_results.of("new", new)[0]
        accepted = next(config_conditions("new", new, faults, ()))
        assert "; ".join([*map(str, verdict.errors), *verdict.warnings]) == accepted.message
        assert {error.reason for error in faults} == errors | warnings

    run(scenario)


def test_objects_that_are_applied_together_pass_in_any_order() -> None:
    """The profile comes first and is warned of; with its PluginConfig there is nothing to say."""

    async def scenario(world: Running) -> None:
        profile = a_body("new", **with_ref("NodeResourcesFit", "later"))
        first = judged(world, "SchedulerProfile", profile)
        assert not first.errors
        assert first.warnings == (
            "spec.pluginConfig[0].configRef.name: 'later': there is no PluginConfig of this name",
        )
        await settled(world, a_config("later"))
        assert judged(world, "SchedulerProfile", profile) == AdmissionVerdict()

    run(scenario)


def test_a_name_is_taken_from_nobody() -> None:
    """A conflict that is there already is no reason to refuse a change, which may be what is to end
    it; the oldest has nothing to be warned of.
    """

    async def scenario(world: Running) -> None:
        younger = a_body("younger", created="2030-01-01T00:00:00Z", schedulerName="test")
        refused = judged(world, "SchedulerProfile", younger)
        assert [error.reason for error in refused.errors] == [REASON.NAME_CONFLICT]
        await settled(world, younger)  # as where there was no webhook
        changed = judged(
            world, "SchedulerProfile", a_body("younger", schedulerName="test"), younger
        )
        assert (changed.errors, changed.warnings) == ((), (str(refused.errors[0]),))
        first = a_body("test")
        assert judged(world, "SchedulerProfile", first, first) == AdmissionVerdict()
        assert judged(world, "SchedulerProfile", first) != AdmissionVerdict()

    run(scenario)


def test_a_plugin_that_hung_is_a_warning() -> None:
    """It may be lifted any moment; nothing of the plugin is called."""

    async def scenario(world: Running) -> None:
        world.engine.swapper.quarantine({"NodeResourcesFit": "it hung"})
        spec = with_args("NodeResourcesFit", ignoredResources=3)
        verdict = judged(world, "SchedulerProfile", a_body("new", **spec))
        config = judged(world, "PluginConfig", a_config("new"))
        for said in (verdict, config):
            assert not said.errors
            assert len(said.warnings) == 1
            assert "it hung" in said.warnings[0]

    run(scenario)
