"""PodTopologySpread: skews, who counts, defaults, ranking, arguments, what is counted when pods are
tried, and what wakes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from moorage.api.decoding import DecodeError, decoder
from moorage.core.columns.cache import Cache
from moorage.core.columns.snapshot import Snapshot
from moorage.core.columns.store import Store
from moorage.core.framework.cluster_events import ActionType, ClusterEvent, EventResource
from moorage.core.framework.interfaces import (
    FeasibleScorePlugin,
    FilterPlugin,
    ObjectReadingPlugin,
    PreFilterExtensions,
    PreFilterPlugin,
    PreScorePlugin,
    SignPlugin,
)
from moorage.core.framework.status import SKIP, SUCCESS, Code
from moorage.core.objects.meta import ObjectMeta
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod
from moorage.core.objects.workloads import Service, ServiceSpec
from moorage.core.plugins.pod_topology_spread.arguments import (
    DefaultConstraint,
    PodTopologySpreadArgs,
)
from moorage.core.plugins.pod_topology_spread.filtering import SpreadFilterState
from moorage.core.plugins.pod_topology_spread.plugin import PodTopologySpread
from tests.core.plugins.companions import (
    HOST,
    ZONE,
    Document,
    cluster,
    constraint,
    deleted,
    node,
    pod,
    said,
)

PLUGIN = PodTopologySpread()
_pre_filter: PreFilterPlugin = PLUGIN
_filter: FilterPlugin = PLUGIN
_adjust: PreFilterExtensions = PLUGIN
_distinguish: SignPlugin = PLUGIN
_pre_score: PreScorePlugin = PLUGIN
_rank: FeasibleScorePlugin = PLUGIN
_reads: ObjectReadingPlugin = PLUGIN

NODES = (node("a1", "a"), node("a2", "a"), node("b1", "b", taint="t"), node("none"))
UNEVEN, MISSING = "TopologySkewTooLarge", "TopologyLabelMissing"
ALL_UNEVEN = {"a1": UNEVEN, "a2": UNEVEN, "b1": UNEVEN, "none": MISSING}
FULL_A = {"a1": UNEVEN, "a2": UNEVEN, "none": MISSING}


def xs(*nodes: str, **labels: str) -> list[Pod]:
    """Pods with the label app=x on these nodes."""
    return [pod(f"x{i}", {"app": "x", **labels}, name) for i, name in enumerate(nodes)]


def spread(*constraints: Document, **spec: Any) -> Pod:
    """A pod that is one of those that its constraints count."""
    return pod(
        "new", {"app": "x", "hash": "1"}, topologySpreadConstraints=list(constraints), **spec
    )


def defaults(*constraints: DefaultConstraint) -> PodTopologySpread:
    """The plugin with these default constraints."""
    return PodTopologySpread(PodTopologySpreadArgs(constraints, "List"))


def service(**selector: str) -> Service:
    """A Service in front of pods with these labels."""
    return Service(ObjectMeta(name="s", namespace="default"), ServiceSpec(selector))


# ---- hard constraints ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("constraints", "spec", "there", "want"),
    [
        ([constraint()], {}, [], {"none": MISSING}),
        ([constraint()], {}, xs("a1"), FULL_A),
        ([constraint(skew=2)], {}, xs("a1"), {"none": MISSING}),
        ([constraint()], {}, xs("a1", "b1"), {"none": MISSING}),
        ([constraint()], {}, [deleted(one) for one in xs("a1")], {"none": MISSING}),
        ([constraint()], {}, [pod("x", {"app": "x"}, "a1", "other")], {"none": MISSING}),
        ([constraint()], {}, xs("none", "none"), {"none": MISSING}),
        ([constraint(HOST)], {}, xs("a1"), {"a1": UNEVEN}),
        ([constraint(HOST, 3), constraint()], {}, xs("a1"), FULL_A),
        (
            [constraint(labelSelector={"matchLabels": {"app": "y"}})],
            {},
            [pod("y", {"app": "y"}, "a1")],
            {"none": MISSING},
        ),
        (
            [constraint(labelSelector={"matchLabels": {"app": "y"}})],
            {},
            [pod(n, {"app": "y"}, "a1") for n in "yz"],
            FULL_A,
        ),
        ([constraint(minDomains=2)], {}, xs("a1", "b1"), {"none": MISSING}),
        ([constraint(minDomains=3)], {}, xs("a1", "b1"), ALL_UNEVEN),
        ([constraint()], {"nodeSelector": {ZONE: "a"}}, xs("a1"), {"none": MISSING}),
        (
            [constraint(nodeAffinityPolicy="Ignore")],
            {"nodeSelector": {ZONE: "a"}},
            xs("a1"),
            FULL_A,
        ),
        ([constraint(nodeTaintsPolicy="Honor")], {}, xs("a1"), {"none": MISSING}),
        (
            [constraint(nodeTaintsPolicy="Honor")],
            {"tolerations": [{"operator": "Exists"}]},
            xs("a1"),
            FULL_A,
        ),
        ([constraint(matchLabelKeys=["hash"])], {}, xs("a1", hash="1"), FULL_A),
        ([constraint(matchLabelKeys=["hash"])], {}, xs("a1", hash="2"), {"none": MISSING}),
        ([constraint(matchLabelKeys=["absent"])], {}, xs("a1", hash="2"), FULL_A),
        (
            [constraint(labelSelector=None, matchLabelKeys=["hash"])],
            {},
            xs("a1", "a1"),
            {"none": MISSING},
        ),
        ([constraint(labelSelector={})], {}, xs("a1", "a1", "a1"), {"none": MISSING}),
        ([constraint(when="ScheduleAnyway")], {}, xs("a1"), None),
    ],
    ids=[
        "empty",
        "one ahead",
        "may be one ahead",
        "level",
        "being deleted",
        "another namespace",
        "on a node without a zone",
        "per host",
        "both must hold",
        "itself does not count: one",
        "itself does not count: two",
        "enough domains",
        "too few domains",
        "only zones that it may use count",
        "all zones count",
        "tainted zones do not count",
        "tolerated ones do",
        "its own hash",
        "another hash",
        "no such label",
        "no selector",
        "selects everything, counts nobody",
        "soft alone",
    ],
)
def test_hard_constraints(
    constraints: list[Document], spec: Document, there: list[Pod], want: dict[str, str] | None
) -> None:
    """Which nodes are refused, and for what; None: skipped."""
    snapshot = Snapshot(cluster(*NODES, *there))
    prepared = PLUGIN.pre_filter(spread(*constraints, **spec), snapshot)
    if want is None:
        assert prepared.status == SKIP
    else:
        assert prepared.status == SUCCESS
        assert said(PLUGIN, prepared, snapshot) == want


def test_the_first_broken_constraint_tells() -> None:
    """A node without a disk in a zone that is too full."""
    snapshot = Snapshot(
        cluster(node("a1", "a", disk="1"), node("a2", "a"), node("b1", "b", disk="1"), *xs("a1"))
    )
    zones, disks = constraint(), constraint("disk", 9)
    for constraints, reason in (((zones, disks), UNEVEN), ((disks, zones), MISSING)):
        assert said(PLUGIN, PLUGIN.pre_filter(spread(*constraints), snapshot), snapshot) == {
            "a1": UNEVEN,
            "a2": reason,
        }


def test_taints_move_what_honours_them() -> None:
    """A node that is tainted takes its domain out of the count."""
    cache = cluster(*NODES, *xs("a1"))
    snapshot = Snapshot(cache)
    honouring, other = (
        PLUGIN.pre_filter(spread(constraint(nodeTaintsPolicy=policy)), snapshot)
        for policy in ("Honor", "Ignore")
    )
    before = [[one.version for one in prepared.depends_on] for prepared in (honouring, other)]
    cache.put_node(node("b1", "b", taint="u"))
    after = [[one.version for one in prepared.depends_on] for prepared in (honouring, other)]
    assert after[0] != before[0]
    assert after[1] == before[1]


@pytest.mark.parametrize("when", ["DoNotSchedule", "ScheduleAnyway"])
def test_unreadable_selector(when: str) -> None:
    """A fault, for the half that reads it."""
    broken = constraint(
        when=when, labelSelector={"matchExpressions": [{"key": "a", "operator": "Near"}]}
    )
    snapshot = Snapshot(cluster(*NODES))
    hard, soft = (
        PLUGIN.pre_filter(spread(broken), snapshot).status,
        PLUGIN.pre_score(spread(broken), snapshot).status,
    )
    assert {hard.code, soft.code} == {Code.ERROR, Code.SKIP}
    assert (hard if when == "DoNotSchedule" else soft).code is Code.ERROR
    assert PLUGIN.sign_pod(spread(broken), snapshot)


# ---- what if -------------------------------------------------------------------------------------


def codes(state: SpreadFilterState, snapshot: Snapshot) -> list[int]:
    """What the filter says of all nodes."""
    return [int(code) for code in PLUGIN.filter(state, snapshot, snapshot.nodes.all_rows)]


def test_adjusting_leaves_the_state_alone() -> None:
    """One pod less, and back; pods that do not count, and nodes that do not, change nothing."""
    snapshot = Snapshot(cluster(*NODES, *xs("a1")))
    state = PLUGIN.pre_filter(
        spread(constraint(nodeTaintsPolicy="Honor"), constraint()), snapshot
    ).state
    assert codes(state, snapshot) == [2, 2, 0, 1]
    without = PLUGIN.adjust(state, xs("a1")[0], 0, -1, snapshot)
    assert codes(without, snapshot) == [0, 0, 0, 1]
    assert codes(state, snapshot) == [2, 2, 0, 1]
    assert codes(PLUGIN.adjust(without, xs("a1")[0], 0, 1, snapshot), snapshot) == [2, 2, 0, 1]
    for other, row in (
        (pod("y", {"app": "y"}), 0),
        (pod("x", {"app": "x"}, namespace="other"), 0),
        (pod("x", {"app": "x"}), 3),
    ):
        assert codes(PLUGIN.adjust(state, other, row, -1, snapshot), snapshot) == [2, 2, 0, 1]
    tainted = PLUGIN.adjust(state, pod("x", {"app": "x"}), 2, 1, snapshot)
    assert tainted.spreads[0].counts.tolist() == state.spreads[0].counts.tolist()
    assert tainted.spreads[1].counts.tolist() != state.spreads[1].counts.tolist()


def test_nodes_that_do_not_count_are_not_adjusted() -> None:
    """A node that lacks one constraint's label counts for none of them."""
    snapshot = Snapshot(cluster(node("a1", "a", disk="1"), node("a2", "a"), *xs("a1")))
    state = PLUGIN.pre_filter(spread(constraint(), constraint("disk")), snapshot).state
    assert PLUGIN.adjust(state, xs("a2")[0], 1, 1, snapshot) is state


