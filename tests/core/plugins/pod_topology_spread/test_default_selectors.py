"""The default selector: Services in front, a controller behind."""

from __future__ import annotations

import msgspec
import pytest

from moorage.core.columns.store import Store
from moorage.core.objects.meta import HasMetadata, ObjectMeta, OwnerReference
from moorage.core.objects.pods import Pod
from moorage.core.objects.selector_terms import LabelSelector, Requirement
from moorage.core.objects.workloads import (
    ReplicaSet,
    ReplicationController,
    ReplicationControllerSpec,
    Service,
    ServiceSpec,
    SetSpec,
    StatefulSet,
)
from moorage.core.plugins.pod_topology_spread.default_selectors import (
    NO_SELECTOR,
    compiled,
    controller_kinds,
    default_selector,
)
from tests.core.plugins.companions import pod


def meta(name: str, namespace: str = "default") -> ObjectMeta:
    """Metadata of an object in a namespace."""
    return ObjectMeta(name=name, namespace=namespace)


def service(name: str, selector: dict[str, str] | None, namespace: str = "default") -> Service:
    """A Service."""
    return Service(meta(name, namespace), ServiceSpec(selector))


def owned(version: str, kind: str, controller: bool | None = True) -> Pod:
    """A pod with an owner of this kind."""
    one = pod("p", {"app": "x", "tier": "1"})
    owners = (
        OwnerReference("v1", "Node", "n"),
        OwnerReference(version, kind, "owner", controller=controller),
    )
    return msgspec.structs.replace(
        one, metadata=msgspec.structs.replace(one.metadata, owner_references=owners)
    )


PLAIN = pod("p", {"app": "x", "tier": "1"})
EQUAL, SET = (
    LabelSelector({"app": "x"}),
    LabelSelector(None, (Requirement("tier", "In", ("1", "2")),)),
)
BOTH = service("s", {"app": "x", "tier": "1"})
CONTROLLER = ReplicationController(meta("owner"), ReplicationControllerSpec({"app": "x"}))


@pytest.mark.parametrize(
    ("one", "there", "want"),
    [
        (PLAIN, [], []),
        (PLAIN, [service("s", {"app": "x"})], ["app=x"]),
        (
            PLAIN,
            [service("s", {"app": "x"}), service("t", {"tier": "1", "app": "x"})],
            ["app=x", "tier=1"],
        ),
        (PLAIN, [service("s", {"app": "y"}), service("t", {"app": "x", "more": "1"})], []),
        (PLAIN, [service("s", None), service("t", {})], []),
        (PLAIN, [service("s", {"app": "x"}, "other")], []),
        (owned("v1", "ReplicationController"), [CONTROLLER], ["app=x"]),
        (
            owned("v1", "ReplicationController"),
            [CONTROLLER, service("s", {"tier": "1"})],
            ["app=x", "tier=1"],
        ),
        (
            owned("v1", "ReplicationController"),
            [CONTROLLER, service("s", {"app": "x"}), service("t", {"tier": "1"})],
            ["app=x", "tier=1"],
        ),
        (
            owned("v1", "ReplicationController"),
            [ReplicationController(meta("owner"), ReplicationControllerSpec({"app": "y"})), BOTH],
            ["app=y", "tier=1"],
        ),
        (owned("v1", "ReplicationController", controller=None), [CONTROLLER], []),
        (owned("apps/v1", "ReplicationController"), [CONTROLLER], []),
        (owned("apps/v1", "ReplicaSet"), [ReplicaSet(meta("owner"), SetSpec(SET))], ["tier=1,2"]),
        (
            owned("apps/v1", "ReplicaSet"),
            [ReplicaSet(meta("owner"), SetSpec(EQUAL)), service("s", {"tier": "1"})],
            ["tier=1", "app=x"],
        ),
        (owned("apps/v1", "ReplicaSet"), [ReplicaSet(meta("owner", "other"), SetSpec(EQUAL))], []),
        (owned("apps/v1", "ReplicaSet"), [StatefulSet(meta("owner"), SetSpec(EQUAL))], []),
        (owned("apps/v1", "StatefulSet"), [StatefulSet(meta("owner"), SetSpec(EQUAL))], ["app=x"]),
        (owned("example.com/v1", "StatefulSet"), [StatefulSet(meta("owner"), SetSpec(EQUAL))], []),
        (
            owned("apps/v1", "StatefulSet"),
            [StatefulSet(meta("owner"), SetSpec(None)), service("s", {"app": "x"})],
            ["app=x"],
        ),
        (
            owned("apps/v1", "StatefulSet"),
            [StatefulSet(meta("owner"), SetSpec(LabelSelector()))],
            [],
        ),
        (
            owned("apps/v1", "StatefulSet"),
            [StatefulSet(meta("owner"), SetSpec(LabelSelector({"b c": "x"})))],
            [],
        ),
    ],
    ids=[
        "nobody",
        "a service",
        "two services",
        "services of others",
        "services without selector",
        "a service elsewhere",
        "a replication controller",
        "a replication controller and a service",
        "a replication controller and a service that say the same",
        "a replication controller goes before a service",
        "an owner that does not control",
        "not the kind of that version",
        "a replica set",
        "a replica set and a service",
        "a replica set elsewhere",
        "another kind of that name",
        "a stateful set",
        "another group's stateful set",
        "selects nothing",
        "selects everything",
        "unreadable",
    ],
)
def test_default_selector(one: Pod, there: list[HasMetadata], want: list[str]) -> None:
    """All conditions; without any there is no default selector."""
    store = Store()
    for obj in there:
        store.put(obj)
    content = default_selector(one, store)
    found = compiled(content).conditions or () if content else ()
    assert [f"{condition.key}={','.join(sorted(condition.values))}" for condition in found] == want
    assert (content == NO_SELECTOR) is (not want)


