"""Gangs: as many as must are placed as they would be one after another, or everything is as
before.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.core.columns.cache import Cache
from moorage.core.cycle import gang_cycle
from moorage.core.cycle.context import CycleContext, Diagnosis, ScheduleResult
from moorage.core.cycle.cycle import assume_and_reserve, decide
from moorage.core.cycle.gang_cycle import Gang, PlaceFn, place_gang
from moorage.core.framework.interfaces import ReserveResult
from moorage.core.framework.registry import build_registry
from moorage.core.framework.revisions import RequestedProfile, resolve
from moorage.core.framework.status import SUCCESS, Code
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod
from moorage.core.plugins.intree import INTREE, PRESETS
from moorage.core.pods.requests import pod_requests
from tests.builders import make_node, make_pod
from tests.core import companion_strategies as companions

REVISION = resolve(RequestedProfile("test"), build_registry(INTREE), PRESETS)
TRIO = Gang("default/g", needed=3, min_member=3)


def fits(pod: Pod, undone: list[str] | None = None) -> ScheduleResult:
    """A placement that says when it is undone."""
    undo = None if undone is None else lambda: undone.append(pod.metadata.name)
    return ScheduleResult(
        pod, "n1", REVISION, 1, reservations={"Test": ReserveResult(SUCCESS, unreserve=undo)}
    )


def refused(pod: Pod, plugin: str, code: Code = Code.UNSCHEDULABLE) -> Diagnosis:
    """A refusal, or a fault."""
    return Diagnosis(
        pod=pod,
        revision=REVISION,
        code=code,
        message=f"no {plugin}.",
        unschedulable_plugins=frozenset({plugin} if code is not Code.ERROR else ()),
    )


def pods(names: str) -> list[Pod]:
    """Pods of these names."""
    return [make_pod(name) for name in names]


def place_together(
    gang: Gang, waiting: Sequence[Pod], place: PlaceFn, context: CycleContext | None = None
) -> list[ScheduleResult | Diagnosis]:
    """All of it at once."""
    found: list[list[ScheduleResult | Diagnosis]] = []

    def whole() -> Generator[bool, bool | None, None]:
        found.append(
            (
                yield from place_gang(
                    gang, waiting, place, context or CycleContext(Cache()), lambda: ""
                )
            )
        )

    assert all(whole())
    return found[0]


def run(
    gang: Gang, outcomes: dict[str, str], undone: list[str] | None = None
) -> list[ScheduleResult | Diagnosis]:
    """Place pods that fit, or are refused by the plugin named; "!" stands for a fault."""

    def place(pod: Pod) -> ScheduleResult | Diagnosis:
        plugin = outcomes[pod.metadata.name]
        return (
            refused(
                pod, plugin, Code.ERROR if plugin == "!" else Code.UNSCHEDULABLE_AND_UNRESOLVABLE
            )
            if plugin
            else fits(pod, undone)
        )

    return place_together(gang, pods("".join(outcomes)), place)


def test_enough_are_placed() -> None:
    """They stay; those who do not fit are told their own reason alone."""
    undone: list[str] = []
    a, b, c, d = run(TRIO, {"a": "", "b": "Size", "c": "", "d": ""}, undone)
    assert [type(one) for one in (a, b, c, d)] == [
        ScheduleResult,
        Diagnosis,
        ScheduleResult,
        ScheduleResult,
    ]
    assert isinstance(b, Diagnosis)
    assert (b.message, b.unschedulable_plugins, undone) == ("no Size.", {"Size"}, [])


def test_too_few_fit() -> None:
    """All is taken back, the last first; each is told why, and whatever may free one of them frees
    all of them.
    """
    undone: list[str] = []
    outcomes = run(TRIO, {"a": "", "b": "Size", "c": "", "d": "Ports"}, undone)
    assert undone == ["c", "a"]
    head = 'pod group "default/g": 2 of 4 waiting members fit, 3 must (minMember 3)'
    waits = f"{head}; this one fits and waits for others such as 'b': no Size."
    assert [outcome.message for outcome in outcomes if isinstance(outcome, Diagnosis)] == [
        waits,
        f"{head}: no Size.",
        waits,
        f"{head}: no Ports.",
    ]
    assert {
        (outcome.code, outcome.unschedulable_plugins)
        for outcome in outcomes
        if isinstance(outcome, Diagnosis)
    } == {
        (Code.UNSCHEDULABLE, frozenset({"Size", "Ports"})),
        (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, frozenset({"Size", "Ports"})),
    }


def test_a_fault_is_no_refusal() -> None:
    """Who had it is tried again by itself; where nobody was refused all are."""
    a, b, c = run(TRIO, {"a": "", "b": "!", "c": "Size"})
    assert [one.unschedulable_plugins for one in (a, b, c) if isinstance(one, Diagnosis)] == [
        {"Size"},
        set(),
        {"Size"},
    ]
    a, b, c = run(TRIO, {"a": "", "b": "!", "c": ""})
    assert [one.unschedulable_plugins for one in (a, b, c) if isinstance(one, Diagnosis)] == [
        set(),
        set(),
        set(),
    ]


def test_a_note_ends_every_message() -> None:
    """As it says something of them all."""
    outcomes = run(Gang("default/g", 2, 2, " Late."), {"a": "", "b": "Size"})
    assert all(
        outcome.message.endswith(" Late.") for outcome in outcomes if isinstance(outcome, Diagnosis)
    )


def test_what_breaks_in_between_leaves_nothing_behind() -> None:
    """Whoever was placed before it is taken back."""
    undone: list[str] = []

    def place(pod: Pod) -> ScheduleResult | Diagnosis:
        if pod.metadata.name == "c":
            raise ZeroDivisionError
        return fits(pod, undone)

    with pytest.raises(ZeroDivisionError):
        place_together(TRIO, pods("abc"), place)
    assert undone == ["b", "a"]


@pytest.mark.parametrize("shown", ["", "n1", "n2"])
@pytest.mark.parametrize("held", [True, False])
def test_what_is_taken_back_in_between_keeps_its_nomination(held: bool, shown: str) -> None:
    """Whatever its status says by then; one that is gone meanwhile, or going, has none."""
    tried = CycleContext(Cache())
    cache = tried.cache
    for name in ("n1", "n2"):
        cache.put_node(make_node(name))
    waiting = pods("abc")
    for pod in waiting:
        cache.observe_waiting(pod, pod_requests(pod))
    for pod in waiting:
        cache.nominations.nominate(pod, "n1", held)
    placing = place_gang(
        TRIO,
        waiting,
        lambda pod: gang_cycle.place_member(pod, REVISION, tried),
        tried,
        lambda: "",
    )
    assert [next(placing) for _ in waiting] == [True] * 3
    assert len(cache.nominations) == 0
    status = msgspec.structs.replace(waiting[0].status, nominated_node_name=shown)
    cache.observe_waiting(
        msgspec.structs.replace(waiting[0], status=status), pod_requests(waiting[0])
    )
    cache.waiting.pop("uid-b")
    going = msgspec.structs.replace(waiting[2].metadata, deletion_timestamp="2026-01-01T00:00:00Z")
    cache.observe_waiting(
        msgspec.structs.replace(waiting[2], metadata=going), pod_requests(waiting[2])
    )
    placing.close()
    (record,) = cache.nominations
    assert (record.pod.metadata.name, record.node, record.held) == ("a", "n1", held)
    assert cache.assumed == 0
    assert list(cache.nominations.unwritten) == ([] if shown == "n1" else ["uid-a"])


# ---- against one after another -------------------------------------------------------------------


def context(nodes: Sequence[Node], there: Sequence[Pod]) -> CycleContext:
    """One that has seen nothing but this."""
    cache = Cache()
    for node in nodes:
        cache.put_node(node)
    for pod in there:
        cache.observe(pod, pod_requests(pod))
    return CycleContext(cache, 7)


def brief(outcome: ScheduleResult | Diagnosis) -> tuple[Any, ...]:
    """All that counts of an outcome."""
    return (
        (outcome.node, outcome.score)
        if isinstance(outcome, ScheduleResult)
        else (outcome.message, outcome.unschedulable_plugins)
    )


members = st.lists(st.tuples(st.integers(0, 3), companions.pod_bodies), min_size=2, max_size=5)


@settings(max_examples=60)
@given(
    st.lists(companions.node_bodies, min_size=1, max_size=4),
    companions.pod_specs,
    st.lists(st.tuples(st.integers(0, 3), companions.pod_bodies, st.integers(0, 3)), max_size=4),
    members,
    st.integers(1, 4),
)
def test_all_or_as_before(nodes: Any, specs: Any, there: Any, gang: Any, needed: int) -> None:
    """Members see each other as pods that are placed one by one do; if that does not do, nobody can
    tell that it was tried.
    """
    cluster = [companions.node(f"n{i}", body) for i, body in enumerate(nodes)]
    others = [
        companions.pod(f"p{i}", specs[which], body, f"n{node}")
        for i, (which, body, node) in enumerate(there)
    ]
    waiting = [
        companions.pod(f"m{i}", specs[which], {**body, "deletionTimestamp": None})
        for i, (which, body) in enumerate(gang)
    ]
    needed = min(needed, len(waiting))
    tried, naive = context(cluster, others), context(cluster, others)

    outcomes = place_together(
        Gang("a/g", needed, needed),
        waiting,
        lambda pod: gang_cycle.place_member(pod, REVISION, tried),
        tried,
    )

    nodes_alone: list[str] = []
    for pod in waiting:
        decision = decide(pod, REVISION, naive)
        committed = (
            assume_and_reserve(decision, naive)
            if isinstance(decision, ScheduleResult)
            else decision
        )
        nodes_alone.append(committed.node if isinstance(committed, ScheduleResult) else "")
    if sum(map(bool, nodes_alone)) >= needed:
        assert [
            outcome.node if isinstance(outcome, ScheduleResult) else "" for outcome in outcomes
        ] == nodes_alone
    else:
        assert not any(isinstance(outcome, ScheduleResult) for outcome in outcomes)
        assert tried.cache.assumed == 0
        fresh = context(cluster, others)
        assert [brief(decide(pod, REVISION, tried)) for pod in waiting] == [
            brief(decide(pod, REVISION, fresh)) for pod in waiting
        ]
