"""Nominations: one node a pod, gone with it, and a version that moves when what is nominated
changes.

Decisions and statuses: the newer one counts, and in the end they say the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.core.columns.cache import Cache
from moorage.core.columns.change_log import Aspect, ChangeReader
from moorage.core.columns.nodes.node_table import NodeTable
from moorage.core.columns.nominations import Nominator
from moorage.core.objects.pods import Pod
from moorage.core.pods.requests import pod_requests
from tests.builders import make_node, make_pod

POD = make_pod("a", cpu="1")


def nominated(pod: Pod, node: str) -> Pod:
    """The pod with this node in its status."""
    return msgspec.structs.replace(
        pod, status=msgspec.structs.replace(pod.status, nominated_node_name=node)
    )


def names_on(nominations: Nominator, node: str) -> list[str]:
    """Who is nominated there."""
    return [record.pod.metadata.name for record in nominations.nominated_pods(node)]


@pytest.fixture
def nodes() -> NodeTable:
    """n1 and n2."""
    nodes = NodeTable()
    nodes.put(make_node("n1"))
    nodes.put(make_node("n2"))
    return nodes


@pytest.fixture
def nominations(nodes: NodeTable) -> Nominator:
    """With a pod nominated to n1."""
    nominations = Nominator(nodes)
    nominations.add(POD, "n1", pod_requests(POD))
    return nominations


def rows(reader: ChangeReader) -> list[int]:
    """The rows that changed since the last call."""
    changed = reader.catch_up(100)
    assert changed is not None
    return [int(row) for row in changed]


def test_a_pod_is_nominated_to_one_node(nominations: Nominator) -> None:
    """Another nomination takes the first one's place."""
    nominations.add(POD, "n2", pod_requests(POD))
    assert (names_on(nominations, "n1"), names_on(nominations, "n2")) == ([], ["a"])
    assert (len(nominations), list(nominations.nodes)) == (1, ["n2"])


def test_whether_any_pod_is_nominated_has_a_version_of_its_own(nominations: Nominator) -> None:
    """It moves with the first one and with the last one alone."""
    other, seen = make_pod("b"), [nominations.presence.version]
    steps: list[Callable[[], None]] = [
        lambda: nominations.add(other, "n2", pod_requests(other)),
        lambda: nominations.add(other, "n1", pod_requests(other)),
        lambda: nominations.remove("uid-b"),
        lambda: nominations.remove("uid-a"),
        lambda: nominations.remove("uid-a"),
        lambda: nominations.add(other, "n2", pod_requests(other)),
    ]
    for step in steps:
        step()
        seen.append(nominations.presence.version)
    moved = [now > before for before, now in itertools.pairwise(seen)]
    assert moved == [False, False, False, True, False, True]


def test_a_nomination_that_lapsed_stays_so(nominations: Nominator) -> None:
    """As long as the pod's status names that node; another one is kept for it, and so is this one
    when it is named anew.
    """
    shown = [nominated(POD, node) for node in ("n1", "n2")]
    nominations.lapse(POD.metadata.uid)
    for node, kept in ((0, ""), (0, ""), (1, "n2"), (0, "n1")):
        nominations.observe_status(shown[node], pod_requests(POD))
        assert nominations.nominated_node(POD.metadata.uid) == kept
    nominations.lapse(POD.metadata.uid)
    nominations.remove(POD.metadata.uid)
    nominations.lapse(POD.metadata.uid)  # nobody is there
    assert vars(nominations)["_lapsed"] == {}


def test_it_goes(nominations: Nominator) -> None:
    """Nothing is left of it; what is unknown is ignored."""
    nominations.remove("uid-a")
    nominations.remove("uid-a")
    assert ("uid-a" in nominations, list(nominations.nodes)) == (False, [])


def test_rows_change_with_what_is_promised_there(nominations: Nominator, nodes: NodeTable) -> None:
    """Both rows of a pod that is nominated to another one; a new state of it that asks for the same
    changes nothing.
    """
    reader = nodes.reader(frozenset({Aspect.NOMINATIONS}))
    assert reader.catch_up(100) is None  # the first time it is everything
    newer = msgspec.structs.replace(
        POD, metadata=msgspec.structs.replace(POD.metadata, resource_version="9")
    )
    nominations.add(newer, "n1", pod_requests(newer))
    assert rows(reader) == []
    assert [record.pod for record in nominations.nominated_pods("n1")] == [newer]
    larger = make_pod("a", cpu="2")
    nominations.add(larger, "n1", pod_requests(larger))
    assert rows(reader) == [nodes.row_of["n1"]]
    nominations.add(larger, "n2", pod_requests(larger))
    assert rows(reader) == [nodes.row_of["n1"], nodes.row_of["n2"]]
    nominations.remove("uid-a")
    assert rows(reader) == [nodes.row_of["n2"]]
    nominations.add(larger, "elsewhere", pod_requests(larger))


@pytest.mark.parametrize("come", ["assumed", "observed"])
def test_a_pod_that_has_a_node_is_not_nominated(come: str) -> None:
    """Its place is taken by itself then."""
    cache = Cache()
    cache.put_node(make_node("n1"))
    cache.nominations.add(POD, "n1", pod_requests(POD))
    if come == "assumed":
        cache.assume(POD, "n1", pod_requests(POD))
    else:
        cache.observe(make_pod("a", cpu="1", node="n1"), pod_requests(POD))
    assert len(cache.nominations) == 0


# ---- decisions and statuses ----------------------------------------------------------------------


def showing(node: str) -> Pod:
    """The pod with this node in its status."""
    return msgspec.structs.replace(
        POD, status=msgspec.structs.replace(POD.status, nominated_node_name=node)
    )


