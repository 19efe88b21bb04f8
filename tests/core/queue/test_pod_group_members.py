"""Pod groups in the queue: who is gated, who goes with whom, and that no member goes alone while
others are needed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from moorage.core.columns.cache import Cache
from moorage.core.columns.store import Store
from moorage.core.groups.group_spec import INITIALLY_SCHEDULED, AnyPodGroup
from moorage.core.groups.member_kinds import kind_of
from moorage.core.objects.meta import ObjectMeta, key
from moorage.core.objects.pod_groups import (
    API,
    COSCHEDULING_API,
    COSCHEDULING_LABEL,
    CoschedulingPodGroup,
    CoschedulingPodGroupSpec,
    GangSchedulingPolicy,
    GroupKey,
    PodGroup,
    PodGroupCondition,
    PodGroupSchedulingPolicy,
    PodGroupSpec,
    PodGroupStatus,
    group_of,
)
from moorage.core.objects.pods import Pod, PodAnnotations, PodSchedulingGroup, on_node
from moorage.core.plugins.priority_sort import PrioritySort
from moorage.core.pods.requests import pod_requests
from moorage.core.queue.hints import PreEnqueueGate
from moorage.core.queue.pod_group_members import PodGroupTracker
from moorage.core.queue.pod_group_state import POD_GROUP_GATE as POD_GROUP
from moorage.core.queue.pod_group_state import PodGroupState
from moorage.core.queue.queued_pod import QueuedPodInfo, QueueState
from moorage.core.queue.scheduling_queue import SchedulingQueue
from tests.core.queue.helpers import GATE, NODE_ADDED, WAKES, Rig, a_pod, view
from tests.fakes.listeners import StrictQueueListener


def member(
    name: str,
    group: str = "g",
    least: str = "",
    scheduler: str = "test",
    priority: int = 0,
    **labels: str,
) -> Pod:
    """A member of this group; ``least`` is its annotation."""
    if group == "k":
        return kubernetes(name, group, scheduler, priority, **labels)
    pod = a_pod(name, scheduler, priority, **{COSCHEDULING_LABEL: group}, **labels)
    annotations = PodAnnotations(least) if least else None
    return msgspec.structs.replace(
        pod, metadata=msgspec.structs.replace(pod.metadata, annotations=annotations)
    )


def declared(least: int, name: str = "g") -> CoschedulingPodGroup:
    """A PodGroup with this minMember."""
    return CoschedulingPodGroup(
        ObjectMeta(name=name, namespace="default"), CoschedulingPodGroupSpec(min_member=least)
    )


class Groups(Rig):
    """A scheduling queue whose PodGroups are listed."""

    def __init__(self, *gates: PreEnqueueGate, listed: bool = True) -> None:
        super().__init__(*gates)
        if listed:
            self.queue.groups.all_listed()

    def come(self, *pods: Pod) -> None:
        """Members come."""
        for pod in pods:
            self.queue.add(pod, self.now)
        self.queue.flush(self.now)

    def declare(self, *groups: AnyPodGroup) -> None:
        """PodGroups come or change."""
        for group in groups:
            self.store.put(group)
        self.queue.flush(self.now)

    def together(self) -> list[str]:
        """Who goes in flight next, at once."""
        entry = self.queue.pop(self.now)
        return (
            [each.pod.metadata.name for each in (entry, *entry.companions)]
            if entry is not None
            else []
        )

    def run(self, *pods: Pod) -> None:
        """The API server shows members on nodes."""
        for pod in pods:
            self.queue.groups.placed(on_node(pod, "n"), 1)
            self.queue.groups.pod_bound(on_node(pod, "n"))
            self.queue.remove(pod.metadata.uid)

    def why(self, name: str) -> str:
        """What is said of the group of a pod that is gated by it."""
        assert self.entry(name).gating_plugin == POD_GROUP
        return self.queue.groups.gating_message(self.queue.groups.group_of_entry(self.entry(name)))


# ---- who is gated --------------------------------------------------------------------------------


def test_members_wait_for_each_other() -> None:
    """Gated until enough are here; then all go at once."""
    rig = Groups()
    rig.declare(declared(3))
    rig.come(member("a"), member("b"))
    assert rig.place("a") is rig.place("b") is QueueState.GATED
    assert rig.queue.gated_counts() == {POD_GROUP: 2}
    assert rig.why("a") == 'waiting for pod group "default/g": 2 of 3 members are here'
    assert rig.together() == []
    rig.come(member("c"))
    assert rig.together() == ["a", "b", "c"]
    assert rig.together() == []


def kubernetes(
    name: str, group: str = "g", scheduler: str = "test", priority: int = 0, **labels: str
) -> Pod:
    """A member of a group of Kubernetes' API."""
    pod = a_pod(name, scheduler, priority, **labels)
    spec = msgspec.structs.replace(pod.spec, scheduling_group=PodSchedulingGroup(group))
    return msgspec.structs.replace(pod, spec=spec)


