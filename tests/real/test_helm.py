"""A release of the Helm chart on a real API server: installed, upgraded, gone."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.generate import ROOT
from tests.rig import Rig
from tests.tools.required_assets import required_assets

CHART = ROOT / "manifests" / "chart"
NAMESPACE = "moorage-system"


@pytest.fixture(scope="module")
def installed(assets: Path) -> Iterator[Rig]:
    """A control plane of its own with the release, with admission."""
    with Rig(assets, groups=False) as rig:
        helm(rig, "install", "--create-namespace", "--set=admission.enabled=true")
        yield rig


def helm(rig: Rig, command: str, *more: str) -> None:
    """Run Helm on the release moorage."""
    chart = [] if command == "uninstall" else [str(CHART)]
    program = required_assets("helm") / "helm"
    subprocess.run(
        [program, command, "moorage", *chart, f"--namespace={NAMESPACE}", *more],
        env={**rig.environment, "KUBECONFIG": str(rig.kubeconfig), "HOME": str(rig.folder)},
        check=True,
        capture_output=True,
        text=True,
    )


def get(rig: Rig, *what: str) -> dict[str, Any]:
    """An object of the release's namespace, or of none."""
    found: dict[str, Any] = json.loads(rig.kubectl("-n", NAMESPACE, "get", *what, "-o", "json"))
    return found


def test_an_upgrade_keeps_the_authority(installed: Rig) -> None:
    """And what the leader has written beside it: API servers go on believing what it signed."""
    before = get(installed, "secret", "moorage-admission-tls")["data"]
    written = json.dumps({"data": {"tls.crt": "c2lnbmVk"}})
    installed.kubectl("-n", NAMESPACE, "patch", "secret", "moorage-admission-tls", "-p", written)
    helm(installed, "upgrade", "--set=admission.enabled=true,replicas=3")
    assert get(installed, "deployment", "moorage")["spec"]["replicas"] == 3
    after = get(installed, "secret", "moorage-admission-tls")["data"]
    assert after == {**before, "tls.crt": "c2lnbmVk"}
    for webhook in get(installed, "validatingwebhookconfiguration", "moorage")["webhooks"]:
        assert webhook["clientConfig"]["caBundle"] == before["ca.crt"]


def test_profiles_outlive_the_release(installed: Rig) -> None:
    """The CRDs stay, the rest goes."""
    helm(installed, "uninstall")
    left = installed.kubectl("get", "crd", "-o", "name").split()
    assert len([name for name in left if name.endswith(".moorage.dev")]) == 2
    kinds = "deployment,service,secret,configmap,role,rolebinding,clusterrole,pdb,resourcequota"
    kinds += ",validatingwebhookconfiguration"
    selector = "app.kubernetes.io/instance=moorage"
    assert installed.kubectl("get", kinds, "-A", "-l", selector, "-o", "name") == ""