def read(nominations: Nominator, node: str) -> bool:
    """The watch shows the pod with this node in its status."""
    return nominations.observe_status(showing(node), pod_requests(POD))


def test_a_status_counts_where_nothing_was_decided() -> None:
    """Set by somebody else, moved, cleared; whether it changed is told."""
    them = Nominator(NodeTable())
    assert [read(them, node) for node in ("", "n1", "n1", "n2", "")] == [
        False,
        True,
        False,
        True,
        True,
    ]
    assert len(them) == 0


def test_a_decision_stands_until_the_status_says_it() -> None:
    """Older statuses, our own writes among them, come late and change nothing; once it was shown,
    others may change it.
    """
    them = Nominator(NodeTable())
    them.nominate(showing(""), "n1")
    them.nominate(showing(""), "n2")
    assert [
        (read(them, node), them.nominated_node("uid-a")) for node in ("", "n1", "n2", "n3")
    ] == [
        (False, "n2"),
        (False, "n2"),
        (False, "n2"),
        (True, "n3"),
    ]


def test_none_is_a_decision_too() -> None:
    """A nomination that was ended does not come back with an older status."""
    them = Nominator(NodeTable())
    read(them, "n1")
    them.nominate(showing("n1"), "")
    assert not read(them, "n1")
    assert them.nominated_node("uid-a") == ""
    assert not read(them, "")
    assert read(them, "n1")


def test_what_was_decided_of_a_pod_is_forgotten_with_it() -> None:
    """It was placed, and that came to nothing: its status counts again."""
    them = Nominator(NodeTable())
    them.nominate(showing(""), "n1")
    them.remove("uid-a", placed="n1")
    assert read(them, "n2")


class Cleared:
    """Remembers what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def nomination_cleared(self, pod: Pod, node: str) -> None:
        """Somebody may have the room now."""
        self.told.append(f"{pod.metadata.name} {node}")


def test_who_waits_for_the_room_is_told_when_it_is_free() -> None:
    """It moved, it was broken, the pod is gone or placed elsewhere; not when the pod has its place
    there.
    """
    cleared = Cleared()
    them = Nominator(NodeTable(), cleared)
    for node in ("n1", "n2", ""):
        them.nominate(POD, node)
    them.nominate(POD, "n3")
    them.remove("uid-a")
    them.nominate(POD, "n4")
    them.remove("uid-a", placed="n5")
    them.nominate(POD, "n6")
    them.remove("uid-a", placed="n6")
    assert cleared.told == ["a n1", "a n2", "a n3", "a n4"]


@given(
    st.lists(
        st.tuples(st.sampled_from(["decide", "write", "other"]), st.sampled_from(["", "n1", "n2"])),
        max_size=12,
    ),
    st.integers(0, 3),
)
def test_in_the_end_both_say_the_same(steps: list[tuple[str, str]], lag: int) -> None:
    """Whatever is decided, written and set by others, in whatever order, with a watch that is
    behind.
    """
    them, status, shown = Nominator(NodeTable()), [""], 0
    for step, node in steps:
        if step == "decide":
            them.nominate(showing(status[shown]), node)
        elif step == "write":
            status.append(them.nominated_node("uid-a"))
        else:
            status.append(node)
        while shown < len(status) - 1 - lag:
            shown += 1
            read(them, status[shown])
    for _ in range(2):  # what is seen last, and then what is written of it
        for each in status[shown + 1 :]:
            read(them, each)
        shown = len(status) - 1
        if them.nominated_node("uid-a") != status[-1]:
            status.append(them.nominated_node("uid-a"))
    assert them.nominated_node("uid-a") == status[-1] == status[shown]


def test_the_foremost_come_first_after_each_change(nodes: NodeTable) -> None:
    """By priority, and of equal ones who came first; what was sorted before a change is sorted anew
    after it.
    """
    nominations = Nominator(nodes)
    for name, priority in (("a", 1), ("b", 5), ("c", 1)):
        nominations.nominate(make_pod(name, cpu="1", priority=priority), "n1")
    assert [record.pod.metadata.name for record in nominations.by_priority()] == ["b", "a", "c"]
    nominations.nominate(make_pod("d", cpu="1", priority=9), "n2")
    nominations.remove("uid-b")
    assert [record.pod.metadata.name for record in nominations.by_priority()] == ["d", "a", "c"]


@pytest.mark.parametrize(("node", "kept"), [("n1", []), ("n2", ["a"])])
def test_what_may_be_taken_back_is_told_when_it_is_settled(node: str, kept: list[str]) -> None:
    """A pod that is tried keeps its room as long as it has its place elsewhere, and whenever it is
    taken back; who has come for good keeps none.
    """
    told: list[str] = []

    class Told:
        """Hears of nodes."""

        def nomination_cleared(self, pod: Pod, node: str) -> None:
            """This one."""
            told.append(node)

    cache = Cache(nominations=Told())
    cache.nominations.nominate(POD, "n1", held=True)
    before = cache.nominations.state("uid-a")
    cache.nominations.try_out("uid-a")
    for _ in range(2):
        cache.assume(POD, node, pod_requests(POD))
        cache.nominations.resume("uid-a", node)
        assert names_on(cache.nominations, "n1") == kept
        cache.forget("uid-a")
        cache.nominations.resume("uid-a")
        assert cache.nominations.state("uid-a") == before
    cache.assume(POD, node, pod_requests(POD))
    cache.nominations.resume("uid-a", node)
    assert told == []
    cache.nominations.settle("uid-a", node)
    assert (told, len(cache.nominations)) == (["n1"] if kept else [], 0)
    cache.forget("uid-a")
    cache.nominations.resume("uid-a")
    assert len(cache.nominations) == 0
