"""InterPodAffinity: terms both ways, first pods, namespaces, weights, what is counted when pods are
tried, and what wakes.
"""

from __future__ import annotations

import numpy as np
import pytest

from moorage.core.columns.snapshot import Snapshot
from moorage.core.columns.store import Store
from moorage.core.cycle.context import CycleContext, Diagnosis, ScheduleResult
from moorage.core.cycle.cycle import decide
from moorage.core.framework.cluster_events import ActionType, ClusterEvent, EventResource
from moorage.core.framework.interfaces import (
    FilterPlugin,
    PreFilterExtensions,
    PreFilterPlugin,
    PreScorePlugin,
    ScoreExtensions,
    ScorePlugin,
    SignPlugin,
)
from moorage.core.framework.registry import build_registry
from moorage.core.framework.revisions import EnabledPlugins, PluginRef, RequestedProfile, resolve
from moorage.core.framework.status import SKIP, SUCCESS, Code
from moorage.core.objects.meta import Namespace
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod
from moorage.core.plugins.inter_pod_affinity.plugin import InterPodAffinity, InterPodAffinityArgs
from moorage.core.plugins.intree import INTREE, PRESETS
from moorage.core.pods.requests import pod_requests
from tests.core.plugins.companions import (
    HOST,
    ZONE,
    Document,
    away,
    cluster,
    deleted,
    namespace,
    near,
    node,
    pod,
    prefers,
    said,
    term,
)

PLUGIN = InterPodAffinity()
_pre_filter: PreFilterPlugin = PLUGIN
_filter: FilterPlugin = PLUGIN
_adjust: PreFilterExtensions = PLUGIN
_distinguish: SignPlugin = PLUGIN
_pre_score: PreScorePlugin = PLUGIN
_score: ScorePlugin = PLUGIN
_normalize: ScoreExtensions = PLUGIN

NODES = (node("a1", "a"), node("a2", "a"), node("b1", "b"), node("none"))
DB, CACHE = pod("db", {"app": "db"}, "a1"), pod("cache", {"app": "cache"}, "b1")
BOTH = pod("both", {"app": "db", "tier": "cache"}, "a2")
BESIDE, CONFLICT, REPELLED = (
    "PodAffinityMismatch",
    "PodAntiAffinityConflict",
    "ExistingPodAntiAffinity",
)
ANY_POD = InterPodAffinity(InterPodAffinityArgs(terms_met_by="AnyPod"))


def refusals(
    wanted: Pod, *objects: Pod | Namespace | Node, plugin: InterPodAffinity = PLUGIN
) -> dict[str, str] | None:
    """Who is refused why; None when the plugin has no say."""
    snapshot = Snapshot(cluster(*NODES, *objects))
    prepared = plugin.pre_filter(wanted, snapshot)
    if prepared.status == SKIP:
        return None
    assert prepared.status == SUCCESS
    return said(plugin, prepared, snapshot)


NOWHERE = dict.fromkeys(("a1", "a2", "b1", "none"), BESIDE)


