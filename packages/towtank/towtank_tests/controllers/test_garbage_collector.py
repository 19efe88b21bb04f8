"""What goes with what: dependents with owners, objects with namespaces and definitions."""

from __future__ import annotations

import functools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from towtank.controllers.garbage_collector import GarbageCollector
from towtank.model.requests import WriteOptions
from towtank_tests.controllers.harness import ControllerHarness, template

MAPS, DEFINITIONS, SHIPS = (
    "configmaps",
    "customresourcedefinitions.apiextensions.k8s.io",
    "ships.example.com",
)


def owned(*owners: dict[str, Any], block: bool = True) -> dict[str, Any]:
    """Metadata of a dependent."""
    references = [
        {
            "apiVersion": "v1",
            "kind": owner["kind"],
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
        }
        for owner in owners
    ]
    return {"ownerReferences": [{**each, "blockOwnerDeletion": block} for each in references]}


def family(cluster: ControllerHarness) -> None:
    """A grandparent, a parent, a child."""
    elder = cluster.create(MAPS, "elder")
    parent = cluster.create(MAPS, "parent", metadata=owned(elder))
    cluster.create(MAPS, "child", metadata=owned(parent))
    cluster.settle()


@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
def test_dependents_go_with_their_owner(propagation: str) -> None:
    """And theirs too; in the foreground the owner goes last."""
    cluster = ControllerHarness()
    family(cluster)
    order: list[str] = []
    cluster.store.subscribe(
        MAPS, lambda change: order.append(change.now.key[1]) if change.type == "DELETED" else None
    )
    cluster.delete(MAPS, "elder", propagation)
    assert bool(cluster.names(MAPS) == ["child", "elder", "parent"]) == (
        propagation == "Foreground"
    )
    cluster.settle()
    assert order == (
        ["elder", "parent", "child"]
        if propagation == "Background"
        else ["child", "parent", "elder"]
    )


def test_orphans_stay_and_have_no_owner() -> None:
    """Propagation Orphan."""
    cluster = ControllerHarness()
    family(cluster)
    cluster.delete(MAPS, "elder", "Orphan")
    cluster.settle()
    assert cluster.names(MAPS) == ["child", "parent"]
    assert not cluster.get(MAPS, "parent")["metadata"].get("ownerReferences")


def test_an_owner_has_the_uid_and_not_only_the_name(caplog: pytest.LogCaptureFixture) -> None:
    """Nobody inherits from a namesake; an owner of a kind that is not served is left alone."""
    cluster = ControllerHarness()
    owner = cluster.create(MAPS, "owner")
    cluster.create(
        MAPS,
        "child",
        metadata=owned(owner, {**owner, "metadata": {"name": "other", "uid": "gone"}}),
    )
    stranger = {"kind": "Stranger", "metadata": {"name": "x", "uid": "y"}}
    cluster.create(MAPS, "strange", metadata=owned(stranger))
    cluster.settle()
    assert [each["name"] for each in cluster.get(MAPS, "child")["metadata"]["ownerReferences"]] == [
        "owner"
    ]
    cluster.delete(MAPS, "owner")
    cluster.create(MAPS, "owner")
    cluster.settle()
    assert cluster.names(MAPS) == ["owner", "strange"]
    assert not caplog.records


def test_only_who_blocks_is_waited_for() -> None:
    """A dependent that others' finalizers keep, and that blocks or not."""
    cluster = ControllerHarness()
    for name, block in (("waits", True), ("goes", False)):
        owner = cluster.create(MAPS, name)
        metadata = {**owned(owner, block=block), "finalizers": ["example.com/kept"]}
        cluster.create(MAPS, f"child-of-{name}", metadata=metadata)
        cluster.delete(MAPS, name, "Foreground")
    cluster.settle()
    assert cluster.names(MAPS) == ["child-of-goes", "child-of-waits", "waits"]
    cluster.change(MAPS, "child-of-waits", lambda body: body["metadata"].update(finalizers=[]))
    cluster.settle()
    assert cluster.names(MAPS) == ["child-of-goes"]


def _owned_too(said: dict[str, Any], body: dict[str, Any]) -> None:
    body["metadata"].update(said)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("first", [0, -1])
def test_a_circle_of_owners_goes(size: int, first: int) -> None:
    """Each waits for the next in the foreground; who hangs on the circle goes before it, and what
    others keep keeps it.
    """
    cluster = ControllerHarness()
    made = [cluster.create(MAPS, f"m{number}") for number in range(size)]
    for number in range(size):
        cluster.change(MAPS, f"m{number}", functools.partial(_owned_too, owned(made[number - 1])))
    cluster.create(MAPS, "hanging", metadata={**owned(made[0]), "finalizers": ["example.com/kept"]})
    cluster.settle()
    cluster.delete(MAPS, made[first]["metadata"]["name"], "Foreground")
    cluster.settle()
    assert "m0" in cluster.names(MAPS)
    cluster.change(MAPS, "hanging", _let_go)
    cluster.settle()
    assert cluster.names(MAPS) == []


