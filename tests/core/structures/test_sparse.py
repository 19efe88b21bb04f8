"""Sparse amounts are what a table of all names and rows would say, and cost what is in use."""

from __future__ import annotations

import tracemalloc

import msgspec
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from moorage.core.columns.cache import Cache
from moorage.core.columns.nodes.node_table import Rows
from moorage.core.objects.nodes import NodeStatus
from moorage.core.objects.pods import Pod, ResourceRequirements
from moorage.core.pods.requests import Requests, pod_requests
from moorage.core.structures.numbering import Numbering
from moorage.core.structures.sparse import HAS, TAKEN, SparseAmounts
from tests.builders import make_node, make_pod

ROWS = 50
NAMES = ["a", "b", "c"]
amounts = st.integers(-3, 3)
one_by_one = st.tuples(
    st.sampled_from([0, 1, 2, 3, ROWS - 1]), st.sampled_from([HAS, TAKEN]), st.sampled_from([-1, 1])
)
at_once = st.lists(st.tuples(st.integers(0, ROWS - 1), amounts), max_size=60)


@example(
    [
        ("a", (0, HAS, 1)),
        ("a", (1, HAS, 1)),
        ("a", (1, TAKEN, 1)),
        ("a", (0, HAS, -1)),
        ("a", (2, HAS, 1)),
    ],
    [0, 1, 2],
)
@given(
    st.lists(st.tuples(st.sampled_from(NAMES), st.one_of(one_by_one, at_once)), max_size=30),
    st.lists(st.integers(0, ROWS - 1), max_size=80),
)
def test_all_ways_to_read_and_write(
    changes: list[tuple[str, tuple[int, int, int] | list[tuple[int, int]]]], asked: list[int]
) -> None:
    """One by one and many at a time, for a few rows, many or all."""
    table, model = SparseAmounts(), {name: np.zeros((2, ROWS), np.int64) for name in NAMES}
    for name, change in changes:
        if isinstance(change, tuple):
            row, which, amount = change
            table.charge(row, name, which, amount, 1)
            model[name][which, row] += amount
        else:
            rows, added = (np.array([one[i] for one in change], np.int64) for i in (0, 1))
            table.charge_many(name, rows, added, ROWS)
            np.add.at(model[name][TAKEN], rows, added)
    for name, expected in model.items():
        assert (name in table) == bool(expected.any())
        assert table.anybody_has(name) == bool(expected[HAS].any())
        questions: list[Rows] = [
            np.array(asked, np.intp),
            slice(0, ROWS),
            np.array(asked[:2], np.intp),
        ]
        for some in questions:
            found = table.read(name, some, ROWS)
            assert (
                np.zeros((2, ROWS), np.int64)[:, some] if found is None else np.array(found)
            ).tolist() == expected[:, some].tolist()
    for row in range(ROWS):
        assert table.on(row) == {
            name: tuple(model[name][:, row].tolist()) for name in NAMES if model[name][:, row].any()
        }
    assert len(table) == sum(expected.any() for expected in model.values())


lumps = st.tuples(st.integers(0, 3), st.dictionaries(st.sampled_from(NAMES), st.integers(1, 3)))


@given(
    st.lists(lumps, max_size=6),
    st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from(NAMES), st.sampled_from([HAS, TAKEN])),
        max_size=6,
    ),
)
def test_a_lump_is_what_its_names_are_one_by_one(
    charged: list[tuple[int, dict[str, int]]], single: list[tuple[int, str, int]]
) -> None:
    """Whoever asks sees no difference; and when all is taken back, nothing is left."""
    lumped, plain = SparseAmounts(), SparseAmounts()
    for row, name, which in single:
        for table in (lumped, plain):
            table.charge(row, name, which, 5, 1)
    for row, lump in charged:
        lumped.charge_lump(row, dict(lump), 1)
        for name, amount in lump.items():
            plain.charge(row, name, TAKEN, amount, 1)
    for name in NAMES:
        assert (name in lumped, lumped.anybody_has(name)) == (
            name in plain,
            plain.anybody_has(name),
        )
        for rows in (slice(0, 4), np.array([2, 0], np.intp)):
            one, other = lumped.read(name, rows, 4), plain.read(name, rows, 4)
            assert (one is None) == (other is None)
            assert one is None or other is None or np.array_equal(one, other)
    assert [lumped.on(row) for row in range(4)] == [plain.on(row) for row in range(4)]
    for row, lump in charged:
        lumped.charge_lump(row, dict(lump), -1)
    assert not lumped._lumps


@pytest.mark.parametrize("names", [1000, 1001])
def test_many_resources_of_one_pod_count(names: int) -> None:
    """Also on a node that comes to have one of them later; and nothing is left when the pod has
    gone.
    """
    cache = Cache()
    cache.put_node(make_node("n"))
    requests = Requests(
        1,
        2,
        1,
        2,
        (("ephemeral-storage", 7), *((f"example.com/r{i:05d}", 3) for i in range(names - 1))),
    )
    cache.observe(make_pod("p", node="n"), requests)
    node = make_node("n")
    cache.put_node(
        msgspec.structs.replace(
            node, status=NodeStatus({**(node.status.allocatable or {}), "example.com/r00005": "4"})
        )
    )
    assert cache.nodes.amounts_at("example.com/r00005", 0) == (4, 3)
    assert cache.nodes.amounts_at("ephemeral-storage", 0) == (0, 7)
    cache.remove("uid-p")
    assert cache.nodes.amounts_on(0)["example.com/r00005"] == (4, 0)
    assert cache.nodes.amounts_at("ephemeral-storage", 0) == (0, 0)
    assert len(cache.nodes.resources) == 1


@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["", "x", "y", "z"])), max_size=40))
def test_numbers_are_as_many_as_values_at_a_time(changes: list[tuple[int, str]]) -> None:
    """Each row has the number of its value; a value that nobody has is forgotten."""
    numbering, numbers, values = Numbering(""), [0] * 6, [""] * 6
    for row, value in changes:
        numbers[row], values[row] = numbering.swap(numbers[row], value), value
        assert [numbering.values[number] for number in numbers] == values
        assert {value for value in numbering.values if value} == {
            value for value in values if value
        }
        assert all(
            numbering.number(value) == number for value, number in zip(values, numbers, strict=True)
        )
    assert len(numbering.values) <= 1 + 4


def naming(name: str, resources: int, node: str) -> Pod:
    """A pod that asks for as many resources."""
    pod = make_pod(name, node=node)
    requests: dict[str, str | int] = {f"made.up/{name}-{k}": "1" for k in range(resources)}
    (container,) = pod.spec.containers or ()
    container = msgspec.structs.replace(
        container, resources=ResourceRequirements(requests=requests)
    )
    return msgspec.structs.replace(
        pod, spec=msgspec.structs.replace(pod.spec, containers=(container,))
    )


def test_resource_names_cost_what_is_in_use() -> None:
    """Thousands of them on one node of a thousand; and nothing when their pod is gone."""
    cache, many = Cache(), 10_000
    for i in range(1000):
        cache.put_node(make_node(f"n{i}"))
    cache.observe(pod := naming("warm", 10, "n1"), pod_requests(pod))
    tracemalloc.start()
    try:
        pod = naming("odd", many, "n2")
        requests = pod_requests(pod)
        pod_and_requests, _ = tracemalloc.get_traced_memory()
        cache.observe(pod, requests)
        with_it, _ = tracemalloc.get_traced_memory()
        cache.remove("uid-odd")
        left, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert with_it - pod_and_requests < many * 1024
    assert left - pod_and_requests < 2**20