@pytest.mark.parametrize(
    ("affinity", "labels", "there", "want"),
    [
        (None, {}, [DB], None),
        (near(term(app="db")), {}, [DB], {"b1": BESIDE, "none": BESIDE}),
        (near(term(HOST, app="db")), {}, [DB], {"a2": BESIDE, "b1": BESIDE, "none": BESIDE}),
        (near(term(app="db")), {}, [deleted(DB)], {"b1": BESIDE, "none": BESIDE}),
        (near(term(app="db")), {}, [], NOWHERE),
        (near(term(app="db")), {"app": "db"}, [], {"none": BESIDE}),
        (near(term(app="db")), {"app": "db"}, [pod("db", {"app": "db"}, "none")], {"none": BESIDE}),
        (near(term(app="db")), {"app": "db"}, [DB], {"b1": BESIDE, "none": BESIDE}),
        (near(term(app="db")), {}, [pod("db", {"app": "db"}, "a1", "other")], NOWHERE),
        (away(term(app="db")), {}, [DB], {"a1": CONFLICT, "a2": CONFLICT}),
        (away(term(app="db")), {"app": "db"}, [], {}),
        (
            away(term(app="db"), term(HOST, app="cache")),
            {},
            [DB, CACHE],
            {"a1": CONFLICT, "a2": CONFLICT, "b1": CONFLICT},
        ),
        (
            None,
            {"app": "x"},
            [pod("shy", {}, "a1", affinity=away(term(app="x")))],
            {"a1": REPELLED, "a2": REPELLED},
        ),
        (None, {"app": "y"}, [pod("shy", {}, "a1", affinity=away(term(app="x")))], None),
        (None, {"app": "x"}, [pod("shy", {}, "none", affinity=away(term(app="x")))], None),
        (
            near(term(app="db")) | away(term(HOST, app="db")),
            {"app": "x"},
            [DB, pod("shy", {}, "a2", affinity=away(term(HOST, app="x")))],
            {"a1": CONFLICT, "a2": REPELLED, "b1": BESIDE, "none": BESIDE},
        ),
    ],
    ids=[
        "no terms",
        "same zone",
        "same host",
        "a pod being deleted counts",
        "nobody there",
        "first of its kind",
        "first, as the other has no zone",
        "not the first any more",
        "another namespace",
        "away from a zone",
        "not away from itself",
        "any of two",
        "repelled",
        "not spoken of",
        "repelled from no domain",
        "affinity first, then anti-affinity, then others'",
    ],
)
def test_required_terms(
    affinity: Document | None, labels: dict[str, str], there: list[Pod], want: dict[str, str] | None
) -> None:
    """Which nodes are refused, and for what."""
    assert refusals(pod("new", labels, affinity=affinity), *there) == want


@pytest.mark.parametrize(
    ("plugin", "labels", "there", "want"),
    [
        (PLUGIN, {}, [DB, CACHE], NOWHERE),
        (PLUGIN, {}, [DB, CACHE, BOTH], {"b1": BESIDE, "none": BESIDE}),
        (ANY_POD, {}, [DB, CACHE], NOWHERE),
        (ANY_POD, {}, [DB, pod("cache", {"tier": "cache"}, "a2")], {"b1": BESIDE, "none": BESIDE}),
        (ANY_POD, {}, [DB], NOWHERE),
        (ANY_POD, {"tier": "cache"}, [DB], {"b1": BESIDE, "none": BESIDE}),
        (PLUGIN, {"tier": "cache"}, [DB], NOWHERE),
    ],
    ids=[
        "two pods do not do",
        "one pod for both",
        "any: two pods in two zones",
        "any: two pods in one zone",
        "any: nobody for one",
        "any: the first for one",
        "the first for one is not enough",
    ],
)
def test_terms_met_by_different_pods(
    plugin: InterPodAffinity, labels: dict[str, str], there: list[Pod], want: dict[str, str]
) -> None:
    """docs/adr/0004: by default one pod must meet all terms; as an argument, each term some pod."""
    wanted = pod("new", labels, affinity=near(term(app="db"), term(tier="cache")))
    assert refusals(wanted, *there, plugin=plugin) == want


@pytest.mark.parametrize(
    ("one", "spoken_of"),
    [
        (term(app="db"), ["default"]),
        (term(namespaces=["east"], app="db"), ["east"]),
        (term(teams="1", app="db"), ["east"]),
        (term(teams="1", namespaces=["absent"], app="db"), ["absent", "east"]),
        (term(teams="*", app="db"), ["absent", "default", "east", "west"]),
        (
            {
                **term(app="db"),
                "namespaceSelector": {
                    "matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]
                },
            },
            ["default"],
        ),
    ],
    ids=["its own", "named", "selected", "named and selected", "all", "without a label"],
)
def test_namespaces(one: Document, spoken_of: list[str]) -> None:
    """Whom a term of the pod speaks of; a namespace that is not there is selected by nothing but
    the empty selector.
    """
    known = [namespace("default"), namespace("east", team="1"), namespace("west", team="2")]
    wanted = pod("new", affinity=away(one))
    everywhere = ("absent", "default", "east", "west")
    found = [
        name
        for name in everywhere
        if refusals(wanted, *known, pod("db", {"app": "db"}, "a1", name))
    ]
    assert found == spoken_of


