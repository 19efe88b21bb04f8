"""What explanations say of clusters that are known: states, words, scores, candidates."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from moorage.core.columns.cache import Cache
from moorage.core.columns.store import Store
from moorage.core.cycle.context import CycleContext
from moorage.core.cycle.cycle import decide
from moorage.core.explaining.bound_pods import explain_bound
from moorage.core.explaining.candidate_revisions import RefusalChange, explain_candidate
from moorage.core.explaining.cluster_changes import AddedNodes, MovedPod, NodesForAll
from moorage.core.explaining.gates import Gate
from moorage.core.explaining.pending_pods import explain_pending
from moorage.core.explaining.pod_changes import (
    NodeRequirement,
    RequestChange,
    RequirementChange,
    TolerationChange,
    node_requirements,
)
from moorage.core.explaining.refusals import RefusingNode
from moorage.core.framework.cluster_events import ActionType, EventResource
from moorage.core.framework.registry import build_registry
from moorage.core.framework.revisions import RequestedProfile, resolve
from moorage.core.objects.meta import ObjectMeta, OwnerReference
from moorage.core.objects.nodes import Node, Taint
from moorage.core.objects.pod_groups import CoschedulingPodGroup, CoschedulingPodGroupSpec
from moorage.core.objects.pods import (
    Affinity,
    NodeAffinity,
    Pod,
    SchedulingGate,
    belongs_to_node,
)
from moorage.core.objects.selector_terms import NodeSelector, NodeSelectorTerm, Requirement
from moorage.core.plugins.intree import INDEXES, INTREE, PRESETS
from moorage.core.plugins.node_affinity import (
    AddedAffinity,
    AddedRequirement,
    AddedSelector,
    AddedTerm,
    NodeAffinityArgs,
)
from moorage.core.pods.node_selection import required_node_selector
from moorage.core.pods.requests import pod_requests
from tests.builders import make_node, make_pod

GI = 2**30


def revision(**args: Any) -> Any:
    """The preset Default with these plugins' arguments."""
    return resolve(RequestedProfile("test", args=args), build_registry(INTREE), PRESETS)


DEFAULT = revision()


def cluster(*objects: Node | Pod) -> CycleContext:
    """Nodes, and pods on them or waiting."""
    cache = Cache(Store(INDEXES))
    for one in objects:
        if isinstance(one, Node):
            cache.put_node(one)
        elif one.spec.node_name:
            cache.observe(one, pod_requests(one))
        else:
            cache.observe_waiting(one, pod_requests(one))
    return CycleContext(cache, 7)


def owned(pod: Pod, kind: str) -> Pod:
    """By something of this kind."""
    owner = OwnerReference(kind=kind, name="o", controller=True)
    meta = msgspec.structs.replace(pod.metadata, owner_references=(owner,))
    return msgspec.structs.replace(pod, metadata=meta)


def test_a_pod_that_fits_now() -> None:
    """Only waits for its turn."""
    pod = make_pod("p")
    explained = explain_pending(cluster(make_node("n"), pod), pod, DEFAULT)
    assert explained.placement is not None
    assert explained.placement.node == "n"
    assert explained.refusals == explained.suggestions == ()


def test_a_gated_pod() -> None:
    """No node is asked."""
    pod = make_pod("p", scheduling_gates=(SchedulingGate("example.com/a"),))
    explained = explain_pending(cluster(make_node("n"), pod), pod, DEFAULT)
    assert explained.gate == Gate(
        "SchedulingGates", "waiting for scheduling gates: [example.com/a]"
    )
    assert explained.placement is None


def member(name: str, **spec: Any) -> Pod:
    """A pod of group g."""
    pod = make_pod(name, **spec)
    labels = {"scheduling.x-k8s.io/pod-group": "g"}
    return msgspec.structs.replace(
        pod, metadata=msgspec.structs.replace(pod.metadata, labels=labels)
    )


