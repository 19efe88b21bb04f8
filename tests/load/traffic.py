"""Pods at a steady rate, and what became of them by the API server's own account."""

from __future__ import annotations

import itertools
import threading
import time
from collections import Counter, defaultdict
from typing import Any, Final

from kubefacts.quantities import milli_value, value
from tests.rig import ControlPlane, Rig, binds
from tests.rig.clients import Client

NAMESPACE: Final = "default"
PODS: Final = f"/api/v1/namespaces/{NAMESPACE}/pods"


def pod(name: str, scheduler: str, **requests: str) -> dict[str, Any]:
    """A pod of one container."""
    container = {
        "name": "c",
        "image": "pause:3",
        "resources": {"requests": {"cpu": "1m", "memory": "1Mi", **requests}},
    }
    return {
        "metadata": {"name": name},
        "spec": {"schedulerName": scheduler, "containers": [container]},
    }


class Traffic:
    """Creates pods in the background; a context manager that ends with the last pod made."""

    def __init__(
        self, rig: ControlPlane, scheduler: str, rate: float, seconds: float, prefix: str = "t"
    ) -> None:
        """`rate` pods a second for so long; their names begin with `prefix`."""
        self._rig = rig
        self._scheduler = scheduler
        self._rate = rate
        self._prefix = prefix
        self.count: Final = int(rate * seconds)
        self.made: Final[dict[str, float]] = {}
        """Name -> time.time() when the API server had it."""
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="traffic")

    def __enter__(self) -> Traffic:
        """Start."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Wait for the last pod; raises what went wrong."""
        self._thread.join()
        if self._error is not None:
            raise self._error

    @property
    def running(self) -> bool:
        """Whether pods are still being made."""
        return self._thread.is_alive()

    def _run(self) -> None:
        client = Client(self._rig)
        begin = time.monotonic()
        try:
            for i in range(self.count):
                time.sleep(max(0.0, begin + i / self._rate - time.monotonic()))
                name = f"{self._prefix}{i:05}"
                client.post(PODS, pod(name, self._scheduler))
                self.made[name] = time.time()
        except Exception as error:  # noqa: BLE001  # told to the test by __exit__
            self._error = error
        finally:
            client.close()


def wait_all_bound(client: Client, names: set[str], seconds: float = 60) -> list[dict[str, Any]]:
    """Wait until all these pods have a node; returns all pods. Raises TimeoutError naming the first
    that have not.
    """
    deadline = time.monotonic() + seconds
    while True:
        pods: list[dict[str, Any]] = client.get(PODS)["items"]
        waiting = names - {p["metadata"]["name"] for p in pods if p["spec"].get("nodeName")}
        if not waiting:
            return pods
        if time.monotonic() > deadline:
            raise TimeoutError(f"{len(waiting)} pods have no node: {sorted(waiting)[:5]}")
        time.sleep(0.25)


def overcommitted(client: Client) -> list[str]:
    """Nodes on which the pods ask for more than there is."""
    used: dict[str, Counter[str]] = defaultdict(Counter)
    for p in client.get(PODS)["items"]:
        node = used[p["spec"].get("nodeName", "")]
        node["pods"] += 1
        for container in p["spec"]["containers"]:
            for name, amount in container["resources"].get("requests", {}).items():
                node[name] += milli_value(amount)
    wrong = []
    for node in client.get("/api/v1/nodes")["items"]:
        has = node["status"]["allocatable"]
        mine = used[node["metadata"]["name"]]
        if mine.pop("pods", 0) > value(has["pods"]) or any(
            amount > milli_value(has.get(name, "0")) for name, amount in mine.items()
        ):
            wrong.append(node["metadata"]["name"])
    return wrong


def accepted_binds(rig: Rig) -> Counter[str]:
    """Pod UID -> how many Bindings the API server accepted for it."""
    return Counter(bind.uid for bind in binds(rig.audit()) if bind.code == 201)


def longest_gap(rig: Rig) -> float:
    """The longest time between two accepted Bindings, in seconds."""
    times = sorted(bind.received.timestamp() for bind in binds(rig.audit()) if bind.code == 201)
    return max((b - a for a, b in itertools.pairwise(times)), default=0.0)