def test_a_controller_is_of_the_pods_namespace() -> None:
    """One of that name elsewhere is another."""
    store = Store()
    store.put(ReplicaSet(meta("owner"), SetSpec(EQUAL)))
    elsewhere = owned("apps/v1", "ReplicaSet")
    elsewhere = msgspec.structs.replace(
        elsewhere, metadata=msgspec.structs.replace(elsewhere.metadata, namespace="other")
    )
    assert default_selector(elsewhere, store) == NO_SELECTOR
    store.put(ReplicaSet(meta("owner", "other"), SetSpec(SET)))
    (condition,) = compiled(default_selector(elsewhere, store)).conditions or ()
    assert condition.key == "tier"


@pytest.mark.parametrize(
    ("one", "kinds"),
    [
        (PLAIN, []),
        (owned("v1", "ReplicationController"), [ReplicationController]),
        (owned("apps/v1", "ReplicaSet"), [ReplicaSet]),
        (owned("apps/v1", "StatefulSet"), [StatefulSet]),
        (owned("apps/v1", "StatefulSet", controller=None), []),
        (owned("apps/v1", "DaemonSet"), []),
        (owned("example.com/v1", "ReplicaSet"), []),
    ],
)
def test_kinds_of_controllers(one: Pod, kinds: list[type[HasMetadata]]) -> None:
    """Those that have a say, of the owner that controls the pod."""
    assert list(controller_kinds(one.metadata)) == kinds


def test_services_come_and_go() -> None:
    """Each change counts from the next question on; two with one selector are two."""
    store = Store()
    store.put(service("s", {"app": "x"}))
    with_x = default_selector(PLAIN, store)
    store.put(service("t", {"app": "x"}))
    assert default_selector(PLAIN, store) == with_x
    store.put(service("s", {"tier": "1"}))
    assert default_selector(PLAIN, store) not in (with_x, NO_SELECTOR)
    store.remove(Service, "default/s")
    assert default_selector(PLAIN, store) == with_x
    store.put(service("t", None))
    assert default_selector(PLAIN, store) == NO_SELECTOR
    store.remove(Service, "default/t")
    assert default_selector(PLAIN, store) == NO_SELECTOR
