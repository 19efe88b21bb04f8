"""The component assign on a real API server: the policy gives pods a profile, as the table of cases
says.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from moorage.api.v1alpha1.profile_assign import MAX_REQUIREMENTS, MAX_SELECTED_VALUES
from tests.assignment_cases import CASES, Case, a_profile
from tests.generate import ROOT
from tests.rig import Rig
from tests.rig.clients import Client
from tests.rig.objects import apply, create, delete, read
from tests.rig.operators import until

PROFILES = "/apis/moorage.dev/v1alpha1/schedulerprofiles"
COMPONENT = ROOT / "manifests" / "components" / "assign"

pytestmark = pytest.mark.real_only


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
            return self.created(pod)
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
        until(lambda: self.created(last) == name, f"the policy knows {name}", 10)
        self._client.delete(f"{PROFILES}/{name}")

    def created(self, pod: dict[str, Any]) -> str:
        """The schedulerName of such a pod; it is not kept."""
        path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods?dryRun=All"
        return str(self._client.post(path, pod)["spec"]["schedulerName"])

    def _add(self, profile: dict[str, Any]) -> None:
        self._client.post(PROFILES, profile)
        path = f"{PROFILES}/{profile['metadata']['name']}/status"
        self._client.merge(path, {"status": profile["status"]})


def pod_of(namespace: str, metadata: dict[str, Any]) -> dict[str, Any]:
    """A pod that names no scheduler."""
    return {
        "metadata": {"name": "pod", "namespace": namespace, **metadata},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }


@pytest.fixture(scope="module")
def server(rig: Rig) -> Iterator[PolicyServer]:
    """With the component, and the namespaces of all cases."""
    crds, component = list(read(ROOT / "crds")), list(read(COMPONENT))
    apply(rig, *crds)
    rig.establish("schedulerprofiles.moorage.dev")
    create(rig, *component, *(case.namespace for case in CASES if not case.is_given))
    try:
        with contextlib.closing(Client(rig)) as client:
            yield PolicyServer(client)
    finally:
        delete(rig, *component)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(server: PolicyServer, case: Case) -> None:
    """A pod gets what the table says."""
    assert server.gets(case.profile, case.pod) == case.gets


def test_the_largest_selectors_are_within_the_budget(server: PolicyServer) -> None:
    """What runs out of it is no error that anybody sees."""
    values = [f"{n:063}" for n in range(MAX_SELECTED_VALUES)]
    labels = {f"example.com/{n:063}": values[-1] for n in range(MAX_REQUIREMENTS)}
    requirements = [{"key": key, "operator": "In", "values": values} for key in labels]
    selector = {"matchLabels": labels, "matchExpressions": requirements}
    profile = a_profile("large", {"assign": {"namespaceSelector": {}, "podSelector": selector}})
    assert server.gets(profile, pod_of("default", {"labels": labels})) == "large"
