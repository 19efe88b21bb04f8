"""Extenders that a test scripts."""

from __future__ import annotations

import asyncio
import collections
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from moorage.core.framework.extenders import Extender, Filtered, Spared
from moorage.ports.extender_calls import Candidates, Proposal
from moorage.ports.kube import PodRef


@dataclasses.dataclass(frozen=True, slots=True)
class Asked:
    """A question that was put: the verb, the extender's URL, the pod's name and what it was about."""

    verb: str
    url: str
    pod: str
    about: Any


class ScriptedExtenders:
    """``ports.extender_calls.Extenders``: lets everything through and gives no priority, unless ``says[verb]`` has another answer.

    ``says[verb]`` is called with the question; what it returns is the answer, what it raises is raised. ``fail`` raises errors
    first, ``hold`` keeps answers back until the event is set.
    """

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.says: dict[str, Callable[[Asked], Any]] = {}
        self._failures: dict[str, collections.deque[Exception]] = collections.defaultdict(collections.deque)
        self._gates: dict[str, asyncio.Event] = {}

    def fail(self, verb: str, error: Exception, times: int = 1) -> None:
        """The next answers are this error."""
        self._failures[verb].extend([error] * times)

    def hold(self, verb: str) -> asyncio.Event:
        """Keep answers back, those too that are asked for already."""
        gate = self._gates[verb] = asyncio.Event()
        return gate

    def verbs(self, pod: str) -> list[str]:
        """What was asked about a pod, in order."""
        return [asked.verb for asked in self.asked if asked.pod == pod]

    # ---- ports.extender_calls.Extenders -----------------------------------------------------------------------------------------

    async def filter(self, extender: Extender, pod: bytes, nodes: Candidates) -> Filtered:
        """All of them."""
        answer: Filtered = await self._turn("filter", extender, pod, nodes, Filtered(tuple(nodes.names), {}, {}))
        return answer

    async def prioritize(self, extender: Extender, pod: bytes, nodes: Candidates) -> Sequence[tuple[str, int]]:
        """No priorities."""
        answer: Sequence[tuple[str, int]] = await self._turn("prioritize", extender, pod, nodes, ())
        return answer

    async def preempt(self, extender: Extender, pod: bytes, victims: Mapping[str, Proposal]) -> Mapping[str, Spared]:
        """As proposed."""
        same = {node: Spared(tuple(proposal.pods), proposal.violations) for node, proposal in victims.items()}
        answer: Mapping[str, Spared] = await self._turn("preempt", extender, pod, victims, same)
        return answer

    async def bind(self, extender: Extender, pod: PodRef, node: str) -> None:
        """Do nothing."""
        await self._turn("bind", extender, msgspec.json.encode({"metadata": {"name": pod.name}}), (pod, node), None)

    async def _turn(self, verb: str, extender: Extender, pod: bytes, about: Any, usual: Any) -> Any:
        asked = Asked(verb, extender.url, msgspec.json.decode(pod)["metadata"]["name"], about)
        self.asked.append(asked)
        await asyncio.sleep(0)
        if verb in self._gates:
            await self._gates[verb].wait()
        if self._failures[verb]:
            raise self._failures[verb].popleft()
        return self.says[verb](asked) if verb in self.says else usual