def test_relabelled_namespace() -> None:
    """What was counted of a namespace is out of date when its labels change; likewise for
    preferences.
    """
    cache = cluster(*NODES, namespace("east", team="2"), pod("db", {"app": "db"}, "a1", "east"))
    snapshot = Snapshot(cache)
    wanted = pod(
        "new",
        affinity=away(term(teams="1", app="db"))
        | prefers("podAffinity", (5, term(teams="1", app="db"))),
    )
    before = PLUGIN.pre_filter(wanted, snapshot), PLUGIN.pre_score(wanted, snapshot)
    versions = [[one.version for one in prepared.depends_on] for prepared in before]
    assert said(PLUGIN, before[0], snapshot) == {}
    assert before[1].status == SKIP
    cache.store.put(namespace("east", team="1"))
    assert all(
        [one.version for one in prepared.depends_on] != old
        for prepared, old in zip(before, versions, strict=True)
    )
    assert said(PLUGIN, PLUGIN.pre_filter(wanted, snapshot), snapshot) == {
        "a1": CONFLICT,
        "a2": CONFLICT,
    }
    assert PLUGIN.pre_score(wanted, snapshot).status == SUCCESS


def test_unreadable_terms() -> None:
    """Nobody can say where such a pod may go."""
    broken = {
        "labelSelector": {"matchExpressions": [{"key": "a", "operator": "Near"}]},
        "topologyKey": ZONE,
    }
    status = PLUGIN.pre_filter(pod("new", affinity=near(broken)), Snapshot(cluster(*NODES))).status
    assert status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert status.message.startswith("parsing pod: ")


# ---- scores --------------------------------------------------------------------------------------

GREETER = pod(
    "greeter",
    {},
    "b1",
    affinity=near(term(app="x")) | prefers("podAntiAffinity", (30, term(HOST, app="x"))),
)


@pytest.mark.parametrize(
    ("affinity", "args", "there", "want"),
    [
        (None, InterPodAffinityArgs(), [DB], None),
        (prefers("podAffinity", (10, term(app="db"))), InterPodAffinityArgs(), [], None),
        (
            prefers("podAffinity", (10, term(app="db"))),
            InterPodAffinityArgs(),
            [DB, BOTH],
            [20, 20, 0, 0],
        ),
        (
            prefers("podAntiAffinity", (7, term(HOST, app="db"))),
            InterPodAffinityArgs(),
            [DB, deleted(CACHE)],
            [-7, 0, 0, 0],
        ),
        (None, InterPodAffinityArgs(), [GREETER], [0, 0, 1 - 30, 0]),
        (None, InterPodAffinityArgs(5), [GREETER], [0, 0, 5 - 30, 0]),
        (None, InterPodAffinityArgs(0), [GREETER], [0, 0, -30, 0]),
        (None, InterPodAffinityArgs(1, True), [GREETER], None),
        (
            prefers("podAffinity", (10, term(app="none"))),
            InterPodAffinityArgs(1, True),
            [GREETER],
            [0, 0, -29, 0],
        ),
    ],
    ids=[
        "nobody prefers",
        "nobody to prefer",
        "each pod counts",
        "away",
        "others' terms",
        "hard ones weigh",
        "hard ones do not",
        "others are ignored",
        "not ignored beside own ones",
    ],
)
def test_score(
    affinity: Document | None, args: InterPodAffinityArgs, there: list[Pod], want: list[int] | None
) -> None:
    """Weights in the node's domains; None: skipped."""
    plugin, snapshot = InterPodAffinity(args), Snapshot(cluster(*NODES, *there))
    prepared = plugin.pre_score(pod("new", {"app": "x"}, affinity=affinity), snapshot)
    if want is None:
        assert prepared.status == SKIP
    else:
        assert plugin.score(prepared.state, snapshot, snapshot.nodes.all_rows).tolist() == want