def test_adjusting_counts_what_counting_leaves_out() -> None:
    """docs/adr/0004, as in kube-scheduler: pods being deleted, and those of a selector that selects
    everything.
    """
    snapshot = Snapshot(cluster(*NODES, *[deleted(one) for one in xs("b1")], *xs("a1", "a2")[1:]))
    state = PLUGIN.pre_filter(spread(constraint(skew=2)), snapshot).state
    assert codes(state, snapshot) == [0, 0, 0, 1]
    assert codes(PLUGIN.adjust(state, deleted(xs("b1")[0]), 2, -1, snapshot), snapshot) == [
        2,
        2,
        0,
        1,
    ]
    everything = PLUGIN.pre_filter(spread(constraint(labelSelector={})), snapshot).state
    assert codes(everything, snapshot) == [0, 0, 0, 1]
    assert codes(PLUGIN.adjust(everything, pod("y"), 0, 1, snapshot), snapshot) == [2, 2, 0, 1]


# ---- soft constraints ----------------------------------------------------------------------------


def ranks(
    plugin: PodTopologySpread, wanted: Pod, cache: Cache, *feasible: str
) -> tuple[list[int], list[int]] | None:
    """Raw and normalised scores of these nodes; None: skipped."""
    snapshot = Snapshot(cache)
    prepared = plugin.pre_score(wanted, snapshot)
    if prepared.status == SKIP:
        return None
    rows = np.array([snapshot.nodes.row_of[name] for name in feasible], np.intp)
    raw, normalized = plugin.score_feasible(prepared.state, rows)
    return raw.tolist(), normalized.tolist()


