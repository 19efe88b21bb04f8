"""What a real API server has against an installation: rights, those to give rights included, and
Pod Security.
"""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Sequence
from pathlib import Path

import pytest

from moorage.apps.install.findings import Obstacle
from moorage.apps.install.object_keys import Document
from moorage.apps.install.preflight import preflight
from moorage.apps.install.variants import Options, documents
from moorage.apps.worlds.cluster_choice import ClusterChoice
from moorage.apps.worlds.reaching import connected
from tests.rig import Rig
from tests.rig.objects import create

NAMESPACE = "looked-at"
THERE = Options(namespace=NAMESPACE, name=NAMESPACE)
COMING = Options(namespace="to-come", name=NAMESPACE)
USER = "half-an-administrator"


pytestmark = pytest.mark.real_only  # the embedded cluster has no rights


@pytest.fixture(scope="module")
def place(rig: Rig) -> Rig:
    """A cluster with a namespace where pods must be restricted, and a user who may write all
    objects, and has no right of the operator's.
    """
    enforced = {"pod-security.kubernetes.io/enforce": "restricted"}
    labels = {**enforced, "app.kubernetes.io/name": "moorage"}
    metadata = {"name": NAMESPACE, "labels": labels}
    create(rig, {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    groups = ["", "apps", "policy", "rbac.authorization.k8s.io", "apiextensions.k8s.io"]
    rules = [{"apiGroups": groups, "resources": ["*"], "verbs": ["get", "create", "patch"]}]
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": USER}}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": USER}
    given = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": USER}
    binding = {**role, "roleRef": given, "subjects": [subject], "kind": "ClusterRoleBinding"}
    create(rig, {**role, "kind": "ClusterRole", "rules": rules}, binding)
    return rig


def looked(kubeconfig: Path, objects: Sequence[Document], *, force: bool = False) -> list[Obstacle]:
    """The findings of whoever has this kubeconfig."""

    async def scenario() -> list[Obstacle]:
        now = datetime.datetime.now(datetime.UTC)
        async with connected(ClusterChoice(str(kubeconfig))) as connection:
            version = connection.version
            return await preflight(connection.session, version, objects, now, force=force)

    return asyncio.run(scenario())


def test_an_administrator_has_nothing_against_it(place: Rig) -> None:
    """Of any variant, in a namespace that is there and in one that comes."""
    for options in (THERE, COMING):
        assert looked(place.kubeconfig, documents("ha", ["admission"], options)) == []


def test_who_lacks_rights_is_told_which(place: Rig) -> None:
    """Objects that may not be written, and rights that who gives them must have."""
    found = looked(place.user_kubeconfig(USER), documents("default", [], THERE))
    told = [one.what for one in found]
    assert any("leases" in what for what in told)
    (given,) = (what for what in told if what.startswith("ClusterRole looked-at:"))
    assert "is attempting to grant RBAC permissions not currently held" in given
    (levels,) = (what for what in told if what.startswith("FlowSchema looked-at:"))
    assert "flowschemas" in levels and "forbidden" in levels
    assert all("administrator" in one.do for one in found)


def test_pods_that_would_be_refused_are_told(place: Rig) -> None:
    """Where the namespace stays as it is; one that comes with the variant says what it takes."""
    whole = documents("default-scheduler", [], THERE)
    for force in (False, True):
        (theirs,) = looked(place.kubeconfig, whole, force=force)
        assert 'pod-security.kubernetes.io/enforce is managed by "test"' in theirs.what
        assert theirs.stops != force
    (found,) = looked(place.kubeconfig, [one for one in whole if one["kind"] != "Namespace"])
    assert 'violates PodSecurity "restricted:latest": host namespaces' in found.what
    assert found.do == "give its namespace the label that the variant's has"
