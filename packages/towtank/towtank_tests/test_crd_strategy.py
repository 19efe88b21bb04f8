"""Definitions of custom resources, held against what a kube-apiserver said of the same ones
(``custom.cases.RECORDED``).
"""

import copy
import json
from collections.abc import Sequence
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from towtank.model.api_errors import ApiError, StatusCause
from towtank.model.kinds import Body, ScaleSubresource
from towtank.schemas import structural
from towtank.strategies import crd
from towtank_tests.custom.cases import DEFINITIONS, RECORDED, TEXT, WHOLE, definition, fields, own

SAID: Final = json.loads(RECORDED.read_text())["definitions"]
STRATEGY: Final = crd.CRDStrategy()
NOW: Final = "2026-01-01T00:00:00Z"


class FakeDefinitions:
    """What there is besides."""

    def __init__(self, *bodies: Body) -> None:
        self._bodies = bodies

    def find(self, resource: str, namespace: str, name: str) -> Body | None:
        """Not asked for."""
        raise NotImplementedError

    def every(self, resource: str, namespace: str = "") -> Sequence[Body]:
        """All."""
        assert (resource, namespace) == (crd.KEY, "")
        return self._bodies


def made(body: Body, *others: Body) -> Body:
    """The definition as it is stored."""
    body = copy.deepcopy(body)
    STRATEGY.default(body)
    body["metadata"]["creationTimestamp"] = NOW
    STRATEGY.admit(body, FakeDefinitions(*others))
    STRATEGY.prepare_create(body)
    return accepted(body, *others)


def accepted(body: Body, *others: Body) -> Body:
    """The definition with the names that it can have."""
    return crd.renamed(body, others, NOW) or body


def changed(old: Body, **spec: Any) -> tuple[Body, list[StatusCause]]:
    """The definition with another spec, and what is wrong with that."""
    new = copy.deepcopy(old)
    new["spec"] |= spec
    new["metadata"]["resourceVersion"] = "1"
    STRATEGY.default(new)
    STRATEGY.prepare_update(new, old)
    return new, [*STRATEGY.validate(new), *STRATEGY.validate_update(new, old)]


def named(plural: str, kind: str, **names: Any) -> Body:
    """A definition with these names."""
    body = definition(fields({}), plural, kind)
    body["spec"]["names"] |= names
    return body


def conditions(body: Body) -> dict[str, tuple[str, str, str]]:
    """Status, reason and message by type."""
    return {
        one["type"]: (one["status"], one["reason"], one["message"])
        for one in body["status"]["conditions"]
    }


@pytest.mark.parametrize("name", DEFINITIONS)
def test_definitions_are_refused_as_the_api_server_refuses_them(name: str) -> None:
    """Field by field; it says the same thing twice at times."""
    found = STRATEGY.validate(made(DEFINITIONS[name]))
    said = {tuple(cause) for cause in SAID[name]}
    assert {(cause.reason, cause.field, cause.text) for cause in found} == said


@pytest.mark.parametrize("plural", ["schedulerprofiles", "pluginconfigs"])
def test_this_project_s_definitions_are_served(plural: str) -> None:
    """With all that clients see of them."""
    body = made(own(plural))
    assert not STRATEGY.validate(body)
    (resource,) = crd.resources(body)
    names = body["spec"]["names"]
    assert (resource.plural, resource.kind, resource.singular) == (
        names["plural"],
        names["kind"],
        names["singular"],
    )
    assert (list(resource.short_names), list(resource.categories)) == (
        names["shortNames"],
        names["categories"],
    )
    assert (resource.namespaced, resource.has_status, resource.custom, resource.generation) == (
        False,
        True,
        True,
        True,
    )
    assert [column.name for column in resource.columns] == [
        column["name"] for column in body["spec"]["versions"][0]["additionalPrinterColumns"]
    ]
    assert resource.schema.properties["spec"].rules


