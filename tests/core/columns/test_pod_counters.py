"""Pod counters: made when asked for, dropped when not, found by label values. That they count
right: test_affinity_and_spread_agree.py.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubefacts.labels import EVERYTHING, NOTHING, Selector, compile_selector
from moorage.core.columns.cache import Cache
from moorage.core.columns.pod_counters import (
    AffinityTermKind,
    PodCounters,
    PodQuery,
    RowCounter,
    SelectorIndex,
    existing_terms_of,
)
from moorage.core.objects.meta import ObjectMeta, PartialObject
from moorage.core.objects.selector_terms import LabelSelector, Requirement
from moorage.core.pods.requests import pod_requests, unreadable_requests
from tests.core.plugins.companions import (
    HOST,
    away,
    cluster,
    namespace,
    near,
    node,
    pod,
    prefers,
    term,
)


def equal(**labels: str) -> Selector:
    """The selector of these labels."""
    return compile_selector(LabelSelector(labels))


def query(*namespaces: str, **labels: str) -> PodQuery:
    """Pods with these labels, in these namespaces; none named: in all."""
    return PodQuery(frozenset(namespaces) or None, equal(**labels))


def per_row(counter: RowCounter) -> list[int]:
    """The first three rows."""
    return [int(count) for count in counter.per_row(3)]


NODES = (node("n0"), node("n1"), node("n2"))


# ---- counters ------------------------------------------------------------------------------------


def test_made_when_asked_for_and_kept() -> None:
    """The first question counts; after that pods are counted as they come and go, each change
    moving the version.
    """
    cache = cluster(*NODES, pod("x", {"app": "x"}, "n1"))
    counter = cache.pod_counters.matching(query("default", app="x"))
    assert per_row(counter) == [0, 1, 0]
    version = counter.version
    for one in (
        pod("x2", {"app": "x"}, "n1"),
        pod("y", {"app": "y"}, "n1"),
        pod("x", {"app": "x"}, "n0", "other"),
    ):
        cache.observe(one, pod_requests(one))
    assert (per_row(counter), counter.total, counter.version) == ([0, 2, 0], 2, version + 1)
    assert cache.pod_counters.matching(query("default", app="x")) is counter
    assert per_row(cache.pod_counters.matching(query(app="x"))) == [1, 2, 0]


def test_rows_of_nodes_that_go() -> None:
    """Their pods count again when the node comes back, on whatever row."""
    cache = cluster(*NODES, pod("x", {"app": "x"}, "n1"))
    counter = cache.pod_counters.matching(query("default", app="x"))
    cache.remove_node("n1")
    assert (per_row(counter), counter.total) == ([0, 0, 0], 0)
    version = counter.version
    cache.remove_node("n0")
    assert counter.version == version
    cache.put_node(node("n1"))
    assert (per_row(counter)[cache.nodes.row_of["n1"]], counter.total) == (1, 1)


def test_counts_cannot_be_written() -> None:
    """What plugins get is a view."""
    counts = RowCounter(1).per_row(3)
    with pytest.raises(ValueError, match="read-only"):
        counts[0] = 1


def test_unreadable_pods_count_by_their_labels() -> None:
    """Of such a pod nothing is known but its metadata: it matches selectors and carries no
    terms.
    """
    cache = cluster(*NODES)
    counter = cache.pod_counters.matching(query("default", app="x"))
    broken = PartialObject(ObjectMeta("x", "default", "u", labels={"app": "x"}))
    cache.observe_unreadable(broken, "n1", unreadable_requests())
    assert per_row(counter) == [0, 1, 0]
    assert not cache.pod_counters.has_existing_terms


def test_those_not_asked_for_are_dropped() -> None:
    """The one not asked for longest goes, and whoever has it is told by its version; asked for
    again, it is counted anew.
    """
    kept = PodCounters(lambda _: [(pod("x", {"app": "x"}), 1)], {}, most=2)
    first, second = (kept.matching(query("default", app=name)) for name in ("x", "y"))
    assert kept.matching(query("default", app="x")) is first
    versions = first.version, second.version
    kept.matching(query("default", app="z"))
    assert (first.version, second.version) == (versions[0], versions[1] + 1)
    again = kept.matching(query("default", app="y"))
    assert again is not second
    assert again.id != second.id
    kept.charge(2, pod("late", {"app": "y"}), 1)
    assert (per_row(again), per_row(second)) == ([0, 0, 1], [0, 0, 0])


# ---- carried terms -------------------------------------------------------------------------------


def against(cache: Cache, **labels: str) -> list[tuple[AffinityTermKind, str, int, list[int]]]:
    """What pods on nodes have to say about a pod with these labels."""
    found = cache.pod_counters.existing_terms_matching(pod("new", labels))
    return [
        (carried.kind, carried.term.topology_key, carried.term.weight, per_row(counter))
        for carried, counter in found
    ]


def test_carried_terms() -> None:
    """Every kind of term, for as long as a pod on a node carries it; a term that a pod lists twice
    counts twice.
    """
    affinity = near(term(app="x")) | away(term(HOST, app="x"), term(HOST, app="x")) | {}
    affinity["podAffinity"] |= prefers("podAffinity", (7, term(HOST, app="x")))["podAffinity"]
    affinity["podAntiAffinity"] |= prefers("podAntiAffinity", (9, term(HOST, app="x")))[
        "podAntiAffinity"
    ]
    carrier = pod("carrier", {}, "n1", affinity=affinity)
    cache = cluster(*NODES, carrier, pod("other", {}, "n2", affinity=near(term(app="y"))))
    zone = "topology.kubernetes.io/zone"
    assert sorted(against(cache, app="x"), key=str) == [
        (AffinityTermKind.AFFINITY, zone, 0, [0, 1, 0]),
        (AffinityTermKind.ANTI_AFFINITY, HOST, 0, [0, 2, 0]),
        (AffinityTermKind.PREFERRED, HOST, -9, [0, 1, 0]),
        (AffinityTermKind.PREFERRED, HOST, 7, [0, 1, 0]),
    ]
    assert len(list(existing_terms_of(carrier))) == 5
    cache.remove(carrier.metadata.uid)
    assert against(cache, app="x") == []
    assert against(cache, app="y") == [(AffinityTermKind.AFFINITY, zone, 0, [0, 0, 1])]
    cache.remove_node("n2")
    assert not cache.pod_counters.has_existing_terms


def test_carried_terms_ask_for_the_namespace() -> None:
    """Its labels are looked at when the question is asked."""
    cache = cluster(
        *NODES, pod("carrier", {}, "n1", "east", affinity=away(term(teams="1", app="x")))
    )
    assert against(cache, app="x") == []
    cache.store.put(namespace("default", team="1"))
    assert len(against(cache, app="x")) == 1


def test_ids_are_never_given_twice() -> None:
    """A term that is carried again is another one to whoever remembers its counter's id."""
    carrier = pod("carrier", {}, "n1", affinity=away(term(app="x")))
    cache = cluster(*NODES, carrier)
    ((_, first),) = cache.pod_counters.existing_terms_matching(pod("new", {"app": "x"}))
    cache.remove(carrier.metadata.uid)
    cache.observe(carrier, pod_requests(carrier))
    ((_, second),) = cache.pod_counters.existing_terms_matching(pod("new", {"app": "x"}))
    assert first.id != second.id