@pytest.mark.parametrize(
    ("others", "said"),
    [
        pytest.param(0, "1 of 3 members are here", id="too few"),
        pytest.param(1, "2 of 3 members are here", id="one more"),
        pytest.param(2, None, id="enough"),
    ],
)
def test_a_member_waits_for_its_group(others: int, said: str | None) -> None:
    """One that its own gates keep out does not count, nor does one of another group."""
    pod, *more = (member(f"p{i}") for i in range(others + 1))
    gated = member("gated", scheduling_gates=(SchedulingGate("a"),))
    context = cluster(make_node("n"), pod, *more, gated, make_pod("other"))
    context.cache.store.put(
        CoschedulingPodGroup(ObjectMeta("g", "default", "u"), CoschedulingPodGroupSpec(3))
    )
    explained = explain_pending(context, pod, DEFAULT)
    if said is None:
        assert explained.placement is not None
        return
    assert explained.gate is not None
    assert explained.gate.plugin == "PodGroup"
    assert said in explained.gate.message
    assert explain_candidate(context, pod, DEFAULT, revision()).gate == explained.gate


def test_a_member_of_a_group_that_has_its_minimum_waits_for_nobody() -> None:
    """And one of a group of which nothing says how large it is waits for that."""
    pod, there = member("p"), [member(name, node="n") for name in "qrs"]
    context = cluster(make_node("n"), pod)
    gate = explain_pending(context, pod, DEFAULT).gate
    assert gate is not None and "moorage.dev/min-member" in gate.message
    context = cluster(make_node("n"), pod, *there)
    context.cache.store.put(
        CoschedulingPodGroup(ObjectMeta("g", "default", "u"), CoschedulingPodGroupSpec(3))
    )
    explained = explain_pending(context, pod, DEFAULT)
    assert explained.gate is None


@pytest.mark.parametrize("nodes", [[], [make_node("n")]])
def test_a_pod_that_nobody_can_judge(nodes: list[Node]) -> None:
    """There is no node, or what it asks for cannot be read: what is said is what ends attempts."""
    pod = make_pod("p", cpu="1" if not nodes else "much")
    context = cluster(*nodes)
    assert explain_pending(context, pod, DEFAULT).error == getattr(
        decide(pod, DEFAULT, context), "message", ""
    )


def test_what_nodes_lack() -> None:
    """Amounts, taints, labels; nearest first, and first what a small change mends."""
    pod = make_pod("p", cpu="3", memory="6Gi", node_selector={"disk": "ssd"})
    large = make_pod("q", cpu="3", memory="0", node="far")
    small = make_pod("r", cpu="1500m", memory="0", node="near")
    ssd = {"disk": "ssd"}
    context = cluster(
        make_node("bare", labels={"disk": "hdd"}),
        make_node("tainted", labels=ssd, taints=(Taint("a", "x", "NoSchedule"),)),
        make_node("cordoned", labels=ssd, unschedulable=True),
        make_node("far", labels=ssd),
        make_node("near", labels=ssd),
        large,
        small,
        pod,
    )
    explained = explain_pending(context, pod, DEFAULT)
    said = [(one.plugin, one.reasons, one.nodes, one.nearest) for one in explained.refusals]
    near, far = RefusingNode("near", {"cpu": 500}), RefusingNode("far", {"cpu": 2000})
    affinity = ("node(s) didn't match Pod's node affinity/selector",)
    assert said == [
        ("NodeResourcesFit", ("Insufficient cpu",), 2, (near, far)),
        ("NodeAffinity", affinity, 1, (RefusingNode("bare", {}, ("disk=ssd",)),)),
        (
            "TaintToleration",
            ("node(s) had untolerated taint(s)",),
            1,
            (RefusingNode("tainted", {}, ("a=x:NoSchedule",)),),
        ),
        (
            "NodeUnschedulable",
            ("node(s) were unschedulable",),
            1,
            (RefusingNode("cordoned", {}),),
        ),
    ]
    changes = [suggestion.changes for suggestion in explained.suggestions]
    assert changes == [
        (RequestChange("cpu", 2500, 3000, 2500),),
        (TolerationChange((Taint("a", "x", "NoSchedule"),)),),
        (RequirementChange((NodeRequirement(None, 0, "disk"),)),),
        (MovedPod(small, "near", "bare"),),
        (MovedPod(large, "far", "bare"),),
        (AddedNodes(1, "near"),),
    ]
    assert explained.preemption is not None
    assert explained.preemption.node == ""
    assert [(one.plugin, one.resource) for one in explained.wakes_on if "Fit" in one.plugin] == [
        ("NodeResourcesFit", EventResource.ASSIGNED_POD),
        ("NodeResourcesFit", EventResource.TARGET_POD),
        ("NodeResourcesFit", EventResource.NODE),
        ("NodeResourcesFit", EventResource.DEVICE_CLASS),
    ]
    assert explained.wakes_on[0].actions == ActionType.ADD | ActionType.UPDATE_NODE_LABEL


