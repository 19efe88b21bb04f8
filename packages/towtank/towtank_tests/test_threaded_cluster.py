"""A cluster in a thread: what blocking clients get, how soon, and what they are told when it stands
still.
"""

from __future__ import annotations

import base64
import json
import ssl
import threading
import time
import urllib.request

import pytest
import yaml

import towtank
from towtank import Cluster, ClusterSettings, ControllerSettings, ServerFrozen, like_nodes

SETTINGS = ClusterSettings(
    nodes=like_nodes(3), controllers=ControllerSettings(start_after=0.0, stop_after=0.0)
)


def test_it_answers_and_ends() -> None:
    """To a client in this thread; afterwards neither thread nor file is left."""
    threads = threading.active_count()
    with Cluster.in_thread(SETTINGS) as cluster:
        authority = yaml.safe_load(cluster.kubeconfig.read_text())["clusters"][0]["cluster"][
            "certificate-authority-data"
        ]
        context = ssl.create_default_context(cadata=base64.b64decode(authority).decode())
        with urllib.request.urlopen(f"{cluster.server}/version", context=context) as response:
            assert json.load(response)["major"] == "1"
        file = cluster.kubeconfig
    assert not file.exists()
    assert threading.active_count() == threads


def test_settings_may_be_used_twice() -> None:
    """A cluster keeps its hands off what it was given."""
    for _ in range(2):
        with Cluster.in_thread(SETTINGS) as cluster:
            assert cluster.server


def test_namespaces() -> None:
    """Each is fresh, begins as it should, and goes when it is told to, also twice."""
    with Cluster.in_thread(SETTINGS) as cluster:
        first, second = (cluster.namespace(prefix="it-") for _ in range(2))
        assert first != second
        assert first.startswith("it-")
        context = yaml.safe_load(cluster.kubeconfig_text(first))["contexts"][0]["context"]
        assert context["namespace"] == first
        for _ in range(2):
            cluster.delete_namespace(first)
        end = time.monotonic() + 10
        while (
            cluster.run(lambda api: api.verbs.find("namespaces", "", first))
            and time.monotonic() < end
        ):
            time.sleep(0.01)
        assert cluster.run(lambda api: api.verbs.find("namespaces", "", first)) is None
        assert cluster.run(lambda api: api.verbs.find("namespaces", "", second)) is not None


def test_it_is_soon_there() -> None:
    """A fresh cluster within 0.6 s and a fresh namespace within 50 ms; of the processor, since
    tests run side by side.
    """
    start = time.process_time()
    with Cluster.in_thread(SETTINGS) as cluster:
        ready = time.process_time()
        for _ in range(10):
            cluster.namespace()
        named = time.process_time()
    assert ready - start < 0.6
    assert (named - ready) / 10 < 0.05


def test_a_frozen_server_is_told_of() -> None:
    """Who waits gets the stack of what it does, and so do those who wait later; ending it does not
    wait.
    """
    said: list[str] = []
    released = threading.Event()

    def stand_still(_: object) -> None:
        released.wait(30)

    with Cluster.in_thread(SETTINGS, 0.3, said.append) as cluster:
        for _ in range(2):
            with pytest.raises(
                ServerFrozen,
                match=r"towtank-server has answered nothing for 0.3 s(.|\n)*in stand_still",
            ):
                cluster.run(stand_still)
    released.set()
    assert len(said) == 1


def test_what_fails_in_the_thread_fails_here() -> None:
    """And is no freezing."""

    def fail(_: object) -> None:
        raise TimeoutError("mine")

    with Cluster.in_thread() as cluster, pytest.raises(TimeoutError, match="mine"):
        cluster.run(fail)


@pytest.mark.parametrize("name", towtank.__all__)
def test_public_names(name: str) -> None:
    """Each is there."""
    assert getattr(towtank, name).__name__


def test_no_other_names() -> None:
    """As of any module."""
    with pytest.raises(AttributeError, match="module 'towtank' has no attribute 'Clusters'"):
        _ = towtank.Clusters
