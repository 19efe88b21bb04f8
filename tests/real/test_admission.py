"""Admission on a real API server: what is refused as it is applied, what passes, and what goes on
where nobody answers.
"""

from __future__ import annotations

import base64
import contextlib
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.rig import Rig
from tests.rig.admission_routes import lead_to
from tests.rig.clients import Client
from tests.rig.objects import create
from tests.rig.operators import ROOT, Operator, install, until, wait_for
from tests.rig.processes import RigError, free_ports

COMPONENT: Final = ROOT / "manifests" / "components" / "admission"
SECRET: Final = "/api/v1/namespaces/moorage-system/secrets/moorage-admission-tls"
WEBHOOKS: Final = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/moorage"
PROFILES: Final = "/apis/moorage.dev/v1alpha1/schedulerprofiles"
RENEWED_SECONDS: Final = 40
"""Two looks at the Secret and two at the certificate, and time for a busy machine."""


def profile(name: str, **spec: Any) -> dict[str, Any]:
    """A SchedulerProfile."""
    return {
        "apiVersion": "moorage.dev/v1alpha1",
        "kind": "SchedulerProfile",
        "metadata": {"name": name},
        "spec": spec,
    }


def enabled(plugin: str) -> dict[str, Any]:
    """A spec with one plugin more."""
    return {"plugins": {"filter": {"enabled": [{"name": plugin}]}}}


def referring(config: str) -> dict[str, Any]:
    """A spec that takes arguments from a PluginConfig."""
    return {"pluginConfig": [{"name": "NodeResourcesFit", "configRef": {"name": config}}]}


def plugin_config(name: str, **args: Any) -> dict[str, Any]:
    """A PluginConfig of NodeResourcesFit."""
    return {
        "apiVersion": "moorage.dev/v1alpha1",
        "kind": "PluginConfig",
        "metadata": {"name": name},
        "spec": {"plugin": "NodeResourcesFit", "args": args},
    }


class Installed:
    """A cluster with the component, and a replica that answers."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        (self.port,) = free_ports(1)
        self.kubeconfig = install(rig)
        create(rig, profile("stored", **enabled("NodeNam")))  # before anybody could refuse it
        rig.kubectl("apply", "-k", str(COMPONENT))
        lead_to(rig, self.port)
        config = {"admission": {"enabled": True, "port": self.port}}
        self.operator = Operator(rig, self.kubeconfig, "moorage-admission", config)

    def command(self, *words: str, status: int = 0) -> str:
        """What `moorage` prints, and that it ends so."""
        done = subprocess.run(
            [sys.executable, "-I", "-m", "moorage", *words, "--kubeconfig", self.rig.kubeconfig],
            env=self.rig.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == status, done.stderr
        return done.stdout

    def apply(self, *objects: dict[str, Any], options: tuple[str, ...] = ()) -> str:
        """What kubectl prints, warnings included. Raises RigError with its words."""
        text = "---\n".join(map(yaml.safe_dump, objects))
        return self.rig.kubectl("apply", *options, "-f", "-", input=text)

    def refused(self, *objects: dict[str, Any], options: tuple[str, ...] = ()) -> str:
        """Why kubectl could not apply them."""
        with pytest.raises(RigError) as error:
            self.apply(*objects, options=options)
        return str(error.value)

    def shown(self) -> str:
        """The certificate at the port, verified as an API server does, by name and authority."""
        with contextlib.closing(Client(self.rig)) as client:
            webhooks = client.get(WEBHOOKS)["webhooks"]
        bundle = base64.b64decode(webhooks[0]["clientConfig"]["caBundle"]).decode()
        context = ssl.create_default_context(cadata=bundle)
        with (
            socket.create_connection(("127.0.0.1", self.port), 5) as plain,
            context.wrap_socket(
                plain, server_hostname="moorage-admission.moorage-system.svc"
            ) as wrapped,
        ):
            return ssl.DER_cert_to_PEM_cert(wrapped.getpeercert(binary_form=True) or b"")


@pytest.fixture(scope="module")
def installed(assets: Path) -> Iterator[Installed]:
    """As an administrator installs it, from the moment that it answers."""
    with Rig(assets, groups=False) as rig:
        there = Installed(rig)
        with there.operator:
            there.operator.wait_logged("leading")
            said = there.command("admission-ca")
            assert "Secret moorage-system/moorage-admission-tls has an authority until" in said
            until(lambda: _answers(there), "an answer", RENEWED_SECONDS)
            assert "nothing to do" in there.command("admission-ca")
            yield there


def _answers(there: Installed) -> bool:
    with contextlib.suppress(RigError):  # by an API server that cannot ask yet
        return "created" in there.apply(profile("probe"), options=("--dry-run=server",))
    return False


def test_a_bad_profile_is_refused_with_the_field(installed: Installed) -> None:
    """As it is applied, by a dry run too; nothing of it is stored."""
    want = 'admission webhook "schedulerprofiles.moorage.dev" denied the request: '
    want += "spec.plugins.filter.enabled[0].name: 'NodeNam'"
    for options in ((), ("--dry-run=server",), ("--server-side",)):
        assert want in installed.refused(profile("bad", **enabled("NodeNam")), options=options)
    with contextlib.closing(Client(installed.rig)) as client, pytest.raises(RigError, match="404"):
        client.get(f"{PROFILES}/bad")
    bad = installed.refused(plugin_config("bad", ignoredResources=3))
    assert 'webhook "pluginconfigs.moorage.dev" denied the request: spec.args.ignored' in bad


def test_a_name_that_is_taken_is_refused(installed: Installed) -> None:
    """At the second one's creation."""
    installed.apply(profile("first"))
    wait_for(installed.rig, "Ready", "sprof/first")
    assert "'first' is older and has this schedulerName already" in installed.refused(
        profile("second", schedulerName="first")
    )


