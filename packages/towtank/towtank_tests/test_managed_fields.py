"""Owners of fields and server-side apply, held against what a kube-apiserver answered, and against
laws.
"""

from __future__ import annotations

import contextlib
import copy
import datetime
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from towtank.managed_fields import ManagedFieldsEntry, apply, same, track
from towtank.model.api_errors import ApiError
from towtank.model.kinds import APIResource, Body
from towtank.patches import merge_patch
from towtank.schemas.schema_parser import builtin
from towtank_tests.owned_kinds import THINGS

RECORDED: dict[str, list[Any]] = json.loads(
    (Path(__file__).parent / "recorded_owners.json").read_text()
)
"""Scenarios: (what was done, by whom, body, flags, answer); an answer is code, object, entries, or
code, message, causes.
"""
WITHOUT_TIME = {"status", "apply bad"}
"""Scenarios with steps that the API server takes for changes, since it looks before it puts back
what they may not touch.
"""
NOW = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
EARLIER = NOW - datetime.timedelta(seconds=1)
SERVERS = {"uid": "u", "namespace": "default", "generation": 1}


def write(manager: str, subresource: str = "", now: datetime.datetime = NOW) -> ManagedFieldsEntry:
    """A write of a T."""
    return ManagedFieldsEntry(THINGS, manager, subresource, now)


def defaulted(body: Body) -> Body:
    """What `decoded` would do: defaults, and without nulls where the schema has values."""
    body["metadata"] = {"name": "t", **body.get("metadata", {}), **SERVERS}
    spec = body.get("spec", {})
    for name in [name for name, value in spec.items() if value is None]:
        del spec[name]
    for item in spec.get("m", []):
        item.setdefault("n", 1)
    return body


def do(live: Body | None, how: str, who: str, body: Body, flags: list[str]) -> Body:
    """One step, as the verbs do it."""
    subresource = "status" if "status" in flags else ""
    if how == "apply":
        return defaulted(
            copy.deepcopy(apply(body, live, write(who, subresource), force="force" in flags))
        )
    if how == "create":
        new = defaulted(
            {name: value for name, value in copy.deepcopy(body).items() if name != "status"}
        )
        track(new, None, write(who))
        return new
    assert live is not None
    replaced = {**live, **body, "metadata": {**live["metadata"], **body.get("metadata", {})}}
    patched = merge_patch(live, body) if how == "merge" else replaced
    new = defaulted(copy.deepcopy(patched))
    track(new, live, write(who, subresource))
    return new


def entries(body: Body) -> list[list[Any]]:
    """The entries of a body as they are recorded: with whether they have a time instead of it."""
    listed = body["metadata"].get("managedFields", [])
    return [
        [e["manager"], e["operation"], e.get("subresource", ""), e["fieldsV1"], "time" in e]
        for e in listed
    ]


def timeless(listed: list[list[Any]]) -> list[list[Any]]:
    """Without that."""
    return [entry[:-1] for entry in listed]


def in_some_order(listed: list[list[Any]]) -> list[list[Any]]:
    """The recorded steps took several seconds, and entries are sorted by time."""
    return sorted(listed, key=lambda entry: entry[:3])


@pytest.mark.parametrize("name", RECORDED)
def test_owners_are_those_that_an_api_server_recorded(name: str) -> None:
    """Step by step: the object, its entries, and the words of refusals."""
    live: Body | None = None
    for step, (how, who, body, flags, answer) in enumerate(RECORDED[name]):
        before = copy.deepcopy((live, body))
        said = f"step {step}: {how} by {who}: {json.dumps(body)}"
        answered, new = answer_of(live, how, who, body, flags)
        seen = timeless if name in WITHOUT_TIME else list
        if new is not None and answer[0] < 400:
            answered[2], expected = (
                seen(in_some_order(answered[2])),
                [200, answer[1], seen(in_some_order(answer[2]))],
            )
        else:
            # what does not fit is the applier's fault
            expected = [400 if answer[0] == 500 else answer[0], *answer[1:]]
        assert answered == expected, said
        assert (live, body) == before, f"{said} changed what it was given"
        live = live if new is None else new


def answer_of(
    live: Body | None, how: str, who: str, body: Body, flags: list[str]
) -> tuple[list[Any], Body | None]:
    """What a step answers, as it is recorded, and the new object."""
    try:
        new = do(live, how, who, body, flags)
    except ApiError as problem:
        causes = [
            [cause["message"], cause["field"]]
            for cause in (problem.details or {}).get("causes", [])
        ]
        return [problem.code, problem.message, causes or None], None
    shown: Body = {name: new[name] for name in ("spec", "status") if name in new}
    shown |= {
        name: new["metadata"][name]
        for name in ("labels", "annotations")
        if new["metadata"].get(name)
    }
    return [200, shown, entries(new)], new


