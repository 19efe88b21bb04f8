"""What documents, and the objects that are there, say against an installation."""

from __future__ import annotations

import copy
import datetime
from typing import Any, Final

import pytest

from moorage.apps.install import findings
from moorage.apps.install.findings import HELM, dropped, has
from moorage.apps.install.object_keys import (
    APP,
    INSTANCE,
    PART_OF,
    SHARD_OF,
    Document,
    Kind,
    key_of,
)

NOW: Final = datetime.datetime(2026, 5, 1, 12, tzinfo=datetime.UTC)
VERSIONS: Final = {
    "v1.34.0": "",
    "v1.37.2": "",
    "v1.36.3-gke.100": "",
    "v1.33.9": "is older than 1.34 to 1.37",
    "v1.38.0": "is newer than 1.34 to 1.37",
    "": "does not say its version",
}


@pytest.mark.parametrize("version", VERSIONS)
def test_versions(version: str) -> None:
    """Others than those that are tested are told, and stop nothing."""
    found = [*findings.of_version(version)]
    assert len(found) == bool(VERSIONS[version])
    assert all(VERSIONS[version] in one.what and not one.stops for one in found)


def ours(kind: str, **spec: Any) -> Document:
    """An object of installation moorage."""
    labels = {PART_OF: "moorage", INSTANCE: "moorage"}
    metadata = {"name": "moorage", "namespace": "moorage-system", "labels": labels}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": spec}


def altered(document: Document, **metadata: Any) -> Document:
    """One that is there, with other metadata."""
    return {**copy.deepcopy(document), "metadata": {**document["metadata"], **metadata}}


ROLE: Final = ours("ClusterRole")
DEPLOYMENT: Final = ours("Deployment", selector={"matchLabels": {"a": "b", INSTANCE: "moorage"}})
SPACE: Final = ours("Namespace")
THERE: Final = {
    "the same": (ROLE, ROLE, "", ""),
    "Helm's": (
        ROLE,
        altered(ROLE, annotations={HELM: "m"}),
        "by Helm, release m",
        "helm upgrade m",
    ),
    "going": (SPACE, altered(SPACE, deletionTimestamp="t"), "is being deleted", "wait"),
    "somebody else's": (ROLE, altered(ROLE, labels={}), "is not Moorage's", "--name"),
    "another one's": (
        ROLE,
        altered(ROLE, labels={PART_OF: "moorage", INSTANCE: "blue"}),
        "belongs to installation blue",
        "--name",
    ),
    "a namespace of others": (
        SPACE,
        altered(SPACE, labels={"team": "ships"}),
        "Namespace moorage-system/moorage is not Moorage's, and would have its labels",
        f"kubectl label namespace moorage {APP}=moorage",
    ),
    "a namespace for Moorage": (SPACE, altered(SPACE, labels={APP: "moorage"}), "", ""),
    "an older selector": (
        DEPLOYMENT,
        {**DEPLOYMENT, "spec": {"selector": {"matchLabels": {"a": "b"}}}},
        "selects its pods by other labels",
        "kubectl -n moorage-system delete deployment moorage",
    ),
    "the same selector": (DEPLOYMENT, DEPLOYMENT, "", ""),
}


@pytest.mark.parametrize("case", THERE)
def test_objects_that_are_there(case: str) -> None:
    """Each that is in the way is named, with what to do."""
    document, live, what, do = THERE[case]
    found = [*findings.of_object(document, live)]
    assert len(found) == bool(what)
    assert all(what in one.what and do in one.do and one.stops for one in found)


SUBJECT: Final = {"kind": "ServiceAccount", "name": "moorage", "namespace": "moorage-system"}
THEIRS: Final = {**SUBJECT, "namespace": "theirs"}
WHOSE: Final[dict[str, tuple[dict[str, Any], dict[str, Any], set[str]]]] = {
    "of the same namespace": ({"subjects": [SUBJECT]}, {"subjects": [SUBJECT]}, set()),
    "rights of another": ({"subjects": [SUBJECT]}, {"subjects": [THEIRS]}, {"theirs"}),
    "one of two": ({"subjects": [SUBJECT]}, {"subjects": [SUBJECT, THEIRS]}, {"theirs"}),
    "requests of another": (
        {"rules": [{"subjects": [{"serviceAccount": SUBJECT}]}]},
        {"rules": [{"subjects": [{"serviceAccount": THEIRS}], "namespace": "leases"}]},
        {"theirs"},
    ),
    "a webhook of another": (
        {"webhooks": [{"clientConfig": {"service": SUBJECT}}]},
        {"webhooks": [{"clientConfig": {"service": THEIRS}}]},
        {"theirs"},
    ),
}


