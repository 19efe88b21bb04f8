"""Node pools: where a profile's pods may go, and whether two pools could have a node in common."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.api.node_pools import NodePool, may_meet, pool_of, stated_pool
from moorage.api.resolution import Resolver
from moorage.core.framework.registry import build_registry
from moorage.core.plugins.intree import INTREE, PRESETS
from tests.engine.worlds import a_body, a_config

RESOLVER = Resolver(build_registry(INTREE), PRESETS)
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def term(key: str, operator: str, *values: str) -> dict[str, Any]:
    """A requirement on a label, or on the node's name."""
    field = "matchFields" if key == "metadata.name" else "matchExpressions"
    return {
        field: [{"key": key, "operator": operator, **({"values": [*values]} if values else {})}]
    }


def added(*terms: Mapping[str, Any]) -> dict[str, Any]:
    """NodeAffinity's arguments."""
    return {"addedAffinity": {REQUIRED: {"nodeSelectorTerms": [*terms]}}}


def with_args(args: Mapping[str, Any]) -> dict[str, Any]:
    """A spec with these arguments of NodeAffinity."""
    return {"pluginConfig": [{"name": "NodeAffinity", "args": args}]}


def pool(*terms: Mapping[str, Any]) -> NodePool:
    """Of these terms."""
    return stated_pool(a_body("p", **with_args(added(*terms)))).pool({})


# ---- what a profile says -------------------------------------------------------------------------

GPUS = added(term("pool", "In", "gpu"))
OFF = {"disabled": [{"name": "NodeAffinity"}]}
NONE = {"disabled": [{"name": "*"}]}
ON = {"enabled": [{"name": "NodeAffinity"}]}
SPECS: dict[str, tuple[dict[str, Any], bool]] = {
    "nothing": ({}, False),
    "arguments": (with_args(GPUS), True),
    "no affinity": (with_args({}), False),
    "preferred alone": (
        with_args(
            {
                "addedAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {"weight": 1, "preference": term("pool", "In", "gpu")}
                    ]
                }
            }
        ),
        False,
    ),
    "by reference": (
        {"pluginConfig": [{"name": "NodeAffinity", "configRef": {"name": "gpus"}}]},
        True,
    ),
    "off everywhere": ({**with_args(GPUS), "plugins": {"multiPoint": OFF}}, False),
    "off as a filter": ({**with_args(GPUS), "plugins": {"filter": OFF}}, False),
    "back as a filter": (
        {**with_args(GPUS), "plugins": {"multiPoint": OFF, "filter": ON, "preFilter": ON}},
        True,
    ),
    "off elsewhere": ({**with_args(GPUS), "plugins": {"score": OFF}}, True),
    "none but it": ({**with_args(GPUS), "plugins": {"filter": {**NONE, **ON}}}, True),
}


@pytest.mark.parametrize("case", SPECS)
def test_a_profile_has_a_pool(case: str) -> None:
    """Its spec alone says the same as the revision that is made of it."""
    spec, has_pool = SPECS[case]
    configs = {"gpus": a_config("gpus", plugin="NodeAffinity", **GPUS)}
    want = pool(term("pool", "In", "gpu")) if has_pool else None
    body = a_body("p", **spec)
    assert stated_pool(body).pool(configs) == want
    if case not in ("off everywhere", "none but it"):  # these lack what they need by themselves
        assert pool_of(RESOLVER(body, configs).revision) == want


UNREADABLE: dict[str, dict[str, Any]] = {
    "arguments": with_args({"addedAffinity": 3}),
    "a term": with_args(added(term("a b", "Exists"))),
    "the spec": {"pluginConfig": 3},
    "of a later release": {**with_args(GPUS), "novelty": True},
    "no such config": {"pluginConfig": [{"name": "NodeAffinity", "configRef": {"name": "none"}}]},
    "another's config": {"pluginConfig": [{"name": "NodeAffinity", "configRef": {"name": "fit"}}]},
    "a bad config": {"pluginConfig": [{"name": "NodeAffinity", "configRef": {"name": "bad"}}]},
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_what_cannot_be_read_is_all_nodes(case: str) -> None:
    """So it is told rather than overlooked."""
    configs = {"fit": a_config("fit"), "bad": a_config("bad", plugin="NodeAffinity") | {"spec": 3}}
    assert stated_pool(a_body("p", **UNREADABLE[case])).pool(configs) is None


# ---- two pools -----------------------------------------------------------------------------------

NAMES, VALUES = ("n1", "n2"), ("1", "2")
NODES = [
    (name, {key: value for key, value in zip("ab", values, strict=True) if value is not None})
    for name in (*NAMES, "another")
    for values in itertools.product((None, "1", "2", "3", "another"), repeat=2)
]
"""All nodes that terms of these names, keys and values can tell apart."""
TERMS = st.one_of(
    st.builds(
        term, st.sampled_from("ab"), st.sampled_from(("In", "NotIn", "Gt")), st.sampled_from(VALUES)
    ),
    st.builds(term, st.sampled_from("ab"), st.sampled_from(("Exists", "DoesNotExist"))),
    st.builds(
        term, st.just("metadata.name"), st.sampled_from(("In", "NotIn")), st.sampled_from(NAMES)
    ),
)


def both(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """A term that requires both."""
    return {key: [*one.get(key, ()), *other.get(key, ())] for key in {*one, *other}}


POOLS = st.none() | st.lists(st.builds(both, TERMS, TERMS), max_size=2).map(lambda ts: pool(*ts))


def nodes_in(pool: NodePool) -> set[int]:
    """Places in NODES."""
    return {
        i
        for i, (name, labels) in enumerate(NODES)
        if pool is None or any(one.matches(labels, name) for one in pool)
    }


@given(POOLS, POOLS)
def test_two_pools_meet_where_a_node_is_in_both(one: NodePool, other: NodePool) -> None:
    """As trying all nodes says."""
    want = not nodes_in(one).isdisjoint(nodes_in(other))
    assert may_meet(one, other) == want
    assert may_meet(other, one) == want
