"""The components assign and assign-webhook on a real API server: pods get what the table of cases
says.
"""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import Iterator
from typing import Any

import pytest

from moorage.api.v1alpha1.profile_assign import MAX_REQUIREMENTS, MAX_SELECTED_VALUES
from moorage.core.objects.meta import Namespace, ObjectMeta
from moorage.engine.profiles.assignment_reviews import AssignmentReviews
from moorage.engine.profiles.assignments import Assignments
from tests.assignment_cases import CASES, Case, a_profile
from tests.generate import ROOT
from tests.rig import Rig
from tests.rig.clients import Client
from tests.rig.extenders import Extender
from tests.rig.objects import apply, create, delete, read
from tests.rig.operators import until

PROFILES = "/apis/moorage.dev/v1alpha1/schedulerprofiles"
COMPONENTS = ROOT / "manifests" / "components"

pytestmark = pytest.mark.real_only
since_policies = pytest.mark.since("1.36", "MutatingAdmissionPolicy of v1")


class PolicyServer:
    """An API server with the policy. Profiles come to it by a watch, in their order: so what it
    says of pods counts once a profile that came later is there.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._made = 0

    def gets(self, profile: dict[str, Any], pod: dict[str, Any]) -> str:
        """The schedulerName that a pod is created with while there is this profile."""
        self.has(profile)
        try:
            return created(self._client, pod)
        finally:
            self._client.delete(f"{PROFILES}/{profile['metadata']['name']}")

    def has(self, profile: dict[str, Any]) -> None:
        """There is this profile, and the policy knows it."""
        self._add(profile)
        self._made += 1
        name = f"fence-{self._made}"
        selector = {"matchLabels": {"fence": name}}
        self._add(a_profile(name, {"assign": {"namespaceSelector": {}, "podSelector": selector}}))
        last = pod_of("default", {"labels": {"fence": name}})
        until(lambda: created(self._client, last) == name, f"the policy knows {name}", 10)
        self._client.delete(f"{PROFILES}/{name}")

    def _add(self, profile: dict[str, Any]) -> None:
        self._client.post(PROFILES, profile)
        path = f"{PROFILES}/{profile['metadata']['name']}/status"
        self._client.merge(path, {"status": profile["status"]})


def created(client: Client, pod: dict[str, Any]) -> str:
    """The schedulerName that such a pod is created with; it is not kept."""
    path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods?dryRun=All"
    return str(client.post(path, pod)["spec"]["schedulerName"])


def pod_of(namespace: str, metadata: dict[str, Any]) -> dict[str, Any]:
    """A pod that names no scheduler."""
    return {
        "metadata": {"name": "pod", "namespace": namespace, **metadata},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }


@pytest.fixture(scope="module")
def ready(rig: Rig) -> Rig:
    """An API server with our kinds and the namespaces of all cases."""
    apply(rig, *read(ROOT / "crds"))
    rig.establish("schedulerprofiles.moorage.dev")
    create(rig, *(case.namespace for case in CASES if not case.is_given))
    return rig


# ---- the component assign ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def policy(ready: Rig) -> Iterator[PolicyServer]:
    """With the policy and its binding."""
    component = list(read(COMPONENTS / "assign"))
    create(ready, *component)
    try:
        with contextlib.closing(Client(ready)) as client:
            yield PolicyServer(client)
    finally:
        delete(ready, *component)


@since_policies
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_policy(policy: PolicyServer, case: Case) -> None:
    """A pod gets what the table says."""
    assert policy.gets(case.profile, case.pod) == case.gets


@since_policies
def test_the_largest_selectors_are_within_the_budget(policy: PolicyServer) -> None:
    """What runs out of it is no error that anybody sees."""
    values = [f"{n:063}" for n in range(MAX_SELECTED_VALUES)]
    labels = {f"example.com/{n:063}": values[-1] for n in range(MAX_REQUIREMENTS)}
    requirements = [{"key": key, "operator": "In", "values": values} for key in labels]
    selector = {"matchLabels": labels, "matchExpressions": requirements}
    profile = a_profile("large", {"assign": {"namespaceSelector": {}, "podSelector": selector}})
    assert policy.gets(profile, pod_of("default", {"labels": labels})) == "large"


# ---- the component assign-webhook ----------------------------------------------------------------


class WebhookServer:
    """An API server that asks a webhook, which answers as the operator does."""

    def __init__(self, client: Client, webhook: Extender) -> None:
        self.client = client
        self._webhook = webhook

    def gets(self, profile: dict[str, Any], case: Case) -> str:
        """The schedulerName that a pod is created with while there is this profile."""
        assignments, metadata = Assignments(), case.namespace["metadata"]
        assignments.profile_changed(profile["metadata"]["name"], profile)
        namespace = Namespace(ObjectMeta(name=metadata["name"], labels=metadata["labels"]))
        reviews = AssignmentReviews(assignments, {metadata["name"]: namespace})
        self._webhook.says["assign"] = lambda review: json.loads(
            reviews.assign(json.dumps(review).encode())
        )
        return created(self.client, case.pod)

    def says_nonsense(self) -> None:
        """From now on the webhook's answers are none."""
        self._webhook.says["assign"] = lambda review: []


@pytest.fixture(scope="module")
def webhook(ready: Rig) -> Iterator[WebhookServer]:
    """With the webhook's configuration, which names an address instead of a Service."""
    folder = ready.folder
    extender = Extender((folder / "kube-apiserver.crt", folder / "kube-apiserver.key"))
    authority = base64.b64encode(ready.authority_file.read_bytes()).decode()
    (component,) = read(COMPONENTS / "assign-webhook")
    (configured,) = component["webhooks"]
    configured["clientConfig"] = {"url": f"{extender.url}/assign", "caBundle": authority}
    create(ready, component)
    try:
        with contextlib.closing(Client(ready)) as client:
            server = WebhookServer(client, extender)
            first = CASES[0]
            until(lambda: server.gets(first.profile, first) == first.gets, "it is asked", 10)
            yield server
    finally:
        delete(ready, component)
        extender.close()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_webhook(webhook: WebhookServer, case: Case) -> None:
    """A pod gets what the table says."""
    assert webhook.gets(case.profile, case) == case.gets


def test_a_webhook_that_fails_refuses_nobody(webhook: WebhookServer) -> None:
    """The pod is created as it is."""
    webhook.says_nonsense()
    assert created(webhook.client, CASES[0].pod) == "default-scheduler"