def gang(least: int, name: str = "g") -> PodGroup:
    """Kubernetes' PodGroup with this minCount."""
    policy = PodGroupSchedulingPolicy(gang=GangSchedulingPolicy(least))
    return PodGroup(ObjectMeta(name, "default"), PodGroupSpec(policy))


def test_a_gang_of_kubernetes() -> None:
    """Its members wait for the PodGroup, then for each other; kube-scheduler's texts."""
    rig = Groups()
    rig.come(kubernetes("a"))
    assert rig.why("a").startswith(
        'waiting for pods\'s pod group "g" to appear in scheduling queue: '
    )
    rig.declare(gang(2))
    rig.together()
    assert rig.why("a") == (
        'waiting for minCount pods from a gang to appear in scheduling queue, "default/g": 1 of 2 '
        "members are here"
    )
    rig.come(kubernetes("b"))
    assert rig.together() == ["a", "b"]


def test_a_basic_group_of_kubernetes() -> None:
    """Once its PodGroup is there, all that wait go together, however many that are."""
    rig = Groups()
    rig.come(kubernetes("a"), kubernetes("b"))
    assert rig.together() == []
    rig.declare(PodGroup(ObjectMeta("g", "default")))
    assert [rig.together() for _ in range(2)] == [["a", "b"], []]


def test_a_minimum_of_kubernetes_that_is_lowered() -> None:
    """minCount may change while members wait."""
    rig = Groups()
    rig.declare(gang(3))
    rig.come(kubernetes("a"), kubernetes("b"))
    assert rig.together() == []
    rig.declare(gang(2))
    assert rig.together() == ["a", "b"]


def test_a_minimum_that_is_met_is_to_be_said() -> None:
    """Of Kubernetes' groups, once enough members are on nodes, until the condition says so."""
    rig = Groups()
    rig.declare(gang(2, "k"))
    told = []
    for name in "ab":
        rig.run(kubernetes(name, "k"))
        rig.queue.flush(rig.now)
        told.append([group.name for group in rig.queue.groups.unsaid])
    assert told == [[], ["default/k"]]
    rig.queue.groups.unsaid.clear()
    condition = PodGroupCondition(type=INITIALLY_SCHEDULED, status="True")
    rig.declare(msgspec.structs.replace(gang(2, "k"), status=PodGroupStatus((condition,))))
    assert not rig.queue.groups.unsaid


def test_groups_of_two_apis_that_have_one_name() -> None:
    """They are two, and no member of one counts for the other."""
    rig = Groups()
    rig.declare(gang(2), declared(2))
    rig.come(kubernetes("a"), member("x"))
    assert rig.together() == []
    rig.come(kubernetes("b"))
    assert rig.together() == ["a", "b"]
    rig.come(member("y"))
    assert rig.together() == ["x", "y"]


def test_an_api_that_is_not_served() -> None:
    """Members that need its PodGroups wait, and say so, until it is; others are not concerned."""
    rig = Groups(listed=False)
    rig.queue.groups.kind_listed(COSCHEDULING_API, served=False)
    rig.come(member("x", least="2"), member("y"), kubernetes("a"))
    assert rig.together() == ["x", "y"]
    assert "PodGroups are not listed yet" in rig.why("a")
    rig.queue.groups.kind_listed(API, served=False)
    rig.together()
    assert "the API server does not serve PodGroups of scheduling.k8s.io/v1beta1" in rig.why("a")
    rig.queue.groups.kind_listed(API)
    rig.together()
    assert "there is no PodGroup default/g" in rig.why("a")
    rig.declare(gang(1))
    assert rig.together() == ["a"]


