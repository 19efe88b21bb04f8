"""What the demo puts on its cluster, and how it moves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from moorage.apps.demo import samples
from moorage.apps.demo.kube_client import KubeClient, KubeClientError
from moorage.apps.demo.samples import LoadGenerator


class Recorded(KubeClient):
    """An API server that keeps what it is given; it does not serve our kinds ``unserved`` times."""

    def __init__(self, unserved: int = 0) -> None:
        self.unserved = unserved
        self.created: list[tuple[str, Mapping[str, Any]]] = []
        self.replicas: list[int] = []
        self.scaled: dict[str, Any] = {
            profile: {"replicas": samples.FIRST_PODS} for profile in samples.PROFILES
        }

    def request(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, content_type: str = ""
    ) -> Any:
        """Answer."""
        if method == "GET":
            return {
                "items": [
                    {"metadata": {"name": name, "resourceVersion": "7"}, "spec": spec}
                    for name, spec in self.scaled.items()
                ]
            }
        assert body is not None
        if method == "PATCH":
            assert body["metadata"] == {"resourceVersion": "7"}
            self.replicas.append(body["spec"]["replicas"])
            self.scaled[path.rpartition("/")[2]] = body["spec"]
            return {}
        if "moorage.dev" in path and self.unserved:
            self.unserved -= 1
            raise KubeClientError("404 page not found", 404)
        if path.endswith("/namespaces"):
            raise KubeClientError("it is there", 409)
        self.created.append((path, body))
        return body


def test_all_is_put() -> None:
    """Kinds before their objects, which wait until they are served; what is there already is no
    error.
    """
    api, waits = Recorded(unserved=3), [0]

    def wait() -> None:
        waits[0] += 1

    samples.put(api, wait)
    kinds = [body["kind"] for _, body in api.created]
    assert kinds[:2] == ["CustomResourceDefinition"] * 2
    assert sorted(set(kinds)) == [
        "CustomResourceDefinition",
        "Deployment",
        "PluginConfig",
        "Pod",
        "SchedulerProfile",
    ]
    assert {
        body["metadata"]["name"] for _, body in api.created if body["kind"] == "SchedulerProfile"
    } == set(samples.PROFILES)
    assert waits == [3]
    profiles = [body for _, body in api.created if body["kind"] == "SchedulerProfile"]
    assert all(samples.LAST_APPLIED in body["metadata"]["annotations"] for body in profiles)


def test_kinds_that_are_never_served(monkeypatch: pytest.MonkeyPatch) -> None:
    """After some time that is an error."""
    monkeypatch.setattr(samples, "ESTABLISH_SECONDS", -1.0)
    with pytest.raises(KubeClientError, match="404"):
        samples.put(Recorded(unserved=1), lambda: None)


@pytest.mark.parametrize(("nodes", "high"), [(1, 6), (6, 24), (5000, samples.MAX_PODS)])
def test_tide(nodes: int, high: int) -> None:
    """It comes and goes, once a second, between the first pods and what the nodes have room for."""
    api = Recorded()
    tide = LoadGenerator(api)
    for now in range(1, 2 * samples.STEPS + 1):
        tide.move(now, nodes)
        tide.move(now + 0.5, nodes)
    assert api.replicas[::2] == api.replicas[1::2]
    moved = api.replicas[::2]
    assert moved == sorted(moved[: samples.STEPS]) + sorted(moved[samples.STEPS :], reverse=True)
    assert (len(moved), min(moved), max(moved)) == (2 * samples.STEPS, samples.FIRST_PODS, high)


def test_somebody_else_scales() -> None:
    """Then the tide leaves that Deployment alone, for good; and one that is gone."""
    api = Recorded()
    tide = LoadGenerator(api)
    tide.move(1, 6)
    api.scaled["binpack"] = {"replicas": 40}
    del api.scaled["spread"]
    api.replicas.clear()
    tide.move(2, 6)
    api.scaled = {profile: {"replicas": samples.FIRST_PODS} for profile in samples.PROFILES}
    tide.move(3, 6)
    assert api.replicas == []
