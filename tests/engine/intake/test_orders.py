"""Intake: whatever the watches say, in whatever order, cache and queue end up as the cluster is."""

from __future__ import annotations

import dataclasses
from random import Random
from typing import Any

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from moorage.core.columns.cache import PodState
from moorage.core.framework.status import error_status
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import PodStatus
from moorage.core.pods.requests import PODS, Requests, pod_requests, unreadable_requests
from moorage.engine.binding.outcome import BOUND, GONE, BindingOutcome
from tests.builders import make_node, make_pod
from tests.engine.worlds import Bench, on_node, unreadable, versioned
from tests.examples import few

FAILED = BindingOutcome(False, error_status("the API server is on holiday"))
NODES = ("n1", "n2", "n3")
SIZES = ("100m", "200m", "no quantity")
HARMS = ("none", "ended", "unreadable")
PODS_NAMED, NODES_NAMED = st.sampled_from("abc"), st.sampled_from(NODES)


@dataclasses.dataclass(frozen=True)
class Truth:
    """A pod or node as the API server has it: the object, and whether an informer can decode it."""

    obj: Any
    decodable: bool = True

    @property
    def requests(self) -> Requests | None:
        """What a pod takes; None when that cannot be read."""
        return (
            pod_requests(self.obj)
            if self.decodable and "no quantity" not in repr(self.obj)
            else None
        )

    @property
    def ended(self) -> bool:
        """Whether it takes nothing any more."""
        return self.decodable and self.obj.status.phase in ("Succeeded", "Failed")