# ---- built-in kinds ------------------------------------------------------------------------------


CONTAINERS = [
    {"name": "p", "image": "p", "ports": [{"containerPort": 80, "protocol": "TCP"}]},
    {"name": "q", "image": "q"},
]
DEPLOYMENT: Body = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "e"},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"a": "b"}},
        "strategy": {"type": "Recreate"},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": CONTAINERS}},
    },
    "status": {},
}
DEPLOYMENTS = APIResource(
    "apps",
    "v1",
    "deployments",
    "Deployment",
    has_status=True,
    schema=builtin("apps/v1", "Deployment"),
)


def test_what_is_always_there_belongs_to_nobody() -> None:
    """As recorded of a Deployment: no owner of spec, template or containers, but of what a new
    container holds.
    """
    new = copy.deepcopy(DEPLOYMENT)
    track(new, None, ManagedFieldsEntry(DEPLOYMENTS, "a", "", NOW))
    port: Body = {".": {}, "f:containerPort": {}, "f:protocol": {}}
    containers = {
        'k:{"name":"p"}': {
            ".": {},
            "f:name": {},
            "f:image": {},
            "f:ports": {".": {}, 'k:{"containerPort":80,"protocol":"TCP"}': port},
        },
        'k:{"name":"q"}': {".": {}, "f:name": {}, "f:image": {}},
    }
    template = {
        "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
        "f:spec": {"f:containers": containers},
    }
    spec = {
        "f:replicas": {},
        "f:selector": {},
        "f:strategy": {"f:type": {}},
        "f:template": template,
    }
    assert entries(new) == [["a", "Update", "", {"f:spec": spec}, True]]


def test_who_writes_the_first_status_owns_only_what_is_in_it() -> None:
    """The status itself has been there all the time."""
    live = apply(
        {name: DEPLOYMENT[name] for name in DEPLOYMENT if name != "status"},
        None,
        ManagedFieldsEntry(DEPLOYMENTS, "a", "", NOW),
        force=False,
    )
    live.pop("status", None)
    new = merge_patch(live, {"status": {"replicas": 1}})
    track(new, live, ManagedFieldsEntry(DEPLOYMENTS, "c", "status", NOW))
    assert ["c", "Update", "status", {"f:status": {"f:replicas": {}}}, True] in entries(new)


def test_who_scales_takes_the_replicas_from_who_applied() -> None:
    """As recorded, with the words of the refusal."""
    live = apply(DEPLOYMENT, None, ManagedFieldsEntry(DEPLOYMENTS, "a", "", NOW), force=False)
    scaled = merge_patch(live, {"spec": {"replicas": 4}})
    track(scaled, live, ManagedFieldsEntry(DEPLOYMENTS, "hh", "scale", NOW))
    text = (
        'Apply failed with 1 conflict: conflict with "hh" with subresource "scale" using '
        "apps/v1: .spec.replicas"
    )
    with pytest.raises(ApiError, match=re.escape(text)) as refused:
        apply(DEPLOYMENT, scaled, ManagedFieldsEntry(DEPLOYMENTS, "a", "", NOW), force=False)
    assert refused.value.code == 409
    assert (
        apply(DEPLOYMENT, scaled, ManagedFieldsEntry(DEPLOYMENTS, "a", "", NOW), force=True)["spec"]
        == DEPLOYMENT["spec"]
    )


def test_the_status_of_a_built_in_kind_has_metadata_too() -> None:
    """What the main resource has is out of reach."""
    live = apply(DEPLOYMENT, None, ManagedFieldsEntry(DEPLOYMENTS, "a", "", NOW), force=False)
    applied = {
        **DEPLOYMENT,
        "metadata": {"labels": {"x": "1"}},
        "spec": {"replicas": 9},
        "status": {"replicas": 5},
    }
    new = apply(applied, live, ManagedFieldsEntry(DEPLOYMENTS, "b", "status", NOW), force=False)
    assert new["spec"] == live["spec"] and new["status"] == {"replicas": 5}
    assert [
        "b",
        "Apply",
        "status",
        {"f:metadata": {"f:labels": {"f:x": {}}}, "f:status": {"f:replicas": {}}},
        True,
    ] in entries(new)


# ---- laws ----------------------------------------------------------------------------------------