SOFT = constraint(when="ScheduleAnyway")
THREE = [node(f"{zone}{i}", zone) for zone in "abc" for i in range(2)]
CROWD = xs("a0", "a0", "a1", "a1", "b0", "c0", "c1")


@pytest.mark.parametrize(
    ("constraints", "feasible", "want"),
    [
        ([constraint()], ["a0"], None),
        ([SOFT], ["a0", "b0", "c0"], ([6, 2, 3], [33, 100, 83])),
        ([SOFT], ["a0", "b0"], ([6, 1], [16, 100])),
        ([SOFT], ["a0", "a1", "none"], ([4, 4, 0], [100, 100, 0])),
        ([SOFT], ["none"], ([0], [0])),
        ([constraint(HOST, when="ScheduleAnyway")], ["a0", "a1", "b1"], ([3, 3, 0], [0, 0, 100])),
        ([constraint(HOST, 3, when="ScheduleAnyway")], ["a0", "b1"], ([5, 2], [40, 100])),
        (
            [constraint(labelSelector={"matchLabels": {"app": "y"}}, when="ScheduleAnyway")],
            ["a0", "b0"],
            ([0, 0], [100, 100]),
        ),
        ([SOFT, constraint("disk", when="ScheduleAnyway")], ["a0", "b0"], ([0, 0], [0, 0])),
        (
            [constraint(nodeTaintsPolicy="Honor", when="ScheduleAnyway")],
            ["a0", "b0"],
            ([6, 1], [16, 100]),
        ),
        ([SOFT], [], ([], [])),
    ],
    ids=[
        "hard alone",
        "three zones",
        "two candidates' zones weigh less",
        "no zone",
        "none has a zone",
        "hosts",
        "skew waters down",
        "nobody counts",
        "a label that no node has",
        "by taints",
        "no candidates",
    ],
)
def test_ranking(
    constraints: list[Document], feasible: list[str], want: tuple[list[int], list[int]] | None
) -> None:
    """Fewer matching pods nearby are better; what a constraint weighs depends on the candidates'
    domains.
    """
    assert (
        ranks(PLUGIN, spread(*constraints), cluster(*THREE, node("none"), *CROWD), *feasible)
        == want
    )


