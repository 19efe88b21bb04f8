"""`kubectl apply -k manifests/default` and the samples, on a control plane of their own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from moorage.api import yaml_documents
from tests.generate import ROOT
from tests.rig import Rig

NAMESPACE = "moorage-system"


@pytest.fixture(scope="module")
def installed(assets: Path) -> Iterator[Rig]:
    """A control plane with everything applied; it has no groups of pods, as most clusters."""
    with Rig(assets, groups=False) as rig:
        rig.kubectl("apply", "-k", str(ROOT / "manifests" / "default"))
        rig.establish("schedulerprofiles.moorage.dev", "pluginconfigs.moorage.dev")
        yield rig


def get(rig: Rig, *what: str) -> dict[str, Any]:
    """An object."""
    found: dict[str, Any] = json.loads(rig.kubectl("get", *what, "-o", "json"))
    return found


def test_all_is_there_as_written(installed: Rig) -> None:
    """Nothing is pruned, so applying it again changes nothing."""
    assert installed.kubectl("diff", "-k", str(ROOT / "manifests" / "default")) == ""
    for what in (
        "serviceaccount/moorage",
        "role/moorage",
        "deployment/moorage",
        "service/moorage",
        "pdb/moorage",
        "resourcequota/moorage",
    ):
        assert get(installed, "-n", NAMESPACE, what)


def test_pods_are_at_the_restricted_level(installed: Rig) -> None:
    """The namespace enforces it, and the Deployment's pods pass."""
    assert (
        get(installed, "namespace", NAMESPACE)["metadata"]["labels"][
            "pod-security.kubernetes.io/enforce"
        ]
        == "restricted"
    )
    deployment = get(installed, "-n", NAMESPACE, "deployment", "moorage")
    template = deployment["spec"]["template"]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "x", "namespace": NAMESPACE},
        "spec": template["spec"],
    }
    assert "created" in installed.kubectl(
        "create", "--dry-run=server", "-f", "-", input=json.dumps(pod)
    )
    assert deployment["spec"]["replicas"] == 2
    assert template["spec"]["enableServiceLinks"] is False
    mounted = [volume["configMap"]["name"] for volume in template["spec"]["volumes"]]
    assert get(installed, "-n", NAMESPACE, "configmap", *mounted)["data"].keys() == {"config.yaml"}


def test_the_configuration_is_one_that_loads(installed: Rig) -> None:
    """With the environment that the Deployment sets."""
    from moorage.api.operator_config import load_config

    deployment = get(installed, "-n", NAMESPACE, "deployment", "moorage")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    text = get(
        installed,
        "-n",
        NAMESPACE,
        "configmap",
        deployment["spec"]["template"]["spec"]["volumes"][0]["configMap"]["name"],
    )
    environ = {variable["name"]: "elsewhere" for variable in container["env"]}
    assert (
        load_config(text["data"]["config.yaml"], environ, {}).leader_election.resource_namespace
        == "elsewhere"
    )


def test_samples_are_taken(installed: Rig) -> None:
    """Two profiles, one of which references the PluginConfig, and pods for both; `moorage check`
    finds them good.
    """
    from moorage.apps.check import check

    samples = ROOT / "manifests" / "samples"
    installed.kubectl("apply", "-f", str(samples))
    profiles = get(installed, "sprof")["items"]
    assert {profile["metadata"]["name"]: profile["spec"]["preset"] for profile in profiles} == {
        "binpack": "BinPack",
        "spread": "Spread",
    }
    references = [
        entry["configRef"]["name"]
        for profile in profiles
        for entry in profile["spec"].get("pluginConfig", [])
    ]
    assert references == [item["metadata"]["name"] for item in get(installed, "pcfg")["items"]]
    assert {pod["spec"]["schedulerName"] for pod in get(installed, "pods")["items"]} == {
        "binpack",
        "spread",
    }
    assert check([samples]).status == 0


def roles() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every rule of every role that is shipped."""
    for file in sorted((ROOT / "manifests" / "components").rglob("*.yaml")):
        for document in yaml_documents.load_all(file.read_text(encoding="utf-8")):
            if document["kind"] in ("Role", "ClusterRole"):
                for rule in document["rules"]:
                    yield (
                        f"{document['kind']}/{document['metadata']['name']}",
                        {"apiGroups": [], "resources": [], **rule},
                    )


def test_no_right_is_a_wildcard() -> None:
    """And none reaches other people's Secrets, workloads or rights; those of its own namespace are
    only read by name.
    """
    found = list(roles())
    assert found
    for name, rule in found:
        assert "*" not in "".join(
            [
                *rule["apiGroups"],
                *rule["resources"],
                *rule["verbs"],
                *rule.get("nonResourceURLs", []),
            ]
        ), name
        if "secrets" in rule["resources"]:
            known = {"Role/moorage-deciding": ["get"], "Role/moorage-admission": ["get", "update"]}
            assert rule["verbs"] == known[name]
            if "update" in rule["verbs"]:
                assert rule["resourceNames"] == ["moorage-admission-tls"]
        assert not {
            "pods/exec",
            "clusterroles",
            "clusterrolebindings",
            "roles",
            "rolebindings",
        } & set(rule["resources"])
        assert not {"escalate", "bind", "impersonate", "deletecollection"} & set(rule["verbs"])
