"""Patches, held against what a kube-apiserver made of them, and against laws."""

from __future__ import annotations

import contextlib
import copy
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from towtank.model.api_errors import ApiError
from towtank.model.kinds import APIResource, Body
from towtank.patches import (
    APPLY,
    JSON,
    MERGE,
    STRATEGIC,
    change,
    json_patch,
    merge_patch,
    strategic,
)
from towtank_tests.owned_kinds import DEPLOYMENT, THINGS

RECORDED: dict[str, Any] = json.loads((Path(__file__).parent / "recorded_patches.json").read_text())
"""Rows of patch, code, and what became of the object, or the message. Of a Deployment: the places
that changed.
"""
CONFIG_MAP: Body = {
    "metadata": {"labels": {"x": "1"}, "finalizers": ["a/b", "c/d"]},
    "data": {"k": "v"},
}
DEPLOYMENTS = APIResource("apps", "v1", "deployments", "Deployment", schema=DEPLOYMENT)

SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "name"])
NAMES = st.sampled_from(
    ["a", "b", "c", "name", "metadata", "spec", "containers", "finalizers", "$patch", "$retainKeys"]
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=12,
)
BODIES = st.dictionaries(NAMES, VALUES, max_size=4)
WITHOUT_NULLS = st.recursive(
    st.booleans() | st.integers(-3, 3) | st.text(max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=12,
)
TOKENS = st.sampled_from(
    ["a", "b", "name", "0", "1", "-1", "-", "01", "x", "", "~0", "~1", "~", "metadata"]
)
POINTERS = st.lists(TOKENS, max_size=4).map(
    lambda tokens: "".join(f"/{token}" for token in tokens)
) | st.just("a")
OPERATIONS = st.fixed_dictionaries(
    {"op": st.sampled_from(["add", "remove", "replace", "test", "move", "copy", "frob"])},
    optional={"path": POINTERS, "from": POINTERS, "value": VALUES},
)


def outcome(patching: Callable[[], Body]) -> tuple[int, Any]:
    """The code, and the new body or the message."""
    try:
        return 200, patching()
    except ApiError as problem:
        return problem.code, problem.message


def tidied(value: Any) -> Any:
    """Without what a decoder drops: nulls, and what is empty."""
    if isinstance(value, dict):
        return {
            name: tidied(child)
            for name, child in value.items()
            if tidied(child) not in (None, {}, [])
        }
    return [tidied(item) for item in value] if isinstance(value, list) else value


def written(value: Any) -> Any:
    """As strings are decoded: null is an empty one."""
    if isinstance(value, dict):
        return {name: written(child) for name, child in value.items()}
    return "" if value is None else value


def changed(body: Body, places: list[Any]) -> Body:
    """The body with what was recorded at these places."""
    new = copy.deepcopy(body)
    for path, value in places:
        where = new
        for name in path[:-1]:
            where = where.setdefault(name, {})
        where[path[-1]] = value
    return tidied(new)  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("patch", "code", "expected"), RECORDED["strategic"], ids=lambda value: json.dumps(value)[:60]
)
def test_a_strategic_patch_does_what_an_api_server_did(
    patch: Any, code: int, expected: Any
) -> None:
    """As recorded, but for names of Go's types in messages, and for 400 in place of 500: it is the
    patch that is wrong.
    """
    old = RECORDED["deployment"]
    before = copy.deepcopy((old, patch))
    answered, new = outcome(lambda: strategic(old, patch, DEPLOYMENT))
    assert answered == (400 if code == 500 else code)
    if code == 200:
        assert tidied(without_unknown(new)) == changed(old, expected)
    else:
        assert new[:20] == expected[:20]
    assert (old, patch) == before


def without_unknown(body: Body) -> Body:
    """Without what DEPLOYMENT does not know, as `decoded` leaves it."""
    known = {name: value for name, value in body.items() if name in DEPLOYMENT.properties}
    known["spec"] = {
        name: value
        for name, value in known["spec"].items()
        if name in ("replicas", "strategy", "template")
    }
    tolerations = known["spec"]["template"]["spec"].get("tolerations", [])
    known["spec"]["template"]["spec"] |= {
        "tolerations": [{"key": toleration["key"]} for toleration in tolerations]
    }
    return known


@pytest.mark.parametrize(
    ("patch", "code", "expected"), RECORDED["json"], ids=lambda value: json.dumps(value)[:60]
)
def test_a_json_patch_does_what_an_api_server_did(patch: Any, code: int, expected: Any) -> None:
    """As recorded, with its words."""
    before = copy.deepcopy((CONFIG_MAP, patch))
    body = {"apiVersion": "v1", **copy.deepcopy(CONFIG_MAP)}
    answered, new = outcome(lambda: json_patch(body, patch))
    assert answered == code
    if code == 200:
        assert tidied(written({"metadata": new["metadata"], "data": new.get("data")})) == tidied(
            expected
        )
    else:
        assert new == expected
    assert ({name: body[name] for name in CONFIG_MAP}, patch) == before


def test_a_json_patch_has_a_limit() -> None:
    """Of operations."""
    patch = [{"op": "test", "path": "/data/k", "value": "v"}] * 10_001
    assert json_patch(CONFIG_MAP, patch[1:]) == CONFIG_MAP
    with pytest.raises(ApiError) as refused:
        json_patch(CONFIG_MAP, patch)
    assert refused.value.code == 413
    assert refused.value.message == (
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, "
        "got 10001"
    )


