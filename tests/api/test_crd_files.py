"""CRDs: structural, bounded where CEL looks, and complete."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from moorage.api import crd_files, yaml_documents
from moorage.api.structural_schema import structural
from moorage.api.v1alpha1.plugin_config import PluginConfig
from moorage.api.v1alpha1.scheduler_profile import SchedulerProfile

Node = dict[str, Any]
CRDS = {model.KIND.name: crd_files.crd(model) for model in crd_files.KINDS}
LIMIT_OF_OBJECT = 1_500_000
"""etcd's: a definition beyond it can't be stored."""


def schema(kind: str) -> Node:
    """The schema of a whole object."""
    root: Node = CRDS[kind]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return root


def nodes(node: Node, path: str = "") -> Iterator[tuple[str, Node]]:
    """Every schema node with its path."""
    yield path, node
    for name, child in node.get("properties", {}).items():
        yield from nodes(child, f"{path}.{name}")
    for keyword in ("items", "additionalProperties"):
        if keyword in node:
            yield from nodes(node[keyword], f"{path}[]")


ALL = [(kind, path, node) for kind in CRDS for path, node in nodes(schema(kind))]
IN_SPEC = [(kind, path, node) for kind, path, node in ALL if path.startswith(".spec")]


def test_every_node_is_structural() -> None:
    """A type for each, none of the keywords that the API server refuses or that say nothing."""
    for kind, path, node in ALL:
        assert node.get("type") in {"object", "array", "string", "integer", "boolean"}, (kind, path)
        assert not node.keys() & {
            "$ref",
            "$defs",
            "anyOf",
            "allOf",
            "oneOf",
            "title",
            "const",
            "propertyNames",
            "exclusiveMinimum",
        }
        assert not ("properties" in node and "additionalProperties" in node)
        if node["type"] == "array":
            assert "items" in node and node["x-kubernetes-list-type"] in {"atomic", "set", "map"}, (
                kind,
                path,
            )


def test_objects_are_described_or_free() -> None:
    """Nothing is pruned by accident."""
    for kind, path, node in ALL:
        if node["type"] == "object" and path != ".metadata":
            described = node.get("properties") or node.get("additionalProperties")
            assert bool(described) != bool(node.get("x-kubernetes-preserve-unknown-fields")), (
                kind,
                path,
            )


def test_everything_in_spec_is_bounded() -> None:
    """The API server reckons the cost of rules from these bounds, and no object is larger than they
    allow.
    """
    for kind, path, node in IN_SPEC:
        if node["type"] == "array":
            assert node["maxItems"] <= 256, (kind, path)
        if node["type"] == "string" and "enum" not in node:
            assert node["maxLength"] <= 2048, (kind, path)
        if node["type"] == "integer":
            assert "minimum" in node and "maximum" in node, (kind, path)
        if "additionalProperties" in node:
            assert node["maxProperties"] <= 100, (kind, path)


def test_every_field_that_users_write_is_described() -> None:
    """`kubectl explain` says something."""
    for kind, path, node in IN_SPEC:
        if not path.endswith("[]"):
            text = node.get("description", "")
            assert text.endswith(".") and "\n" not in text and "`" not in text, (kind, path)


def test_map_lists_have_their_key() -> None:
    """The key is a required field of the items."""
    lists = [(path, node) for _, path, node in ALL if node.get("x-kubernetes-list-type") == "map"]
    assert {path for path, _ in lists} >= {
        ".spec.pluginConfig",
        ".status.conditions",
        ".status.replicas",
    }
    for path, node in lists:
        (key,) = node["x-kubernetes-list-map-keys"]
        assert key in node["items"]["required"], path


def test_rules_name_fields_that_exist() -> None:
    """And say what is wrong."""
    found = [
        (kind, node, rule)
        for kind, _, node in ALL
        for rule in node.get("x-kubernetes-validations", ())
    ]
    assert len(found) > 20
    for kind, node, rule in found:
        assert rule["message"]
        for name in re.findall(r"[sS]elf\.(\w+)", rule["rule"]):
            assert name in node["properties"], (kind, rule)


@pytest.mark.parametrize(
    "field", ["podInitialBackoffSeconds", "podMaxBackoffSeconds", "percentageOfNodesToScore"]
)
def test_what_inherits_from_the_operator_has_no_default(field: str) -> None:
    """Else the API server would write it into every object and the operator's value would never
    apply.
    """
    assert "default" not in schema("SchedulerProfile")["properties"]["spec"]["properties"][field]


def test_defaults_are_the_documented_ones() -> None:
    """What the API server writes into a new profile."""
    found = {path: node["default"] for _, path, node in ALL if "default" in node}
    assert {
        path: value for path, value in found.items() if not path.startswith(".spec.extenders")
    } == {
        ".spec.controllerName": "moorage",
        ".spec.preset": "Default",
        ".spec.rollout.strategy": "Immediate",
        ".spec.rollout.canary.percent": 10,
        ".spec.rollout.canary.pods": 400,
        ".spec.rollout.shadow.pods": 400,
        ".spec.rollout.marginPercent": 0,
        ".spec.rollout.progressDeadlineSeconds": 600,
        ".spec.rollout.stopped": "",
        ".spec.suspend": False,
    }


def test_columns_and_names_are_as_promised() -> None:
    """What `kubectl get sprof` and `get pcfg` print."""
    versions = {kind: crd["spec"]["versions"][0] for kind, crd in CRDS.items()}
    columns = {
        kind: [(c["name"], c.get("priority", 0)) for c in v["additionalPrinterColumns"]]
        for kind, v in versions.items()
    }
    assert columns["SchedulerProfile"] == [
        *(
            (name, 0)
            for name in (
                "Scheduler",
                "Ready",
                "Reason",
                "Revision",
                "Active",
                "Backoff",
                "Unsched",
                "Gated",
                "Leader",
                "Age",
            )
        ),
        *((name, 1) for name in ("Preset", "Desired", "Message")),
    ]
    assert columns["PluginConfig"] == [
        *((name, 0) for name in ("Plugin", "Accepted", "Active", "Reason", "Profiles", "Age")),
        ("Message", 1),
    ]
    assert [crd["spec"]["names"]["shortNames"] for crd in CRDS.values()] == [["sprof"], ["pcfg"]]
    assert {crd["spec"]["names"]["categories"][0] for crd in CRDS.values()} == {"moorage"}
    assert {crd["spec"]["scope"] for crd in CRDS.values()} == {"Cluster"}


@pytest.mark.parametrize("kind", CRDS)
def test_columns_and_selectors_lead_to_fields(kind: str) -> None:
    """A path that leads nowhere would print nothing and nobody would notice."""
    paths = {path for path, _ in nodes(schema(kind))}
    version = CRDS[kind]["spec"]["versions"][0]
    for entry in [*version["additionalPrinterColumns"], *version["selectableFields"]]:
        path = re.sub(r"\[\?.*\]", "[]", entry["jsonPath"])
        assert path in paths or path == ".metadata.creationTimestamp", path


def test_documents_are_the_same_each_time_and_small() -> None:
    """Readable YAML that is what `crd` says."""
    files = crd_files.crd_documents()
    assert files == crd_files.crd_documents()
    assert sorted(files) == ["pluginconfigs.yaml", "schedulerprofiles.yaml"]
    for model in (SchedulerProfile, PluginConfig):
        text = files[f"{model.KIND.plural}.yaml"]
        assert text.startswith("# Generated") and len(text) < LIMIT_OF_OBJECT
        assert yaml_documents.load_all(text) == [crd_files.crd(model)]


def test_a_field_of_two_types_is_refused() -> None:
    """The API server would not take it."""

    class Either(BaseModel):
        value: int | str

    with pytest.raises(ValueError, match="too many values"):
        structural(Either.model_json_schema())