def test_what_a_definition_does_not_say() -> None:
    """Names and the conversion follow; the status is complete at once."""
    body = made(definition(fields({})))
    assert body["spec"]["names"] == {
        "plural": "things",
        "kind": "Thing",
        "singular": "thing",
        "listKind": "ThingList",
    }
    assert body["spec"]["conversion"] == {"strategy": "None"}
    assert body["status"] == {
        "acceptedNames": body["spec"]["names"],
        "conditions": [
            {
                "type": "NamesAccepted",
                "status": "True",
                "lastTransitionTime": NOW,
                "reason": "NoConflicts",
                "message": "no conflicts found",
            },
            {
                "type": "Established",
                "status": "True",
                "lastTransitionTime": NOW,
                "reason": "InitialNamesAccepted",
                "message": "the initial names have been accepted",
            },
        ],
        "storedVersions": ["v1"],
    }


def test_a_creator_does_not_set_the_status() -> None:
    """It is made anew."""
    body = definition(fields({}))
    body["status"] = {
        "storedVersions": ["v9"],
        "conditions": [{"type": "Established", "status": "False"}],
    }
    assert made(body)["status"] == made(definition(fields({})))["status"]


# Recorded from kube-apiserver 1.36.1, against a definition of A: plural as, singular a, list kind
# AList.
CONFLICTS: Final = (
    (named("bs", "A", singular="b"), "ListKindConflict", "AList"),
    (named("cs", "C", shortNames=["a"]), "ShortNamesConflict", "a"),
    (named("ds", "D", singular="a", shortNames=["d"]), "SingularConflict", "a"),
    (named("es", "E", listKind="AList"), "ListKindConflict", "AList"),
    (named("fs", "AList"), "KindConflict", "AList"),
    (named("gs", "G", shortNames=["g", "as"]), "ShortNamesConflict", "as"),
)


@pytest.mark.parametrize(
    ("body", "reason", "name"),
    CONFLICTS,
    ids=[body["metadata"]["name"] for body, _, _ in CONFLICTS],
)
def test_names_that_another_definition_has(body: Body, reason: str, name: str) -> None:
    """They are refused, the others are not, and nothing is served until they are free."""
    first = made(named("as", "A"))
    found = made(body, first)
    assert conditions(found) == {
        "NamesAccepted": ("False", reason, f'"{name}" is already in use'),
        "Established": ("False", "NotAccepted", "not all names are accepted"),
    }
    assert name not in found["status"]["acceptedNames"].values()
    assert "shortNames" not in found["status"]["acceptedNames"] or reason != "ShortNamesConflict"
    assert crd.resources(found) == []
    later = crd.renamed(found, [], "later")
    assert later is not None
    assert later["status"] == {
        **made(body)["status"],
        "conditions": [
            {**one, "lastTransitionTime": "later"} for one in made(body)["status"]["conditions"]
        ],
    }
    assert crd.renamed(later, [], "even later") is None
    assert crd.resources(later)


def test_another_group_s_names_are_free() -> None:
    """Names are those of a group."""
    body = named("as", "A")
    other = {
        **body,
        "metadata": {"name": "as.other.example.com"},
        "spec": {**body["spec"], "group": "other.example.com"},
    }
    assert conditions(made(other, made(body)))["Established"][0] == "True"


def test_what_stays_as_it_was() -> None:
    """As the API server says it, and nothing besides."""
    old = made(named("as", "A"))
    for path, spec in (
        ("spec.scope", {"scope": "Cluster"}),
        ("spec.group", {"group": "x.example.com"}),
        ("spec.names.plural", {"names": {**old["spec"]["names"], "plural": "bs"}}),
        ("spec.names.kind", {"names": {**old["spec"]["names"], "kind": "B"}}),
    ):
        found = changed(old, **spec)[1]
        assert [
            (cause.field, cause.text.partition(": ")[2].partition(": ")[2]) for cause in found
        ] == [(path, "field is immutable")]


def test_short_names_may_change() -> None:
    """And are accepted."""
    old = made(named("as", "A"))
    new, causes = changed(old, names={**old["spec"]["names"], "shortNames": ["x"]})
    assert not causes
    assert [resource.short_names for resource in crd.resources(accepted(new))] == [("x",)]
    assert "shortNames" not in old["status"]["acceptedNames"]


