"""Trials on an API server, while leaders are killed: the status is true whenever it is read, and
what one leader found out the next one knows.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from moorage.core.trials.trial import ProfileTrial, read_trial
from moorage.ports.kube import TRIAL_ANNOTATION
from tests.load.traffic import pod, wait_all_bound
from tests.rig import ControlPlane
from tests.rig.clients import Client
from tests.rig.operators import NAMESPACE, Operator, install, until

ELECTION = {
    "leaderElection": {"leaseDuration": "4s", "renewDeadline": "3s", "retryPeriod": "500ms"}
}
PROFILES = "/apis/moorage.dev/v1alpha1/schedulerprofiles"
PODS = "/api/v1/namespaces/default/pods"
STORED = f"/apis/apps/v1/namespaces/{NAMESPACE}/controllerrevisions"
GPU = "example.com/gpu"
BLIND = [{"name": "NodeResourcesFit", "args": {"ignoredResources": [GPU]}}]
"""Places pods that want GPUs, though no node has any."""


def profile(**spec: Any) -> dict[str, Any]:
    """The profile ``tried``."""
    return {
        "apiVersion": "moorage.dev/v1alpha1",
        "kind": "SchedulerProfile",
        "metadata": {"name": "tried"},
        "spec": spec,
    }


class Observer:
    """Reads the profile again and again, and keeps what is not true of its status. ``seen``: the
    verdicts in order.
    """

    def __init__(self, rig: ControlPlane, old: str) -> None:
        self._rig, self._old = rig, old
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.lies: list[str] = []
        self.seen: list[str] = []
        self.looks = 0

    def __enter__(self) -> Observer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        with contextlib.closing(Client(self._rig)) as client:
            while not self._ended.wait(0.05):
                found = client.get(f"{PROFILES}/tried")
                self.looks += 1
                status = found["status"]
                if status.get("observedGeneration") == found["metadata"]["generation"]:
                    self.lies += [f"{text}: {status}" for text in self._lies(status)]
                verdict = status.get("trial", {}).get("verdict", "")
                if verdict and self.seen[-1:] != [verdict]:
                    self.seen.append(verdict)

    def _lies(self, status: dict[str, Any]) -> Iterator[str]:
        told = {one["type"]: (one["status"], one["reason"]) for one in status["conditions"]}
        trial, active = status.get("trial"), status["activeRevision"]
        decides = active == status["desiredRevision"]
        if (told["Active"][0] == "True") is not decides:
            yield "Active"
        if trial is None:
            return
        running = trial["verdict"] == "SoFarNoWorse"
        if (told["Progressing"][0] == "True") is not running:
            yield "Progressing"
        if active != (trial["revision"] if decides else self._old):
            yield "activeRevision"
        if decides and trial["verdict"] != "Passed":
            yield "it decides without having passed"
        if not decides and told["Active"][1] not in ("Trial", "RolledBack"):
            yield "the reason of Active"
        if trial["decided"] < trial["agreed"] + trial["regressions"]:
            yield "counts"


class Installed:
    """Two replicas, nodes and the profile."""

    def __init__(self, rig: ControlPlane, client: Client, stack: contextlib.ExitStack) -> None:
        self._rig, self._stack, self.client = rig, stack, client
        self._kubeconfig = install(rig)
        self._pods = 0
        room = {"cpu": "100", "memory": "100Gi", "pods": "2000"}
        for i in range(4):
            status = {"allocatable": room, "capacity": room}
            client.post("/api/v1/nodes", {"metadata": {"name": f"n{i}"}, "status": status})
        self.replicas = [self.start(name) for name in ("moorage-a", "moorage-b")]

    def start(self, name: str) -> Operator:
        """One more replica."""
        return self._stack.enter_context(Operator(self._rig, self._kubeconfig, name, ELECTION))

    def status(self) -> dict[str, Any]:
        """Of the profile."""
        return dict(self.client.get(f"{PROFILES}/tried").get("status", {}))

    def trial(self) -> dict[str, Any]:
        """Its part about the trial."""
        return dict(self.status().get("trial") or {})

    def saved(self) -> list[ProfileTrial]:
        """The trials as whoever leads next finds them."""
        notes = (
            item["metadata"].get("annotations", {}) for item in self.client.get(STORED)["items"]
        )
        return [one for note in notes if (one := read_trial(note.get(TRIAL_ANNOTATION, "")))]

    def create(self, count: int, **requests: str) -> set[str]:
        """So many pods."""
        names = {f"p{self._pods + i}" for i in range(count)}
        self._pods += count
        for name in names:
            body = pod(name, "tried", **requests)
            if GPU in requests:
                body["spec"]["containers"][0]["resources"]["limits"] = {GPU: requests[GPU]}
            self.client.post(PODS, body)
        return names

    def kill_leader(self) -> None:
        """By SIGKILL; another replica comes, and one of those that are left takes over."""
        holder = str(self.status()["leader"]["identity"])
        dead = next(one for one in self.replicas if holder.startswith(one.name))
        dead.kill()
        self.replicas.remove(dead)
        self.replicas.append(self.start(f"moorage-{time.monotonic_ns()}"))
        until(lambda: self.status()["leader"]["identity"] != holder, "a takeover", 30)


@contextlib.contextmanager
def installed(new_rig: Callable[[], ControlPlane]) -> Iterator[tuple[Installed, ControlPlane]]:
    """On a control plane of its own."""
    with (
        new_rig() as rig,
        contextlib.closing(Client(rig)) as client,
        contextlib.ExitStack() as stack,
    ):
        yield Installed(rig, client, stack), rig


def test_a_trial_outlives_its_leaders(new_rig: Callable[[], ControlPlane]) -> None:
    """A canary of one that is worse, with a leader killed while it goes on and another one after
    it was rolled back; then a shadow of one that is as good takes over.
    """
    with installed(new_rig) as (world, rig):
        world.client.post(PROFILES, profile(pluginConfig=BLIND))
        old = str(until(lambda: world.status().get("activeRevision"), "a revision"))
        with Observer(rig, old) as observer:
            rollout = {"strategy": "Canary", "canary": {"percent": 100}, "maxRegressions": 5}
            world.client.merge(
                f"{PROFILES}/tried", {"spec": {"pluginConfig": [], "rollout": rollout}}
            )
            until(world.trial, "a trial")
            placed = world.create(20)
            waiting = world.create(3, **{GPU: "1"})
            until(lambda: world.trial()["regressions"] == 3, "three regressions", 20)
            wait_all_bound(world.client, placed)
            before = world.trial()
            until(
                lambda: any(
                    one.counts.regressions == 3 and one.counts.decided >= before["decided"]
                    for one in world.saved()
                ),
                "counts that are saved",
                20,
            )
            world.kill_leader()
            until(lambda: world.trial().get("decided", 0) >= before["decided"], "counts", 20)
            assert world.trial()["since"] == before["since"]
            assert world.trial()["regressions"] == 3
            waiting |= world.create(3, **{GPU: "1"})
            until(lambda: world.trial()["verdict"] == "Regressed", "a verdict", 20)
            wait_all_bound(world.client, waiting)
            world.kill_leader()
            until(lambda: world.trial().get("verdict") == "Regressed", "the verdict again", 20)
            assert world.status()["activeRevision"] == old
            wait_all_bound(world.client, world.create(5, **{GPU: "1"}))

            rollout = {
                "strategy": "Shadow",
                "shadow": {"pods": 30},
                "canary": None,
                "maxRegressions": None,
            }
            spec = {"weights": {"NodeResourcesFit": 2}, "pluginConfig": BLIND, "rollout": rollout}
            world.client.merge(f"{PROFILES}/tried", {"spec": spec})
            until(lambda: world.trial().get("verdict") == "SoFarNoWorse", "another trial")
            wait_all_bound(world.client, world.create(45))  # a pair may be lost to the clock
            until(lambda: world.trial()["verdict"] == "Passed", "that it passes", 20)
            until(lambda: world.status()["activeRevision"] != old, "that it takes over", 20)
            until(lambda: observer.seen[-1:] == ["Passed"], "that this is seen")
        assert observer.lies == []
        assert observer.seen == ["SoFarNoWorse", "Regressed", "SoFarNoWorse", "Passed"]
        assert observer.looks > 100