def test_everybody_else_is_not_held_up() -> None:
    """A pod without a group goes its own way, as does one whose group needs nobody."""
    rig = Groups()
    rig.declare(declared(3), declared(1, "one"), declared(0, "none"))
    rig.come(member("a"), a_pod("b"), member("c", "one"), member("d", "none"))
    assert [rig.together() for _ in range(4)] == [["b"], ["c"], ["d"], []]


@pytest.mark.parametrize(
    ("asks", "says"),
    [
        pytest.param(["2", ""], "", id="one says it"),
        pytest.param(["2", "3"], "2 of 3 members are here", id="the largest counts"),
        pytest.param(
            ["", ""],
            "create the PodGroup default/g (scheduling.x-k8s.io/v1alpha1) with spec.minMember",
            id="nobody says it",
        ),
        pytest.param(
            ["2", "two"],
            "annotation moorage.dev/min-member is 'two'; write a whole number",
            id="no number",
        ),
        pytest.param(
            ["2", "9" * 5000], "annotation moorage.dev/min-member is '9999", id="beyond all numbers"
        ),
        pytest.param(["2", "²"], "'²'", id="a digit that is none"),
    ],
)
def test_annotations_say_how_many_are_needed(asks: list[str], says: str) -> None:
    """Where there is no PodGroup."""
    rig = Groups()
    rig.come(*(member(str(i), least=ask) for i, ask in enumerate(asks)))
    if says:
        assert says in rig.why("0")
        assert len(rig.why("0")) < 300
        rig.declare(declared(2))
    assert rig.together() == ["0", "1"]


def test_the_pod_group_has_the_last_word() -> None:
    """An annotation does not count where there is a PodGroup; when that goes it does again."""
    rig = Groups()
    rig.declare(declared(3))
    rig.come(member("a", least="2"), member("b"))
    assert rig.together() == []
    rig.store.remove(CoschedulingPodGroup, "default/g")
    assert rig.together() == ["a", "b"]


def test_nothing_is_placed_before_pod_groups_are_listed() -> None:
    """What the annotation says may be overruled."""
    rig = Groups(listed=False)
    rig.come(member("a", least="1"))
    assert "PodGroups are not listed yet" in rig.why("a")
    rig.queue.groups.all_listed()
    assert rig.together() == ["a"]


def test_a_minimum_that_changes() -> None:
    """Raised, members that are ready are gated; lowered, they are free."""
    rig = Groups()
    rig.declare(declared(2))
    rig.come(member("a"), member("b"))
    rig.declare(declared(3))
    assert rig.place("a") is rig.place("b") is QueueState.GATED
    rig.declare(declared(2))
    assert rig.together() == ["a", "b"]


def test_refused_members_are_tried_again_when_fewer_are_needed() -> None:
    """Be it that the minimum is lowered or that somebody is placed; what raises the need moves
    nobody.
    """
    rig = Groups()
    rig.declare(declared(3))
    rig.come(*map(member, "abcd"))
    for event in ("none", "raised", "lowered", "placed"):
        rig.pass_time(11)
        assert rig.together() == list("abcd")
        for name in "abcd":
            rig.refuse(name, "Deaf")
        if event == "placed":
            rig.queue.groups.placed(on_node(member("x"), "n"), 1)
        else:
            rig.declare(declared({"none": 3, "raised": 4, "lowered": 3}[event]))
        rig.queue.flush(rig.now)
        stays = event in ("none", "raised")
        assert (rig.place("a") is QueueState.UNSCHEDULABLE) is stays
        if stays:
            rig.queue.move_rejected_by("test", {"Deaf"}, rig.now)


def test_refused_members_of_a_group_that_is_incomplete_are_gated() -> None:
    """And free again, with their backoff, when it is complete."""
    rig = Groups()
    rig.declare(declared(2))
    rig.come(member("a"), member("b"))
    assert rig.together() == ["a", "b"]
    rig.refuse("a", "Size")
    rig.queue.remove("uid-b")
    rig.queue.flush(rig.now)
    assert rig.place("a") is QueueState.GATED
    rig.come(member("c"))
    assert rig.place("a") is QueueState.BACKOFF
    assert rig.together() == ["c", "a"]