KEPT = "example.com/kept"


@pytest.mark.parametrize("hanging_first", [False, True])
def test_a_circle_need_not_wait_for_who_hangs_on_another_of_it(hanging_first: bool) -> None:
    """Each waits for those that hang on itself."""
    cluster = ControllerHarness()
    one, other = (cluster.create(MAPS, name) for name in ("one", "other"))
    hanging = cluster.create(MAPS, "hanging", metadata=owned(other) if hanging_first else {})
    for name, owner in (("other", one), ("one", other), ("hanging", other)):
        cluster.change(MAPS, name, functools.partial(_owned_too, owned(owner)))
    cluster.create(MAPS, "last", metadata={**owned(hanging), "finalizers": [KEPT]})
    cluster.create(MAPS, "near", metadata={**owned(one), "finalizers": [KEPT]})
    cluster.settle()
    cluster.delete(MAPS, "one", "Foreground")
    cluster.settle()
    assert len(cluster.names(MAPS)) == 5
    cluster.change(MAPS, "near", _let_go)
    cluster.settle()
    assert cluster.names(MAPS) == ["hanging", "last", "other"]
    cluster.change(MAPS, "last", _let_go)
    cluster.settle()
    assert cluster.names(MAPS) == []


def test_who_owns_a_circle_goes_too() -> None:
    """All at once, none of them looked at yet."""
    cluster = ControllerHarness()
    elder, one, other = (cluster.create(MAPS, name) for name in ("elder", "one", "other"))
    cluster.change(MAPS, "one", functools.partial(_owned_too, owned(elder, other)))
    cluster.change(MAPS, "other", functools.partial(_owned_too, owned(one)))
    cluster.settle()
    for name in ("elder", "one", "other"):
        cluster.delete(MAPS, name, "Foreground")
    cluster.settle()
    assert cluster.names(MAPS) == []


@pytest.mark.parametrize(
    ("propagation", "finalizers", "left"),
    [
        ("Background", [], ["last"]),
        ("Background", ["foregroundDeletion"], ["child", "last"]),
        ("Background", ["orphan"], ["grandchild", "last"]),
        ("Foreground", [], ["child", "last", "owner"]),
        ("Foreground", ["orphan"], ["child", "last", "owner"]),
    ],
)
def test_finalizers_of_a_dependent_say_how_it_goes(
    propagation: str, finalizers: list[str], left: list[str]
) -> None:
    """But where its owner waits for it: then it waits for its own."""
    cluster = ControllerHarness()
    owner = cluster.create(MAPS, "owner")
    child = cluster.create(MAPS, "child", metadata={**owned(owner), "finalizers": finalizers})
    cluster.create(MAPS, "grandchild", metadata=owned(child))
    cluster.create(MAPS, "last", metadata={**owned(child), "finalizers": [KEPT]})
    cluster.settle()
    assert len(cluster.names(MAPS)) == 4
    cluster.delete(MAPS, "owner", propagation)
    cluster.settle()
    assert cluster.names(MAPS) == left


def test_who_has_no_dependents_goes_in_one_write() -> None:
    """Also where its owner waits for it."""
    cluster = ControllerHarness()
    owner = cluster.create(MAPS, "owner")
    cluster.create(MAPS, "child", metadata=owned(owner))
    told: list[str] = []
    cluster.store.subscribe(MAPS, lambda change: told.append(f"{change.type} {change.now.key[1]}"))
    cluster.delete(MAPS, "owner", "Foreground")
    cluster.settle()
    assert told == ["MODIFIED owner", "DELETED child", "DELETED owner"]


def test_who_is_being_deleted_goes_its_own_way() -> None:
    """A dependent that was to go in the background does not wait for its own when its owner goes in
    the foreground; and keeps its other owner.
    """
    cluster = ControllerHarness()
    owner, other = (cluster.create(MAPS, name) for name in ("owner", "other"))
    for name, owners in (("child", [owner]), ("shared", [owner, other])):
        made = cluster.create(MAPS, name, metadata={**owned(*owners), "finalizers": [KEPT]})
        cluster.create(MAPS, f"{name}-of", metadata=owned(made))
        cluster.delete(MAPS, name)
    cluster.settle()
    before = cluster.get(MAPS, "shared")
    cluster.delete(MAPS, "owner", "Foreground")
    cluster.settle()
    assert cluster.names(MAPS) == ["child", "child-of", "other", "owner", "shared", "shared-of"]
    assert cluster.get(MAPS, "shared") == before


def test_a_finalizer_alone_is_no_deletion() -> None:
    """Its dependents stay."""
    cluster = ControllerHarness()
    owner = cluster.create(MAPS, "owner", metadata={"finalizers": ["foregroundDeletion"]})
    cluster.create(MAPS, "child", metadata=owned(owner))
    cluster.settle()
    assert cluster.names(MAPS) == ["child", "owner"]


