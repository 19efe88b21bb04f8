"""A pod that cannot be read for a while, just when it is being bound, is not lost."""

from __future__ import annotations

from moorage.core.framework.status import error_status
from moorage.engine.binding.outcome import BindingOutcome
from tests.builders import make_node, make_pod
from tests.engine.worlds import Bench, unreadable, versioned


def test_a_pod_that_was_unreadable_while_it_was_bound_is_tried_again() -> None:
    """It leaves the queue when it turns unreadable; it is readable again, its binding fails: it is
    queued.
    """
    bench = Bench()
    bench.nodes.put(versioned(make_node("n1")))
    pod = make_pod("a")
    bench.pods.put(versioned(pod))
    assert bench.attempt() == "a"
    bench.pods.unreadable(unreadable(pod), deleted=False)
    bench.pods.put(versioned(pod))
    bench.binder.end("uid-a", BindingOutcome(False, error_status("no")))
    bench.clock.jump(5)
    assert bench.attempt() == "a"
