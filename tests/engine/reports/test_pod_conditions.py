"""Failures: events and conditions of pods that could not be placed: true, the newest, no oftener
than needed, bounded.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
import pytest

from moorage.core.columns.cache import Cache
from moorage.core.objects.pods import Pod, PodCondition, PodStatus
from moorage.core.pods.requests import pod_requests
from moorage.engine.reports.pod_conditions import (
    MAX_MESSAGE_LENGTH,
    SCHEDULER_ERROR,
    UNSCHEDULABLE,
    PodConditionUpdate,
    PodConditionWriter,
)
from moorage.ports.errors import (
    Conflict,
    EdgeError,
    Fenced,
    Forbidden,
    Invalid,
    NotFound,
    ResourceExpired,
    Retryable,
)
from tests.builders import make_pod
from tests.fakes.clocks import ManualClock, settle
from tests.fakes.kube import InMemoryKube
from tests.fakes.sinks import FakeEventRecorder

WORKERS = 3


class World:
    """Failures with some workers; ``current`` is what the watch has told."""

    def __init__(self) -> None:
        self.kube, self.clock, self.events = InMemoryKube(), ManualClock(), FakeEventRecorder()
        self.cache = Cache()
        self.failures = PodConditionWriter(
            self.kube, self.events, self.clock, self.current, self.cache
        )

    def current(self, uid: str) -> Pod | None:
        """As the API server has it."""
        pod = self.kube.pods.get(uid)
        return pod if pod is not None and not pod.spec.node_name else None

    def report(
        self, pod: Pod, message: str, reason: str = UNSCHEDULABLE, nominated: str = ""
    ) -> None:
        """An attempt has failed; from now on the pod is nominated to this node."""
        self.cache.nominations.nominate(pod, nominated)
        self.failures.report(PodConditionUpdate(pod, reason, message))

    @property
    def written(self) -> list[str]:
        """The messages of the conditions that were written, in order; of a nomination alone, its
        node.
        """
        return [
            w.arguments[1]["message"] if w.method == "pod_condition" else f"-> {w.arguments[1]}"
            for w in self.kube.written
        ]

    def shown(self, name: str) -> list[tuple[str, str, str]]:
        """The conditions of a pod."""
        return [
            (c.type, c.reason, c.message)
            for c in self.kube.pods[f"uid-{name}"].status.conditions or ()
        ]

    @contextlib.asynccontextmanager
    async def writing(self) -> AsyncIterator[World]:
        """The workers run."""
        tasks = [asyncio.create_task(self.failures.run()) for _ in range(WORKERS)]
        await settle()
        yield self
        for task in tasks:
            assert not task.done()
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def with_condition(pod: Pod, **condition: Any) -> Pod:
    """The pod with a PodScheduled condition that says the usual, this aside."""
    usual = {"type": "PodScheduled", "status": "False", "reason": UNSCHEDULABLE, "message": "full"}
    return msgspec.structs.replace(
        pod, status=PodStatus(conditions=(PodCondition(**{**usual, **condition}),))
    )


@pytest.mark.parametrize(("placed", "written"), [(False, ["-> "]), (True, [])])
def test_a_nomination_is_cleared_unless_the_pod_has_its_place(
    placed: bool, written: list[str]
) -> None:
    """The status of a pod that is placed, as far as we know, stays as it is."""

    async def scenario() -> None:
        async with World().writing() as world:
            pod = world.kube.put(
                msgspec.structs.replace(make_pod("a"), status=PodStatus(nominated_node_name="n1"))
            )
            if placed:
                world.cache.assume(pod, "n1", pod_requests(pod))
            world.failures.write_nomination(pod)
            await settle()
            assert world.written == written

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("condition", "nominated", "written"),
    [
        pytest.param(None, "", ["full"], id="none yet"),
        pytest.param({}, "", [], id="the same"),
        pytest.param({}, "n1", ["-> n1"], id="another nomination"),
        pytest.param({"message": "half full"}, "", ["full"], id="another message"),
        pytest.param({"message": "half full"}, "n1", ["full"], id="both"),
        pytest.param({"reason": SCHEDULER_ERROR}, "", ["full"], id="another reason"),
        pytest.param({"status": "True"}, "", ["full"], id="another status"),
        pytest.param({"type": "Ready"}, "", ["full"], id="another type"),
    ],
)
def test_a_condition_is_written_where_it_differs(
    condition: dict[str, str] | None, nominated: str, written: list[str]
) -> None:
    """What the pod says already is not said again; the event is for each attempt."""

    async def scenario() -> None:
        async with World().writing() as world:
            pod = make_pod("a") if condition is None else with_condition(make_pod("a"), **condition)
            world.report(world.kube.put(pod), "full", nominated=nominated)
            await settle()
            assert world.written == written
            assert ("PodScheduled", UNSCHEDULABLE, "full") in world.shown("a")
            assert world.kube.pods["uid-a"].status.nominated_node_name == nominated
            (event,) = world.events.events
            assert (event.reason, event.note, event.action, event.controller, event.warning) == (
                "FailedScheduling",
                "full",
                "Scheduling",
                "test",
                True,
            )
            assert (
                event.regarding.kind,
                event.regarding.namespace,
                event.regarding.name,
                event.regarding.uid,
            ) == (
                "Pod",
                "default",
                "a",
                "uid-a",
            )

    asyncio.run(scenario())


def test_a_long_message_is_cut_and_written_once() -> None:
    """What pods ask for makes it long; it is kept and compared as it is written."""

    async def scenario() -> None:
        async with World().writing() as world:
            world.kube.put(make_pod("a"))
            for _ in range(3):
                world.failures.report_if_new(
                    PodConditionUpdate(world.kube.pods["uid-a"], UNSCHEDULABLE, "x" * 10**6)
                )
                world.report(world.kube.pods["uid-a"], "x" * 10**6)
                await settle()
            (message,) = world.written
            assert len(message) == MAX_MESSAGE_LENGTH
            assert message.endswith("xx\N{HORIZONTAL ELLIPSIS}")

    asyncio.run(scenario())


def test_the_newest_verdict_wins() -> None:
    """Verdicts that come while one is being written are written once, the last of them, and after
    it.
    """

    async def scenario() -> None:
        async with World().writing() as world:
            gate = world.kube.hold("pod_condition")
            pod = world.kube.put(make_pod("a"))
            for message in ("first", "second", "third"):
                world.report(pod, message)
                await settle()
            assert world.kube.in_flight["pod_condition"] == 1
            gate.set()
            await settle()
            assert world.written == ["first", "third"]

    asyncio.run(scenario())


def test_pods_do_not_wait_for_each_other() -> None:
    """As many as there are workers are written at a time; a slow one holds up no other."""

    async def scenario() -> None:
        async with World().writing() as world:
            gate = world.kube.hold("pod_condition")
            for i in range(5):
                world.report(world.kube.put(make_pod(f"p{i}")), "full")
            await settle()
            assert world.kube.in_flight["pod_condition"] == WORKERS
            gate.set()
            await settle()
            assert len(world.written) == 5

    asyncio.run(scenario())


RETRIED: dict[str, tuple[Callable[[], EdgeError], bool]] = {
    "busy": (lambda: Retryable("429", after=2.0), True),
    "no answer": (lambda: Retryable("reset", outcome_unknown=True), True),
    "fenced": (lambda: Fenced("no"), False),
    "gone": (lambda: NotFound("PATCH", 404), True),
    "conflict": (lambda: Conflict("PATCH", 409), True),
    "forbidden": (lambda: Forbidden("PATCH", 403), False),
    "invalid": (lambda: Invalid("PATCH", 422), False),
    "expired": (lambda: ResourceExpired("410"), False),
}


@pytest.mark.parametrize("times", [1, 10])
@pytest.mark.parametrize("error", RETRIED)
def test_retries_are_bounded(error: str, times: int) -> None:
    """What may succeed later is tried a few times; a worker comes free again in any case."""
    make, again = RETRIED[error]

    async def scenario() -> None:
        async with World().writing() as world:
            world.kube.fail("pod_condition", make(), times=times)
            world.report(world.kube.put(make_pod("a")), "full")
            await world.clock.advance(0.05)
            assert world.written == []
            await world.clock.advance(30)
            assert world.written == ["full"] * (again and times == 1)
            assert len(world.kube._failures["pod_condition"]) == max(0, times - (4 if again else 1))
            world.kube._failures.clear()
            world.report(world.kube.pods["uid-a"], "later")
            await settle()
            assert world.written[-1] == "later"

    asyncio.run(scenario())


def test_a_retry_waits_as_long_as_it_is_told() -> None:
    """The API server's word on when to come again."""

    async def scenario() -> None:
        async with World().writing() as world:
            world.kube.fail("pod_condition", Retryable("429", after=2.0))
            world.report(world.kube.put(make_pod("a")), "full")
            await world.clock.advance(1.9)
            assert world.written == []
            await world.clock.advance(0.2)
            assert world.written == ["full"]

    asyncio.run(scenario())