def test_versions_that_were_stored_are_remembered() -> None:
    """So they cannot be taken away."""
    old = made(named("as", "A"))
    (version,) = old["spec"]["versions"]
    both = [{**version, "storage": False}, {**version, "name": "v2"}]
    new, causes = changed(old, versions=both)
    assert not causes
    assert (new["status"]["storedVersions"], old["status"]["storedVersions"]) == (
        ["v1", "v2"],
        ["v1"],
    )
    assert [resource.version for resource in crd.resources(new)] == ["v1", "v2"]
    (cause,) = changed(new, versions=both[1:])[1]
    assert cause.field == "status.storedVersions[0]"
    assert cause.text.startswith(
        'Invalid value: "v1": missing from spec.versions; v1 was previously a storage version'
    )


def test_versions_that_are_not_served() -> None:
    """Are no resources."""
    body = made(named("as", "A"))
    body["spec"]["versions"].append(
        {**body["spec"]["versions"][0], "name": "v2", "storage": False, "served": False}
    )
    assert [resource.version for resource in crd.resources(body)] == ["v1"]


def test_a_definition_waits_for_its_objects() -> None:
    """And lets nobody make others meanwhile."""
    body = made(named("as", "A"))
    assert STRATEGY.held(body)
    body["metadata"] |= {"deletionTimestamp": NOW, "deletionGracePeriodSeconds": 0}
    STRATEGY.prepare_delete(body)
    assert body["metadata"]["finalizers"] == [crd.CLEANUP]
    assert STRATEGY.held(body)
    assert conditions(body)["Terminating"] == (
        "True",
        "InstanceDeletionPending",
        "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    )
    (resource,) = crd.resources(body)
    with pytest.raises(
        ApiError,
        match=(
            r'as\.g\.example\.com "x" is forbidden: create not allowed while custom resource '
            r"definition is terminating"
        ),
    ):
        resource.strategy.admit({"metadata": {"name": "x"}}, FakeDefinitions())
    body["metadata"]["finalizers"] = []
    assert not STRATEGY.held(body)


def test_subresources_and_selectable_fields() -> None:
    """As the version says."""
    body = definition(fields({"spec": fields({"n": WHOLE, "s": TEXT})}))
    body["spec"]["versions"][0] |= {
        "subresources": {
            "scale": {
                "specReplicasPath": ".spec.n",
                "statusReplicasPath": ".status.n",
                "labelSelectorPath": ".status.s",
            }
        },
        "selectableFields": [{"jsonPath": ".spec.s"}],
    }
    stored = made(body)
    assert not STRATEGY.validate(stored)
    (resource,) = crd.resources(stored)
    assert (resource.has_status, resource.scale) == (
        False,
        ScaleSubresource(".spec.n", ".status.n", ".status.s"),
    )
    assert (resource.selectable, resource.columns) == ((".spec.s",), ())


def test_a_schema_that_cannot_be_decoded() -> None:
    """Is a bad request."""
    with pytest.raises(ApiError) as refused:
        made(definition(fields({"a": {"type": ["string"]}})))
    assert refused.value.message == (
        'CustomResourceDefinition in version "v1" cannot be handled as a '
        "CustomResourceDefinition: json: cannot unmarshal array into Go "
        "struct field JSONSchemaProps.spec.versions.schema.openAPIV3Schema.properties.type of "
        "type string"
    )


KEYWORDS: Final = st.sampled_from(
    [
        "type",
        "properties",
        "items",
        "additionalProperties",
        "required",
        "enum",
        "anyOf",
        "not",
        "default",
        "nullable",
        "pattern",
        "metadata",
    ]
    + [
        f"x-kubernetes-{key}"
        for key in (
            "list-type",
            "list-map-keys",
            "preserve-unknown-fields",
            "embedded-resource",
            "validations",
        )
    ]
)
VALUES: Final = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from(["object", "array", "string", "map", "set", "[", "a"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYWORDS, inner, max_size=4),
    max_leaves=12,
)


@given(schema=st.dictionaries(KEYWORDS, VALUES, max_size=4))
def test_any_schema_is_served_or_refused(schema: Body) -> None:
    """What validation lets pass can be compiled."""
    if structural.malformed(schema, "p"):
        with pytest.raises(ApiError):
            made(definition(schema))
        return
    body = made(definition(schema))
    if not STRATEGY.validate(body):
        assert crd.resources(body)
