"""`moorage ui` on a real API server: with rights to get, list and watch alone; what happens in the
cluster is on the page.
"""

from __future__ import annotations

import contextlib
import http.client
import http.cookiejar
import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.real.test_observer import USER, node, observer_role
from tests.rig import ControlPlane, Rig
from tests.rig.clients import Client
from tests.rig.objects import create
from tests.rig.operators import until
from tests.rig.pages import shown_page

PODS = "/api/v1/namespaces/shown/pods"


@pytest.fixture(scope="module")
def shown(new_rig: Callable[[], ControlPlane]) -> Iterator[ControlPlane]:
    """A control plane without our CRDs, with three nodes and somebody who may only read."""
    role = observer_role()
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": USER},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": role["metadata"]["name"],
        },
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": USER}],
    }
    with new_rig() as rig:
        create(rig, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shown"}})
        create(rig, role, binding, *(node(f"shown-{i}", 4) for i in range(3)))
        yield rig


class Browser:
    """Opens the address that was printed, and asks for documents with the cookie."""

    def __init__(self, address: str) -> None:
        self._root = address.partition("/open/")[0]
        jar = http.cookiejar.CookieJar(policy=_EveryCookie())
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
        assert b"/ui/" in self._opener.open(address).read()

    def get(self, document: str, **query: str) -> dict[str, Any]:
        """A document."""
        url = f"{self._root}/ui/api/{document}?{urllib.parse.urlencode(query)}"
        with self._opener.open(url) as answer:
            found: dict[str, Any] = json.loads(answer.read())
        return found

    def events(self) -> http.client.HTTPResponse:
        """The stream."""
        answer: http.client.HTTPResponse = self._opener.open(f"{self._root}/ui/events", timeout=20)
        return answer


class _EveryCookie(http.cookiejar.DefaultCookiePolicy):
    """As a browser, which takes cookies of addresses too."""

    def set_ok(self, cookie: http.cookiejar.Cookie, request: urllib.request.Request) -> bool:
        return True

    def return_ok(self, cookie: http.cookiejar.Cookie, request: urllib.request.Request) -> bool:
        return request.selector.startswith("/ui/")


@contextlib.contextmanager
def page(rig: ControlPlane) -> Iterator[Browser]:
    """What somebody sees who may only read."""
    with shown_page(rig.user_kubeconfig(USER)) as address:
        yield Browser(address)


def waiting(name: str, cpu: str) -> dict[str, Any]:
    """A pod that nobody schedules."""
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    return {"metadata": {"name": name}, "spec": {"schedulerName": "x", "containers": [container]}}


def test_what_happens_is_on_the_page(shown: ControlPlane) -> None:
    """Documents change, and events say which; a pod is explained; a place is told."""
    with page(shown) as browser, contextlib.closing(Client(shown)) as client:
        assert browser.get("overview")["nodes"] == 3
        with browser.events() as events:
            client.post(PODS, waiting("large", "64"))
            client.post(PODS, waiting("small", "1"))
            lines = iter(events.readline, b"")
            assert any(b'"queue"' in line for line in lines)
        until(lambda: browser.get("overview")["waiting"] == 2, "both wait")
        found = browser.get("pod", name="shown/large")
        assert found["verdict"] == "Pending"
        assert found["answer"].startswith("None of 3 nodes takes shown/large")
        assert found["refusals"][0]["plugin"] == "NodeResourcesFit"
        assert found["changes"][0]["verified"]
        target = {"kind": "Node", "name": "shown-1"}
        client.post(f"{PODS}/small/binding", {"metadata": {"name": "small"}, "target": target})
        until(lambda: browser.get("nodes")["pods"] == [0, 1, 0], "it is on its node")
        assert browser.get("node", name="shown-1")["pods"][0]["pod"] == "shown/small"
        with pytest.raises(urllib.error.HTTPError, match="404"):
            browser.get("pod", name="shown/none")


@pytest.mark.real_only  # the embedded cluster has no rights and no audit log
def test_the_page_only_reads(shown: Rig) -> None:
    """By the API server's own log of all that it was asked for every document."""
    with page(shown) as browser:
        for name in browser.get("overview")["has"]:
            query = {"node": {"name": "shown-0"}, "find": {"text": "s"}}.get(name, {})
            if name in ("pod", "history", "trial", "diff"):
                query = {"name": "a/b"} if name == "pod" else {"profile": "x"}
                query = {"a": "x", "b": "y"} if name == "diff" else query
                with pytest.raises(urllib.error.HTTPError, match="404"):
                    browser.get(name, **query)
            else:
                browser.get(name, **query)
    asked = [event for event in shown.audit() if event.user.username == USER]
    assert asked
    assert {event.verb for event in asked} == {"get", "list", "watch"}
