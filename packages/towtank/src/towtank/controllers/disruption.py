"""PodDisruptionBudgets: how many of their pods are healthy, and how many may be disrupted."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable
from datetime import datetime, timedelta

from towtank.controllers.client import PODS, controller_of, is_terminating, parse_time
from towtank.controllers.controller import Controller, Key
from towtank.controllers.ownership import labels_of
from towtank.controllers.rollout import resolve_int_or_percent
from towtank.model import conditions
from towtank.model.kinds import Body
from towtank.model.object_selectors import compiled
from towtank.model.times import after, timestamp
from towtank.storage.store import StoreChange

BUDGETS = "poddisruptionbudgets.policy"
EVICTION_LIMIT = 120.0
"""How many seconds an eviction that was granted counts as a disruption while its pod is still
there.
"""


class DisruptionController(Controller):
    """Keys: ("count", namespace, name)."""

    min_interval = timedelta(seconds=0.05)

    def keys_to_queue(self, resource: str, change: StoreChange) -> Iterable[Key]:
        """Budgets, those that choose a pod that changed, and all of a namespace where something was
        scaled.
        """
        namespace = change.now.key[0]
        if resource == BUDGETS:
            if change.type != "DELETED" and change.alters(_others_part):
                yield "count", *change.now.key
        elif resource == PODS:
            if change.type == "DELETED" or change.alters(_counted_part):
                for stored in self.client.verbs.store.list(BUDGETS, namespace):
                    if any(map(_chooser(stored.body), change.bodies)):
                        yield "count", *stored.key
        elif namespace and change.before and change.alters(_replicas):
            for stored in self.client.verbs.store.list(BUDGETS, namespace):
                yield "count", *stored.key

    def reconcile(self, key: Key, now: datetime) -> None:
        """Count the budget's pods, and write its status."""
        budget = self.client.verbs.find(BUDGETS, *key[1:])
        if budget is None or is_terminating(budget):
            return
        pods = list(filter(_chooser(budget), self.client.pods["namespace", key[1]]))
        evicted = self._evicted(budget, pods, now)
        counts = self._counts(budget, pods, evicted)
        status = {
            "disruptedPods": evicted or None,
            **counts,
            "observedGeneration": budget["metadata"].get("generation"),
            "conditions": [_condition(budget, counts["disruptionsAllowed"] > 0, now)],
        }
        self.client.status(BUDGETS, budget, status)
        if evicted:
            self.queue.add(key, after(min(map(parse_time, evicted.values())), EVICTION_LIMIT))

    def _counts(
        self, budget: Body, pods: Collection[Body], evicted: Container[str]
    ) -> dict[str, int]:
        healthy = sum(_is_healthy(pod) and pod["metadata"]["name"] not in evicted for pod in pods)
        expected, desired = self._wanted(budget, pods)
        return {
            "disruptionsAllowed": max(healthy - desired, 0) if expected > 0 else 0,
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "expectedPods": expected,
        }

    @staticmethod
    def _evicted(budget: Body, pods: Collection[Body], now: datetime) -> dict[str, str]:
        """Pods that an eviction was granted for and that are not going yet, with the time."""
        staying = {pod["metadata"]["name"] for pod in pods if not is_terminating(pod)}
        return {
            name: time
            for name, time in _evicted(budget).items()
            if name in staying and after(parse_time(time), EVICTION_LIMIT) > now
        }

    def _wanted(self, budget: Body, pods: Collection[Body]) -> tuple[int, int]:
        """How many pods there should be, and how many of them healthy."""
        spec = budget["spec"]
        if (most := spec.get("maxUnavailable")) is not None:
            expected = self._scale(pods)
            return expected, max(expected - resolve_int_or_percent(most, expected, up=True), 0)
        least = spec.get("minAvailable", 1)
        if isinstance(least, int):
            return len(pods), least
        expected = self._scale(pods)
        return expected, resolve_int_or_percent(least, expected, up=True)

    def _scale(self, pods: Collection[Body]) -> int:
        """What the pods' controllers want together."""
        uids = {controller_of(pod): pod for pod in pods if controller_of(pod)}
        return sum({uid: size for pod in uids.values() for uid, size in [self._top(pod)]}.values())

    def _top(self, body: Body) -> tuple[str, int]:
        """UID and replicas of the highest controller above an object that has replicas."""
        uid, namespace = controller_of(body), body["metadata"]["namespace"]
        owner = next(each for each in body["metadata"]["ownerReferences"] if each["uid"] == uid)
        resource = self.client.catalogue.of_kind(owner["apiVersion"], owner["kind"])
        found = self.client.verbs.find(resource.key, namespace, owner["name"]) if resource else None
        if found is None or found["metadata"]["uid"] != uid:
            return uid, 0
        return self._top(found) if controller_of(found) else (uid, _replicas(found) or 0)


def _replicas(body: Body) -> int | None:
    spec = body.get("spec")
    replicas = spec.get("replicas") if isinstance(spec, dict) else None
    return replicas if isinstance(replicas, int) else None


def _chooser(budget: Body) -> Callable[[Body], bool]:
    """Whether a budget is about a pod."""
    selector = compiled(budget["spec"].get("selector"))
    return lambda pod: selector.matches(labels_of(pod))


def _is_healthy(pod: Body) -> bool:
    return conditions.holds(pod, "Ready") and not is_terminating(pod)


def _counted_part(pod: Body) -> object:
    """What of a pod a budget looks at."""
    return labels_of(pod), conditions.holds(pod, "Ready"), is_terminating(pod), controller_of(pod)


def _others_part(budget: Body) -> object:
    """What others than this controller write into a budget."""
    return budget["spec"], _evicted(budget)


def _evicted(budget: Body) -> dict[str, str]:
    return dict(budget.get("status", {}).get("disruptedPods") or {})


def _condition(budget: Body, allowed: bool, now: datetime) -> Body:
    said = {
        "type": "DisruptionAllowed",
        "status": "True" if allowed else "False",
        "observedGeneration": budget["metadata"].get("generation"),
        "reason": "SufficientPods" if allowed else "InsufficientPods",
        "message": "",
    }
    return conditions.with_transition_time(budget, said, timestamp(now))