@pytest.mark.parametrize("case", WHOSE)
def test_an_installation_of_the_same_name(case: str) -> None:
    """It is in the namespaces of the accounts and Services that its objects name."""
    wanted, there, namespaces = WHOSE[case]
    live = {**ROLE, **there}
    assert findings.elsewhere({**ROLE, **wanted}, live) == namespaces
    assert not findings.elsewhere(live, live)
    assert not findings.elsewhere(ROLE, altered(live, labels={}))  # whose it is is told anyway


def test_what_to_do_about_a_namespace_that_is_named() -> None:
    """Uninstall what runs there; where nothing does, the namespace is taken out of our objects, as
    to uninstall would take them, which the installation elsewhere needs.
    """
    running = key_of(altered(DEPLOYMENT, namespace="theirs"))
    found = findings.of_same_name("moorage", "theirs", [key_of(ROLE), running])
    assert found.stops and "moorage is in namespace theirs: " in found.what
    assert found.do.endswith("moorage uninstall --namespace theirs --name moorage")
    for keys in ([key_of(ROLE)], [key_of(ROLE), key_of(DEPLOYMENT)]):
        found = findings.of_same_name("moorage", "theirs", keys)
        assert found.stops and "theirs has no Deployment of moorage, and is named" in found.what
        assert "ClusterRole moorage" in found.what
        assert "uninstall" not in found.do and "take what is of namespace theirs out" in found.do


def enforced(level: str, instance: str = "moorage") -> Document:
    """A Namespace whose pods are judged by this level."""
    labels = {PART_OF: "moorage", INSTANCE: instance, findings.ENFORCED: level}
    metadata = {"name": "moorage-system", "labels": labels}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


BLUE: Final = altered(DEPLOYMENT, labels={PART_OF: "moorage", INSTANCE: "blue"})
SHARD: Final = altered(
    DEPLOYMENT, labels={PART_OF: "moorage", INSTANCE: "moorage-0", SHARD_OF: "moorage"}
)
BESIDE: Final[dict[str, tuple[Document, list[Document], bool]]] = {
    "another label, another installation": (enforced("privileged", "blue"), [BLUE], True),
    "our label, another installation": (enforced("privileged"), [DEPLOYMENT, BLUE], True),
    "the same level": (enforced("restricted", "blue"), [BLUE], False),
    "ours alone": (enforced("privileged"), [DEPLOYMENT], False),
    "our shard": (enforced("privileged"), [SHARD], False),
    "one that is gone": (enforced("privileged", "blue"), [], False),
    "one elsewhere": (
        enforced("privileged", "blue"),
        [altered(BLUE, namespace="theirs")],
        False,
    ),
}


@pytest.mark.parametrize("case", BESIDE)
def test_a_namespace_with_another_installation(case: str) -> None:
    """Its pods are judged by one label: who needs another one goes elsewhere."""
    live, there, stops = BESIDE[case]
    found = [*findings.of_shared_namespace(enforced("restricted"), live, there)]
    assert len(found) == stops
    for one in found:
        assert one.stops and "--namespace" in one.do
        assert one.what.startswith("Namespace moorage-system has ")
        assert one.what.endswith("=privileged for installation blue; this one needs restricted")


SAID: Final[dict[str, tuple[str, list[tuple[str, str]]]]] = {
    "one": (
        'Apply failed with 1 conflict: conflict with "kubectl" using apps/v1: .spec.replicas',
        [('.spec.replicas is managed by "kubectl" using apps/v1', "by --force-conflicts")],
    ),
    "a scale": (
        'Apply failed with 1 conflict: conflict with "h" with subresource "scale" using v1: .s',
        [('.s is managed by "h" with subresource "scale" using v1', "by --force-conflicts")],
    ),
    "several": (
        (
            'Apply failed with 3 conflicts: conflicts with "a:b":\n- .data.x\n- .data.y\n'
            'conflicts with "kubectl-client-side-apply" using v1:\n- .data.z'
        ),
        [
            ('.data.x, .data.y is managed by "a:b"', "take it over"),
            ('.data.z is managed by "kubectl-cl', "kubectl applied it without --server-side: "),
        ],
    ),
    "another one": ("the object has been modified", []),
}


@pytest.mark.parametrize("case", SAID)
def test_fields_that_others_manage(case: str) -> None:
    """Each manager with its fields; by force they are taken over, which is only told."""
    said, wanted = SAID[case]
    found = [*findings.of_conflicts(key_of(ROLE), said, forced=False)]
    for one, (what, do) in zip(found, wanted, strict=True):
        assert one.stops and what in one.what and do in one.do, one
    forced = [*findings.of_conflicts(key_of(ROLE), said, forced=True)]
    assert [one.what for one in forced] == [one.what for one in found]
    assert not any(one.stops for one in forced)


