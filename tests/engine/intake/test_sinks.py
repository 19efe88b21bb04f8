"""Intake: what single news of pods and nodes do, and whom they wake."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from moorage.core.framework.status import error_status
from moorage.core.objects.meta import PartialObject
from moorage.core.objects.nodes import Taint
from moorage.core.objects.pods import ContainerPort, Pod, PodStatus
from moorage.core.pods.requests import PODS
from moorage.core.queue.queued_pod import QueueState
from moorage.engine.binding.outcome import BOUND, BindingOutcome
from moorage.engine.intake.object_sink import MAX_DELETES_PER_STEP
from moorage.ports.kube import UnreadableObject
from tests.builders import make_node, make_pod
from tests.engine.worlds import Bench, unreadable, versioned

FAILED = BindingOutcome(False, error_status("the API server is on holiday"))


# ---- whom it wakes -------------------------------------------------------------------------------


def full(bench: Bench, cpu: str = "4") -> None:
    """A node n1 without room for more, and a pod ``waits`` that was refused for it."""
    bench.nodes.put(versioned(make_node("n1", cpu=cpu, pods="2")))
    bench.pods.put(versioned(make_pod("big", cpu=cpu, node="n1")))
    bench.pods.put(versioned(make_pod("waits", cpu="1")))
    assert bench.attempt() == "waits"
    assert bench.queue.get("uid-waits").state is QueueState.UNSCHEDULABLE  # type: ignore[union-attr]


def delete_big(bench: Bench) -> None:
    """The pod that fills the node goes."""
    bench.pods.delete(bench.pods.objects["uid-big"])


def end_big(bench: Bench) -> None:
    """It ends."""
    bench.pods.put(
        versioned(
            msgspec.structs.replace(bench.pods.objects["uid-big"], status=PodStatus(phase="Failed"))
        )
    )


def garble_and_delete_big(bench: Bench) -> None:
    """It becomes unreadable and goes."""
    big = versioned(bench.pods.objects["uid-big"])
    bench.pods.unreadable(unreadable(big), deleted=False)
    assert bench.queue.get("uid-waits").state is QueueState.UNSCHEDULABLE  # type: ignore[union-attr]
    bench.pods.unreadable(unreadable(big), deleted=True)


def lose_big(bench: Bench) -> None:
    """It is missing from the next list."""
    waits = bench.pods.objects["uid-waits"]
    bench.pods.list_started()
    bench.pods.put(waits)
    bench.pods.list_ended()


def shrink_big(bench: Bench) -> None:
    """It is resized in place."""
    bench.pods.put(versioned(make_pod("big", cpu="1", node="n1")))


def bind_a_small_one(bench: Bench) -> None:
    """Another pod is bound."""
    bench.pods.put(versioned(make_pod("small", cpu="0", node="n1")))


def relabel_big(bench: Bench) -> None:
    """It changes in nothing that matters."""
    bench.pods.put(versioned(bench.pods.objects["uid-big"], labels={"a": "b"}))


def add_node(bench: Bench) -> None:
    """A node comes."""
    bench.nodes.put(versioned(make_node("n2")))


def add_small_node(bench: Bench) -> None:
    """A node comes that would not do."""
    bench.nodes.put(versioned(make_node("n2", cpu="500m")))


def mend_node(bench: Bench) -> None:
    """A node comes unreadable, which is nothing, and is readable then, which is a new node."""
    bench.nodes.put(versioned(make_node("n2", cpu="four")))
    bench.nodes.unreadable(unreadable(versioned(make_node("n2"))), deleted=False)
    assert bench.queue.get("uid-waits").state is QueueState.UNSCHEDULABLE  # type: ignore[union-attr]
    bench.nodes.put(versioned(make_node("n2")))


def enlarge_node(bench: Bench) -> None:
    """The node gets more, after a state that nobody could read."""
    bench.nodes.put(versioned(make_node("n1", cpu="?", pods="2")))
    bench.nodes.put(versioned(make_node("n1", cpu="5", pods="2")))


def beat(bench: Bench) -> None:
    """A heartbeat of the node."""
    bench.nodes.put(versioned(bench.nodes.objects["n1"]))


def delete_node(bench: Bench) -> None:
    """The node goes."""
    bench.nodes.delete(bench.nodes.objects["n1"])


def garble_and_mend_node(bench: Bench) -> None:
    """The node is unreadable for a moment."""
    bench.nodes.put(versioned(make_node("n1", cpu="?", pods="2")))
    bench.nodes.put(versioned(make_node("n1", pods="2")))


WAKING = (
    delete_big,
    end_big,
    garble_and_delete_big,
    lose_big,
    shrink_big,
    add_node,
    mend_node,
    enlarge_node,
)
NOT_WAKING = (
    bind_a_small_one,
    relabel_big,
    add_small_node,
    beat,
    garble_and_mend_node,
    delete_node,
)


@pytest.mark.parametrize("happens", WAKING + NOT_WAKING, ids=lambda happens: happens.__name__)
def test_what_wakes_a_refused_pod(happens: Any) -> None:
    """A pod that lacked room is tried again when there may be some, and only then."""
    bench = Bench()
    full(bench)
    happens(bench)
    entry = bench.queue.get("uid-waits")
    assert entry is not None
    assert (entry.state is QueueState.BACKOFF) == (happens in WAKING)


def test_a_node_that_can_be_read_at_last_is_new() -> None:
    """A pod that only a new or untainted node can free is woken by one that was unreadable until
    now.
    """
    bench = Bench()
    bench.nodes.put(versioned(make_node("n1", taints=(Taint("a", "b", "NoSchedule"),))))
    bench.nodes.put(versioned(make_node("n2", cpu="four")))
    bench.pods.put(versioned(make_pod("waits")))
    bench.attempt()
    bench.nodes.put(versioned(make_node("n2")))
    assert bench.queue.totals().unschedulable == 0


# ---- single cases --------------------------------------------------------------------------------


def test_only_the_unreadable_are_harmed(caplog: pytest.LogCaptureFixture) -> None:
    """Every unreadable object is named in the log; the pods beside it are placed, on the nodes
    beside it.
    """
    bench = Bench()
    bench.nodes.unreadable(unreadable(versioned(make_node("bad-node"))), deleted=False)
    bench.nodes.put(versioned(make_node("odd-node", memory="lots")))
    bench.nodes.put(versioned(make_node("n1")))
    bench.pods.unreadable(unreadable(versioned(make_pod("bad-pod"))), deleted=False)
    bench.pods.put(versioned(make_pod("odd-pod", cpu="some")))
    bench.pods.put(versioned(make_pod("good")))
    assert [bench.attempt(), bench.attempt()] == ["good", ""]
    assert {
        entry.pod.metadata.name: placement.node
        for entry, placement in bench.binder.under_way.values()
    } == {"good": "n1"}
    named = [str(getattr(record, "object", "")) for record in caplog.records]
    assert named == ["bad-node", "odd-node", "default/bad-pod", "default/odd-pod"]
    assert "spec.containers[0].resources.requests[cpu]: 'some' is not a quantity" in caplog.text


def test_an_unreadable_node_keeps_its_state_over_a_relist() -> None:
    """A list that holds a node in an unreadable state does not delete it; one without it does."""
    bench = Bench()
    bench.nodes.put(versioned(make_node("n1")))
    bench.nodes.list_started()
    bench.nodes.unreadable(unreadable(versioned(make_node("n1"))), deleted=False)
    bench.nodes.list_ended()
    assert set(bench.cache.nodes.row_of) == {"n1"}
    bench.nodes.list_started()
    bench.nodes.list_ended()
    assert not bench.cache.nodes.row_of


def test_many_that_a_list_did_not_have_go_in_pieces() -> None:
    """Each call takes some of them out; what the watch says of one meanwhile is not lost, and the
    last call ends it.
    """
    bench = Bench()
    bench.nodes.put(versioned(make_node("n1", pods="5000")))
    for i in range(3 * MAX_DELETES_PER_STEP):
        bench.pods.put(versioned(make_pod(f"p{i}", node="n1")))
    bench.pods.list_started()
    left = [len(bench.cache)]
    while bench.pods.list_ended():
        left.append(len(bench.cache))
    assert left == [3 * MAX_DELETES_PER_STEP, 2 * MAX_DELETES_PER_STEP, MAX_DELETES_PER_STEP]
    assert len(bench.cache) == 0 == bench.cache.nodes.requested[PODS, 0]


@pytest.mark.parametrize("how", ["delete", "unreadable", "relist"])
@pytest.mark.parametrize("harm", ["no quantity", "not decodable"])
def test_an_unreadable_pod_gives_its_place_back(harm: str, how: str) -> None:
    """However its end comes to be known."""
    bench = Bench()
    bench.nodes.put(versioned(make_node("n1")))
    pod = versioned(make_pod("a", cpu="x" if harm == "no quantity" else "1", node="n1"))
    if harm == "no quantity":
        bench.pods.put(pod)
    else:
        bench.pods.unreadable(unreadable(pod), deleted=False)
    assert bench.cache.nodes.requested[PODS, 0] == 1
    if how == "delete":
        bench.pods.delete(pod)
    elif how == "unreadable":
        bench.pods.unreadable(unreadable(pod), deleted=True)
    else:
        bench.pods.list_started()
        bench.pods.list_ended()
    assert bench.cache.nodes.requested[PODS, 0] == 0
    assert len(bench.cache) == 0


def test_an_unreadable_pod_keeps_what_it_took() -> None:
    """On its node; it is no waiting pod any more either, so nothing is written about it."""
    bench = Bench()
    bench.nodes.put(versioned(make_node("n1")))
    for node in ("", "n1"):
        bench.pods.put(pod := versioned(make_pod("a", cpu="300m", node=node)))
        bench.pods.unreadable(unreadable(versioned(pod)), deleted=False)
        assert not bench.pods.objects
        assert bench.queue.get("uid-a") is None
    assert bench.cache.nodes.requested[0, 0] == 300


def test_the_same_news_again_change_nothing() -> None:
    """A pod that is being deleted is skipped once, not at each list."""
    bench = Bench()
    bench.nodes.put(versioned(make_node("n1")))
    bench.pods.put(pod := versioned(make_pod("a"), deletion_timestamp="2026-01-01T00:00:00Z"))
    assert bench.attempt() == "a"
    bench.pods.list_started()
    bench.pods.put(pod)
    bench.pods.list_ended()
    assert bench.attempt() == ""
    assert [event.note for event in bench.events.events] == [
        "skip schedule deleting pod: default/a"
    ]
    bench.pods.put(versioned(pod, labels={"held": "by a finalizer"}))
    assert bench.attempt() == ""
    assert len(bench.events.events) == 1


def test_a_pod_in_flight_is_retried_in_its_newest_state() -> None:
    """What the watch tells of a pod while its binding runs is not lost when the binding fails."""
    bench = Bench()
    bench.nodes.put(versioned(make_node("n1")))
    bench.pods.put(versioned(make_pod("a")))
    bench.attempt()
    bench.pods.put(
        versioned(make_pod("a", tolerations=()), deletion_timestamp="2026-01-01T00:00:00Z")
    )
    assert bench.cache.assumed == 1
    bench.binder.end("uid-a", FAILED)
    entry = bench.queue.get("uid-a")
    assert entry is not None
    assert entry.pod.metadata.deletion_timestamp


def test_a_bound_pod_is_not_queued_again_by_a_watch_that_is_behind() -> None:
    """News of a pod from before it was bound arrive after the binding."""
    bench = Bench()
    bench.nodes.put(versioned(make_node("n1")))
    bench.pods.put(versioned(make_pod("a")))
    bench.attempt()
    bench.binder.end("uid-a", BOUND)
    bench.pods.put(versioned(make_pod("a"), labels={"late": "yes"}))
    assert bench.attempt() == ""
    assert bench.cache.assumed == 1


def test_ports_of_a_deleted_pod_are_free_again() -> None:
    """The pod that goes is told with all that it took."""
    bench = Bench()
    bench.nodes.put(versioned(make_node("n1")))
    container = make_pod("x").spec.containers[0]  # type: ignore[index]
    container = msgspec.structs.replace(container, ports=(ContainerPort(host_port=80),))
    bench.pods.put(versioned(make_pod("old", node="n1", containers=(container,))))
    bench.pods.put(versioned(make_pod("new", containers=(container,))))
    bench.attempt()
    assert bench.queue.totals().unschedulable == 1
    # whatever the informer hands over, its newest known state counts
    bench.pods.delete(make_pod("old"))
    assert bench.queue.totals().unschedulable == 0


def test_pods_of_other_schedulers_wait_untouched() -> None:
    """They are held: one of them may get a profile later."""
    bench = Bench()
    bench.nodes.put(versioned(make_node("n1")))
    bench.pods.put(versioned(make_pod("a", scheduler_name="somebody-elses")))
    assert bench.attempt() == ""
    assert bench.queue.totals().unserved == 1
    assert bench.queued == ["a"]


def test_a_namesake_is_another_pod() -> None:
    """A pod that was deleted and made anew under its name is told by UID, whichever news comes
    first.
    """
    bench = Bench()
    bench.nodes.put(versioned(make_node("n1")))
    bench.pods.put(versioned(make_pod("a", node="n1")))
    second = versioned(make_pod("a"), uid="uid-second")
    bench.pods.put(second)
    bench.pods.delete(make_pod("a", node="n1"))
    assert bench.cache.nodes.requested[PODS, 0] == 0
    assert bench.attempt() == "a"
    assert list(bench.binder.under_way) == ["uid-second"]


def test_pods_are_found_by_name_while_they_are_there() -> None:
    """Whatever becomes of them; of two of one name, of which a list says first the new one, the one
    that stays.
    """
    bench = Bench()
    uids = bench.latest_pods.uids
    old, new = (versioned(make_pod("web"), uid=uid) for uid in ("old", "new"))
    bench.pods.put(old)
    assert uids == {("default", "web"): "old"}
    bench.pods.unreadable(unreadable(old), deleted=False)
    bench.pods.put(versioned(old))
    bench.pods.put(new)
    bench.pods.delete(old)
    assert uids == {("default", "web"): "new"}
    bench.pods.delete(new)
    ended = msgspec.structs.replace(make_pod("ended"), status=PodStatus(phase="Succeeded"))
    bench.pods.put(versioned(ended))
    assert not uids


def test_deleting_what_was_never_there_changes_nothing() -> None:
    """A delete may come again after a resume."""
    bench = Bench()
    bench.pods.delete(make_pod("a"))
    bench.nodes.delete(make_node("n1"))
    bench.pods.unreadable(
        UnreadableObject(PartialObject(make_pod("a").metadata), "n1", "?"), deleted=True
    )
    assert len(bench.cache) == len(bench.cache.nodes) == bench.queue.totals().active == 0


def test_newest_state_is_what_failures_see() -> None:
    """The pod that conditions are compared with is the last one put."""
    bench = Bench()
    pod: Pod = versioned(make_pod("a"), labels={"new": "yes"})
    bench.pods.put(versioned(make_pod("a")))
    bench.pods.put(pod)
    assert bench.pods.objects["uid-a"] is pod