TEXTS = st.sampled_from(["1", "2"])
MAPS = st.dictionaries(st.sampled_from("gh"), TEXTS, max_size=2)
# Lists that merge have items here: an empty one lays no claim, and can be lost, as recorded under
# "empty".
ITEMS = st.lists(
    st.fixed_dictionaries(
        {"k": TEXTS, "n": st.just(1)},
        optional={"v": TEXTS, "o": st.fixed_dictionaries({"p": TEXTS})},
    ),
    unique_by=lambda item: str(item["k"]),
    min_size=1,
    max_size=2,
)
SPECS = st.fixed_dictionaries(
    {},
    optional={
        "a": TEXTS,
        "n": st.integers(1, 2),
        "at": st.lists(TEXTS, max_size=2),
        "set": st.lists(st.sampled_from("pqr"), unique=True, min_size=1, max_size=3),
        "m": ITEMS,
        "gm": MAPS,
        "am": MAPS,
        "any": st.dictionaries(
            st.sampled_from("xy"), TEXTS | st.lists(TEXTS, max_size=1) | MAPS, max_size=2
        ),
        "mo": st.dictionaries(
            st.sampled_from("zw"),
            st.fixed_dictionaries({}, optional={"q": TEXTS, "r": TEXTS}),
            max_size=2,
        ),
    },
)


def thing(spec: Body) -> Body:
    """A T."""
    return {"apiVersion": "x.io/v1", "kind": "T", "metadata": {"name": "t"}, "spec": spec}


def tracked(spec: Body, manager: str = "creator") -> Body:
    """A T that somebody has created."""
    body = thing(copy.deepcopy(spec))
    track(body, None, write(manager, now=EARLIER))
    return body


@given(SPECS, SPECS)
def test_who_applies_twice_has_applied_once(there: Body, spec: Body) -> None:
    """Nothing changes, not even a time."""
    once = apply(thing(spec), tracked(there), write("a", now=EARLIER), force=True)
    assert apply(thing(spec), once, write("a"), force=False) == once


@given(SPECS, SPECS)
def test_what_one_manager_alone_applied_is_what_it_applies(before: Body, spec: Body) -> None:
    """So a field that it leaves out is removed."""
    live = apply(thing(before), None, write("a"), force=False)
    assert full(apply(thing(spec), live, write("a"), force=False)["spec"]) == full(spec)


def full(spec: Body) -> Body:
    """Without what has no content, and with sets and keyed lists in one order: a merge keeps what
    stands there.
    """
    kept = {name: value for name, value in spec.items() if value not in ([], {})}
    for name in {"set", "m"} & kept.keys():
        kept[name] = sorted(kept[name], key=lambda item: json.dumps(item, sort_keys=True))
    return kept


@given(SPECS)
def test_managers_with_equal_values_own_them_together(spec: Body) -> None:
    """None of them takes it away from the other, and a field stays until both have given it up."""
    first = apply(thing(spec), None, write("a"), force=False)
    both = apply(thing(spec), first, write("b"), force=False)
    assert [entry[:2] for entry in entries(both)] == [["b", "Apply"], ["a", "Apply"]]
    assert entries(both)[0][3] == entries(both)[1][3]
    left = apply(thing({}), both, write("a"), force=False)
    assert left["spec"] == spec
    assert full(apply(thing({}), left, write("b"), force=False)["spec"]) == {}


@given(SPECS, SPECS)
def test_force_gets_what_is_applied(there: Body, spec: Body) -> None:
    """And where there is no conflict, it is not needed."""
    live = tracked(there)
    peaceful = None
    with contextlib.suppress(ApiError):
        peaceful = apply(thing(spec), live, write("a"), force=False)
    forced = apply(thing(spec), live, write("a"), force=True)
    assert peaceful in (None, forced)
    assert live == tracked(there)
    assert apply(thing(spec), forced, write("a"), force=False) == forced


@given(SPECS)
def test_a_write_of_nothing_new_leaves_the_owners(spec: Body) -> None:
    """The very same list."""
    old = tracked(spec)
    new = copy.deepcopy(old)
    track(new, old, write("b"))
    assert new == old and same(new, old)


@given(SPECS, SPECS)
def test_who_changed_a_field_owns_it_alone(old_spec: Body, new_spec: Body) -> None:
    """After an update the owners of all fields are the two writers, and nobody owns a field that is
    gone.
    """
    old = tracked(old_spec)
    new = {**thing(copy.deepcopy(new_spec)), "metadata": copy.deepcopy(old["metadata"])}
    track(new, old, write("b"))
    one = {entry[0]: set(flat(entry[3])) for entry in entries(new)}
    assert not one.get("creator", set()) & one.get("b", set())
    present = (
        set(flat(entries(tracked(new_spec))[0][3]))
        if new_spec != old_spec
        else set(flat(entries(old)[0][3]))
    )
    assert set().union(*one.values()) >= present - {("f:spec",)}