def schema(**properties: Any) -> dict[str, Any]:
    """Of an object."""
    return {"type": "object", "properties": properties}


TEXT: Final = {"type": "string"}
SCHEMAS: Final[dict[str, tuple[Any, Any, list[tuple[str, ...]]]]] = {
    "the same": (schema(a=TEXT), schema(a=TEXT), []),
    "one less": (schema(a=TEXT, b=TEXT), schema(a=TEXT), [("b",)]),
    "one more": (schema(a=TEXT), schema(a=TEXT, b=TEXT), []),
    "deeper": (schema(a=schema(b=TEXT)), schema(a=schema()), [("a", "b")]),
    "in items": (
        schema(a={"items": schema(b=TEXT)}),
        schema(a={"items": schema()}),
        [("a", "[]", "b")],
    ),
    "in values": (
        schema(a={"additionalProperties": schema(b=TEXT)}),
        schema(a={"additionalProperties": schema()}),
        [("a", "*", "b")],
    ),
    "into a map": (schema(a=schema(b=TEXT)), schema(a={"additionalProperties": TEXT}), []),
    "preserved": (
        schema(a=schema(b=TEXT)),
        schema(a={"x-kubernetes-preserve-unknown-fields": True}),
        [],
    ),
}


@pytest.mark.parametrize("case", SCHEMAS)
def test_fields_that_a_schema_drops(case: str) -> None:
    """At any depth."""
    old, new, paths = SCHEMAS[case]
    assert [*dropped(old, new)] == paths


def test_whether_an_object_has_a_field() -> None:
    """In any item of a list, and any value of a map."""
    value = {"a": [{"b": 1}, {}], "m": {"x": {"y": None}, "z": {"y": 0}}, "n": None}
    there: tuple[tuple[str, ...], ...] = (("a", "[]", "b"), ("m", "*", "y"), ("m", "z", "y"))
    assert all(has(value, path) for path in there)
    for path in (("a", "[]", "c"), ("m", "x", "y"), ("n",), ("a", "b"), ("m", "[]")):
        assert not has(value, path)


def definition(stored: tuple[str, ...] = ("v1",), **properties: Any) -> Document:
    """A CRD of one version."""
    version = {"name": "v1", "schema": {"openAPIV3Schema": schema(spec=schema(**properties))}}
    return {**ours("Crd", versions=[version]), "status": {"storedVersions": [*stored]}}


def test_definitions_of_another_release() -> None:
    """What objects have that the new one does not know; fields that nobody uses do not count."""
    old, new = definition(a=TEXT, b=TEXT), definition(a=TEXT)
    used = {"kind": "Profile", "metadata": {"name": "p"}, "spec": {"a": "1", "b": "2"}}
    unused = {"kind": "Profile", "metadata": {"name": "q"}, "spec": {"a": "1"}}
    (found,) = findings.of_definition(new, old, [used, unused])
    assert found.what.startswith("Profile p has spec.b, which the new ")
    assert not [*findings.of_definition(old, new, [used])]
    (found,) = findings.of_definition(new, definition(("v1alpha9", "v1")), [])
    assert "objects stored as v1alpha9" in found.what


def lease(seconds: float, holder: str = "p_1") -> Document:
    """One that was renewed so many seconds ago."""
    renewed = (NOW - datetime.timedelta(seconds=seconds)).isoformat()
    return ours("Lease", holderIdentity=holder, renewTime=renewed, leaseDurationSeconds=15)


def test_others_that_lead() -> None:
    """While their Leases are fresh."""
    (told,) = findings.of_kube_scheduler(lease(5), NOW)
    assert not told.stops and "Lease kube-system/kube-scheduler is renewed" in told.what
    (stops,) = findings.of_leader(lease(5), NOW, deployed=False)
    assert stops.stops and "p_1 leads by Lease moorage-system/moorage" in stops.what
    for good in (None, lease(60), lease(5, "")):
        assert not [*findings.of_kube_scheduler(good, NOW)]
        assert not [*findings.of_leader(good, NOW, deployed=False)]
    assert not [*findings.of_leader(lease(5), NOW, deployed=True)]


def test_kinds_that_are_not_served() -> None:
    """Who brings them is said where that is known."""
    kind = Kind("monitoring.coreos.com/v1", "ServiceMonitor")
    found = findings.of_absent(kind, [ours("ServiceMonitor")])
    assert found.what.endswith("no ServiceMonitor of monitoring.coreos.com/v1, as moorage is")
    assert found.do == "install the Prometheus operator, or leave out the component monitoring"
    assert findings.of_absent(Kind("v1", "X"), []).do == "leave its component out"