# ---- default constraints -------------------------------------------------------------------------

HARD_ZONE = DefaultConstraint(1, ZONE, "DoNotSchedule")
SOFT_ZONE = DefaultConstraint(1, ZONE, "ScheduleAnyway")


def test_default_constraints() -> None:
    """They hold for pods without constraints of their own that have companions, and count these."""
    cache = cluster(*NODES, *xs("a1"))
    plain, own = pod("new", {"app": "x"}), spread(SOFT)
    snapshot, plugin = Snapshot(cache), defaults(HARD_ZONE)
    assert plugin.pre_filter(plain, snapshot).status == SKIP
    assert plugin.sign_pod(plain, snapshot) == b""
    cache.store.put(service(app="x"))
    assert said(plugin, plugin.pre_filter(plain, snapshot), snapshot) == FULL_A
    assert plugin.pre_filter(own, snapshot).status == SKIP
    assert PLUGIN.pre_filter(plain, snapshot).status == SKIP
    assert plugin.pre_score(plain, snapshot).status == SKIP
    assert plugin.sign_pod(plain, snapshot) not in (b"", plugin.sign_pod(own, snapshot))


def test_built_in_constraints() -> None:
    """Hosts and zones, softly; nodes without a zone are ranked too, and an empty zone is as good as
    none.
    """
    cache = cluster(
        node("a1", "a"), node("e1", ""), node("none"), *xs("e1", "none", "none", "none")
    )
    cache.store.put(service(app="x"))
    wanted = pod("new", {"app": "x"})
    weight = float(np.log(5))
    hosts = [0, 1 * weight + 2, 3 * weight + 2]
    zones = [0 + 4, 4 * float(np.log(4)) + 4, 0]
    want = [round(hosts[0] + 2 + zones[0]), round(hosts[1] + zones[1]), round(hosts[2])]
    found = ranks(PLUGIN, wanted, cache, "a1", "e1", "none")
    assert found is not None
    assert found[0] == want
    listed = ranks(defaults(SOFT_ZONE), wanted, cache, "a1", "e1", "none")
    assert listed == ([0, 1, 0], [100, 0, 0])