@pytest.mark.parametrize("gone", ["removed", "terminating", "relabelled"])
def test_a_member_less(gone: str) -> None:
    """A pod that goes, is being deleted or leaves the group does not count any more, and is not
    held up by it.
    """
    rig = Groups()
    rig.declare(declared(2))
    rig.come(member("a"), member("b"))
    if gone == "removed":
        rig.queue.remove("uid-b")
    elif gone == "relabelled":
        rig.queue.update(a_pod("b"), rig.now)
    else:
        pod = member("b")
        meta = msgspec.structs.replace(pod.metadata, deletion_timestamp="2026-01-01T00:00:00Z")
        rig.queue.update(msgspec.structs.replace(pod, metadata=meta), rig.now)
    rig.queue.flush(rig.now)
    assert rig.why("a") == 'waiting for pod group "default/g": 1 of 2 members are here'
    assert rig.together() == ([] if gone == "removed" else ["b"])


def test_a_gated_pod_becomes_a_member_and_leaves() -> None:
    """Its label decides, whenever it changes."""
    rig = Groups()
    rig.declare(declared(2), declared(1, "h"))
    rig.come(a_pod("a"), member("b"))
    rig.queue.update(member("a"), rig.now)
    rig.queue.flush(rig.now)
    assert rig.place("b") is QueueState.ACTIVE
    rig.queue.update(member("a", "h"), rig.now)
    assert [rig.together(), rig.together()] == [["a"], []]
    assert rig.place("b") is QueueState.GATED


def test_members_that_a_plugin_gates_do_not_count() -> None:
    """They could not be placed with the others."""
    rig = Groups(GATE)
    rig.declare(declared(2))
    rig.come(member("a"), member("b", gate=""))
    assert rig.why("a").endswith("1 of 2 members are here")
    assert rig.entry("b").gating_plugin == "gate"
    rig.queue.update(member("b"), rig.now)
    assert rig.together() == ["a", "b"]


def test_members_of_another_profile_are_told() -> None:
    """They are counted apart, as nobody could place them together."""
    rig = Groups()
    rig.queue.set_profile("other", view(), rig.now)
    rig.declare(declared(3))
    rig.come(member("a"), member("b"), member("c", scheduler="other"))
    rig.queue.groups.changed.clear()
    rig.come(member("d"))
    assert {group.scheduler_name for group in rig.queue.groups.changed} == {"other"}
    rig.queue.remove("uid-d")
    rig.queue.flush(rig.now)
    assert rig.why("c") == (
        'waiting for pod group "default/g": 1 of 3 members are here; 2 more name the '
        "scheduler 'test', and all must name the same"
    )


# ---- who goes with whom --------------------------------------------------------------------------


def test_companions_come_from_everywhere() -> None:
    """One that is freed brings the others along, wherever they wait, in the queue's order; others
    do not come between.
    """
    rig = Groups()
    rig.declare(declared(3), declared(2, "h"))
    rig.come(member("a"), member("b"), member("c", priority=1))
    assert rig.together() == ["c", "a", "b"]
    rig.refuse("a", "Picky")
    rig.refuse("b")
    rig.refuse("c", "Size")
    rig.come(member("x", "h", priority=1), member("y", "h"))
    assert rig.place("a") is QueueState.UNSCHEDULABLE
    assert rig.place("b") is QueueState.BACKOFF
    rig.wake(NODE_ADDED)
    rig.pass_time(2)
    assert [rig.together(), rig.together(), rig.together()] == [["x", "y"], ["c", "a", "b"], []]
    assert {rig.entry(name).attempts for name in "abc"} == {2}


def test_enough_are_placed_already() -> None:
    """Then nobody waits for others; those that wait go at once all the same."""
    rig = Groups()
    rig.declare(declared(3))
    for name in "ab":
        rig.queue.groups.placed(on_node(member(name), "n"), 1)
    rig.come(member("c"), member("d"))
    assert [rig.together(), rig.together()] == [["c", "d"], []]


