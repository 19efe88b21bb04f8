"""What scenarios expect, in their words, and whether it is so."""

from __future__ import annotations

import fnmatch
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from typing import Any, Final

from tests.rig.clients import Client
from tests.rig.processes import RigError
from tests.scenarios.manifests import path


class Facts:
    """What the API server has now. Lists are fetched when they are first asked for."""

    def __init__(self, client: Client, namespace: str, made: Collection[str]) -> None:
        """``made`` are the names of all pods made so far, those that are gone among them."""
        self._client = client
        self._namespace = namespace
        self.made = made

    @cached_property
    def pods(self) -> dict[str, PodFacts]:
        """The pods made so far, by name."""
        there = {
            item["metadata"]["name"]: item
            for item in self._client.get(path("Pod", self._namespace))["items"]
        }
        return {name: PodFacts(name, there.get(name), self) for name in self.made}

    @cached_property
    def nodes(self) -> dict[str, dict[str, str]]:
        """The labels of the nodes, by name; each has one called ``node`` too."""
        items = self._client.get(path("Node"))["items"]
        return {
            item["metadata"]["name"]: {
                "node": item["metadata"]["name"],
                **item["metadata"]["labels"],
            }
            for item in items
        }

    @cached_property
    def events(self) -> list[dict[str, Any]]:
        """All events of the namespace."""
        return list(
            self._client.get(f"/apis/events.k8s.io/v1/namespaces/{self._namespace}/events")["items"]
        )

    def object(self, what: str) -> Any:
        """An object, as ``Kind/name``; None when there is none."""
        try:
            return self._client.get(path(what, self._namespace))
        except RigError as error:
            if ": 404 " not in str(error):
                raise
            return None


class PodFacts:
    """A pod as it is now."""

    def __init__(self, name: str, item: Mapping[str, Any] | None, facts: Facts) -> None:
        self.gone = item is None
        item = item or {"metadata": {}, "spec": {}}
        self.node = str(item["spec"].get("nodeName", ""))
        status = item.get("status", {})
        self.nominated = str(status.get("nominatedNodeName", ""))
        self._conditions = {each["type"]: each for each in status.get("conditions", ())}
        told = self._conditions.get("PodScheduled", {})
        self.reason, self.message = str(told.get("reason", "")), str(told.get("message", ""))
        self.going = "deletionTimestamp" in item["metadata"]
        self._uid = item["metadata"].get("uid")
        self._name, self._facts = name, facts

    @property
    def victim(self) -> bool:
        """Preempted: scenarios that expect it let nobody else delete the pod."""
        return self.gone or (
            self.going
            and self._conditions.get("DisruptionTarget", {}).get("reason")
            == "PreemptionByScheduler"
        )

    def told(self, reason: str, text: str) -> bool:
        """Whether an event for this very pod, as kubectl describe shows it, says so."""
        regarding = {"name": self._name, "uid": self._uid}
        return any(
            regarding.items() <= event.get("regarding", {}).items()
            and event["reason"] == reason
            and text in event.get("note", "")
            for event in self._facts.events
        )

    def __str__(self) -> str:
        if self.gone:
            return "gone"
        where = (
            f"on {self.node}"
            if self.node
            else f"without a node ({self.reason or 'nothing told'}: {self.message})"
        )
        return (
            where
            + (f", nominated to {self.nominated}" if self.nominated else "")
            + (", going" if self.going else "")
        )


POD: Final[Mapping[str, Callable[[PodFacts, str, str], bool]]] = {
    r"on any node()()": lambda pod, _, __: bool(pod.node),
    r"on (\S+)(?: or (\S+))?": lambda pod, one, other: bool(pod.node) and pod.node in (one, other),
    r"not bound()()": lambda pod, _, __: not pod.node and not pod.gone,
    r"gated ?(.*)()": lambda pod, text, _: (
        not pod.node and pod.reason == "SchedulingGated" and text in pod.message
    ),
    r"pending ?(.*)()": lambda pod, text, _: (
        not pod.node and pod.reason == "Unschedulable" and text in pod.message
    ),
    r"nominated to (\S+)()": lambda pod, node, _: pod.nominated == node,
    r"not nominated()()": lambda pod, _, __: not pod.nominated and not pod.gone,
    r"victim()()": lambda pod, _, __: pod.victim,
    r"alive()()": lambda pod, _, __: not pod.going and not pod.gone,
    r"gone()()": lambda pod, _, __: pod.gone,
    r"told (\w+) (.+)": lambda pod, reason, text: pod.told(reason, text),
}
"""What can be said of a pod -> whether it is so, by what the two groups stand for."""

SEVERAL: Final = re.compile(
    r"(?P<number>\d+) (?P<what>bound|victims?)|(?P<counts>\d+(\+\d+)*) by (?P<label>\S+)"
)
"""What can be said of several pods: how many, or how many in each domain that has any, in any
order.
"""


def differences(expected: Mapping[str, Any], facts: Facts) -> list[str]:
    """What is not as expected, a line each; nothing when all is. Raises ValueError for words that
    nobody knows.
    """
    return [
        f"{subject}: expected {said}, but it is {found}"
        for subject, phrases in expected.items()
        for said in (phrases if isinstance(phrases, list) else [phrases])
        if (found := _found_instead(subject, said, facts))
    ]


def _found_instead(subject: str, said: Any, facts: Facts) -> str:
    """What there is instead of what is said; "" for nothing else."""
    if re.match("[A-Z]", subject):
        there = facts.object(subject)
        return (
            ""
            if (said == "gone" if there is None else contains(there, said))
            else str(there or "gone")
        )
    if "*" in subject:
        return _of_several(fnmatch.filter(facts.made, subject), said, facts)
    pod = facts.pods[subject]
    for pattern, check in POD.items():
        if match := re.fullmatch(pattern, said):
            return "" if check(pod, *match.groups()) else str(pod)
    raise ValueError(f"{subject}: nobody knows what {said!r} says of a pod")


def _of_several(names: Collection[str], said: str, facts: Facts) -> str:
    match = SEVERAL.fullmatch(said)
    if not match or not names:
        raise ValueError(f"nobody knows what {said!r} says of {list(names)}")
    pods = [facts.pods[name] for name in names]
    places = [pod.node for pod in pods if pod.node]
    if match["counts"]:
        counts = Counter(facts.nodes[place].get(match["label"], "nowhere") for place in places)
        right = sorted(counts.values()) == sorted(map(int, match["counts"].split("+")))
    else:
        number = len(places) if match["what"] == "bound" else sum(pod.victim for pod in pods)
        right = number == int(match["number"])
    return (
        "" if right else ", ".join(f"{name} {pod}" for name, pod in zip(names, pods, strict=True))
    )


def contains(there: Any, said: Any) -> bool:
    """Whether all that is said is there: keys of maps, and for each item of a list one like it."""
    if isinstance(said, Mapping):
        return isinstance(there, Mapping) and all(
            key in there and contains(there[key], value) for key, value in said.items()
        )
    if isinstance(said, list):
        return isinstance(there, list) and all(
            any(contains(one, item) for one in there) for item in said
        )
    return bool(there == said)