def test_match_label_keys_of_default_constraints_are_not_read() -> None:
    """Whose companions a pod has is said by the default selector alone, as in kube-scheduler."""
    cache = cluster(*NODES, *xs("a1", hash="2"))
    cache.store.put(service(app="x"))
    plugin = defaults(DefaultConstraint(1, ZONE, "DoNotSchedule", match_label_keys=("hash",)))
    snapshot = Snapshot(cache)
    assert (
        said(plugin, plugin.pre_filter(pod("new", {"app": "x", "hash": "1"}), snapshot), snapshot)
        == FULL_A
    )


# ---- telling pods apart --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "labels", "apart"),
    [
        (constraint(), {"app": "x", "other": "1"}, False),
        (constraint(), {"app": "y"}, True),
        (constraint(when="ScheduleAnyway"), {"app": "y"}, False),
        (constraint(matchLabelKeys=["other"]), {"app": "x", "other": "1"}, True),
        (
            constraint(when="ScheduleAnyway", matchLabelKeys=["other"]),
            {"app": "x", "other": "1"},
            True,
        ),
    ],
    ids=[
        "another label",
        "does not count itself",
        "soft ones do not count it",
        "key of a hard one",
        "key of a soft one",
    ],
)
def test_distinguish(one: Document, labels: dict[str, str], apart: bool) -> None:
    """Pods with these labels are not the same as one with the label app=x alone."""
    snapshot = Snapshot(cluster(*NODES))
    mine, other = (
        pod("new", known, topologySpreadConstraints=[one]) for known in ({"app": "x"}, labels)
    )
    assert (PLUGIN.sign_pod(mine, snapshot) != PLUGIN.sign_pod(other, snapshot)) is apart


def test_distinguish_by_companions() -> None:
    """By the default selector, and whether it selects the pod itself, where there are default
    constraints.
    """
    cache = cluster(*NODES)
    cache.store.put(service(app="x"))
    snapshot = Snapshot(cache)
    plain, other = pod("new", {"app": "x"}), pod("new", {"app": "y"})
    assert PLUGIN.sign_pod(plain, snapshot)
    assert PLUGIN.sign_pod(other, snapshot) == b""
    assert defaults().sign_pod(plain, snapshot) == b""


# ---- arguments -----------------------------------------------------------------------------------

ZONE_DEFAULT = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway"}


@pytest.mark.parametrize(
    ("document", "paths"),
    [
        ({}, []),
        ({"defaultConstraints": [ZONE_DEFAULT], "defaultingType": "List"}, []),
        ({"defaultConstraints": [], "defaultingType": "List"}, []),
        ({"defaultConstraints": [ZONE_DEFAULT]}, ["defaultingType"]),
        ({"defaultingType": "Other"}, ["defaultingType"]),
        (
            {"defaultConstraints": [ZONE_DEFAULT | {"maxSkew": 0}], "defaultingType": "List"},
            ["defaultConstraints[0].maxSkew"],
        ),
        (
            {"defaultConstraints": [ZONE_DEFAULT | {"topologyKey": ""}], "defaultingType": "List"},
            ["defaultConstraints[0].topologyKey"],
        ),
        (
            {
                "defaultConstraints": [ZONE_DEFAULT | {"topologyKey": "a b"}],
                "defaultingType": "List",
            },
            ["defaultConstraints[0].topologyKey"],
        ),
        (
            {
                "defaultConstraints": [ZONE_DEFAULT | {"labelSelector": {}}],
                "defaultingType": "List",
            },
            ["defaultConstraints[0].labelSelector"],
        ),
        (
            {"defaultConstraints": [ZONE_DEFAULT, ZONE_DEFAULT], "defaultingType": "List"},
            ["defaultConstraints[1]"],
        ),
        (
            {
                "defaultConstraints": [ZONE_DEFAULT | {"whenUnsatisfiable": "Maybe"}],
                "defaultingType": "List",
            },
            ["defaultConstraints[0].whenUnsatisfiable"],
        ),
    ],
    ids=[
        "default",
        "listed",
        "none",
        "listed and built in",
        "another type",
        "no skew",
        "no key",
        "a bad key",
        "a selector",
        "twice",
        "another action",
    ],
)
def test_arguments(document: Document, paths: list[str]) -> None:
    """The rules that kube-scheduler has, at its field paths."""
    if not paths:
        decoder(PodTopologySpreadArgs).decode(document)
        return
    with pytest.raises(DecodeError) as raised:
        decoder(PodTopologySpreadArgs).decode(document)
    assert [one.path for one in raised.value.violations] == paths