def test_two_changes_where_one_is_not_enough() -> None:
    """Both are as small as they can be."""
    pod = make_pod("p", cpu="6", memory="16Gi")
    explained = explain_pending(cluster(make_node("n"), pod), pod, DEFAULT)
    assert [suggestion.changes for suggestion in explained.suggestions] == [
        (
            RequestChange("cpu", 4000, 6000, 4000),
            RequestChange("memory", 8 * GI, 16 * GI, 8 * GI),
        )
    ]


def test_parts_of_changes_are_not_found() -> None:
    """Where one requirement less is enough, no two less are a change."""
    pod = make_pod("p", node_selector={"disk": "ssd", "gen": "7"})
    context = cluster(make_node("n", labels={"gen": "7"}), pod)
    changes = [one.changes for one in explain_pending(context, pod, DEFAULT).suggestions]
    assert changes == [(RequirementChange((NodeRequirement(None, 0, "disk"),)),)]


def test_an_emptied_term_is_no_term() -> None:
    """It would match no node."""
    expressions = (Requirement("disk", "Exists"), Requirement("gen", "Gt", ("3",)))
    required = NodeSelector((NodeSelectorTerm(expressions), NodeSelectorTerm()))
    affinity = Affinity(NodeAffinity(required))
    pod = make_pod("p", affinity=affinity)
    first, second = node_requirements(pod)
    assert first == NodeRequirement(0, 0, "disk Exists")
    one_less = RequirementChange((first,)).apply(pod)
    assert required_node_selector(one_less) == NodeSelector(
        (NodeSelectorTerm(expressions[1:]), NodeSelectorTerm())
    )
    assert required_node_selector(RequirementChange((first, second)).apply(pod)) is None


@pytest.mark.parametrize("kind", ["DaemonSet", "Node"])
def test_pods_that_belong_to_their_node_do_not_move(kind: str) -> None:
    """As another one comes at once in their place."""
    pod = make_pod("p", cpu="4")
    there = make_pod("q", cpu="1", node="n")
    nodes = make_node("n"), make_node("m", cpu="1")

    def moves(other: Pod) -> list[Any]:
        explained = explain_pending(cluster(*nodes, other, pod), pod, DEFAULT)
        changes = [one for suggestion in explained.suggestions for one in suggestion.changes]
        return [one for one in changes if isinstance(one, MovedPod)]

    assert moves(there) == [MovedPod(there, "n", "m")]
    assert moves(owned(there, kind)) == []


def test_an_owner_that_is_no_controller_binds_nobody_to_a_node() -> None:
    """As kubectl drain has it: it only says when the pod is collected."""
    there = owned(make_pod("q", cpu="1", node="n"), "DaemonSet")
    (owner,) = there.metadata.owner_references or ()
    lax = msgspec.structs.replace(owner, controller=None)
    meta = msgspec.structs.replace(there.metadata, owner_references=(lax,))
    assert belongs_to_node(there)
    assert not belongs_to_node(msgspec.structs.replace(there, metadata=meta))


def added(*objects: Node | Pod, pod: Pod) -> AddedNodes | None:
    """The nodes that are suggested."""
    explained = explain_pending(cluster(*objects, pod), pod, DEFAULT)
    changes = [one for suggestion in explained.suggestions for one in suggestion.changes]
    return next((one for one in changes if isinstance(one, AddedNodes)), None)


def test_new_nodes_have_daemons() -> None:
    """A pod for which there is room beside them alone does not fit on more of them."""
    daemon = owned(make_pod("d", cpu="1", node="n"), "DaemonSet")
    pod = make_pod("p", cpu="4")
    assert added(make_node("n"), make_pod("q", cpu="1", node="n"), pod=pod) == AddedNodes(1, "n")
    assert added(make_node("n"), daemon, pod=pod) is None


