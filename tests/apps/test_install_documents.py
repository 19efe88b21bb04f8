"""What the wheel has to install: the objects of each variant and component."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from moorage.api import yaml_documents
from moorage.api.operator_config import load_config
from moorage.apps import resources
from moorage.apps.check import check

Body = dict[str, Any]
NAME, INSTANCE = "app.kubernetes.io/name", "app.kubernetes.io/instance"
CLUSTER_WIDE = frozenset(
    {
        "ClusterRole",
        "ClusterRoleBinding",
        "CustomResourceDefinition",
        "FlowSchema",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
        "MutatingWebhookConfiguration",
        "Namespace",
        "ValidatingWebhookConfiguration",
    }
)
READING = frozenset({"get", "list", "watch"})
REVIEWS = frozenset({"selfsubjectaccessreviews", "subjectaccessreviews", "tokenreviews"})

DOCUMENTS = {
    **{name: yaml_documents.load_all(resources.variant(name)) for name in resources.variants()},
    **{name: yaml_documents.load_all(resources.component(name)) for name in resources.components()},
}
OBJECTS = [
    pytest.param(body, id=f"{name}-{body['kind']}-{body['metadata']['name']}")
    for name, bodies in DOCUMENTS.items()
    for body in bodies
]


def one(variant: str, kind: str) -> Body:
    """The only object of a kind."""
    body: Body
    (body,) = (body for body in DOCUMENTS[variant] if body["kind"] == kind)
    return body


def pod(variant: str) -> Body:
    """The spec of the operator's pods."""
    spec: Body = one(variant, "Deployment")["spec"]["template"]["spec"]
    return spec


def selectors(node: Any) -> Iterator[Body]:
    """What selects pods or Services of ours, wherever it stands."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "matchLabels" or (key == "selector" and NAME in value):
                yield value
            else:
                yield from selectors(value)
    elif isinstance(node, list):
        for value in node:
            yield from selectors(value)


def test_the_names() -> None:
    """They are those of docs/tasks/install.md."""
    assert resources.variants() == ("default", "default-scheduler", "guest", "ha", "observer")
    assert {"monitoring", "namespaced-lease", "network-policy"} <= {*resources.components()}
    with pytest.raises(resources.ResourceMissing, match=r"variants/hat\.yaml is missing"):
        resources.variant("hat")


@pytest.mark.parametrize("body", OBJECTS)
def test_an_object_is_labelled_and_has_its_namespace(body: Body) -> None:
    """CRDs belong to all installations, so they have no instance."""
    assert ("namespace" in body["metadata"]) is (body["kind"] not in CLUSTER_WIDE)
    labels = body["metadata"]["labels"]
    assert labels["app.kubernetes.io/part-of"] == "moorage"
    if body["kind"] != "CustomResourceDefinition":
        assert (labels[NAME], labels[INSTANCE]) == ("moorage", "moorage")


@pytest.mark.parametrize("body", OBJECTS)
def test_what_selects_ours_selects_one_installation(body: Body) -> None:
    """Or two installations in a namespace would share a Service, and count each other's pods."""
    ours = [labels for labels in selectors(body) if NAME in labels]
    assert all(labels == {NAME: "moorage", INSTANCE: "moorage"} for labels in ours)
    if body["kind"] in ("Deployment", "Service", "PodDisruptionBudget", "NetworkPolicy"):
        assert ours


@pytest.mark.parametrize("variant", resources.variants())
def test_no_object_comes_twice(variant: str) -> None:
    """Not with all components, either: these only add objects."""
    bodies = [*DOCUMENTS[variant]]
    for component in resources.components():
        bodies += DOCUMENTS[component]
    found = [(body["kind"], body["metadata"]["name"]) for body in bodies]
    assert len({*found}) == len(found)


@pytest.mark.parametrize("variant", resources.variants())
def test_the_operator_never_places_itself(variant: str) -> None:
    """While all replicas are down, nobody would."""
    wanted = "system-scheduler" if variant == "default-scheduler" else "default-scheduler"
    assert pod(variant)["schedulerName"] == wanted