def test_orphans_are_many() -> None:
    """More than are let go at a time."""
    cluster = ControllerHarness()
    owner = cluster.create(MAPS, "owner")
    for number in range(3 * GarbageCollector.keys_per_slice):
        cluster.create(MAPS, f"m{number}", metadata=owned(owner))
    cluster.delete(MAPS, "owner", "Orphan")
    cluster.settle()
    left = list(cluster.verbs.every(MAPS))
    assert len(left) == 3 * GarbageCollector.keys_per_slice
    assert not any(body["metadata"].get("ownerReferences") for body in left)


def test_a_namespace_goes_with_all_that_is_in_it() -> None:
    """More than one slice of it, pods with their grace; a finalizer keeps it."""
    cluster = ControllerHarness()
    cluster.create("namespaces", "team")
    cluster.settle()
    assert cluster.names("serviceaccounts", "team") == ["default"]
    for number in range(40):
        cluster.create(MAPS, f"m{number}", "team")
    cluster.create(SHIPS, "s", "team", metadata={"finalizers": ["example.com/kept"]})
    cluster.create("pods", "p", "team", spec=template()["spec"])
    cluster.settle()
    cluster.delete("namespaces", "team")
    cluster.settle()
    assert [
        *cluster.names(MAPS, "team"),
        *cluster.names("pods", "team"),
        *cluster.names(SHIPS, "team"),
    ] == ["p", "s"]
    cluster.run(2)
    assert cluster.names("pods") == [] and "team" in cluster.names("namespaces")
    cluster.verbs.patch(cluster.target(SHIPS, "s", "team"), _let_go, WriteOptions("test"))
    cluster.settle()
    assert cluster.names("namespaces") == ["default"]
    assert cluster.names("serviceaccounts") == ["default"]


def test_a_namespace_stays_for_a_finalizer_of_others() -> None:
    """When all is gone that is in it, Kubernetes' own part is done."""
    cluster = ControllerHarness()
    cluster.create("namespaces", "team", spec={"finalizers": ["kubernetes", "example.com/kept"]})
    cluster.create(MAPS, "m", "team")
    cluster.settle()
    assert cluster.names(MAPS, "team") == ["m"]
    cluster.delete("namespaces", "team")
    cluster.run(2)
    assert cluster.names(MAPS, "team") == []
    assert cluster.get("namespaces", "team", "")["spec"] == {"finalizers": ["example.com/kept"]}


def test_a_lost_service_account_is_made_again() -> None:
    """Pods are refused without it elsewhere."""
    cluster = ControllerHarness()
    cluster.delete("serviceaccounts", "default")
    cluster.settle()
    assert cluster.names("serviceaccounts") == ["default"]


def test_a_definition_goes_when_its_objects_have_gone() -> None:
    """Cleanup is what its finalizer stands for."""
    cluster = ControllerHarness()
    names = {"kind": "Ship", "plural": "ships"}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    cluster.create(
        DEFINITIONS,
        SHIPS,
        spec={"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]},
    )
    for number in range(20):
        cluster.create(SHIPS, f"s{number}")
    cluster.create(SHIPS, "held", metadata={"finalizers": ["example.com/kept"]})
    cluster.delete(DEFINITIONS, SHIPS)
    cluster.settle()
    assert cluster.names(SHIPS) == ["held"] and cluster.names(DEFINITIONS) == [SHIPS]
    cluster.change(SHIPS, "held", _let_go)
    cluster.settle()
    assert cluster.names(SHIPS) == cluster.names(DEFINITIONS) == []


def _let_go(body: dict[str, Any]) -> dict[str, Any]:
    body["metadata"]["finalizers"] = []
    return body


names = st.sampled_from("abcde")


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("create"), names, st.sets(names, max_size=2), st.booleans()),
            st.tuples(
                st.sampled_from(["Background", "Foreground", "Orphan"]),
                names,
                st.just(set()),
                st.just(value=True),
            ),
            st.tuples(st.just("settle"), names, st.just(set()), st.just(value=True)),
        ),
        max_size=20,
    )
)
def test_in_the_end_nobody_depends_on_who_is_gone(
    sequence: list[tuple[str, str, set[str], bool]],
) -> None:
    """Nor waits for ever, whoever owns whom and is deleted when."""
    cluster = ControllerHarness()
    for what, name, owners, block in sequence:
        present = cluster.store.get(MAPS, "default", name)
        if what == "create" and not present:
            found = [
                stored.body
                for owner in sorted(owners)
                if (stored := cluster.store.get(MAPS, "default", owner))
            ]
            cluster.create(MAPS, name, metadata=owned(*found, block=block) if found else {})
        elif what == "settle":
            cluster.settle()
        elif what != "create" and present:
            cluster.delete(MAPS, name, what)
    cluster.settle()
    uids = {body["metadata"]["uid"] for body in cluster.verbs.every(MAPS)}
    for body in cluster.verbs.every(MAPS):
        assert "deletionTimestamp" not in body["metadata"]
        assert all(owner["uid"] in uids for owner in body["metadata"].get("ownerReferences", ()))