@pytest.mark.parametrize(
    ("raw", "want"), [([-5, 0, 15], [0, 25, 100]), ([0, 1, 3], [0, 33, 100]), ([4, 4], [0, 0])]
)
def test_normalize(raw: list[int], want: list[int]) -> None:
    """From the lowest sum to the highest."""
    assert PLUGIN.normalize_score({}, np.array(raw, np.int64)).tolist() == want


# ---- what if -------------------------------------------------------------------------------------


def test_adjusting_leaves_the_state_alone() -> None:
    """Each of the three kinds of counts, one pod less and one more; the state that was there says
    what it said.
    """
    shy = pod("shy", {}, "b1", affinity=away(term(app="x")))
    snapshot = Snapshot(cluster(*NODES, DB, BOTH, shy))
    wanted = pod(
        "new", {"app": "x"}, affinity=near(term(app="db")) | away(term(HOST, tier="cache"))
    )
    prepared = PLUGIN.pre_filter(wanted, snapshot)
    state, rows = prepared.state, snapshot.nodes.all_rows
    before = PLUGIN.filter(state, snapshot, rows).tolist()
    assert before == [0, 2, 1, 1]
    without = PLUGIN.adjust(PLUGIN.adjust(state, DB, 0, -1, snapshot), BOTH, 1, -1, snapshot)
    assert PLUGIN.filter(without, snapshot, rows).tolist() == [1, 1, 1, 1]
    assert PLUGIN.filter(PLUGIN.adjust(without, DB, 2, 1, snapshot), snapshot, rows).tolist() == [
        1,
        1,
        3,
        1,
    ]
    moved = PLUGIN.adjust(PLUGIN.adjust(without, DB, 2, 1, snapshot), shy, 2, -1, snapshot)
    assert PLUGIN.filter(moved, snapshot, rows).tolist() == [1, 1, 0, 1]
    assert PLUGIN.filter(state, snapshot, rows).tolist() == before
    assert PLUGIN.adjust(state, pod("stranger", on="a1"), 0, 1, snapshot) is state


def test_adjusting_by_a_topology_that_nobody_used() -> None:
    """A nominated pod may be the first with a term of its kind."""
    snapshot = Snapshot(cluster(*NODES))
    state = PLUGIN.pre_filter(
        pod("new", {"app": "x"}, affinity=away(term(app="y"))), snapshot
    ).state
    with_guest = PLUGIN.adjust(
        state, pod("guest", affinity=away(term(HOST, app="x"))), 1, 1, snapshot
    )
    assert PLUGIN.filter(with_guest, snapshot, snapshot.nodes.all_rows).tolist() == [0, 3, 0, 0]


# ---- telling pods apart --------------------------------------------------------------------------


def test_distinguish() -> None:
    """Nothing is told of pods that nothing speaks of; the terms that speak of one, and whether it
    could be the first, are.
    """
    cache = cluster(*NODES)
    snapshot = Snapshot(cache)
    plain, other = pod("p", {"app": "x"}), pod("q", {"app": "y"})
    assert PLUGIN.sign_pod(plain, snapshot) == PLUGIN.sign_pod(other, snapshot) == b""
    first, later = (
        pod(name, labels, affinity=near(term(app="x")))
        for name, labels in (("p", {"app": "x"}), ("q", {}))
    )
    assert PLUGIN.sign_pod(first, snapshot) != PLUGIN.sign_pod(later, snapshot)
    shy = pod("shy", on="a1", affinity=away(term(app="x")))
    cache.observe(shy, pod_requests(shy))
    assert PLUGIN.sign_pod(plain, snapshot) != b""
    assert PLUGIN.sign_pod(other, snapshot) == b""
    cache.remove(shy.metadata.uid)
    assert PLUGIN.sign_pod(plain, snapshot) == b""


