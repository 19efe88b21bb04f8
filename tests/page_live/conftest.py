"""A control plane with three replicas of the operator, Chromium, and the page of all of it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.load.conftest import assets, client, installation
from tests.load.traffic import PODS, pod
from tests.page.browsing import DESK, Visit
from tests.page.conftest import browser
from tests.rig import Rig
from tests.rig.clients import Client, many
from tests.rig.operators import Operator, until, wait_for
from tests.rig.pages import shown_page

__all__ = ["assets", "browser", "client", "installation"]

ELECTION: Final = {"leaseDuration": "8s", "renewDeadline": "6s", "retryPeriod": "500ms"}
"""Long enough for the page to see that the leader does not answer before another one leads."""
PROFILES: Final = "/apis/moorage.dev/v1alpha1/schedulerprofiles"
LEASE: Final = "/apis/coordination.k8s.io/v1/namespaces/moorage-system/leases/moorage"
PROFILE: Final = "live"
PENDING: Final = 1000


class Cluster:
    """The cluster that the page is of, and what is done to it."""

    def __init__(self, rig: Rig, client: Client, replicas: dict[str, Operator]) -> None:
        self.rig = rig
        self.client = client
        self.replicas = replicas

    def leader(self) -> str:
        """The name of the replica that holds the Lease."""
        return str(self.client.get(LEASE)["spec"].get("holderIdentity") or "").rpartition("_")[0]

    def revision(self) -> str:
        """The one that decides."""
        return str(self.client.get(f"{PROFILES}/{PROFILE}")["status"]["activeRevision"])

    def swap(self, weight: int) -> str:
        """Edit the profile; the revision that decides from then on."""
        before = self.revision()
        spec = {"weights": {"NodeResourcesFit": weight}}
        self.client.merge(f"{PROFILES}/{PROFILE}", {"spec": spec})
        until(lambda: self.revision() != before, "another revision to decide")
        return self.revision()

    def add_node(self, name: str, pods: int) -> None:
        """A node with room for so many of the pods."""
        room = {"cpu": str(pods), "memory": "1000Gi", "pods": str(pods)}
        status = {"allocatable": room, "capacity": room}
        self.client.post("/api/v1/nodes", {"metadata": {"name": name}, "status": status})

    def add_pods(self, count: int) -> None:
        """Pods of the profile that ask for a processor each."""

        def make(number: int, client: Client) -> None:
            client.post(PODS, pod(f"p{number:04}", PROFILE, cpu="1"))

        many(self.rig, [partial(make, number) for number in range(count)])


@pytest.fixture
def cluster(installation: tuple[Rig, Any], client: Client) -> Iterator[Cluster]:
    """One node without room, a profile, and three replicas that are ready for it."""
    rig, kubeconfig = installation
    document = {"apiVersion": "moorage.dev/v1alpha1", "kind": "SchedulerProfile"}
    client.post(PROFILES, {**document, "metadata": {"name": PROFILE}, "spec": {}})
    with contextlib.ExitStack() as stack:
        names = [f"moorage-{number}" for number in range(3)]
        replicas = {
            name: stack.enter_context(Operator(rig, kubeconfig, name, {"leaderElection": ELECTION}))
            for name in names
        }
        found = Cluster(rig, client, replicas)
        found.add_node("full", 0)
        for replica in replicas.values():
            replica.wait_logged("health and metrics are served")
        wait_for(rig, "Ready", f"sprof/{PROFILE}")
        yield found


@pytest.fixture
def ui(cluster: Cluster) -> Iterator[str]:
    """The address that `moorage ui` prints for the administrator."""
    with shown_page(cluster.rig.kubeconfig) as address:
        yield address


@pytest.fixture
def window(browser: Browser) -> Iterator[BrowserContext]:
    """A window; the pages in it share their cookies."""
    context = browser.new_context(viewport={"width": DESK[0], "height": DESK[1]})
    yield context
    context.close()


@pytest.fixture
def view(window: BrowserContext, ui: str) -> Iterator[Callable[[str], Page]]:
    """Opens a view of the page in a tab of its own. In the end nothing has gone wrong on any of
    them, and none was loaded again.
    """
    visits: list[Visit] = []

    def open_view(path: str) -> Page:
        visits.append(Visit(window.new_page(), ui))
        page = visits[-1].open(path)
        page.evaluate("window.loadedOnce = true")
        return page

    yield open_view
    assert [wrong for one in visits for wrong in one.wrong] == []
    assert all(one.page.evaluate("window.loadedOnce") for one in visits)


@pytest.fixture
def operator_view(browser: Browser, cluster: Cluster) -> Iterator[Callable[[str, str], Page]]:
    """Opens a view of a replica's own page, with the administrator's certificate."""
    certificate, key = map(str, cluster.rig.credentials)
    with contextlib.ExitStack() as stack:

        def open_view(replica: str, path: str) -> Page:
            origin = f"https://127.0.0.1:{cluster.replicas[replica].secure_port}"
            context = browser.new_context(
                client_certificates=[{"origin": origin, "certPath": certificate, "keyPath": key}],
                ignore_https_errors=True,  # it signs its certificate itself
            )
            stack.callback(context.close)
            return Visit(context.new_page(), f"{origin}/ui/").open(path)

        yield open_view
