"""The Helm chart gives the objects that `kubectl kustomize` gives, and refuses what it does not
know.
"""

from __future__ import annotations

import base64
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from moorage.api import yaml_documents
from tests.packaging.chart import switch
from tests.packaging.kustomizing import (
    CONFIG_HASH,
    MANIFESTS,
    VARIANTS,
    Body,
    identity,
    kustomized,
    options,
    without_hash,
)

CHART = MANIFESTS / "chart"
Objects = dict[tuple[str, str], Body]
Render = Callable[..., Objects]


@pytest.fixture
def run(helm: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """`helm template` of the chart with more arguments."""

    def run(*arguments: str, release: str = "moorage") -> subprocess.CompletedProcess[str]:
        command = [str(helm), "template", release, str(CHART), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    return run


@pytest.fixture
def render(run: Callable[..., subprocess.CompletedProcess[str]]) -> Render:
    """The objects that it gives."""

    def render(
        *settings: str,
        files: Sequence[str] = (),
        release: str = "moorage",
        namespace: str = "moorage-system",
    ) -> Objects:
        arguments = ["--namespace", namespace]
        arguments += [f"--values={CHART / file}" for file in files]
        arguments += [f"--set={one}" for one in settings]
        done = run(*arguments, release=release)
        assert done.returncode == 0, done.stderr
        return {identity(body): body for body in yaml_documents.load_all(done.stdout)}

    return render


def compared(body: Body) -> Body:
    """An object without what differs on purpose: CRDs stay when the release goes, a ConfigMap's
    text is written anew, so its hash is another, and Helm makes the authority of admission.
    """
    body["metadata"].get("annotations", {}).pop("helm.sh/resource-policy", None)
    if not body["metadata"].get("annotations", True):
        del body["metadata"]["annotations"]
    if body["kind"] == "Deployment":
        del body["spec"]["template"]["metadata"]["annotations"][CONFIG_HASH]
    for webhook in body.get("webhooks", ()):
        webhook["clientConfig"].pop("caBundle", None)
    if body["kind"] == "ConfigMap" and "config.yaml" in body["data"]:
        (body["data"]["config.yaml"],) = yaml_documents.load_all(body["data"]["config.yaml"])
    return body


def wanted(*folders: str) -> Objects:
    """What kustomize gives, with the ConfigMap's name that stays."""
    bodies = [body for folder in folders for body in without_hash(kustomized(folder))]
    return {identity(body): compared(body) for body in bodies}


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_variant_is_a_values_file(variant: str, render: Render) -> None:
    """With the namespace, which Helm's users make themselves."""
    files = [] if variant == "default" else [f"values-{variant}.yaml"]
    found = render("namespace.create=true", files=files)
    assert {of: compared(body) for of, body in found.items()} == wanted(variant)


@pytest.mark.parametrize("component", options())
def test_a_component_is_a_switch(component: str, render: Render) -> None:
    """It adds objects; but a Lease elsewhere is named to the operator, too."""
    found = render("namespace.create=true", f"{switch(component)}=true")
    if component in ("admission", "assign-webhook"):
        del found["Secret", "moorage-admission-tls"]  # Helm's users type no `moorage admission-ca`
    if component == "namespaced-lease":
        (container,) = found["Deployment", "moorage"]["spec"]["template"]["spec"]["containers"]
        (variable,) = (one for one in container["env"] if one.get("value") == "moorage-leases")
        assert variable["name"] == "MOORAGE_CFG_LEADER_ELECTION__RESOURCE_NAMESPACE"
        del variable["value"]
        variable["valueFrom"] = {"fieldRef": {"fieldPath": "metadata.namespace"}}
    both = wanted("default", f"components/{component}")
    assert {of: compared(body) for of, body in found.items()} == both


def test_crds_stay_when_the_release_goes(render: Render) -> None:
    """And can be left to another release."""
    crds = [body for (kind, _), body in render().items() if kind == "CustomResourceDefinition"]
    assert len(crds) == 2
    for body in crds:
        assert body["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
    assert not any(kind == "CustomResourceDefinition" for kind, _ in render("crds.enabled=false"))


def test_helm_makes_the_authority_of_admission(render: Render) -> None:
    """Its key is in the Secret, and API servers are told to believe it; but with cert-manager both
    are left to that.
    """
    both = ("admission.enabled=true", "assignWebhook.enabled=true")
    found = render(*both)
    data = found["Secret", "moorage-admission-tls"]["data"]
    assert data.keys() == {"ca.crt", "ca.key"}
    bundles = bundles_of(found)
    assert bundles == [data["ca.crt"]] * len(bundles)
    authority = x509.load_pem_x509_certificate(base64.b64decode(data["ca.crt"]))
    key = serialization.load_pem_private_key(base64.b64decode(data["ca.key"]), None)
    assert key.public_key() == authority.public_key()
    assert authority.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert (authority.not_valid_after_utc - authority.not_valid_before_utc).days == 3650

    theirs = render(*both, "certManager.enabled=true")
    assert ("Secret", "moorage-admission-tls") not in theirs
    assert bundles_of(theirs) == [None] * len(bundles)
    for kind, name in theirs:
        if kind.endswith("WebhookConfiguration"):
            injected = theirs[kind, name]["metadata"]["annotations"]
            assert injected["cert-manager.io/inject-ca-from"] == "moorage-system/moorage-admission"
    certificate = theirs["Certificate", "moorage-admission"]
    assert certificate["spec"]["secretName"] == "moorage-admission-tls"


def bundles_of(found: Objects) -> list[str | None]:
    """What each webhook has API servers believe."""
    return [
        webhook["clientConfig"].get("caBundle")
        for body in found.values()
        for webhook in body.get("webhooks", ())
    ]


def texts(node: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Each text in an object, with the keys on the way."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield from texts(value, (*path, key))
    elif isinstance(node, list):
        for value in node:
            yield from texts(value, path)
    elif isinstance(node, str):
        yield path, node


def test_two_releases_share_no_name(render: Render) -> None:
    """Every name and every reference is the release's; what is called moorage is the program, its
    metrics and its labels.
    """
    switches = [f"{switch(one)}=true" for one in options()]
    switches.append("namespacedLease.namespace=leases")
    found = render("crds.enabled=false", *switches, release="other", namespace="elsewhere")
    left = {
        (kind, *path)
        for (kind, _), body in found.items()
        for path, text in texts(body)
        if re.search(r"(?<!/)\bmoorage(-[a-z]|$)", text)
        and path[-1] not in ("app.kubernetes.io/name", "app.kubernetes.io/part-of")
    }
    pod = ("Deployment", "spec", "template", "spec", "containers")
    group = ("PrometheusRule", "spec", "groups", "name")
    assert left == {(*pod, "command"), (*pod, "name"), group}
    assert all(name == "other" or name.startswith("other-") for _, name in found)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ("replica=3", "additional properties 'replica' not allowed"),
        ("replicas=three", "got string, want integer"),
        ("config.serving.port=1", "at '/config/serving': additional properties 'port'"),
        ("monitoring.enable=true", "additional properties 'enable' not allowed"),
        ("podLabels.tier=1", "at '/podLabels/tier': got number, want string"),
    ],
)
def test_values_are_checked(
    settings: str, told: str, run: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    """A typing error is one; the operator's configuration has its own schema in it."""
    done = run("--set", settings)
    assert done.returncode != 0
    assert told in done.stderr


def test_what_people_set(render: Render) -> None:
    """An image of theirs, a port, labels, a class of nodes; an empty value leaves a field out."""
    found = render(
        "image.repository=registry.example/moorage,image.tag=v7",
        "config.serving.securePort=20000",
        "podLabels.tier=control,podAnnotations.note='{{ kept }}'",
        "monitoring.enabled=true,monitoring.labels.release=prometheus",
        "topologySpreadConstraints=null,networkPolicy.enabled=true,networkPolicy.from=null",
    )
    template = found["Deployment", "moorage"]["spec"]["template"]
    (container,) = template["spec"]["containers"]
    assert container["image"] == "registry.example/moorage:v7"
    assert container["ports"][0] == {"name": "https", "containerPort": 20000}
    assert template["metadata"]["labels"]["tier"] == "control"
    assert template["metadata"]["annotations"]["note"] == "'{{ kept }}'"
    assert "topologySpreadConstraints" not in template["spec"]
    assert "from" not in found["NetworkPolicy", "moorage"]["spec"]["ingress"][0]
    for kind in ("ServiceMonitor", "PrometheusRule"):
        assert found[kind, "moorage"]["metadata"]["labels"]["release"] == "prometheus"


def test_pods_restart_when_the_configuration_changes(render: Render) -> None:
    """The annotation is that of the text."""
    hashes = {
        render(f"config.logging.verbosity={verbosity}")["Deployment", "moorage"]["spec"][
            "template"
        ]["metadata"]["annotations"][CONFIG_HASH]
        for verbosity in (0, 1, 1)
    }
    assert len(hashes) == 2


def test_helm_finds_no_fault(helm: Path) -> None:
    """`helm lint`."""
    done = subprocess.run(
        [helm, "lint", "--strict", CHART], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_it_says_what_is_next(helm: Path) -> None:
    """The label of a namespace that is not the chart's is told."""
    for create, told in (("false", True), ("true", False)):
        command = [
            str(helm),
            "install",
            "other",
            str(CHART),
            "--dry-run=client",
            "--namespace=where",
        ]
        command += [f"--set=namespace.create={create}", "--hide-secret"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        notes = done.stdout.partition("NOTES:")[2]
        assert "kubectl -n where rollout status deployment/other" in notes
        assert ("kubectl label namespace where moorage.dev/home=true" in notes) is told
