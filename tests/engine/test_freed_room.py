"""Room that a pod frees before it was ever seen on its node wakes the pods that wait for room."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from moorage.core.verdicts import failed
from moorage.engine.sending import GONE, Outcome
from tests.builders import make_node, make_pod
from tests.engine.worlds import Bench, versioned


def lost(bench: Bench) -> None:
    """The binding of the first pod is refused for good: the pod is gone."""
    bench.binder.land("uid-first", GONE)


def refused(bench: Bench) -> None:
    """The binding of the first pod fails."""
    bench.binder.land("uid-first", Outcome(False, failed("no")))


def deleted(bench: Bench) -> None:
    """The first pod is deleted while it is being bound."""
    bench.pods.delete(versioned(make_pod("first", cpu="3")))


@pytest.mark.parametrize("frees", [lost, refused, deleted])
def test_freed_room_wakes_who_waits_for_it(frees: Callable[[Bench], None]) -> None:
    """A pod that did not fit beside an assumed one is tried again as soon as that one's room is free."""
    bench = Bench()
    bench.nodes.put(versioned(make_node("n1", cpu="4")))
    bench.pods.put(versioned(make_pod("first", cpu="3")))
    bench.pods.put(versioned(make_pod("second", cpu="2")))
    assert (bench.attempt(), bench.attempt(), bench.attempt()) == ("first", "second", "")
    frees(bench)
    bench.clock.jump(2)
    assert "second" in (bench.attempt(), bench.attempt())
