"""Storms: pods come and go while answers fail, get lost or are late, the watch falls behind, and
others fill and take away nodes.

Whatever blows, four things hold at every moment, and one more when all is calm again:

* what is sent was true when it was sent: by all that was delivered and assumed, the node had room
  for the pod;
* nobody is bound twice;
* no node has more of our pods than it has room;
* nobody goes for a pod that is not of higher priority;
* in the end every pod is bound or waits with a true reason, nothing is assumed, nominated or under
  way in vain, and nobody waits behind a pod of lower priority.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from moorage.core.framework.status import Code, Status
from moorage.core.objects.nodes import Taint
from moorage.core.objects.pods import Pod
from moorage.core.pods.requests import CPU
from moorage.engine.binding.actors.contract import PermitWait
from moorage.ports.errors import Conflict, Fenced, Forbidden, Retryable
from moorage.ports.kube import PodRef
from tests.builders import make_node, make_pod
from tests.engine.running import STEPS, Running
from tests.engine.worlds import a_body, on_node
from tests.examples import few
from tests.fakes.clocks import settle
from tests.fakes.kube import InMemoryKube

NODES, ROOM = ("n1", "n2"), 3
"""Each node has room for so many pods."""
FAULTS: dict[str, Callable[[], tuple[Exception, bool]]] = {
    "lost before": lambda: (Retryable("reset", outcome_unknown=True), False),
    "lost after": lambda: (Retryable("reset", outcome_unknown=True), True),
    "busy": lambda: (Retryable("429", after=1), False),
    "conflict": lambda: (Conflict("POST binding", 409), False),
    "refused": lambda: (Forbidden("POST binding", 403), False),
    "fenced": lambda: (Fenced("no"), False),
    "bug": lambda: (ZeroDivisionError("bug"), False),
    "bug after": lambda: (ZeroDivisionError("bug"), True),
}
WRITTEN = ("pod_condition", "pod_nomination", "delete_pod")
STEP_FAULTS: dict[str, Callable[[], Exception | Status | PermitWait]] = {
    "permit refuses": lambda: Status(Code.UNSCHEDULABLE, ("not now",)),
    "permit holds": lambda: PermitWait(1.0),
    "permit bug": lambda: ZeroDivisionError("bug"),
    "pre_bind bug": lambda: ZeroDivisionError("bug"),
    "pre_bind fails": lambda: Retryable("503"),
    "post_bind bug": lambda: ZeroDivisionError("bug"),
}
FOREIGN = "another"


@dataclasses.dataclass(frozen=True)
class Gust:
    """What happens at about the same time."""

    creates: tuple[int, ...] = ()
    """Pods, by their priorities."""
    deletes: int = 0
    """How many pods, the oldest first."""
    faults: tuple[str, ...] = ()
    """Of bindings."""
    write_faults: tuple[tuple[str, str], ...] = ()
    """(method, fault) of other writes; an answer of 403 for ever would end nothing, so it comes
    once like all.
    """
    step_faults: tuple[str, ...] = ()
    unread: int = 0
    """How many reads of a pod are not answered."""
    foreign: str = ""
    """A node onto which another scheduler puts a pod, and takes it away with the next gust."""
    gone: str = ""
    """A node that is deleted, with its pods, and comes back."""
    tainted: str = ""
    """A node that is tainted until the next gust."""
    late: bool = False
    """Whether bindings are answered only after the deletions."""
    behind: bool = False
    """Whether the watch tells nothing from now on, until a gust without it brings a list."""
    swaps: bool = False
    seconds: float = 0.1


GUSTS = st.builds(
    Gust,
    creates=st.lists(st.sampled_from((0, 0, 10)), max_size=4).map(tuple),
    deletes=st.integers(0, 2),
    faults=st.lists(st.sampled_from(sorted(FAULTS)), max_size=3).map(tuple),
    write_faults=st.lists(
        st.tuples(st.sampled_from(WRITTEN), st.sampled_from(("lost before", "lost after", "busy"))),
        max_size=2,
    ).map(tuple),
    step_faults=st.lists(st.sampled_from(sorted(STEP_FAULTS)), max_size=2).map(tuple),
    unread=st.integers(0, 3),
    foreign=st.sampled_from(("", *NODES)),
    gone=st.sampled_from(("", "", *NODES)),
    tainted=st.sampled_from(("", "", *NODES)),
    late=st.booleans(),
    behind=st.booleans(),
    swaps=st.booleans(),
    seconds=st.sampled_from((0.0, 0.1, 2.5)),
)


class WitnessedKube(InMemoryKube):
    """An API server that looks, at each binding that is sent, whether it was right to send it."""

    def __init__(self) -> None:
        super().__init__()
        self.witness: Callable[[PodRef, str], None] = lambda pod, node: None

    async def bind(self, pod: PodRef, node: str) -> None:
        """Look first."""
        self.witness(pod, node)
        await super().bind(pod, node)


class Storm:
    """Gusts, done to a running engine."""

    def __init__(self, world: Running) -> None:
        self.world = world
        self.kube = world.kube
        self.count = 0
        self.generation = 1
        self.tainted = ""
        assert isinstance(self.kube, WitnessedKube)
        self.kube.witness = self.check_sent

    async def blow(self, gust: Gust) -> None:
        """Let it happen."""
        for name in gust.faults:
            error, done = FAULTS[name]()
            self.kube.fail("bind", error, done=done)
        for method, name in gust.write_faults:
            error, done = FAULTS[name]()
            self.kube.fail(method, error, done=done)
        for name in gust.step_faults:
            self.world.steps.script[name.split()[0]].append(STEP_FAULTS[name]())
        self.kube.fail("pod_node", Retryable("refused"), times=gust.unread)
        if self.kube.silent and not gust.behind:
            self.kube.relist()
        self.kube.silent = gust.behind
        gate = self.kube.hold("bind")
        if not gust.late:
            gate.set()
        self._pods_and_profiles(gust)
        await settle()
        self._others(gust)
        for pod in self.ours[: gust.deletes]:
            self.kube.delete(pod)
        gate.set()
        await self.world.clock.advance(gust.seconds)
        self.reap()
        await settle()
        self.check()

    def _pods_and_profiles(self, gust: Gust) -> None:
        for rank in gust.creates:
            self.count += 1
            self.kube.put(make_pod(f"p{self.count}", cpu="1", memory="1Mi", priority=rank))
        if gust.swaps:
            self.generation += 1
            plugins = STEPS if self.generation % 2 else {}
            self.world.engine.profile_changed(
                "test", a_body("test", generation=self.generation, plugins=plugins)
            )

    def _others(self, gust: Gust) -> None:
        """What other schedulers and administrators do."""
        for pod in [pod for pod in self.kube.pods.values() if pod.spec.scheduler_name == FOREIGN]:
            self.kube.delete(pod)
        if gust.foreign:
            self.count += 1
            theirs = make_pod(
                f"theirs{self.count}",
                cpu=str(ROOM),
                memory="1Mi",
                scheduler_name=FOREIGN,
                priority=1000,
            )
            self.kube.put(on_node(theirs, gust.foreign))
        if gust.gone:
            self.kube.delete(self.kube.nodes[gust.gone])
            for pod in [pod for pod in self.kube.pods.values() if pod.spec.node_name == gust.gone]:
                self.kube.delete(pod)
        for name in {gust.gone, gust.tainted, self.tainted} - {""}:
            taints = (Taint("storm", "", "NoSchedule"),) if name == gust.tainted else ()
            self.kube.put(make_node(name, cpu=str(ROOM), taints=taints))
        self.tainted = gust.tainted

    @property
    def ours(self) -> list[Pod]:
        """The pods that we are to place, the oldest first."""
        return [pod for pod in self.kube.pods.values() if pod.spec.scheduler_name == "test"]

    def reap(self) -> None:
        """What kubelets do: pods that are told to go are gone."""
        for pod in self.ours:
            if pod.metadata.deletion_timestamp is not None:
                self.kube.delete(pod)

    def check_sent(self, pod: PodRef, node: str) -> None:
        """By all that was delivered and is assumed, the node has room for this pod."""
        nodes = self.world.engine.context.cache.nodes
        assert node in nodes.row_of, f"{pod.name} is sent to {node}, which is not there"
        row = nodes.row_of[node]
        assert nodes.requested[CPU, row] <= nodes.allocatable[CPU, row], (
            f"{pod.name} is sent to {node}, which is full"
        )

    def check(self) -> None:
        """Nobody was bound twice, our pods fit, and who goes goes for somebody more important."""
        assert len(self.kube.bindings) <= self.count
        for node in NODES:
            assert sum(pod.spec.node_name == node for pod in self.ours) <= ROOM
        victims = {
            write.arguments[0].name for write in self.kube.written if write.method == "delete_pod"
        }
        assert not any(
            pod.spec.priority == 10 and pod.metadata.name in victims for pod in self.ours
        )

    def check_calm(self) -> None:
        """Every pod is bound or waits with a true reason, and nothing is under way in vain."""
        engine, cache = self.world.engine, self.world.engine.context.cache
        bound = {pod.metadata.uid for pod in self.ours if pod.spec.node_name}
        waiting = [pod for pod in self.ours if not pod.spec.node_name]
        assert len(bound) == min(len(self.ours), len(NODES) * ROOM)
        assert (
            cache.assumed,
            len(engine.binder),
            len(list(engine.binder.waiting_pods)),
        ) == (0, 0, 0)
        assert {uid for uid in self.kube.pods if cache.pod_info(uid) is not None} == bound
        assert len(cache) == len(bound)
        assert {entry.uid for entry in engine.queue.entries()} == {
            pod.metadata.uid for pod in waiting
        }
        assert {pod.metadata.uid for pod in waiting if pod.status.nominated_node_name} == set()
        assert len(cache.nominations) == 0
        least = min((pod.spec.priority or 0 for pod in self.ours if pod.spec.node_name), default=0)
        for pod in waiting:
            assert (pod.spec.priority or 0) <= least
            (reason,) = (c for c in pod.status.conditions or () if c.type == "PodScheduled")
            assert (reason.status, reason.reason) == ("False", "Unschedulable")
            assert reason.message.startswith("0/2 nodes are available: 2 Insufficient cpu.")


@few(25)
@given(st.lists(GUSTS, min_size=1, max_size=8))
def test_any_storm_passes(gusts: list[Gust]) -> None:
    """What holds at every moment holds, and all is calm in the end."""

    async def scenario() -> None:
        async with Running(kube=WitnessedKube()).leading(nodes=0) as world:
            for name in NODES:
                world.kube.put(make_node(name, cpu=str(ROOM)))
            storm = Storm(world)
            for gust in gusts:
                await storm.blow(gust)
            world.kube._failures.clear()
            world.steps.script.clear()
            # backoffs, preemptions, and what waits for an event that does not come
            for seconds in (11.0, 11.0, 11.0, 300.0, 11.0):
                world.clock.jump(seconds)
                await storm.blow(Gust(seconds=1.0))
            storm.check_calm()

    asyncio.run(scenario())
