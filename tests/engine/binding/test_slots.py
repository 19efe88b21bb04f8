"""Slots by profile, and the time that a binding may take: whose bindings do not end holds up nobody
else, and is told.
"""

from __future__ import annotations

import asyncio

import pytest

from moorage.api.operator_config import OperatorConfiguration
from moorage.core.objects.pods import Pod
from moorage.engine.binding.outcome import CALL_LIMIT_SECONDS
from moorage.ports.kube import pod_ref
from tests.builders import make_pod
from tests.engine.running import STEPS, TRIED_AGAIN, Running
from tests.engine.worlds import a_body
from tests.fakes.clocks import settle

SLOTS = 3
SLOW = a_body(
    "slow", plugins={"bind": {"disabled": [{"name": "*"}], "enabled": [{"name": "Steps"}]}}
)
"""A profile whose pods the actor Steps binds, or says that it has."""


def a_world() -> Running:
    """Few slots."""
    return Running(config=OperatorConfiguration.model_validate({"bindConcurrency": SLOTS}))


def of(profile: str, name: str, priority: int = 0) -> Pod:
    """A pod of a profile."""
    return make_pod(name, cpu="10m", scheduler_name=profile, priority=priority)


def asked_to_bind(world: Running) -> list[str]:
    """Pods that the actor was asked to bind, in order."""
    return [name for step, name in world.steps.calls if step == "bind"]


def test_a_profile_whose_bindings_never_end_holds_its_own_slots_only() -> None:
    """Pods of another one are bound at once, whatever waits before them; the slow one's keep their
    order.
    """

    async def story() -> None:
        async with a_world().leading(SLOW, a_body("test")) as world:
            gate = world.steps.gates["bind"] = asyncio.Event()
            for i in range(3 * SLOTS):
                world.kube.put(of("slow", f"s{i}", priority=i))
            await settle()
            for i in range(3 * SLOTS):
                world.kube.put(of("test", f"t{i}", priority=-1))
            await settle(100)
            assert len(asked_to_bind(world)) == SLOTS
            assert all(world.node(f"t{i}") for i in range(3 * SLOTS))
            assert world.engine.queue.counts("slow").active == 2 * SLOTS
            waiting = sorted(
                entry.pod.metadata.name
                for entry in world.engine.queue.entries("slow")
                if entry.state == "active"
            )
            gate.set()
            await settle(200)
            assert asked_to_bind(world)[SLOTS:] == waiting[::-1]
            assert world.engine.slots.full == set()

    asyncio.run(story())


@pytest.mark.parametrize("done", [False, True], ids=["not bound", "bound all the same"])
def test_a_bind_plugin_that_never_returns_is_broken_off(
    done: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """What became of the pod is read: if it is not bound it is told so, and tried again; its slot
    is free for others.
    """

    async def story() -> None:
        async with a_world().leading(SLOW, nodes=1) as world:
            world.steps.gates["bind"] = asyncio.Event()
            pod = world.kube.put(of("slow", "a"))
            await settle()
            world.kube.silent = True
            if done:
                await world.kube.bind(pod_ref(pod), "n1")
            await world.clock.advance(CALL_LIMIT_SECONDS - 1)
            assert (world.notes("FailedScheduling"), len(world.engine.binder)) == ([], 1)
            del world.steps.gates["bind"]
            await world.clock.advance(2)
            text = (
                f'binding rejected: running Bind plugin "Steps": not done within '
                f"{CALL_LIMIT_SECONDS:g} s"
            )
            assert world.notes("FailedScheduling") == ([] if done else [text])
            await world.clock.advance(TRIED_AGAIN)
            assert (len(world.notes("Scheduled")), len(world.engine.binder)) == (1, 0)
            assert len(asked_to_bind(world)) == (1 if done else 2)

    asyncio.run(story())
    assert 'Bind plugin "Steps" has not bound a pod within' in caplog.text


def test_a_post_bind_plugin_that_never_returns_is_broken_off(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The pod stays bound; the binding ends, so that nobody waits for it at a swap or at the
    end.
    """

    async def story() -> None:
        async with a_world().leading(a_body("test", plugins=STEPS)) as world:
            world.steps.gates["post_bind"] = asyncio.Event()
            world.kube.put(of("test", "a"))
            await world.clock.advance(CALL_LIMIT_SECONDS - 1)
            assert (bool(world.node("a")), len(world.engine.binder)) == (True, 1)
            await world.clock.advance(2)
            assert (len(world.notes("Scheduled")), len(world.engine.binder)) == (1, 0)

    asyncio.run(story())
    assert "postBind was not done within" in caplog.text


def test_a_pod_that_a_watch_takes_back_is_bound_anew_while_its_post_bind_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The first binding's end is not the second one's, which may still be broken off."""

    async def story() -> None:
        async with a_world().leading(a_body("test", plugins=STEPS)) as world:
            first = world.steps.gates["post_bind"] = asyncio.Event()
            pod = world.kube.put(of("test", "a"))
            await settle()
            second = world.steps.gates["permit"] = asyncio.Event()
            world.kube.put(pod)  # as it was before
            await settle()
            first.set()
            await settle()
            assert len(world.engine.binder) == 1
            second.set()
            await settle()
            assert (bool(world.node("a")), len(world.engine.binder)) == (True, 0)

    asyncio.run(story())
    assert "bug" not in caplog.text
