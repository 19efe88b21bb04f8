"""Variant observer, with its own service account, beside kube-scheduler: it explains, records and
answers, and the API server's audit log shows that it does nothing else.

On the embedded cluster pods are bound by hand: kube-scheduler needs protobuf.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.apps.outputs.reading import read_output
from tests.rig import ControlPlane, Rig
from tests.rig.clients import Client
from tests.rig.demo import node
from tests.rig.kube_schedulers import kube_scheduler
from tests.rig.objects import create
from tests.rig.operators import NAMESPACE, ROOT, SERVICE_ACCOUNT, Operator, install, until

PODS = "/api/v1/namespaces/default/pods"
PROFILE = "/apis/moorage.dev/v1alpha1/schedulerprofiles/candidate"
USER = f"system:serviceaccount:{NAMESPACE}:{SERVICE_ACCOUNT}"
QUESTIONS = {"selfsubjectaccessreviews", "subjectaccessreviews", "tokenreviews"}
"""Kinds that are created to ask something; nothing is stored."""
CANDIDATE = {
    "apiVersion": "moorage.dev/v1alpha1",
    "kind": "SchedulerProfile",
    "metadata": {"name": "candidate"},
    "spec": {"schedulerName": "default-scheduler", "preset": "BinPack"},
}
FITTING = ("a", "b", "c")


@pytest.fixture(scope="module")
def watched(new_rig: Callable[[], ControlPlane]) -> Iterator[ControlPlane]:
    """A control plane with two nodes, and kube-scheduler where it can run."""
    with new_rig() as rig, contextlib.ExitStack() as stack:
        create(rig, node("watched-1", "a"), node("watched-2", "b"))
        if isinstance(rig, Rig):
            stack.enter_context(kube_scheduler(rig, "default-scheduler", lease="kube-scheduler"))
        yield rig


@pytest.fixture(scope="module")
def observer(watched: ControlPlane) -> Iterator[Operator]:
    """As manifests/observer configures it, recording, with a profile for kube-scheduler's pods; of
    these three are placed, and one cannot be.
    """
    access = install(watched, "observer")
    config = yaml.safe_load((ROOT / "manifests/observer/config.yaml").read_text(encoding="utf-8"))
    config["recording"] = {"directory": str(recording(watched))}
    with Operator(watched, access, "moorage-observer", config) as operator:
        operator.wait_logged("leading")
        create(watched, CANDIDATE, a_pod("large", "100"), *(a_pod(name, "1") for name in FITTING))
        with contextlib.closing(Client(watched)) as client:
            if not isinstance(watched, Rig):
                for name in FITTING:
                    target = {"kind": "Node", "name": "watched-1"}
                    body = {"metadata": {"name": name}, "target": target}
                    client.post(f"{PODS}/{name}/binding", body)
            until(lambda: all(places(client).values()), "pods to be placed", 60)
        yield operator


def recording(rig: ControlPlane) -> Path:
    """Where the operator records."""
    return rig.folder / "recording"


def a_pod(name: str, cpu: str) -> dict[str, Any]:
    """A pod for kube-scheduler."""
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    metadata = {"name": name, "namespace": "default"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"schedulerName": "default-scheduler", "containers": [container]},
    }


def places(client: Client) -> dict[str, str]:
    """The nodes of the pods that fit, "" for none."""
    items = client.get(PODS)["items"]
    found = {one["metadata"]["name"]: one["spec"].get("nodeName", "") for one in items}
    return {name: found[name] for name in FITTING}


def told(rig: ControlPlane, *words: str) -> dict[str, Any]:
    """The document that a command prints to the administrator."""
    command = [sys.executable, "-I", "-m", "moorage", *words, "-o", "json"]
    if words[0] != "replay":
        command += ["--kubeconfig", str(rig.kubeconfig)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert done.stdout, done.stderr
    found: dict[str, Any] = read_output(done.stdout)
    return found


def condition(rig: ControlPlane, kind: str) -> tuple[str, str]:
    """Status and reason of a condition of the profile."""
    with contextlib.closing(Client(rig)) as client:
        found = client.get(PROFILE).get("status", {}).get("conditions", ())
    return next(((one["status"], one["reason"]) for one in found if one["type"] == kind), ("", ""))


@pytest.mark.usefixtures("observer")
def test_the_profile_is_observed(watched: ControlPlane) -> None:
    """Though kube-scheduler runs, whose name it has; and nothing is missing."""
    until(lambda: condition(watched, "Ready") == ("False", "Observing"), "the profile's status")
    assert condition(watched, "Accepted") == ("True", "Valid")
    until(lambda: condition(watched, "Permitted") == ("True", "Permitted"), "its rights")
    with contextlib.closing(Client(watched)) as client:
        status = client.get(PROFILE)["status"]
    assert status["observedBy"] == f"{NAMESPACE}/moorage"
    assert "claimedBy" not in status


@pytest.mark.usefixtures("observer")
def test_it_is_found_and_says_what_it_is(watched: ControlPlane) -> None:
    """By its Leases, as a leader is."""

    def asked() -> dict[str, Any] | None:
        found = told(watched, "status")
        return found if found["operator"] and found["profiles"][0]["ready"] == "False" else None

    status = until(asked, "the observer to answer")
    assert status["observes"] and status["well"]
    assert status["answer"].startswith("An observer explains pods by 1 profile, and places none.")
    assert [(one["role"], one["revisions"]) for one in status["replicas"]] == [("Observer", 1)]
    (profile,) = status["profiles"]
    assert (profile["state"], profile["schedulerName"]) == ("Observing", "default-scheduler")


def test_pods_of_kube_scheduler_are_explained(watched: ControlPlane, observer: Operator) -> None:
    """By the profile that has its name: why one waits, and where the others are."""
    large = told(watched, "explain", "pod", "default/large")
    assert large["source"].startswith("the operator, moorage-observer")
    assert (large["verdict"], large["schedulerName"]) == ("Pending", "default-scheduler")
    status, text = observer.ask("/explain?pod=default/a")
    assert (status, json.loads(text)["verdict"]) == (200, "Bound")
    page, text = observer.ask("/ui/api/status")
    assert page == 200 and "places none" in json.loads(text)["answer"]
    assert "moorage_watch_age_seconds" in observer.fetched("/metrics")


@pytest.mark.usefixtures("observer")
def test_it_simulates(watched: ControlPlane) -> None:
    """What another node would do to the pod that waits."""
    found = told(watched, "simulate", "--add-nodes", "1", "--like", "watched-1")
    assert found["answer"]


@pytest.mark.usefixtures("observer")
def test_what_others_chose_is_recorded(watched: ControlPlane) -> None:
    """By the observer's profile it is judged, and there is no decision of its own."""

    def written() -> dict[str, Any] | None:
        found = told(watched, "replay", str(recording(watched)), "--others")
        return found if len(found["others"]) == len(FITTING) else None

    found = until(written, "the recording to be on disk")
    assert {one["pod"] for one in found["others"]} == {f"default/{name}" for name in FITTING}
    assert found["decisions"] == 0


@pytest.mark.real_only  # the embedded cluster has no rights and no audit log
def test_it_is_silent(watched: Rig, observer: Operator) -> None:
    """Of all that it asked, only its Leases and its profile's status were written, and nothing was
    refused.
    """
    observer.terminate()
    asked = [event for event in watched.audit() if event.user.username == USER]
    refused = [
        event.request_uri
        for event in asked
        if event.response_status is not None and event.response_status.code == 403
    ]
    assert refused == []
    writes = [event for event in asked if event.verb not in ("get", "list", "watch")]
    targets = [event.object_ref for event in writes if event.object_ref is not None]
    assert len(targets) == len(writes)
    written = {
        (target.resource, target.subresource, target.namespace)
        for target in targets
        if target.resource not in QUESTIONS
    }
    assert written == {("leases", "", NAMESPACE), ("schedulerprofiles", "status", "")}
    leases = {target.name for target in targets if target.resource == "leases"}
    assert all(name == "moorage" or name.startswith("moorage-") for name in leases if name)
