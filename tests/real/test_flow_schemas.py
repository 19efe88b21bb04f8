"""That the API server serves the operator before others, as the manifests ask it to."""

from __future__ import annotations

import contextlib
import ssl
import urllib.error
import urllib.request
from pathlib import Path

import pytest
import yaml

from tests.rig import ControlPlane
from tests.rig.clients import Client
from tests.rig.operators import install

SCHEMAS = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/moorage-system/leases/moorage"


@pytest.mark.real_only
@pytest.mark.parametrize(
    ("path", "schema"), [(LEASE, "moorage-leader-election"), ("/api/v1/nodes", "moorage")]
)
def test_the_operator_is_served_first(rig: ControlPlane, path: str, schema: str) -> None:
    """What it asks for has a FlowSchema of its own, of a level above other ServiceAccounts'."""
    kubeconfig = install(rig)
    with contextlib.closing(Client(rig)) as client:
        found = client.get(f"{SCHEMAS}/{schema}")
    assert flow_of(rig, kubeconfig, path) == found["metadata"]["uid"]
    assert not [
        one
        for one in found["status"]["conditions"]
        if (one["type"], one["status"]) == ("Dangling", "True")
    ]


def flow_of(rig: ControlPlane, kubeconfig: Path, path: str) -> str:
    """The UID of the FlowSchema by which a GET of the operator's was served."""
    token = yaml.safe_load(kubeconfig.read_text())["users"][0]["user"]["token"]
    request = urllib.request.Request(
        rig.server + path, headers={"Authorization": f"Bearer {token}"}
    )
    context = ssl.create_default_context(cafile=str(rig.authority_file))
    try:
        with urllib.request.urlopen(request, context=context) as answer:
            return str(answer.headers["X-Kubernetes-PF-FlowSchema-UID"])
    except urllib.error.HTTPError as error:  # there is no Lease yet
        return str(error.headers["X-Kubernetes-PF-FlowSchema-UID"])