def flat(fields: Body, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The paths in a set."""
    here = [path] if path and (not fields or "." in fields) else []
    return here + [
        one for key, below in fields.items() if key != "." for one in flat(below, (*path, key))
    ]


@pytest.mark.parametrize(("one", "other"), [(1, True), (0, False), (1, 1.0)])
def test_what_python_takes_for_equal_is_not_the_same(one: Any, other: Any) -> None:
    """JSON tells them apart."""
    assert not same(thing({"any": {"x": one}}), thing({"any": {"x": other}}))


def test_a_time_or_a_version_is_no_change() -> None:
    """A write that changes nothing else is none."""
    old, new = tracked({"a": "1"}), tracked({"a": "1"})
    new["metadata"]["resourceVersion"] = "7"
    new["metadata"]["managedFields"][0]["time"] = "2030-01-01T00:00:00Z"
    assert same(new, old)
    new["metadata"]["managedFields"][0]["manager"] = "b"
    assert not same(new, old)


def test_a_writer_has_one_entry_with_the_time_of_its_last_change() -> None:
    """Others keep theirs."""
    old = tracked({"a": "1", "n": 1}, "a")
    new = merge_patch(old, {"spec": {"n": 2}})
    track(new, old, write("b"))
    assert [entry["time"] for entry in new["metadata"]["managedFields"]] == [
        "2026-01-02T03:04:04Z",
        "2026-01-02T03:04:05Z",
    ]
    newer = merge_patch(new, {"spec": {"a": "2"}})
    track(newer, new, write("b"))
    assert [entry[:2] for entry in entries(newer)] == [["a", "Update"], ["b", "Update"]]


def test_more_updaters_than_are_kept_become_one() -> None:
    """Those of the main resource and of a subresource too, the oldest first; appliers are not
    counted.
    """
    sent = [
        write(f"m{number:02}", "status" if number % 2 else "").entry(
            "Update", {"f:spec": {f"f:x{number}": {}}}, "2020"
        )
        for number in range(14)
    ]
    old = thing({"a": "1"})
    old["metadata"]["managedFields"] = [
        write("z").entry("Apply", {"f:spec": {"f:a": {}}}, "2019"),
        *sent,
    ]
    new = merge_patch(old, {"spec": {"n": 2}})
    track(new, old, write("b"))
    assert [entry[0] for entry in entries(new)] == [
        "z",
        "ancient-changes",
        *(f"m{number:02}" for number in range(6, 14)),
        "b",
    ]
    assert entries(new)[1][2:4] == ["", {"f:spec": {f"f:x{number}": {} for number in range(6)}}]


@pytest.mark.parametrize(
    ("manager", "last", "refused"),
    [
        (
            "kubectl",
            {"apiVersion": "apps/v1", "metadata": {"name": "e"}, "spec": {"replicas": 1}},
            False,
        ),
        (
            "other",
            {"apiVersion": "apps/v1", "metadata": {"name": "e"}, "spec": {"replicas": 1}},
            True,
        ),
        (
            "kubectl",
            {"apiVersion": "apps/v1", "metadata": {"name": "e"}, "spec": {"replicas": 7}},
            True,
        ),
        (
            "kubectl",
            {"apiVersion": "apps/v1beta1", "metadata": {"name": "e"}, "spec": {"replicas": 1}},
            True,
        ),
        ("kubectl", {"apiVersion": "apps/v1", "metadata": [], "spec": {"replicas": 1}}, True),
        ("kubectl", [], True),
    ],
    ids=["as it is", "another manager", "changed since", "another version", "no object", "no map"],
)
def test_kubectl_takes_over_what_it_applied_by_itself(
    manager: str, last: Any, refused: bool
) -> None:
    """And nothing else."""
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(last)}
    live = copy.deepcopy(DEPLOYMENT) | {"metadata": {"name": "e", "annotations": annotations}}
    track(live, None, ManagedFieldsEntry(DEPLOYMENTS, "kubectl-client-side-apply", "", EARLIER))
    applied = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "e"},
        "spec": {"replicas": 3},
    }
    with (
        pytest.raises(ApiError, match="Apply failed with 1 conflict")
        if refused
        else contextlib.nullcontext()
    ):
        new = apply(applied, live, ManagedFieldsEntry(DEPLOYMENTS, manager, "", NOW), force=False)
        assert new["spec"]["replicas"] == 3