def test_nominated_pods_tell_labels_apart() -> None:
    """Their terms are put to each pod anew, so a template must not be shared by pods with different
    labels.
    """
    cache = cluster(*NODES)
    guest = pod("guest")
    cache.nominations.add(guest, "a1", pod_requests(guest))
    said_of = [
        PLUGIN.sign_pod(pod("p", labels), Snapshot(cache))
        for labels in (None, {"app": "x"}, {"app": "y"})
    ]
    assert len({*said_of, b""}) == 4


def test_pods_of_one_template_part_when_a_term_tells_them_apart() -> None:
    """The template that both shared is compiled for the one that still belongs to it."""
    context = CycleContext(cluster(node("a1", "a")))
    only = EnabledPlugins(
        tuple(PluginRef(name) for name in ("PrioritySort", "InterPodAffinity", "DefaultBinder")),
        ("*",),
    )
    revision = resolve(
        RequestedProfile("test", plugins={"multiPoint": only}), build_registry(INTREE), PRESETS
    )
    terms = away(term(app="other"))
    for name in ("x", "y"):
        assert isinstance(
            decide(pod(name, {"app": name}, affinity=terms), revision, context), ScheduleResult
        )
    shy = pod("shy", on="a1", affinity=away(term(app="x")))
    context.cache.observe(shy, pod_requests(shy))
    assert isinstance(decide(pod("x2", {"app": "x"}, affinity=terms), revision, context), Diagnosis)
    context.cache.put_node(node("a1", "a", disk="ssd"))  # the template is compiled again
    assert isinstance(
        decide(pod("y2", {"app": "y"}, affinity=terms), revision, context), ScheduleResult
    )


# ---- what wakes ----------------------------------------------------------------------------------

WANTS = pod("new", affinity=near(term(app="db")))
SHUNS = pod("new", {"app": "x"}, affinity=away(term(app="db"), term(app="cache")))
TWO = pod("new", affinity=near(term(app="db"), term(tier="cache")))


@pytest.mark.parametrize(
    ("waiting", "old", "new", "want"),
    [
        (WANTS, None, DB, True),
        (WANTS, None, CACHE, False),
        (WANTS, CACHE, pod("cache", {"app": "db"}, "b1"), True),
        (WANTS, DB, pod("db", {"app": "db", "more": "1"}, "a1"), False),
        (WANTS, DB, None, False),
        (pod("new", affinity=near(term(teams="default", app="db"))), None, DB, True),
        (pod("new", affinity=near(term(teams="other", app="db"))), None, DB, False),
        (pod("new", affinity=away(term(teams="default", app="db"))), DB, None, True),
        (pod("new", affinity=away(term(teams="other", app="db"))), DB, None, False),
        (TWO, None, DB, False),
        (TWO, None, BOTH, True),
        (SHUNS, None, DB, False),
        (SHUNS, DB, None, True),
        (SHUNS, DB, pod("db", {}, "a1"), True),
        (SHUNS, pod("z", {}, "a1"), None, False),
        (SHUNS, pod("shy", {}, "a1", affinity=away(term(app="x"))), None, True),
    ],
    ids=[
        "wanted came",
        "somebody came",
        "became wanted",
        "was wanted before",
        "wanted went",
        "of a selected namespace",
        "of another namespace",
        "went, of a selected namespace",
        "went, of another namespace",
        "half of what is wanted came",
        "all that is wanted came",
        "shunned came",
        "shunned by one term went",
        "no more shunned",
        "somebody went",
        "who shunned it went",
    ],
)
def test_pods_that_wake(waiting: Pod, old: Pod | None, new: Pod | None, want: bool) -> None:
    """A pod that meets affinity now, or stands in the way no more."""
    action = (
        ActionType.ADD
        if old is None
        else ActionType.DELETE
        if new is None
        else ActionType.UPDATE_POD_LABEL
    )
    event = ClusterEvent(EventResource.ASSIGNED_POD, action, old, new)
    (wake,) = [wake for wake in PLUGIN.events_to_register if wake.matches(event)]
    store = Store()
    store.put(namespace("default", team="default"))
    assert wake.hint is not None
    assert wake.hint(waiting, event, store) is want