@pytest.mark.parametrize("times", [50, 3000])
def test_a_document_cannot_be_copied_into_itself_for_ever(times: int) -> None:
    """Neither so that it doubles, nor so that it gets ever deeper."""
    doubling = [
        {"op": "copy", "from": "/data", "path": f"/data/{name}"} for name in "xy" * (times // 2)
    ]
    deepening = [{"op": "copy", "from": "/data", "path": "/data/x"}] * times
    with pytest.raises(ApiError) as refused:
        json_patch(CONFIG_MAP, doubling if times == 50 else deepening)
    assert refused.value.code == 422


@pytest.mark.parametrize(
    ("patch", "text"),
    [(5, "number"), ([], "array"), ("a", "string"), (True, "bool"), (None, "Invalid JSON Patch")],
)
def test_a_merge_patch_is_an_object(patch: Any, text: str) -> None:
    """Nothing else merges with an object."""
    with pytest.raises(ApiError, match=text) as refused:
        merge_patch(CONFIG_MAP, patch)
    assert refused.value.code == 400


def test_the_media_type_chooses() -> None:
    """Each does what its name says."""
    assert change(MERGE, {"data": None}, THINGS)(CONFIG_MAP) == {"metadata": CONFIG_MAP["metadata"]}
    assert change(JSON, [{"op": "remove", "path": "/data"}], THINGS)(CONFIG_MAP) == {
        "metadata": CONFIG_MAP["metadata"]
    }
    finalizers = change(STRATEGIC, {"metadata": {"finalizers": ["e/f"]}}, DEPLOYMENTS)(CONFIG_MAP)[
        "metadata"
    ]["finalizers"]
    assert finalizers == ["e/f", "a/b", "c/d"]


@pytest.mark.parametrize("directive", ["replace", "delete", "merge", "shake"])
def test_a_directive_in_an_object_that_is_not_there_makes_none(directive: str) -> None:
    """Recorded of a kube-apiserver: whatever the directive and wherever the object."""
    directed = {"$patch": directive, "q": "1"}
    old = {"metadata": {"name": "a"}, "spec": {"replicas": 1}}
    assert strategic(old, {"metadata": {"labels": directed}}, DEPLOYMENT) == old
    new = strategic(old, {"spec": {"template": {"metadata": {"labels": directed}}}}, DEPLOYMENT)
    assert new["spec"] == {"replicas": 1, "template": {"metadata": {}}}
    assert strategic(
        {"metadata": {"labels": {"a": "b"}}},
        {"metadata": {"labels": {"$patch": "replace", "q": "1"}}},
        DEPLOYMENT,
    ) == {"metadata": {"labels": {"q": "1"}}}


def test_many_primitives_are_deleted_soon() -> None:
    """Each of them is looked up, not compared with all others; 1 is neither true nor "1"."""
    many = [str(number) for number in range(15_000)]
    start = time.process_time()
    new = strategic(
        {"metadata": {"finalizers": [*many, 1, True]}},
        {"metadata": {"$deleteFromPrimitiveList/finalizers": [*many, 1]}},
        DEPLOYMENT,
    )
    assert time.process_time() - start < 1
    assert new["metadata"]["finalizers"] == [True]


def test_custom_resources_have_no_strategic_patches() -> None:
    """With the API server's words."""
    with pytest.raises(ApiError) as refused:
        change(STRATEGIC, {}, THINGS)
    accepted = f"{JSON}, {MERGE}, {APPLY}"
    assert refused.value.code == 415
    assert refused.value.message == (
        f"the body of the request was in an unknown format - accepted media types include: "
        f"{accepted}"
    )


@given(BODIES, BODIES)
def test_a_merge_patch_is_in_force_after_it_was_applied(old: Body, patch: Body) -> None:
    """Once more changes nothing, and what it is made of stays as it is."""
    before = copy.deepcopy((old, patch))
    new = merge_patch(old, patch)
    assert merge_patch(new, patch) == new
    assert (old, patch) == before


@given(BODIES, st.dictionaries(NAMES, WITHOUT_NULLS, max_size=4))
def test_the_difference_as_a_merge_patch_leads_from_one_body_to_the_other(
    old: Body, new: Body
) -> None:
    """Whatever they are, unless there are nulls."""
    assert merge_patch(old, difference(old, new)) == new


def difference(old: Body, new: Body) -> Body:
    """The merge patch that leads from old to new."""
    patch: Body = {name: None for name in old if name not in new}
    for name, value in new.items():
        before = old.get(name)
        if isinstance(value, dict) and isinstance(before, dict):
            patch[name] = difference(before, value)
        elif (
            name not in old
            or before != value
            or isinstance(value, bool) != isinstance(before, bool)
        ):
            patch[name] = value
    return patch


@given(BODIES, BODIES)
def test_a_strategic_patch_changes_nothing_in_place(old: Body, patch: Body) -> None:
    """Neither the body nor the patch, done or refused."""
    before = copy.deepcopy((old, patch))
    with contextlib.suppress(ApiError):
        strategic(old, patch, DEPLOYMENT)
    assert (old, patch) == before


@given(BODIES)
def test_an_empty_patch_changes_nothing(old: Body) -> None:
    """Of any kind."""
    assert strategic(old, {}, DEPLOYMENT) == merge_patch(old, {}) == json_patch(old, []) == old


@given(BODIES, st.lists(OPERATIONS, max_size=6) | st.lists(VALUES, max_size=3) | VALUES)
def test_any_json_patch_is_done_or_refused(old: Body, patch: Any) -> None:
    """There is no exception but ApiError."""
    before = copy.deepcopy((old, patch))
    done, _ = outcome(lambda: json_patch(old, patch))
    assert done in (200, 400, 422)
    assert (old, patch) == before