class Machine(RuleBasedStateMachine):
    """The cluster as it is (``pods``, ``nodes``), what the feeds have told of it, and a naive idea
    of what must follow from that.
    """

    def __init__(self) -> None:
        super().__init__()
        self.bench = Bench()
        self.pods: dict[str, Truth] = {}
        self.uids: dict[str, str] = {}
        """Of the pods that there are, by name."""
        self.versions: list[str] = []
        """Their UIDs, once more for each change."""
        self.nodes: dict[str, Truth] = {}
        self.last: dict[str, Truth] = {}
        """Every object by UID or node name, as it was when it was last told of."""
        # What must follow.
        self.waiting: set[str] = set()
        self.taken: dict[str, tuple[str, Requests]] = {}
        self.assumed: set[str] = set()
        self.rooms: dict[str, Node] = {}

    @initialize()
    def a_node(self) -> None:
        """Somewhere to go."""
        self.nodes["n1"] = Truth(versioned(make_node("n1")))
        self.tell("n1")

    # ---- what happens in the cluster -------------------------------------------------------------

    @rule(name=PODS_NAMED, size=st.sampled_from(("100m", "200m")))
    def change_pod(self, name: str, size: str) -> None:
        """A pod comes or changes."""
        self.spoil_pod(name, "", size, "none")

    @rule(
        name=PODS_NAMED,
        node=st.sampled_from(("", *NODES)),
        size=st.sampled_from(SIZES),
        harm=st.sampled_from(HARMS),
    )
    def spoil_pod(self, name: str, node: str, size: str, harm: str) -> None:
        """The same, somehow; a pod that has a node keeps it."""
        uid = self.uids.setdefault(name, f"uid-{name}-{len(self.versions)}")
        self.versions.append(uid)
        if uid in self.pods:
            node = self.pods[uid].obj.spec.node_name or node
        pod = versioned(make_pod(name, cpu=size, node=node), uid=uid)
        if harm == "ended":
            pod = msgspec.structs.replace(pod, status=PodStatus(phase="Succeeded"))
        self.pods[uid] = Truth(pod, harm != "unreadable")

    @rule(name=PODS_NAMED)
    def delete_pod(self, name: str) -> None:
        """A pod goes."""
        self.pods.pop(self.uids.pop(name, ""), None)

    @rule(name=NODES_NAMED, cpu=st.sampled_from(("4", "8", "no quantity")), decodable=st.booleans())
    def change_node(self, name: str, cpu: str, decodable: bool) -> None:
        """A node comes or changes."""
        self.nodes[name] = Truth(versioned(make_node(name, cpu=cpu)), decodable)

    @rule(name=NODES_NAMED)
    def delete_node(self, name: str) -> None:
        """A node goes."""
        self.nodes.pop(name, None)

    # ---- what the informers tell -----------------------------------------------------------------

    @rule(random=st.randoms(use_true_random=False), share=st.sampled_from((0.3, 1.0)))
    def watch(self, random: Random, share: float) -> None:
        """News of some objects, or of all, arrive in any order; some come again."""
        known = sorted({*self.pods, *self.nodes, *self.last})
        for name in random.sample(known, int(len(known) * share)):
            self.tell(name)

    @rule(breaks=st.booleans(), meanwhile=st.booleans())
    def relist(self, breaks: bool, meanwhile: bool) -> None:
        """A whole list, perhaps after one that broke off, of a state that perhaps is behind by a
        binding.
        """
        listed = {**self.nodes, **self.pods}
        for sink in (self.bench.nodes, self.bench.pods):
            sink.list_started()
        if breaks:
            for name in list(listed)[:2]:
                self.put(name, listed[name])
            for sink in (self.bench.nodes, self.bench.pods):
                sink.list_started()
        if meanwhile and self.bench.binder.under_way:
            self.land(min(self.bench.binder.under_way), "yes")
        for name, truth in listed.items():
            self.put(name, truth)
        for sink in (self.bench.nodes, self.bench.pods):
            sink.list_ended()
        for name in self.last.keys() - listed.keys():
            self.gone(name)

    def tell(self, name: str) -> None:
        """The newest state of an object."""
        truth = self.pods.get(name) or self.nodes.get(name)
        if truth is not None:
            self.put(name, truth)
        elif name in self.last:
            last = self.last[name]
            sink: Any = self.bench.nodes if isinstance(last.obj, Node) else self.bench.pods
            if last.decodable:
                sink.delete(last.obj)
            else:
                sink.unreadable(unreadable(last.obj), deleted=True)
            self.gone(name)

    def put(self, name: str, truth: Truth) -> None:
        """An object in some state."""
        self.last[name] = truth
        sink: Any = self.bench.nodes if isinstance(truth.obj, Node) else self.bench.pods
        if truth.decodable:
            sink.put(truth.obj)
        else:
            sink.unreadable(unreadable(truth.obj), deleted=False)
        if isinstance(truth.obj, Node):
            if truth.decodable and "no quantity" not in repr(truth.obj):
                self.rooms[name] = truth.obj
        else:
            self.follow(name, truth)

    # ---- what must follow ------------------------------------------------------------------------

    def follow(self, uid: str, truth: Truth) -> None:
        """A pod was told to be in this state."""
        node = truth.obj.spec.node_name
        if truth.ended:
            self.forget(uid)
        elif node:
            before = self.taken.get(uid, ("", None))
            kept = before[1] if before[0] == node else None
            self.taken[uid] = (node, truth.requests or kept or unreadable_requests())
            self.assumed.discard(uid)
            self.waiting.discard(uid)
        elif truth.requests is None:
            self.waiting.discard(uid)
        elif uid not in self.assumed:
            self.waiting.add(uid)

    def gone(self, name: str) -> None:
        """An object was told to be gone."""
        del self.last[name]
        self.rooms.pop(name, None)
        self.forget(name)

    def forget(self, uid: str) -> None:
        """A pod takes and wants nothing any more."""
        self.taken.pop(uid, None)
        self.assumed.discard(uid)
        self.waiting.discard(uid)

    # ---- what the engine does --------------------------------------------------------------------

    @rule()
    def attempt(self) -> None:
        """The next pod is decided; a placed one is assumed from now on."""
        self.bench.attempt()
        for uid, (_, placement) in self.bench.binder.under_way.items():
            if uid in self.waiting and uid not in self.taken:
                self.taken[uid] = (placement.node, pod_requests(placement.pod))
                self.assumed.add(uid)

    @precondition(lambda self: self.bench.binder.under_way)
    @rule(data=st.data(), answer=st.sampled_from(("yes", "no")))
    def binding_ends(self, data: st.DataObject, answer: str) -> None:
        """The API server does what it is asked, as far as it can, or refuses."""
        self.land(data.draw(st.sampled_from(sorted(self.bench.binder.under_way))), answer)

    def land(self, uid: str, answer: str) -> None:
        """End a binding; the watch has not told of it yet."""
        node = self.bench.binder.under_way[uid][1].node
        truth = self.pods.get(uid)
        if truth is None or truth.obj.spec.node_name not in ("", node):
            outcome = GONE
        elif answer == "yes" or truth.obj.spec.node_name:
            outcome = BOUND
            self.pods[uid] = dataclasses.replace(truth, obj=versioned(on_node(truth.obj, node)))
        else:
            outcome = FAILED
        if outcome is not BOUND and uid in self.assumed:
            self.taken.pop(uid)
            self.assumed.discard(uid)
        if outcome is not FAILED:
            self.waiting.discard(uid)
        self.bench.binder.end(uid, outcome)
        if outcome is FAILED and uid in self.last:  # what was told meanwhile counts now
            self.follow(uid, self.last[uid])

    # ---- whether it did --------------------------------------------------------------------------

    @invariant()
    def cache_and_backlog_are_right(self) -> None:
        """Every pod is where it must be, every node is charged for its pods and no others."""
        bench, cache = self.bench, self.bench.cache
        assert {entry.uid for entry in bench.queue.entries()} == self.waiting
        records = {uid: cache.pod_info(uid) for uid in self.versions}
        assert {
            uid: (r.node, r.requests) for uid, r in records.items() if r is not None
        } == self.taken
        assert {
            uid for uid, r in records.items() if r is not None and r.state is PodState.ASSUMED
        } == self.assumed
        assert len(cache) == len(self.taken)
        assert cache.assumed == len(self.assumed)
        assert set(cache.nodes.row_of) == set(self.rooms)
        for name, row in cache.nodes.row_of.items():
            there = [requests for node, requests in self.taken.values() if node == name]
            assert cache.nodes.requested[PODS, row] == len(there)
            assert cache.nodes.requested[0, row] == sum(requests.cpu for requests in there)
            assert cache.nodes.nodes[row] == self.rooms[name]

    def teardown(self) -> None:
        """Once all bindings have ended and all is listed, nothing is assumed, and no pod is lost or
        counted twice.
        """
        while self.bench.binder.under_way:
            self.land(next(iter(self.bench.binder.under_way)), "yes")
        self.relist(breaks=False, meanwhile=False)
        self.cache_and_backlog_are_right()
        assert not self.assumed
        live = {uid: truth for uid, truth in self.pods.items() if not truth.ended}
        assert set(self.taken) == {uid for uid, truth in live.items() if truth.obj.spec.node_name}
        assert self.waiting == {
            uid
            for uid, truth in live.items()
            if not truth.obj.spec.node_name and truth.requests is not None
        }


Machine.TestCase.settings = settings(few(50), stateful_step_count=40)
TestAnyOrder = Machine.TestCase
