"""The component assign-webhook with an operator: a real API server asks it about pods."""

from __future__ import annotations

import base64
import contextlib

import pytest

from tests.assignment_cases import a_profile
from tests.real.test_assignment import COMPONENTS, PROFILES, created, pod_of
from tests.rig import Rig
from tests.rig.clients import Client
from tests.rig.objects import apply, delete, read
from tests.rig.operators import NAMESPACE, Operator, install, until, wait_for
from tests.rig.processes import free_ports

pytestmark = pytest.mark.real_only

SECRET = {"namespace": NAMESPACE, "name": "moorage-admission-tls"}


def test_an_operator_answers(rig: Rig) -> None:
    """Over HTTPS, with the certificate of its Secret, while its profile's condition says so."""
    install(rig)
    (port,) = free_ports(1)
    certificate, key = (rig.folder / f"kube-apiserver.{what}" for what in ("crt", "key"))
    shown = {"tls.crt": certificate.read_text(), "tls.key": key.read_text()}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": SECRET, "stringData": shown}
    authority = base64.b64encode(rig.authority_file.read_bytes()).decode()
    (component,) = read(COMPONENTS / "assign-webhook")
    (configured,) = component["webhooks"]
    url = f"https://127.0.0.1:{port}/assign"
    configured["clientConfig"] = {"url": url, "caBundle": authority}
    apply(rig, secret, component)
    selector = {"matchLabels": {"kubernetes.io/metadata.name": "default"}}
    spec = {"assign": {"namespaceSelector": selector, "podSelector": {}}}
    config = {
        "admission": {"enabled": True, "port": port, "secretName": SECRET["name"]},
        "leaderElection": {"resourceNamespace": NAMESPACE},
    }
    try:
        with (
            contextlib.closing(Client(rig)) as client,
            Operator(rig, rig.kubeconfig, "moorage-assigning", config),
        ):
            client.post(PROFILES, {**a_profile("answered", spec, ""), "status": {}})
            wait_for(rig, "Assigned", "sprof/answered")
            pod = pod_of("default", {})
            until(lambda: created(client, pod) == "answered", "the operator is asked")
            client.merge(f"{PROFILES}/answered", {"spec": {"suspend": True}})
            until(lambda: created(client, pod) == "default-scheduler", "it is suspended")
            client.delete(f"{PROFILES}/answered")
    finally:
        delete(rig, component, secret)
