"""The operator's own server on a cluster: what the API server says of certificates, tokens and
rights is what counts.
"""

from __future__ import annotations

import contextlib
import json
import ssl
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from moorage.apps.demo.kube_client import client_pem
from tests.rig import ControlPlane
from tests.rig.certificates import Authority
from tests.rig.clients import Client
from tests.rig.objects import create
from tests.rig.operators import Operator, install, until

PLACE = "watchers"
AUTHORITIES = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
PAGES = ("/metrics", "/configz", "/debug/queue", "/debug/cache")


@pytest.fixture(scope="module")
def client(rig: ControlPlane) -> Iterator[Client]:
    """A namespace with two ServiceAccounts, one of which may scrape."""
    install(rig)
    accounts = (
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": name, "namespace": PLACE},
        }
        for name in ("may", "may-not")
    )
    create(rig, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": PLACE}}, *accounts)
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "watchers"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "moorage-metrics-reader",
        },
        "subjects": [{"kind": "ServiceAccount", "name": "may", "namespace": PLACE}],
    }
    create(rig, binding)
    with contextlib.closing(Client(rig)) as client:
        yield client


@pytest.fixture(scope="module")
def operator(rig: ControlPlane, client: Client) -> Iterator[Operator]:
    """The operator with the rights of the manifests."""
    with Operator(rig, install(rig), "moorage-watched") as operator:
        operator.wait_logged("health and metrics are served")
        operator.fetched("/metrics")
        yield operator


def token_of(client: Client, account: str) -> dict[str, str]:
    """A header with a new token."""
    asked = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": 600},
    }
    token = client.post(f"/api/v1/namespaces/{PLACE}/serviceaccounts/{account}/token", asked)[
        "status"
    ]["token"]
    return {"Authorization": f"Bearer {token}"}


def test_health_is_for_everybody(operator: Operator) -> None:
    """Without credentials; nothing else is."""
    for path in ("/livez", "/healthz", "/readyz", "/livez/lease"):
        assert until(lambda path=path: operator.ask(path, certified=False) == (200, "ok"), path)
    for path in PAGES:
        assert operator.ask(path, certified=False) == (
            401,
            "a client certificate or a bearer token is needed\n",
        )


def test_an_administrator_has_all_by_his_certificate(operator: Operator) -> None:
    """As kubeadm and kind give him one; he has no token."""
    for path in PAGES:
        assert operator.ask(path)[0] == 200
    assert (
        json.loads(operator.fetched("/configz"))["componentconfig"]["serving"]["securePort"]
        == operator.secure_port
    )


def test_a_scraper_has_what_the_role_says(
    rig: ControlPlane, client: Client, operator: Operator
) -> None:
    """The metrics and no more; without the role nothing, where rights are checked."""
    may, may_not = token_of(client, "may"), token_of(client, "may-not")
    assert operator.ask("/metrics", headers=may, certified=False)[0] == 200
    assert operator.ask("/metrics", headers={"Authorization": "Bearer x.y.z"}, certified=False) == (
        401,
        "the bearer token is not known, or not any more\n",
    )
    if rig.guarded:
        assert operator.ask("/debug/queue", headers=may, certified=False)[0] == 403
        status, text = operator.ask("/metrics", headers=may_not, certified=False)
        assert (status, text) == (
            403,
            f"user 'system:serviceaccount:{PLACE}:may-not' may not get /metrics\n",
        )


def test_a_token_ends_with_its_account(client: Client, operator: Operator) -> None:
    """At once for one that was not used lately."""
    header = token_of(client, "may")
    client.delete(f"/api/v1/namespaces/{PLACE}/serviceaccounts/may")
    assert operator.ask("/metrics", headers=header, certified=False)[0] == 401
    again = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "may"}}
    client.post(f"/api/v1/namespaces/{PLACE}/serviceaccounts", again)


def test_while_the_api_server_is_away(rig: ControlPlane, operator: Operator) -> None:
    """Health is answered, and administrators by certificate."""
    rig.pause_apiserver()
    try:
        assert operator.ask("/livez", certified=False) == (200, "ok")
        assert operator.ask("/metrics")[0] == 200
    finally:
        rig.resume_apiserver()


def test_certificates_and_authorities_that_are_replaced(
    rig: ControlPlane, client: Client, tmp_path: Path
) -> None:
    """Of our own server, and of its clients: new ones count by themselves, expired ones do not."""
    (tmp_path / "ours").mkdir()
    (tmp_path / "theirs").mkdir()
    ours, theirs = Authority(tmp_path / "ours"), Authority(tmp_path / "theirs")
    certificate, key = ours.server("moorage")
    files = {"certFile": str(certificate), "keyFile": str(key)}
    before: dict[str, Any] = client.get(AUTHORITIES)["data"]
    with Operator(rig, install(rig), "moorage-certified", {"serving": files}) as operator:
        operator.wait_logged("health and metrics are served")
        operator.fetched("/metrics")
        shown = ssl.get_server_certificate(
            ("127.0.0.1", operator.secure_port), ca_certs=str(ours.file)
        )
        admin, late = (
            theirs.client("admin", ["system:masters"]),
            theirs.client("late", ["system:masters"], timedelta(minutes=-1)),
        )
        assert status(operator, admin) != 200
        ours.server("moorage")  # the same files
        try:
            both = before["client-ca-file"] + theirs.file.read_text()
            client.merge(AUTHORITIES, {"data": {"client-ca-file": both}})
            until(lambda: status(operator, admin) == 200, "the new authority", 30)
            until(
                lambda: ssl.get_server_certificate(("127.0.0.1", operator.secure_port)) != shown,
                "the new certificate",
                15,
            )
            ssl.get_server_certificate(("127.0.0.1", operator.secure_port), ca_certs=str(ours.file))
            assert operator.ask("/metrics")[0] == 200
            assert status(operator, late) != 200
        finally:
            client.merge(AUTHORITIES, {"data": before})


def status(operator: Operator, credentials: tuple[Path, Path]) -> int:
    """Of an answer to whoever has this certificate; 0 where it ends the handshake."""
    with contextlib.suppress(OSError):
        return operator.ask("/metrics", credentials=credentials)[0]
    return 0


def test_the_demos_certificate_is_one_file(
    rig: ControlPlane, operator: Operator, tmp_path: Path
) -> None:
    """As its instructions give it to curl."""
    pem = tmp_path / "admin.pem"
    pem.write_text(client_pem(rig.kubeconfig))
    assert operator.ask("/metrics", credentials=(pem, None))[0] == 200


def test_the_authorities_are_where_kubernetes_has_them(client: Client, rig: ControlPlane) -> None:
    """On both sorts of cluster, with the authority that signs for users."""
    assert (
        rig.authority_file.read_text().strip() in client.get(AUTHORITIES)["data"]["client-ca-file"]
    )