# ---- what wakes ----------------------------------------------------------------------------------

WAITING = spread(constraint(), constraint(HOST, nodeTaintsPolicy="Honor"))
SELF, TOLERANT = (
    pod("new", {"app": "x"}),
    pod("new", {"app": "x"}, tolerations=[{"operator": "Exists"}]),
)
X, Y = xs("a1")[0], pod("x0", {"app": "y"}, "a1")
PLAIN = pod("new", {"app": "x"})


@pytest.mark.parametrize(
    ("waiting", "old", "new", "want"),
    [
        (WAITING, None, X, True),
        (WAITING, X, None, True),
        (WAITING, None, Y, False),
        (WAITING, X, Y, True),
        (WAITING, X, pod("x0", {"app": "x", "a": "1"}, "a1"), False),
        (WAITING, X, X, False),
        (WAITING, None, pod("x", {"app": "x"}, "a1", "other"), False),
        (PLAIN, None, Y, True),
        (PLAIN, X, Y, True),
        (PLAIN, X, X, False),
    ],
    ids=[
        "counted came",
        "counted went",
        "somebody came",
        "no more counted",
        "still counted",
        "nothing changed",
        "another namespace",
        "default: anybody came",
        "default: any labels",
        "default: nothing changed",
    ],
)
def test_pods_that_wake(waiting: Pod, old: Pod | None, new: Pod | None, want: bool) -> None:
    """Pods of the namespace that a hard constraint counts, or did; of default ones it is not known
    whom they count.
    """
    action = (
        ActionType.ADD
        if old is None
        else ActionType.DELETE
        if new is None
        else ActionType.UPDATE_POD_LABEL
    )
    assert is_woken(waiting, ClusterEvent(EventResource.ASSIGNED_POD, action, old, new)) is want


def is_woken(waiting: Pod, event: ClusterEvent) -> bool:
    """What the one hint of this event says."""
    (wake,) = [wake for wake in defaults(HARD_ZONE).events_to_register if wake.matches(event)]
    assert wake.hint is not None
    return wake.hint(waiting, event, Store())


@pytest.mark.parametrize(
    ("waiting", "new", "want"),
    [
        (WAITING, TOLERANT, True),
        (spread(constraint()), TOLERANT, False),
        (WAITING, pod("new", {"app": "y"}), True),
        (WAITING, pod("new", {"app": "x", "more": "1"}), False),
        (PLAIN, pod("new", {"app": "x", "more": "1"}), True),
    ],
    ids=[
        "tolerates more, and taints count",
        "tolerates more, and taints do not count",
        "counts otherwise",
        "counts as before",
        "default: any labels",
    ],
)
def test_own_changes_that_wake(waiting: Pod, new: Pod, want: bool) -> None:
    """Labels, and tolerations where a constraint honours taints."""
    for action in (ActionType.UPDATE_POD_LABEL, ActionType.UPDATE_POD_TOLERATION):
        event = ClusterEvent(EventResource.TARGET_POD, action, SELF, new)
        assert is_woken(waiting, event) is want


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        (None, node("n", "a"), True),
        (None, node("n"), False),
        (node("n", "a"), None, True),
        (node("n"), None, False),
        (node("n"), node("n", "a"), True),
        (node("n", "a"), node("n"), True),
        (node("n", "a"), node("n", "b"), True),
        (node("n", "a"), node("n", "a", taint="t"), True),
        (node("n", "a"), node("n", "a", disk="ssd"), False),
        (node("n"), node("n", taint="t"), False),
    ],
    ids=[
        "came",
        "came without a zone",
        "went",
        "went without a zone",
        "got a zone",
        "lost its zone",
        "moved",
        "tainted",
        "another label",
        "tainted without a zone",
    ],
)
def test_nodes_that_wake(old: Node | None, new: Node | None, want: bool) -> None:
    """Nodes that have all labels that the constraints go by, before or after."""
    action = (
        ActionType.ADD
        if old is None
        else ActionType.DELETE
        if new is None
        else ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_TAINT
    )
    event = ClusterEvent(EventResource.NODE, action, old, new)
    (wake,) = [wake for wake in PLUGIN.events_to_register if wake.matches(event)]
    assert wake.hint is not None
    assert wake.hint(WAITING, event, Store()) is want