@pytest.mark.parametrize("variant", resources.variants())
def test_the_configuration_loads_and_its_port_is_open(variant: str) -> None:
    """With the environment that the pod has."""
    (container,) = pod(variant)["containers"]
    (volume,) = (one["configMap"]["name"] for one in pod(variant)["volumes"])
    config = one(variant, "ConfigMap")
    assert config["metadata"]["name"] == volume == "moorage-config"
    environ = {variable["name"]: "elsewhere" for variable in container["env"]}
    loaded = load_config(config["data"]["config.yaml"], environ, {})
    assert loaded.leader_election.resource_name == "elsewhere"
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert ports == {"https": loaded.serving.secure_port, "admission": loaded.admission.port}


def rules(bodies: list[Body]) -> Iterator[tuple[str, Body]]:
    """Each rule with the kind of its role."""
    for body in bodies:
        if body["kind"] in ("ClusterRole", "Role"):
            for rule in body["rules"]:
                yield body["kind"], rule


def test_an_observer_reads() -> None:
    """It writes its Leases and profiles' statuses, and asks who may do what, nothing else."""
    writes = {
        (kind, resource, verb)
        for kind, rule in rules(DOCUMENTS["observer"])
        for resource in rule.get("resources", ())
        for verb in rule["verbs"]
        if verb not in READING
    }
    lease = {("Role", "leases", verb) for verb in ("create", "delete", "patch")}
    status = {("ClusterRole", "schedulerprofiles/status", "patch")}
    asks = {("ClusterRole", review, "create") for review in REVIEWS}
    assert writes == lease | status | asks


def test_ha_is_on_a_node_each() -> None:
    """Three replicas; zones are a wish, and a rollout is not in its own way."""
    assert one("ha", "Deployment")["spec"]["replicas"] == 3
    spread = {
        rule["topologyKey"]: (rule["whenUnsatisfiable"], rule["matchLabelKeys"])
        for rule in pod("ha")["topologySpreadConstraints"]
    }
    assert spread == {
        "kubernetes.io/hostname": ("DoNotSchedule", ["pod-template-hash"]),
        "topology.kubernetes.io/zone": ("ScheduleAnyway", ["pod-template-hash"]),
    }


def test_a_quota_admits_the_priority_class() -> None:
    """Clusters with a limit on the class refuse the pods without one."""
    for variant in resources.variants():
        (scope,) = one(variant, "ResourceQuota")["spec"]["scopeSelector"]["matchExpressions"]
        assert scope["values"] == [pod(variant)["priorityClassName"]]


def test_a_default_scheduler_waits_for_nothing() -> None:
    """Neither the network nor the Service's address is there when it starts, and its ports are not
    kube-scheduler's.
    """
    spec = pod("default-scheduler")
    assert spec["hostNetwork"] is True
    tolerated = {one["key"] for one in spec["tolerations"]}
    assert {"node.kubernetes.io/not-ready", "node-role.kubernetes.io/control-plane"} <= tolerated
    (container,) = spec["containers"]
    assert "KUBERNETES_SERVICE_HOST" in {variable["name"] for variable in container["env"]}
    assert not {10259, 10260} & {port["containerPort"] for port in container["ports"]}
    labels = one("default-scheduler", "Namespace")["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "privileged"
    strategy = one("default-scheduler", "Deployment")["spec"]["strategy"]["rollingUpdate"]
    assert strategy["maxSurge"] == 0


@pytest.mark.parametrize("variant", resources.variants())
def test_the_next_profile_is_good(variant: str, tmp_path: Any) -> None:
    """And the variant holds none: its kind is not served yet."""
    assert not any(body["kind"] == "SchedulerProfile" for body in DOCUMENTS[variant])
    text = resources.next_profile(variant)
    assert bool(text) is (variant in ("guest", "default-scheduler"))
    if text:
        (tmp_path / "profile.yaml").write_text(text)
        assert check([tmp_path / "profile.yaml"]).status == 0