# ---- the index -----------------------------------------------------------------------------------

keys, values = st.sampled_from("ab"), st.sampled_from("123")
requirements = st.one_of(
    st.builds(
        lambda key, found: Requirement(key, "In", tuple(found)),
        keys,
        st.lists(values, min_size=1, max_size=2, unique=True),
    ),
    st.builds(lambda key, value: Requirement(key, "NotIn", (value,)), keys, values),
    st.builds(Requirement, keys, st.sampled_from(["Exists", "DoesNotExist"])),
)
selectors = st.one_of(
    st.just(NOTHING),
    st.just(EVERYTHING),
    st.lists(requirements, max_size=3).map(
        lambda all_of: compile_selector(LabelSelector({}, tuple(all_of)))
    ),
)


@given(
    found=st.lists(selectors, max_size=6),
    labels=st.dictionaries(keys, values),
    gone=st.sets(st.integers(0, 5)),
)
def test_the_index_finds_all_that_match(
    found: list[Selector], labels: dict[str, str], gone: set[int]
) -> None:
    """No selector that matches is missed, none is found twice; emptied, it keeps nothing."""
    index: SelectorIndex[int] = SelectorIndex()
    for i, selector in enumerate(found):
        index.add(i, selector)
    for i in sorted(gone):
        if i < len(found):
            index.remove(i, found[i])
    left = {i: selector for i, selector in enumerate(found) if i not in gone}
    candidates = list(index.candidates(labels))
    assert len(candidates) == len(set(candidates))
    assert (
        {i for i, selector in left.items() if selector.matches(labels)}
        <= set(candidates)
        <= set(left)
    )
    for i, selector in left.items():
        index.remove(i, selector)
    assert len(index) == 0
    assert list(index.candidates(labels)) == []


def test_the_index_asks_few() -> None:
    """A pod is not asked about selectors that insist on another value."""
    index: SelectorIndex[str] = SelectorIndex()
    for name in ("x", "y", "z"):
        index.add(name, equal(app=name))
    index.add("apart", EVERYTHING)
    assert list(index.candidates({"app": "y", "more": "1"})) == ["y", "apart"]
    assert list(index.candidates(None)) == ["apart"]