def test_placed_members_that_go_are_missed() -> None:
    """Whoever waits then has to find company again."""
    rig = Groups()
    rig.declare(declared(3))
    for name in "ab":
        rig.queue.groups.placed(on_node(member(name), "n"), 1)
    rig.come(member("c"))
    rig.queue.groups.placed(on_node(member("a"), "n"), -1)
    rig.come(member("d", priority=-1))
    assert rig.together() == ["c", "d"]


def test_a_minimum_that_was_met_stays_met() -> None:
    """Once enough members were on nodes the others need nobody: neither the last one, nor one that
    comes later, nor after a raise.
    """
    rig = Groups()
    rig.declare(declared(2))
    rig.come(*map(member, "abc"))
    assert rig.together() == ["a", "b", "c"]
    rig.run(*map(member, "ab"))
    rig.refuse("c", "Size")
    for name in "ab":
        rig.queue.groups.placed(on_node(member(name), "n"), -1)
    rig.declare(declared(4))
    rig.wake(NODE_ADDED)
    rig.pass_time(2)
    assert rig.together() == ["c"]
    rig.come(member("d"))
    assert rig.together() == ["d"]
    for name in "cd":
        rig.queue.remove(f"uid-{name}")
    rig.queue.flush(rig.now)
    rig.come(member("e"))
    assert rig.why("e").endswith("1 of 4 members are here")


@pytest.mark.parametrize(
    ("ran", "goes"),
    [
        pytest.param("a", False, id="one of two ran"),
        pytest.param("aa", False, id="the same one twice"),
        pytest.param("ab", True, id="one after the other"),
    ],
)
def test_a_minimum_is_met_by_distinct_members(ran: str, goes: bool) -> None:
    """As many as are needed were on nodes, be it not at the same time; then one needs nobody."""
    rig = Groups()
    rig.declare(declared(2))
    rig.come(member("c"))
    for name in ran:
        rig.run(member(name))
        rig.queue.flush(rig.now)
        rig.queue.groups.placed(on_node(member(name), "n"), -1)
    assert rig.together() == ["c"] * goes


def test_a_lowered_minimum_may_have_been_met() -> None:
    """By those that were seen before."""
    rig = Groups()
    rig.declare(declared(3))
    rig.come(member("c"))
    rig.run(*map(member, "ab"))
    for name in "ab":
        rig.queue.groups.placed(on_node(member(name), "n"), -1)
    assert rig.together() == []
    rig.declare(declared(2))
    assert rig.together() == ["c"]


def test_a_member_is_counted_once() -> None:
    """Also while it is in flight and assumed at once."""
    rig = Groups()
    rig.declare(declared(2))
    rig.come(member("a"), member("b"))
    assert rig.together() == ["a", "b"]
    for name in "ab":
        rig.queue.groups.placed(on_node(member(name), "n"), 1)
    group = rig.queue.groups.group_of_entry(rig.entry("a"))
    assert (group.present, group.bound) == (2, 0)
    rig.queue.done("uid-a")
    assert (group.present, group.bound) == (2, 1)


def test_what_a_placed_member_asks_for_may_change() -> None:
    """Its newest word counts as long as it is there, and no word of it after that."""
    rig = Groups()
    cache = Cache(pods=rig.queue.groups)
    rig.come(member("a", least="2"))
    states = [on_node(member("b", least=least), "n") for least in ("9", "2", "9")]
    for placed in states[:2]:
        cache.observe(placed, pod_requests(placed))
    assert rig.together() == ["a"]
    cache.observe(states[2], pod_requests(states[2]))
    cache.remove("uid-b")
    said = rig.queue.groups.group_of_entry(rig.entry("a")).said
    assert {one.asked: count for one, count in said.items()} == {"2": 1}


def test_a_gate_that_shut_since_keeps_its_member_and_the_group() -> None:
    """A refused member is asked about anew before it goes with others."""
    rig = Groups()
    rig.declare(declared(2))
    rig.come(member("a", gate=""), member("b"))
    assert rig.together() == ["a", "b"]
    rig.refuse("a", "Own")
    rig.refuse("b", "Size")
    rig.queue.set_profile("test", view(GATE), rig.now)
    rig.wake(NODE_ADDED)
    rig.pass_time(2)
    assert rig.together() == []
    assert (rig.entry("a").gating_plugin, rig.entry("b").gating_plugin) == ("gate", POD_GROUP)
    assert rig.entry("b").attempts == 1


