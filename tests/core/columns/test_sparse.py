"""Sparse amounts are what a table of all names and rows would say, and cost what is in use."""

from __future__ import annotations

import tracemalloc

import msgspec
import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from moorage.core.columns.cache import Cache
from moorage.core.columns.node_table import Rows
from moorage.core.columns.numbering import Numbering
from moorage.core.columns.requests import pod_requests
from moorage.core.columns.sparse import HAS, TAKEN, SparseAmounts
from moorage.core.objects import Pod, ResourceRequirements
from tests.builders import make_node, make_pod

ROWS = 50
NAMES = ["a", "b", "c"]
amounts = st.integers(-3, 3)
one_by_one = st.tuples(st.sampled_from([0, 1, 2, 3, ROWS - 1]), st.sampled_from([HAS, TAKEN]), st.sampled_from([-1, 1]))
at_once = st.lists(st.tuples(st.integers(0, ROWS - 1), amounts), max_size=60)


@example([("a", (0, HAS, 1)), ("a", (1, HAS, 1)), ("a", (1, TAKEN, 1)), ("a", (0, HAS, -1)), ("a", (2, HAS, 1))], [0, 1, 2])
@given(
    st.lists(st.tuples(st.sampled_from(NAMES), st.one_of(one_by_one, at_once)), max_size=30),
    st.lists(st.integers(0, ROWS - 1), max_size=80),
)
def test_all_ways_to_read_and_write(changes: list[tuple[str, tuple[int, int, int] | list[tuple[int, int]]]], asked: list[int]) -> None:
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
        questions: list[Rows] = [np.array(asked, np.intp), slice(0, ROWS), np.array(asked[:2], np.intp)]
        for some in questions:
            found = table.read(name, some, ROWS)
            assert (np.zeros((2, ROWS), np.int64)[:, some] if found is None else np.array(found)).tolist() == expected[:, some].tolist()
    for row in range(ROWS):
        assert table.on(row) == {name: tuple(model[name][:, row].tolist()) for name in NAMES if model[name][:, row].any()}
    assert len(table) == sum(expected.any() for expected in model.values())


@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["", "x", "y", "z"])), max_size=40))
def test_numbers_are_as_many_as_values_at_a_time(changes: list[tuple[int, str]]) -> None:
    """Each row has the number of its value; a value that nobody has is forgotten."""
    numbering, numbers, values = Numbering(""), [0] * 6, [""] * 6
    for row, value in changes:
        numbers[row], values[row] = numbering.swap(numbers[row], value), value
        assert [numbering.values[number] for number in numbers] == values
        assert {value for value in numbering.values if value} == {value for value in values if value}
        assert all(numbering.number(value) == number for value, number in zip(values, numbers, strict=True))
    assert len(numbering.values) <= 1 + 4


def naming(name: str, resources: int, node: str) -> Pod:
    """A pod that asks for as many resources."""
    pod = make_pod(name, node=node)
    requests: dict[str, str | int] = {f"made.up/{name}-{k}": "1" for k in range(resources)}
    (container,) = pod.spec.containers or ()
    container = msgspec.structs.replace(container, resources=ResourceRequirements(requests=requests))
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, containers=(container,)))


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