def test_own_labels_wake() -> None:
    """Any change of them."""
    event = ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE_POD_LABEL)
    (wake,) = [wake for wake in PLUGIN.events_to_register if wake.matches(event)]
    assert wake.hint is None


def test_half_of_what_is_wanted_wakes_with_any_pod() -> None:
    """Then each term counts for itself."""
    hint = ANY_POD.events_to_register[0].hint
    assert hint is not None
    assert hint(TWO, ClusterEvent(EventResource.ASSIGNED_POD, ActionType.ADD, None, DB), Store())


@pytest.mark.parametrize(
    ("waiting", "old", "new", "want"),
    [
        (WANTS, None, node("n", "a"), True),
        (WANTS, None, node("n"), False),
        (SHUNS, None, node("n"), True),
        (pod("new", affinity=near(term(app="db")) | away(term(app="x"))), None, node("n"), True),
        (pod("new"), None, node("n"), True),
        (WANTS, node("n"), node("n", "a"), True),
        (WANTS, node("n", "a"), node("n", "b"), True),
        (WANTS, node("n", "a"), node("n", "a", disk="ssd"), False),
        (SHUNS, node("n", "a"), node("n"), True),
        (pod("new"), node("n"), node("n", disk="ssd"), True),
    ],
    ids=[
        "new with the label",
        "new without it",
        "anti-affinity needs no label",
        "anti-affinity beside affinity",
        "no terms",
        "got the label",
        "moved",
        "another label",
        "lost the label",
        "repelled perhaps by that label",
    ],
)
def test_nodes_that_wake(waiting: Pod, old: Node | None, new: Node, want: bool) -> None:
    """A node in whose domain things may be different."""
    event = ClusterEvent(
        EventResource.NODE, ActionType.UPDATE_NODE_LABEL if old else ActionType.ADD, old, new
    )
    (wake,) = [wake for wake in PLUGIN.events_to_register if wake.matches(event)]
    assert wake.hint is not None
    assert wake.hint(waiting, event, Store()) is want


TEAM = pod("new", affinity=near(term(teams="a", app="db")))
RIVAL = pod("new", affinity=away(term(teams="a", app="db")))


@pytest.mark.parametrize("waiting", [TEAM, RIVAL], ids=["affinity", "anti-affinity"])
@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        (None, namespace("other", team="a"), True),
        (None, namespace("other", team="b"), False),
        (namespace("other"), namespace("other", team="a"), True),
        (namespace("other", team="a"), namespace("other", team="a", more="1"), False),
        (namespace("other", team="a"), namespace("other", team="b"), True),
        (namespace("other", team="a"), None, True),
        (namespace("other", team="b"), None, False),
        (namespace("default"), namespace("default", more="1"), True),
        (namespace("default"), namespace("default"), False),
    ],
    ids=[
        "came",
        "another came",
        "selected now",
        "selected before",
        "no more selected",
        "went",
        "another went",
        "its own",
        "nothing new",
    ],
)
def test_namespaces_that_wake(
    waiting: Pod, old: Namespace | None, new: Namespace | None, want: bool
) -> None:
    """One that a term selects and did not before, or no more; and the pod's own, as others may have
    terms that go by its labels.
    """
    event = ClusterEvent(
        EventResource.NAMESPACE,
        ActionType.UPDATE if old and new else ActionType.DELETE if old else ActionType.ADD,
        old,
        new,
    )
    (wake,) = [wake for wake in PLUGIN.events_to_register if wake.matches(event)]
    assert wake.hint is not None
    assert wake.hint(waiting, event, Store()) is want