def test_two_that_are_applied_together_pass(installed: Installed) -> None:
    """The profile, which comes first, is warned of at most; then it is Ready."""
    installed.apply(profile("pair", **referring("pair")), plugin_config("pair"))
    wait_for(installed.rig, "Ready", "sprof/pair")


def test_an_invalid_profile_can_be_labelled_and_deleted(installed: Installed) -> None:
    """But not made invalid in another way; the leader goes on writing its status."""
    rig = installed.rig
    assert "labeled" in rig.kubectl("label", "sprof", "stored", "team=a")
    assert "'NodeNa'" in installed.refused(profile("stored", **enabled("NodeNa")))
    with contextlib.closing(Client(rig)) as client:

        def told() -> bool:
            found = client.get(f"{PROFILES}/stored").get("status", {}).get("conditions", ())
            return any((one["type"], one["status"]) == ("Accepted", "False") for one in found)

        until(told, "Accepted of the invalid profile")
    rig.kubectl("delete", "sprof", "stored")


def test_those_of_other_installations_are_not_asked_about(installed: Installed) -> None:
    """Their plugins may be others."""
    installed.apply(profile("theirs", controllerName="another", **enabled("NodeNam")))
    installed.rig.kubectl("delete", "sprof", "theirs")


def test_the_certificate_is_renewed_while_requests_go_on(installed: Installed) -> None:
    """None of them fails, and the port is never closed; the authority, too, is replaced."""
    before, ended, failed, answered = installed.shown(), threading.Event(), [], 0

    def ask() -> None:
        nonlocal answered
        with contextlib.closing(Client(installed.rig)) as client:
            while not ended.is_set():
                try:
                    client.post(f"{PROFILES}?dryRun=All", profile("asked"))
                    answered += 1
                except RigError as error:
                    failed.append(str(error))

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        assert "has an authority until" in installed.command("admission-ca", "--renew")
        with contextlib.closing(Client(installed.rig)) as client:
            assert client.get(SECRET)["data"]["previous-ca.crt"]
            client.merge(SECRET, {"data": {"tls.crt": None}})  # as if it were lost
        until(lambda: installed.shown() != before, "another certificate", RENEWED_SECONDS)
        count = answered
        until(lambda: answered > count + 20, "answers by the new one")
    finally:
        ended.set()
        asking.join()
    assert not failed


def test_where_nobody_answers_two_kinds_wait_and_nothing_else(installed: Installed) -> None:
    """What is said is why; one command is the way out."""
    rig = installed.rig
    installed.apply(profile("before"))
    installed.operator.kill()
    began = time.monotonic()
    said = installed.refused(profile("later"))
    assert 'failed calling webhook "schedulerprofiles.moorage.dev"' in said
    assert time.monotonic() - began < 10
    assert "failed calling webhook" in installed.refused(plugin_config("later"))
    rig.kubectl("label", "sprof", "before", "team=b")
    rig.kubectl("create", "configmap", "other", "--from-literal=a=b")
    rig.kubectl("create", "namespace", "other")
    rig.kubectl("delete", "sprof", "before")
    told = installed.command("status", status=1)
    assert "Nobody can change profiles: webhook moorage is not answered: " in told
    assert "Next: kubectl delete validatingwebhookconfiguration moorage" in told
    rig.kubectl("delete", "validatingwebhookconfiguration", "moorage")
    until(lambda: _passes(installed), "the way out", 10)


def _passes(there: Installed) -> bool:
    with contextlib.suppress(RigError):
        return "created" in there.apply(profile("later"))
    return False