def test_urgent_pods_go_first() -> None:
    """Ahead of any priority and, after one fault, without backoff; after a second one with it."""
    rig = Groups()
    rig.add("a")
    assert rig.pop() == "a"
    rig.add("vip", priority=1000)
    for place in (QueueState.ACTIVE, QueueState.BACKOFF):
        rig.queue.prioritise(rig.entry("a"))
        rig.refuse("a")
        assert rig.place("a") is place
        rig.pass_time(2)
        assert rig.pop() == "a"
    rig.refuse("a", "Size")
    rig.wake(NODE_ADDED)
    rig.pass_time(2)
    assert [rig.pop(), rig.pop()] == ["vip", "a"]


def test_a_suspended_profile_holds_its_groups() -> None:
    """All of their members, and gives them back whole."""
    rig = Groups()
    rig.declare(declared(2))
    rig.come(member("a"), member("b"))
    assert rig.together() == ["a", "b"]
    rig.refuse("a", "Size")
    rig.queue.set_profile("test", None, rig.now)
    rig.refuse("b", "Size")
    rig.come(member("c"))
    assert {rig.place(name) for name in "abc"} == {QueueState.UNSERVED}
    rig.queue.set_profile("test", view(), rig.now)
    assert sorted(rig.together()) == ["a", "b", "c"]


def test_groups_are_forgotten() -> None:
    """Nothing is left of one without members."""
    rig = Groups()
    rig.come(member("a"), member("b", "h"))
    for name in "ab":
        rig.queue.remove(f"uid-{name}")
    rig.queue.flush(rig.now)
    assert vars(rig.queue.groups)["_groups"] == {}
    assert rig.queue.groups.changed == {}


# ---- whatever happens ----------------------------------------------------------------------------

NAMES = st.sampled_from(["test", "other"])
GROUPS = st.sampled_from(["g", "h", "k", ""])
"""The third is a group of Kubernetes' API."""
ASKS = st.sampled_from(["", "", "2", "3", "many"])
PLUGINS = st.frozensets(st.sampled_from(sorted(WAKES)), max_size=2)