def test_how_many_nodes_all_need_that_wait_for_the_same() -> None:
    """Five pods, two on a node; others ask for something else, or are there already."""
    pods = [make_pod(f"p{i}", cpu="2") for i in range(5)]
    others = make_pod("small", cpu="1"), make_pod("full", cpu="4", node="n")
    found = added(make_node("n"), *others, *pods[1:], pod=pods[0])
    assert found == AddedNodes(1, "n", NodesForAll(3, 5))
    assert added(make_node("n"), *others, pod=pods[0]) == AddedNodes(1, "n")


def test_whom_preemption_would_hit() -> None:
    """Nobody is told to go."""
    pod = make_pod("p", cpu="4", priority=9)
    low = make_pod("low", cpu="1", node="n")
    context = cluster(make_node("n"), low, pod)
    explained = explain_pending(context, pod, DEFAULT)
    assert explained.preemption is not None
    assert (explained.preemption.node, explained.preemption.victims) == ("n", (low,))
    assert context.cache.nominations.nominated_node("uid-p") == ""


def test_room_that_is_kept() -> None:
    """For a pod that is nominated there: it is named."""
    pod, other = make_pod("p", cpu="3"), make_pod("other", cpu="3", priority=5)
    context = cluster(make_node("n"), pod, other)
    context.cache.nominations.nominate(other, "n")
    (group,) = explain_pending(context, pod, DEFAULT).refusals
    assert group.nearest == (RefusingNode("n", {}, (), ("default/other",)),)


def test_scores_of_a_bound_pod() -> None:
    """Its own node first, then the best; the pod itself is left out, and is back afterwards."""
    pod = make_pod("p", cpu="2", node="n1")
    context = cluster(*(make_node(f"n{i}", cpu=str(4 + 2 * i)) for i in range(3)), pod)
    explained = explain_bound(context, pod, DEFAULT)
    assert (explained.node, explained.choice, explained.best) == ("n1", "n2", ("n2",))
    assert [one.node for one in explained.scores] == ["n1", "n2", "n0"]
    assert explained.weights["NodeResourcesFit"] == 1
    for one in explained.scores:
        assert sum(one.scores.values()) == one.total
    assert explained.passed == explained.nodes == 3
    assert context.cache.pod_info("uid-p") is not None


def test_a_bound_pod_that_would_not_be_taken_now() -> None:
    """Its node is cordoned since: that is said, and it has no scores."""
    pod = make_pod("p", node="n")
    context = cluster(make_node("n", unschedulable=True), make_node("m"), pod)
    explained = explain_bound(context, pod, DEFAULT)
    assert explained.refusal == ("NodeUnschedulable", ("node(s) were unschedulable",))
    assert [one.node for one in explained.scores] == ["m"]
    with pytest.raises(KeyError):
        explain_bound(context, make_pod("elsewhere"), DEFAULT)


def test_under_a_candidate() -> None:
    """Reasons that are gone come first."""
    term = AddedTerm((AddedRequirement("disk", "In", ("ssd",)),))
    strict = revision(NodeAffinity=NodeAffinityArgs(AddedAffinity(AddedSelector((term,)))))
    pod = make_pod("p", cpu="5")
    context = cluster(make_node("n", cpu="8"), make_node("small"), pod)
    explained = explain_candidate(context, pod, strict, DEFAULT)
    assert explained.now is None
    assert explained.then is not None
    assert explained.then.node == "n"
    enforced = ("node(s) didn't match scheduler-enforced node affinity",)
    assert explained.refusals == (
        RefusalChange("NodeAffinity", enforced, 2, 0),
        RefusalChange("NodeResourcesFit", ("Insufficient cpu",), 0, 1),
    )


def test_a_bound_pod_under_a_candidate() -> None:
    """It is taken off its node first."""
    pod = make_pod("p", cpu="4", node="n")
    explained = explain_candidate(cluster(make_node("n"), pod), pod, DEFAULT, revision())
    assert explained.node == "n"
    assert explained.now is not None
    assert explained.then is not None
    assert np.array_equal(explained.refusals, ())
