"""Room that is held for a pod group is kept from younger pods of its priority, though older ones
have the same template.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import msgspec
import pytest

from moorage.core.columns.cache import Cache
from moorage.core.cycle.context import CycleContext
from moorage.core.cycle.cycle import run_filters
from moorage.core.framework.evaluation.evaluation import Evaluation
from moorage.core.framework.registry import build_registry
from moorage.core.framework.revisions import RequestedProfile, resolve
from moorage.core.objects.pods import Pod, PodAnnotations
from moorage.core.plugins.intree import INTREE, PRESETS
from tests.builders import make_node, make_pod

REVISION = resolve(RequestedProfile("test"), build_registry(INTREE), PRESETS)
POD = make_pod("x", cpu="3")


def pod(name: str, second: int, group: str = "") -> Pod:
    """A pod of the one template; annotations are not in it."""
    meta = msgspec.structs.replace(
        POD.metadata,
        name=name,
        uid=f"uid-{name}",
        annotations=PodAnnotations(group_name=group),
        creation_timestamp=f"2026-01-01T00:00:{second:02}Z",
    )
    return msgspec.structs.replace(POD, metadata=meta)


OLDER, YOUNGER, SIBLING = pod("older", 3), pod("younger", 7), pod("sibling", 7, "g")


def fits(waiting: Pod, context: CycleContext) -> bool:
    """Whether a node takes it."""
    evaluation = run_filters(waiting, REVISION, context)
    return isinstance(evaluation, Evaluation) and bool(evaluation.fits)


@pytest.mark.parametrize(
    "order",
    list(itertools.permutations((OLDER, YOUNGER, SIBLING))),
    ids=lambda pods: pods[0].metadata.name,
)
def test_age_and_group_decide_in_any_order(order: Sequence[Pod]) -> None:
    """Each hears its own answer, whoever was asked before it; and all fit once nothing is held."""
    cache = Cache()
    cache.put_node(make_node("n", cpu="4"))
    context = CycleContext(cache)
    assert all(fits(one, context) for one in order)
    member = pod("member", 5, "g")
    cache.nominations.nominate(member, "n", held=True)
    assert {one.metadata.name for one in order if fits(one, context)} == {"older", "sibling"}
    cache.nominations.remove(member.metadata.uid)
    assert all(fits(one, context) for one in order)


def test_a_held_pod_that_leaves_its_group() -> None:
    """It is an own pod from then on, also for the one that was its sibling and stands back now."""
    cache = Cache()
    cache.put_node(make_node("n", cpu="4"))
    context = CycleContext(cache)
    cache.nominations.nominate(pod("member", 5, "g"), "n", held=True)
    assert fits(SIBLING, context)
    cache.nominations.nominate(pod("member", 5), "n", held=True)
    assert not fits(SIBLING, context)


def test_it_is_the_age_that_counts_when_some_of_what_is_held_goes() -> None:
    """Who stood back for the older of two members does not take over what was said of the other."""
    cache = Cache()
    context = CycleContext(cache)
    for name, second in (("old", 3), ("young", 7)):
        cache.put_node(make_node(f"n-{name}", cpu="4"))
        cache.nominations.nominate(pod(name, second, "g"), f"n-{name}", held=True)
    middle, last = pod("middle", 5), pod("last", 9)
    assert [fits(one, context) for one in (middle, last)] == [True, False]
    cache.remove_node("n-old")
    cache.nominations.remove("uid-old")
    assert [fits(one, context) for one in (middle, last)] == [True, False]
    cache.nominations.remove("uid-young")
    assert [fits(one, context) for one in (middle, last)] == [True, True]
