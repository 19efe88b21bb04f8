"""`moorage install` on a real API server: each variant by its own service account."""

from __future__ import annotations

import subprocess
import sys

import pytest
import yaml

from moorage.apps import resources
from moorage.apps.install.object_keys import key_of
from moorage.apps.install.variants import Options, documents
from tests.installing.playing import Played, objects


def printed(*words: str) -> str:
    """What a dry run prints."""
    command = [sys.executable, "-I", "-m", "moorage", "install", *words, "--dry-run"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("variant", resources.variants())
def test_a_variant(cluster: Played, variant: str) -> None:
    """A replica leads by the rights that it was given, a second run changes nothing, and what is
    printed for kubectl is the same.
    """
    words = ("--variant", variant, "--component", "network-policy")
    first = cluster.moorage("install", *words)
    assert first.lines[0].startswith("Moorage works as moorage-system/moorage at ")
    wanted = documents(variant, ["network-policy"], Options())
    before = objects(cluster, *wanted)
    assert len(before) == len(wanted)
    again = cluster.moorage("install", *words)
    assert again.lines[1].startswith("  nothing has changed: ")
    assert objects(cluster, *wanted) == before
    options = ("--server-side", "--field-manager=moorage-install", "--force-conflicts")
    assert cluster.rig.kubectl("diff", *options, "-f", "-", input=printed(*words)) == ""


def test_another_variant_and_shards(cluster: Played) -> None:
    """What the set has no more is removed, whoever applied it; nobody else's."""
    cluster.rig.kubectl("apply", "-f", "-", input=printed("--component", "network-policy"))
    other = documents("default", (), Options(name="other", namespace="elsewhere"))
    theirs = [one for one in other if one["kind"] in ("Namespace", "ConfigMap", "ServiceAccount")]
    cluster.rig.kubectl("apply", "-f", "-", input=yaml.safe_dump_all(theirs))
    words = ("install", "--variant", "observer", "--replicas", "2")
    stopped = cluster.moorage(*words, fails=True)
    assert any("kubectl applied it without --server-side" in one for one in stopped.lines)
    observing = cluster.moorage(*words, "--force-conflicts")
    (removed,) = (one for one in observing.lines if one.startswith("  removed: "))
    assert "ClusterRole moorage-deciding" in removed
    assert "NetworkPolicy moorage-system/moorage" in removed
    sharded = cluster.moorage("install", "--shards", "2", "--replicas", "1", "--force-conflicts")
    assert sharded.lines[0].startswith("To be removed, as what was asked for has it no more: ")
    for i in (0, 1):
        assert sharded.lines[i + 1].startswith(f"Moorage works as moorage-system/moorage-{i} at ")
    (removed,) = (one for one in sharded.lines if one.startswith("  removed: "))
    assert "Deployment moorage-system/moorage," in removed
    wanted = documents("default", (), Options(shards=2, replicas=1))
    there = cluster.rig.kubectl(
        "get", "deployment,sa,cm", "-A", "-l", "app.kubernetes.io/part-of=moorage", "-o", "name"
    ).split()
    kinds = {"Deployment": "deployment.apps", "ServiceAccount": "serviceaccount"}
    kinds["ConfigMap"] = "configmap"
    keys = map(key_of, (*wanted, *theirs))
    assert sorted(there) == sorted(f"{kinds[k.kind]}/{k.name}" for k in keys if k.kind in kinds)


def test_the_webhook_comes_last(cluster: Played) -> None:
    """With the authority that its certificate has, made before a replica starts; where it cannot be
    asked that is said, with the way out. Here nothing routes to Services.
    """
    done = cluster.moorage("install", "--component", "admission", fails=True)
    assert done.status == 1
    assert done.lines[0].startswith("Moorage is not wholly installed at ")
    assert done.lines[1].startswith("  made: CustomResourceDefinition ")
    assert "the webhook does not answer after " in done.errors
    assert "kubectl delete validatingwebhookconfiguration moorage" in done.errors
    asked = [
        event.object_ref
        for event in cluster.rig.audit()
        if event.user_agent.startswith("moorage/")
        and event.user_agent.count(" ") == 0
        and event.verb in ("patch", "create")
        and event.object_ref
        and "dryRun=All" not in event.request_uri
    ]
    places = [(one.resource, one.name) for one in asked]
    secret = next(i for i, one in enumerate(asked) if one.resource == "secrets")
    assert secret < places.index(("deployments", "moorage"))
    assert places[-1] == ("validatingwebhookconfigurations", "moorage")