def test_a_newer_verdict_ends_retries_of_an_older_one() -> None:
    """Only the newest is worth the trouble."""

    async def scenario() -> None:
        async with World().writing() as world:
            world.kube.fail("pod_condition", Retryable("429", after=2.0))
            pod = world.kube.put(make_pod("a"))
            world.report(pod, "old")
            await settle()
            world.report(pod, "new")
            await world.clock.advance(5)
            assert world.written == ["new"]

    asyncio.run(scenario())


@pytest.mark.parametrize("fate", ["gone", "bound"])
@pytest.mark.parametrize(
    "when", ["before the verdict", "before it is written", "between two tries"]
)
def test_nothing_is_said_of_pods_that_are_gone_or_bound(fate: str, when: str) -> None:
    """Neither an event nor a condition."""

    async def scenario() -> None:
        async with World().writing() as world:
            pod = world.kube.put(make_pod("a"))

            def end() -> None:
                if fate == "gone":
                    world.kube.delete(pod)
                else:
                    world.kube.put(make_pod("a", node="n1"))

            if when == "before the verdict":
                end()
            if when == "between two tries":
                world.kube.fail("pod_condition", Retryable("429"))
            world.report(pod, "full")
            if when == "before it is written":
                end()
            await settle()
            if when == "between two tries":
                end()
            await world.clock.advance(5)
            assert world.written == []
            assert len(world.events.events) == int(when != "before the verdict")

    asyncio.run(scenario())


