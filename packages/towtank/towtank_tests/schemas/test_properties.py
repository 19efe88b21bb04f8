"""What holds for any JSON: no exception, and what has been pruned or given defaults once stays as
it is.
"""

from __future__ import annotations

import copy
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from towtank.model.schema_nodes import SchemaNode
from towtank.schemas import pruning, schema_parser
from towtank_tests.schemas.cases import SPEC, SPECS
from towtank_tests.schemas.test_recorded import SHAPE

POD: Final = schema_parser.builtin("v1", "Pod")
SCALARS: Final = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=5)
    | st.sampled_from(["1Gi", "a", "v1"])
)


def json_of(names: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    """Any JSON whose objects have fields of these names."""
    return st.recursive(
        SCALARS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4),
        max_leaves=12,
    )


WORDS: Final = st.sampled_from(
    ["a", "b", "spec", "metadata", "apiVersion", "kind", "unknown", "k", "p", "inner", "deep"]
)
SPECIFIED: Final = st.fixed_dictionaries(
    {},
    optional={
        name: st.sampled_from([*given, None]) | json_of(WORDS) for name, given in SPECS.items()
    },
)
OBJECTS: Final = st.fixed_dictionaries(
    {},
    optional={
        "spec": SPECIFIED | json_of(WORDS),
        "top": json_of(WORDS),
        "metadata": json_of(WORDS),
    },
)


def of_a_schema(node: SchemaNode, depth: int = 6) -> st.SearchStrategy[Any]:
    """Values that a schema may know, and a few that it does not."""
    if depth and node.type == "array" and node.items is not None:
        return st.lists(of_a_schema(node.items, depth - 1), max_size=2)
    if depth and node.type == "object" and node.properties:
        fields = sorted(node.properties)
        pairs = st.sampled_from(fields).flatmap(
            lambda name: st.tuples(st.just(name), of_a_schema(node.properties[name], depth - 1))
        )
        return st.lists(pairs | st.tuples(st.just("unknown"), SCALARS), max_size=5).map(dict)
    return json_of(WORDS)


def all_steps(body: dict[str, Any], node: SchemaNode) -> dict[str, Any]:
    """A copy, treated as a body that comes in is."""
    body = copy.deepcopy(body)
    pruning.prune(body, node)
    pruning.default(body, node)
    return body


@pytest.mark.parametrize("node", [SHAPE, POD], ids=["custom", "built in"])
@settings(suppress_health_check=[HealthCheck.too_slow])  # bodies of a Pod's schema are large
@given(data=st.data())
def test_twice_is_as_once(node: SchemaNode, data: st.DataObject) -> None:
    """Of pruning, and of defaults after it."""
    body = copy.deepcopy(data.draw(OBJECTS if node is SHAPE else of_a_schema(POD)))
    pruning.prune(body, node)
    pruned = copy.deepcopy(body)
    assert pruning.prune(body, node) == []
    assert body == pruned
    pruning.default(body, node)
    complete = copy.deepcopy(body)
    assert pruning.prune(body, node) == []
    pruning.default(body, node)
    assert body == complete


@given(OBJECTS)
@example({"metadata": []})
@example({"metadata": {"labels": "x"}, "spec": {"embedded": {"metadata": []}}})
def test_any_object_is_told_something_of_its_own_fields(body: dict[str, Any]) -> None:
    """Causes name fields that the schema knows, or none."""
    for cause in pruning.validate(all_steps(body, SHAPE), SHAPE, ""):
        field = cause.field.removeprefix("spec.").partition(".")[0].partition("[")[0]
        assert field in {*SPEC["properties"], "spec", "top", "<nil>"}
    pruning.mistyped(body, SHAPE)


@given(st.one_of(json_of(WORDS), of_a_schema(POD)))
def test_what_is_decoded_has_the_types_of_its_schema(body: Any) -> None:
    """What ``mistyped`` lets pass, ``validate`` finds of the right types: it checks them in its own
    way.
    """
    if pruning.mistyped(body, POD) is None and isinstance(body, dict):
        causes = pruning.validate(all_steps(body, POD), POD, "")
        assert [
            cause
            for cause in causes
            if cause.reason == "FieldValueTypeInvalid" and "quantity" not in cause.text
        ] == []
