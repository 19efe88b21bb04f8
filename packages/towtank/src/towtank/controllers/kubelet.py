"""A stand-in for all nodes' kubelets, and for the pod garbage collector: pods that are bound run,
deleted ones go.

Nothing is executed. A pod that is bound becomes ready after ``start_after`` seconds, one that is
deleted is gone after ``stop_after`` (and the sleep of its preStop hooks), at most its grace. The
annotation ``towtank/run-for: 5s`` has a pod succeed after that time.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable
from datetime import datetime

from kubefacts import durations
from towtank.controllers import kubelet_status
from towtank.controllers.client import (
    KUBELET,
    NODES,
    PODS,
    ControllerClient,
    is_finished,
    is_terminating,
    parse_time,
)
from towtank.controllers.controller import Controller, Key
from towtank.model import conditions
from towtank.model.kinds import Body
from towtank.model.times import after
from towtank.storage.store import StoreChange

RUN_FOR = "towtank/run-for"
_NOT_READY = "node.kubernetes.io/not-ready"


class KubeletSimulator(Controller):
    """Keys: what to do, namespace and name, and for what is done later the UID of the pod that it
    is meant for.
    """

    def __init__(self, world: ControllerClient, start_after: float, stop_after: float) -> None:
        super().__init__(world)
        self._start_after = start_after
        self._stop_after = stop_after
        self._numbers = itertools.count(1)
        self._steps = {
            "node": self._node,
            "look": self._look,
            "start": self._start,
            "succeed": self._succeed,
            "stop": self._stop,
        }

    def keys_to_queue(self, resource: str, change: StoreChange) -> Iterable[Key]:
        """Nodes that come and go; pods that have a node and did not, or run, or end, or are to
        go.
        """
        now, before = change.now, change.before
        if resource == NODES:
            if change.type == "DELETED":
                yield "gone", *now.key
            elif before is None or before.body.get("status") != now.body.get("status"):
                yield "node", *now.key
        elif (
            resource == PODS
            and change.type != "DELETED"
            and (before is None or _state(before.body) != _state(now.body))
        ):
            yield "look", *now.key

    def reconcile(self, key: Key, now: datetime) -> None:
        """Take the pod's, or the node's, next step."""
        what, namespace, name, *uid = key
        if what == "gone":
            self._collect(name)
            return
        found = self.client.verbs.find(NODES if what == "node" else PODS, namespace, name)
        if found is not None and uid in ([], [found["metadata"]["uid"]]):
            self._steps[what](found, now)

    # ---- nodes -----------------------------------------------------------------------------------

    def _node(self, node: Body, now: datetime) -> None:
        new = not conditions.find(node, "Ready")
        if (
            new
            or node["status"].get("capacity", {}).keys()
            - node["status"].get("allocatable", {}).keys()
        ):
            node = self.client.status(
                NODES, node, kubelet_status.node_status(node, self._address("172.18"), now), KUBELET
            )
        if (
            new
            and any(taint["key"] == _NOT_READY for taint in node["spec"].get("taints", ()))
            and conditions.holds(node, "Ready")
        ):
            self.client.patch(NODES, node, _opened)

    def _collect(self, node: str) -> None:
        """Delete the pods of a node that is gone, some at a time."""
        if self.client.verbs.find(NODES, "", node):
            return
        left = [
            pod
            for pod in self.client.pods["node", node]
            if pod["metadata"].get("deletionGracePeriodSeconds") != 0
        ]
        for pod in left[: self.keys_per_slice]:
            self.client.delete(PODS, pod, grace=0)
        if len(left) > self.keys_per_slice:
            self.queue.add(("gone", "", node))

    def _address(self, network: str) -> str:
        high, low = divmod(next(self._numbers), 254)
        return f"{network}.{high % 256}.{low + 1}"

    # ---- pods ------------------------------------------------------------------------------------

    def _look(self, pod: Body, now: datetime) -> None:
        """Note what this pod does next."""
        if not pod["spec"].get("nodeName"):
            return
        if is_terminating(pod):
            grace = pod["metadata"].get("deletionGracePeriodSeconds", 0)
            self._later("stop", pod, after(now, min(grace, self._stop_after + _hook(pod))))
        elif not is_finished(pod) and pod.get("status", {}).get("phase") != "Running":
            self._later("start", pod, after(now, self._start_after))
        elif not is_finished(pod):
            self.client.status(PODS, pod, kubelet_status.gated_status(pod, now), KUBELET)
            if (runs := _run_seconds(pod)) is not None:
                started = pod["status"].get("startTime") or pod["metadata"]["creationTimestamp"]
                self._later("succeed", pod, after(parse_time(started), runs))

    def _later(self, what: str, pod: Body, when: datetime) -> None:
        metadata = pod["metadata"]
        self.queue.add((what, metadata["namespace"], metadata["name"], metadata["uid"]), when)

    def _start(self, pod: Body, now: datetime) -> None:
        if is_terminating(pod) or is_finished(pod):
            return
        node = self.client.verbs.find(NODES, "", pod["spec"]["nodeName"]) or {}
        self.client.status(
            PODS,
            pod,
            kubelet_status.running_status(pod, node, self._address("10.244"), now),
            KUBELET,
        )

    def _succeed(self, pod: Body, now: datetime) -> None:
        if not is_finished(pod):
            self.client.status(PODS, pod, kubelet_status.succeeded_status(pod, now), KUBELET)

    def _stop(self, pod: Body, now: datetime) -> None:
        """A pod that others' finalizers keep has ended all the same, and takes no room."""
        if pod["metadata"].get("finalizers"):
            self._succeed(pod, now)
        self.client.delete(PODS, pod, propagation="", grace=0)


def _state(pod: Body) -> object:
    metadata, status = pod["metadata"], pod.get("status", {})
    gates = [
        conditions.holds(pod, gate["conditionType"])
        for gate in pod["spec"].get("readinessGates", ())
    ]
    return (
        pod["spec"].get("nodeName"),
        status.get("phase"),
        metadata.get("deletionTimestamp"),
        metadata.get("annotations", {}).get(RUN_FOR),
        gates,
    )


def _run_seconds(pod: Body) -> float | None:
    """What the annotation says; None where it says nothing, or no duration."""
    with contextlib.suppress(ValueError):
        return durations.parse(pod["metadata"].get("annotations", {}).get(RUN_FOR))
    return None


def _hook(pod: Body) -> float:
    """The longest sleep of its containers' preStop hooks."""
    hooks = [each.get("lifecycle", {}).get("preStop", {}) for each in pod["spec"]["containers"]]
    return max((float(hook.get("sleep", {}).get("seconds", 0)) for hook in hooks), default=0.0)


def _opened(node: Body) -> None:
    node["spec"]["taints"] = [
        taint for taint in node["spec"]["taints"] if taint["key"] != _NOT_READY
    ]
