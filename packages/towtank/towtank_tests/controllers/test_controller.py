"""What all controllers have: a queue, a second look after a refusal, turns."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from towtank.controllers.controller import AT_ONCE, Controller, Key, WorkQueue
from towtank.controllers.manager import ControllerManager, ControllerSettings
from towtank.model.api_errors import STALE, conflict
from towtank.storage.store import StoreChange
from towtank_tests.controllers.harness import ControllerHarness, deployment

START = datetime(2030, 1, 1, tzinfo=UTC)
keys = st.sampled_from([("a",), ("b",), ("c",)])


@given(st.lists(st.tuples(keys, st.integers(0, 9))), st.integers(0, 9))
def test_each_key_once_at_its_earliest_time(adds: list[tuple[Key, int]], now: int) -> None:
    """However often it was added."""
    queue, times = WorkQueue(), dict[Key, int]()
    for key, when in adds:
        queue.add(key, START + timedelta(seconds=when))
        times[key] = min(when, times.get(key, when))
    due = sorted(when for when in times.values() if when <= now)
    taken = list(queue.take(START + timedelta(seconds=now), 10))
    assert sorted(taken) == sorted(key for key, when in times.items() if when <= now)
    assert [times[key] for key in taken] == due
    left = [when for when in times.values() if when > now]
    assert queue.due() == (START + timedelta(seconds=min(left)) if left else None)


class _Refused(Controller):
    """Is refused so many times."""

    def __init__(
        self,
        cluster: ControllerHarness,
        times: int,
        min_interval: float = 0.0,
        fault: Exception | None = None,
    ) -> None:
        super().__init__(cluster.controllers._client)
        self.left, self.looks, self.min_interval = (
            times,
            list[datetime](),
            timedelta(seconds=min_interval),
        )
        self._fault = fault or conflict("pods", "", "x", STALE)

    def keys_to_queue(self, resource: str, change: StoreChange) -> Iterable[Key]:
        yield "look", change.now.key[1]

    def reconcile(self, key: Key, now: datetime) -> None:
        self.looks.append(now)
        if self.left:
            self.left -= 1
            raise self._fault


def run(cluster: ControllerHarness, controller: Controller, seconds: float) -> None:
    """With a controller that is added to the others."""
    cluster.controllers._all.append(controller)
    cluster.create("configmaps", "m")
    cluster.run(seconds)


@pytest.mark.parametrize(
    ("fault", "told"),
    [(None, "the object has been modified"), (KeyError("type"), "KeyError: 'type'")],
)
def test_a_refusal_is_told_and_looked_at_again_later_and_later(
    fault: Exception | None, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    """So is a fault; and not any more when it is overcome."""
    cluster = ControllerHarness()
    controller = _Refused(cluster, 4, fault=fault)
    with caplog.at_level(logging.WARNING):
        run(cluster, controller, 60)
    waits = [
        (after - before).total_seconds()
        for before, after in zip(controller.looks, controller.looks[1:], strict=False)
    ]
    assert waits == pytest.approx([0.1, 0.2, 0.4, 0.8])
    assert len(caplog.records) == 4 and told in caplog.text
    assert controller.due() is None


def test_a_controller_that_does_not_hear_keeps_nobody_from_hearing() -> None:
    """Nor the write from being made."""

    class Deaf(_Refused):
        def keys_to_queue(self, resource: str, change: StoreChange) -> Iterable[Key]:
            raise KeyError("type")

    cluster = ControllerHarness()
    behind = _Refused(cluster, 0)
    cluster.controllers._all += [Deaf(cluster, 0), behind]
    cluster.create("configmaps", "m")
    cluster.run(1)
    assert behind.looks


def test_a_controller_may_rest_between_looks() -> None:
    """Many changes are one look, and the last is seen."""
    cluster = ControllerHarness()
    controller = _Refused(cluster, 0, min_interval=1.0)
    run(cluster, controller, 0)
    for _ in range(5):
        cluster.change(
            "configmaps", "m", lambda body: body.setdefault("data", {}).update(x=str(cluster.now))
        )
        cluster.run(0.1)
    cluster.run(5)
    assert len(controller.looks) == 2 and controller.looks[1] - controller.looks[0] == timedelta(
        seconds=1
    )


def test_who_starts_later_finds_what_is_there() -> None:
    """A store that others have filled."""
    cluster = ControllerHarness(ControllerSettings(workloads=False, kubelets=False))
    cluster.create("deployments.apps", "web", spec=deployment(3))
    cluster.run(1)
    assert cluster.names("pods") == []
    cluster.controllers = ControllerManager(cluster.verbs, cluster.catalogue, ControllerSettings())
    cluster.store.subscribe_to_all(cluster.controllers.on_change)
    cluster.run(3)
    assert cluster.get("deployments.apps", "web")["status"]["availableReplicas"] == 3


def test_work_comes_in_slices_and_turns() -> None:
    """No call makes more than a slice; who has little to do does not wait for who has much."""
    cluster = ControllerHarness()
    for name in ("many", "few"):
        selector = {"matchLabels": {"app": "web"}}
        cluster.create(
            "deployments.apps",
            name,
            spec=deployment(200 if name == "many" else 1, selector=selector),
        )
    sizes, when = [], 0
    while cluster.controllers.due() == AT_ONCE:
        before = cluster.store.revision
        cluster.controllers.work(cluster.now)
        sizes.append(cluster.store.revision - before)
        if not when and any(name.startswith("few-") for name in cluster.names("pods")):
            when = len(sizes)
    assert max(sizes) <= 20
    assert when < len(sizes) / 2