def test_what_a_pod_was_told_is_not_told_again() -> None:
    """``report_if_new``: neither while it is being written nor afterwards; something else is
    told.
    """

    async def scenario() -> None:
        async with World().writing() as world:
            gate = world.kube.hold("pod_condition")
            pod = world.kube.put(make_pod("a"))

            async def tell(message: str) -> int:
                world.failures.report_if_new(
                    PodConditionUpdate(world.kube.pods["uid-a"], SCHEDULER_ERROR, message)
                )
                told = len(world.events.events)
                await settle()
                return told

            assert await tell("no profile") == 1
            assert await tell("no profile") == 1
            gate.set()
            await settle()
            assert world.shown("a") == [("PodScheduled", SCHEDULER_ERROR, "no profile")]
            assert await tell("no profile") == 1
            assert await tell("a bad profile") == 2
            assert pod is not world.kube.pods["uid-a"]
            assert world.written == ["no profile", "a bad profile"]

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("reason", "message"), [(UNSCHEDULABLE, "other"), (SCHEDULER_ERROR, "full")]
)
def test_what_will_be_overwritten_is_told_again(reason: str, message: str) -> None:
    """What the pod shows is not true any more once something else is to be written, by its message
    or its reason.
    """

    async def scenario() -> None:
        async with World().writing() as world:
            pod = world.kube.put(with_condition(make_pod("a")))
            world.report(pod, message, reason=reason)
            world.failures.report_if_new(PodConditionUpdate(pod, UNSCHEDULABLE, "full"))
            await settle()
            assert world.shown("a") == [("PodScheduled", UNSCHEDULABLE, "full")]
            assert [event.note for event in world.events.events] == [message, "full"]

    asyncio.run(scenario())


def test_the_reason_is_a_part_of_what_is_told() -> None:
    """The same words for another reason are news, also while the first are being written."""

    async def scenario() -> None:
        async with World().writing() as world:
            gate = world.kube.hold("pod_condition")
            pod = world.kube.put(make_pod("a"))
            for reason in (UNSCHEDULABLE, SCHEDULER_ERROR):
                world.failures.report_if_new(PodConditionUpdate(pod, reason, "full"))
                await settle()
            gate.set()
            await settle()
            assert world.shown("a") == [("PodScheduled", SCHEDULER_ERROR, "full")]

    asyncio.run(scenario())


@pytest.mark.parametrize("error", [Forbidden("PATCH", 403), ResourceExpired("410"), Retryable("")])
def test_a_log_line_names_the_pod_with_its_namespace(
    error: EdgeError, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever kept its condition from being written."""
    caplog.set_level("INFO")

    async def scenario() -> None:
        async with World().writing() as world:
            world.kube.fail("pod_condition", error, times=10)
            world.report(world.kube.put(make_pod("a")), "full")
            await world.clock.advance(30)

    asyncio.run(scenario())
    assert [getattr(record, "pod", "") for record in caplog.records] == ["default/a"]


def test_a_condition_goes_to_the_pod_that_was_meant() -> None:
    """By UID: a namesake that was made since then hears nothing."""

    async def scenario() -> None:
        async with World().writing() as world:
            gate = world.kube.hold("pod_condition")
            first = world.kube.put(make_pod("a"))
            world.report(first, "full")
            await settle()
            world.kube.delete(first)
            second = make_pod("a")
            world.kube.put(
                msgspec.structs.replace(
                    second, metadata=msgspec.structs.replace(second.metadata, uid="uid-second")
                )
            )
            gate.set()
            await settle()
            assert world.written == []
            assert world.kube.pods["uid-second"].status.conditions is None

    asyncio.run(scenario())