class Machine(RuleBasedStateMachine):
    """Members of two groups in two profiles come, change, are tried, placed and go; PodGroups and
    profiles too.
    """

    uids = Bundle("uids")

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.number = 0
        self.store = Store()
        self.queue = SchedulingQueue(
            PrioritySort().sort_key,
            PodGroupTracker(self.store),
            StrictQueueListener(),
            20.0,
        )
        self.pods: dict[str, Pod] = {}
        self.placed: dict[str, Pod] = {}
        self.seen: dict[tuple[GroupKey, str], set[str]] = {}
        self.met: set[tuple[GroupKey, str]] = set()
        self.out: list[QueuedPodInfo] = []
        self.queue.groups.all_listed()
        self.swap("test", ())
        self.swap("other", (GATE,))

    @rule(target=uids, scheduler=NAMES, group=GROUPS, least=ASKS, gated=st.booleans())
    def add(self, scheduler: str, group: str, least: str, gated: bool) -> str:
        """A pod comes."""
        self.number += 1
        pod = member(
            str(self.number),
            group,
            least,
            scheduler,
            self.number % 2,
            **dict.fromkeys(["gate"] * gated, ""),
        )
        self.pods[pod.metadata.uid] = pod
        self.queue.add(pod, self.now)
        return pod.metadata.uid

    @rule(uid=uids, group=GROUPS, least=ASKS, gated=st.booleans(), going=st.booleans())
    def update(self, uid: str, group: str, least: str, gated: bool, going: bool) -> None:
        """A pod changes."""
        if uid in self.pods:
            old = self.pods[uid]
            pod = member(
                old.metadata.name,
                group,
                least,
                old.spec.scheduler_name,
                0,
                **dict.fromkeys(["gate"] * gated, ""),
            )
            if going:
                pod = msgspec.structs.replace(
                    pod, metadata=msgspec.structs.replace(pod.metadata, deletion_timestamp="now")
                )
            self.pods[uid] = pod
            self.queue.update(pod, self.now)

    @rule(uid=consumes(uids))
    def remove(self, uid: str) -> None:
        """A pod goes, from a node or from the queue."""
        self.pods.pop(uid, None)
        self.queue.remove(uid)
        if uid in self.placed:
            self.queue.groups.placed(self.placed.pop(uid), -1)

    @rule(least=st.none() | st.integers(0, 4), name=st.sampled_from(["g", "h", "k"]))
    def declare(self, least: int | None, name: str) -> None:
        """A PodGroup comes, changes or goes."""
        make: Callable[[int, str], AnyPodGroup] = gang if name == "k" else declared
        group = make(least or 0, name)
        if least is None:
            self.store.remove(type(group), key(group))
        else:
            self.store.put(group)

    @rule(fits=st.lists(st.booleans(), min_size=6, max_size=6), rejectors=PLUGINS)
    def attempt(self, fits: list[bool], rejectors: frozenset[str]) -> None:
        """Somebody's turn: no member goes while others are missing; then some are placed, or all
        are refused.
        """
        entry = self.queue.pop(self.now)
        if entry is None:
            return
        together = [entry, *entry.companions]
        away = self.away(entry) - {each.uid for each in together}
        if entry.group:
            met = (entry.group, entry.scheduler_name) in self.met
            assert len(away) + len(together) >= self.least(entry) or met
        placed = [each for each, fit in zip(together, fits, strict=False) if fit]
        enough = len(together) == 1 or len(placed) + len(away) >= self.least(entry)
        for each in together:
            if each in placed and enough:
                self.placed[each.uid] = on_node(each.pod, "n")
                self.queue.groups.placed(self.placed[each.uid], 1)
                self.out.append(each)
            else:
                self.queue.requeue(each, rejectors, self.now)

    @rule(bound=st.booleans(), last=st.booleans(), rejectors=PLUGINS)
    def land(self, bound: bool, last: bool, rejectors: frozenset[str]) -> None:
        """A binding ends."""
        if self.out:
            entry = self.out.pop(-1 if last else 0)
            if bound:
                if entry.uid in self.placed:
                    self.queue.groups.pod_bound(self.placed[entry.uid])
                    if group := group_of(self.placed[entry.uid]):
                        self.seen.setdefault((group, entry.scheduler_name), set()).add(entry.uid)
                self.queue.done(entry.uid)
                self.pods.pop(entry.uid, None)
            else:
                if entry.uid in self.placed:
                    self.queue.groups.placed(self.placed.pop(entry.uid), -1)
                if entry.state is not None:
                    self.queue.prioritise(entry)
                    self.queue.requeue(entry, rejectors, self.now)

    @rule(name=NAMES, gates=st.sampled_from([(), (GATE,)]))
    def swap(self, name: str, gates: tuple[PreEnqueueGate, ...]) -> None:
        """A profile comes or changes."""
        self.queue.set_profile(name, view(*gates), self.now)

    @rule(name=NAMES)
    def suspend(self, name: str) -> None:
        """A profile goes."""
        self.queue.set_profile(name, None, self.now)

    @rule(seconds=st.sampled_from([0.0, 1.0, 20.0]))
    def pass_time(self, seconds: float) -> None:
        """Time goes by, and a node comes."""
        self.now += seconds
        self.queue.move_on_event(NODE_ADDED, self.now)

    def away(self, entry: QueuedPodInfo) -> set[str]:
        """Members of its group that are placed or in flight."""
        flying = {
            each.uid
            for each in self.queue.entries()
            if each.state is QueueState.IN_FLIGHT and mates(each.pod, entry)
        }
        return flying | {uid for uid, pod in self.placed.items() if mates(pod, entry)}

    def anybody(self, group: GroupKey, scheduler: str) -> bool:
        """Whether a member of the group counts."""
        probe = self.probe(group, scheduler)
        return bool(self.away(probe) | self.waiting(probe))

    def probe(self, group: GroupKey, scheduler: str) -> QueuedPodInfo:
        """A member that there is not."""
        return QueuedPodInfo(member("probe", group.name, scheduler=scheduler), scheduler, 0.0)

    def waiting(self, entry: QueuedPodInfo) -> set[str]:
        """Members of its group that wait, and that no plugin gates."""
        waits = (QueueState.ACTIVE, QueueState.BACKOFF, QueueState.UNSCHEDULABLE)
        return {
            e.uid
            for e in self.queue.entries()
            if mates(e.pod, entry) and (e.state in waits or e.gating_plugin == POD_GROUP)
        }

    def held_back(self, entry: QueuedPodInfo) -> bool:
        """Whether a plugin gates a member of its PodGroup of Kubernetes, and so all."""
        return any(
            each.state is QueueState.GATED
            and each.gating_plugin != POD_GROUP
            and mates(each.pod, entry)
            for each in self.queue.entries()
            if each.group is not None and each.group.api == API
        )

    def least(self, entry: QueuedPodInfo) -> float:
        """How many members the group takes; more than there are when nobody knows."""
        theirs = self.store.objects(PodGroup).get(str(entry.group))
        if theirs is not None and theirs.spec.scheduling_policy.gang is not None:
            return theirs.spec.scheduling_policy.gang.min_count
        group = self.store.objects(CoschedulingPodGroup).get(str(entry.group))
        if group is not None:
            return group.spec.min_member
        counted = self.away(entry) | self.waiting(entry)
        pods = [self.placed.get(uid) or self.pods[uid] for uid in counted]
        asks = [
            pod.metadata.annotations.min_member
            for pod in pods
            if pod.metadata.annotations is not None
        ]
        return max(map(int, asks)) if asks and "many" not in asks else float("inf")

    @invariant()
    def gates_follow_the_counts(self) -> None:
        """A member is gated by its group when, and only when, too few members count, or one of a
        PodGroup of Kubernetes is kept out by a plugin, which does not keep it out itself.
        """
        self.queue.flush(self.now)
        self.seen = {which: seen for which, seen in self.seen.items() if self.anybody(*which)}
        self.met = {which for which in self.met if self.anybody(*which)} | {
            which
            for which, seen in self.seen.items()
            if len(seen) >= self.least(self.probe(*which))
        }
        for entry in self.queue.entries():
            assert entry.group == group_of(entry.pod)
            if not entry.group:
                assert entry.gating_plugin != POD_GROUP
            elif entry.uid in self.waiting(entry):
                least, met = self.least(entry), (entry.group, entry.scheduler_name) in self.met
                enough = len(self.away(entry) | self.waiting(entry)) >= least or (
                    met and least < float("inf")
                )
                goes = enough and not self.held_back(entry)
                assert (entry.gating_plugin != POD_GROUP) is goes
                if not goes:
                    assert self.queue.groups.gating_message(self.queue.groups.group_of_entry(entry))

    @invariant()
    def nobody_is_lost(self) -> None:
        """Every pod that came and did not go is somewhere."""
        assert {entry.uid for entry in self.queue.entries()} == set(self.pods)

    @invariant()
    def placed_members_are_counted(self) -> None:
        """Who they are, and what they must have in common."""
        groups: dict[GroupKey, dict[str, PodGroupState]] = vars(self.queue.groups)["_groups"]
        for group in (one for parts in groups.values() for one in parts.values()):
            which = group.key, group.scheduler_name
            there = {
                uid: kind_of(pod)
                for uid, pod in self.placed.items()
                if (group_of(pod), pod.spec.scheduler_name) == which
            }
            assert set(group.placed) == set(there) <= set(group.assigned)
            assert group.kinds == Counter(there.values())

    def teardown(self) -> None:
        """When all have gone nothing is left of any group."""
        for uid in [*self.pods, *self.placed]:
            self.remove(uid)
        self.queue.flush(self.now)
        assert vars(self.queue.groups)["_groups"] == {}


def mates(pod: Pod, entry: QueuedPodInfo) -> bool:
    """Whether both are in the same group and name the same scheduler."""
    return (
        group_of(pod) == entry.group is not None and pod.spec.scheduler_name == entry.scheduler_name
    )


TestWhateverHappens = Machine.TestCase
