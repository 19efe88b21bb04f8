"""Whether an installation works: a replica leads and answers. If not, what is wrong."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, Final

from moorage.apps.install.object_keys import Document
from moorage.apps.reach.installations import Installation
from moorage.ports.clock import Clock
from moorage.ports.errors import Retryable

POLL_SECONDS: Final = 1.0
MAX_PODS: Final = 3
"""That are told of, and whose logs are read."""
MAX_LINE: Final = 200
"""Characters of a log's line."""
_BAD: Final = {"Available": "False", "Progressing": "False", "ReplicaFailure": "True"}
"""Conditions of a Deployment that say that something is wrong."""


@dataclasses.dataclass(frozen=True, slots=True)
class Sight:
    """An installation at one moment. ``installation`` is what its Leases say."""

    deployment: Document | None
    pods: tuple[Document, ...]
    installation: Installation
    now: datetime.datetime

    @property
    def ready(self) -> frozenset[str]:
        """The pods that answer, as their kubelet says."""
        return frozenset(
            one["metadata"]["name"]
            for one in self.pods
            if _condition(one, "Ready").get("status") == "True"
            and not one["metadata"].get("deletionTimestamp")
        )

    @property
    def wanted(self) -> int:
        """How many replicas there should be."""
        return int(((self.deployment or {}).get("spec") or {}).get("replicas") or 0)

    @property
    def leader(self) -> str:
        """The pod that leads, "" where none of these does."""
        leading = self.installation.leading
        pod = leading.pod if leading is not None else ""
        pod = pod or self.installation.leader.rpartition("_")[0]
        return pod if pod in self.ready and self.installation.seems_led(self.now) else ""

    @property
    def waits_for(self) -> str:
        """What it still lacks, "" where it works."""
        if not _is_rolled_out(self.deployment):
            return f"{self._count}; the Deployment is being rolled out"
        if not self.ready:
            return self._count
        return "" if self.leader else f"{self._count}, none of them leads"

    @property
    def _count(self) -> str:
        return f"{len(self.ready)} of {self.wanted} pods Ready"


class NotRunning(Exception):
    """It does not work in time; ``sight`` is the last, None where there was none."""

    def __init__(self, sight: Sight | None, text: str) -> None:
        super().__init__(text)
        self.sight = sight


async def running(
    look: Callable[[], Awaitable[Sight]], clock: Clock, seconds: float, say: Callable[[str], None]
) -> Sight:
    """The installation once it works, as ``look`` shows it. Raises NotRunning after so many
    seconds, EdgeError.
    """
    last = clock.boottime() + seconds
    sight = None
    while True:
        try:
            sight = await look()
            waits = sight.waits_for
            if not waits:
                return sight
        except Retryable as error:
            waits = str(error)
        if clock.boottime() >= last:
            raise NotRunning(sight, f"after {seconds:.0f} s: {waits}")
        say(waits)
        await clock.sleep(POLL_SECONDS)


def faults(sight: Sight, logs: Mapping[str, str]) -> Iterator[str]:
    """What is wrong, a line each; ``logs`` are the last lines of pods, by their name."""
    place = f"{sight.installation.namespace}/{sight.installation.lease}"
    if sight.deployment is None:
        yield f"Deployment {place} is not there; who removed it?"
    for one in _conditions(sight.deployment):
        if _BAD.get(one.get("type", "")) == one.get("status"):
            yield f"Deployment {place}: {one['type']} {one['status']}: {one.get('message')}"
    for pod in suspects(sight):
        name = pod["metadata"]["name"]
        yield f"Pod {name}: {_state(pod)}"
        yield from (f"  {line[:MAX_LINE]}" for line in logs.get(name, "").splitlines())
    if not sight.leader:
        yield f"Lease {place}: {_holder(sight)}"


def suspects(sight: Sight) -> list[Document]:
    """The pods that are not Ready, or if all are, those that do not lead: the newest, a few."""
    unready = [one for one in sight.pods if one["metadata"]["name"] not in sight.ready]
    found = unready or ([] if sight.leader else [*sight.pods])
    return sorted(found, key=_born, reverse=True)[:MAX_PODS]


def has_ended(pod: Mapping[str, Any]) -> bool:
    """Whether its log of interest is that of the container before."""
    return any(
        "waiting" in (one.get("state") or {}) and one.get("restartCount")
        for one in _containers(pod)
    )


def _born(pod: Document) -> str:
    return str(pod["metadata"].get("creationTimestamp") or "")


def _is_rolled_out(deployment: Document | None) -> bool:
    """Whether all of its pods are of its present template."""
    if deployment is None:
        return False
    status = deployment.get("status") or {}
    seen = status.get("observedGeneration", 0) >= deployment["metadata"].get("generation", 0)
    return bool(seen and status.get("replicas", 0) == status.get("updatedReplicas", 0))


def _holder(sight: Sight) -> str:
    there = sight.installation
    if not there.leader:
        return "nobody holds it"
    if not there.seems_led(sight.now):
        return f"{there.leader} holds it, and has not renewed it since {there.renewed}"
    return f"{there.leader} holds it, which is none of its Ready pods; what else runs by this name?"


def _state(pod: Mapping[str, Any]) -> str:
    """Why it is not Ready, as well as its status tells."""
    for one in _containers(pod):
        state = one.get("state") or {}
        for kind in ("waiting", "terminated"):
            if found := state.get(kind):
                code = f"exit code {found['exitCode']}" if "exitCode" in found else ""
                said = (found.get("reason"), code, found.get("message"))
                return ": ".join(filter(None, said)) or kind
    for name in ("PodScheduled", "Ready"):
        condition = _condition(pod, name)
        if condition.get("status") == "False":
            return f"{condition.get('reason')}: {condition.get('message')}"
    return str((pod.get("status") or {}).get("phase") or "no kubelet has said anything of it")


def _containers(pod: Mapping[str, Any]) -> list[dict[str, Any]]:
    return (pod.get("status") or {}).get("containerStatuses") or []


def _conditions(body: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    return ((body or {}).get("status") or {}).get("conditions") or []


def _condition(body: Mapping[str, Any], kind: str) -> dict[str, Any]:
    return next((one for one in _conditions(body) if one.get("type") == kind), {})
