"""Extenders that a test scripts."""

from __future__ import annotations

import asyncio
import collections
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from moorage.core.framework.extenders import Extender, ExtenderFilterResult, MetaVictims
from moorage.ports.extender_calls import CandidateNodes, NodeVictims
from moorage.ports.kube import PodRef


@dataclasses.dataclass(frozen=True, slots=True)
class ExtenderCall:
    """A question that was put: the verb, the extender's URL, the pod's name and what it was
    about.
    """

    verb: str
    url: str
    pod: str
    about: Any


class ScriptedExtenderClient:
    """``ports.extender_calls.ExtenderClient``: lets everything through and gives no priority,
    unless ``answers[verb]`` has another answer.

    ``answers[verb]`` is called with the question; what it returns is the answer, what it raises is
    raised. ``fail`` raises errors first, ``hold`` keeps answers back until the event is set.
    """

    def __init__(self) -> None:
        self.calls: list[ExtenderCall] = []
        self.answers: dict[str, Callable[[ExtenderCall], Any]] = {}
        self._failures: dict[str, collections.deque[Exception]] = collections.defaultdict(
            collections.deque
        )
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
        return [asked.verb for asked in self.calls if asked.pod == pod]

    # ---- ports.extender_calls.Extenders ----------------------------------------------------------

    async def filter(
        self, extender: Extender, pod: bytes, nodes: CandidateNodes
    ) -> ExtenderFilterResult:
        """All of them."""
        answer: ExtenderFilterResult = await self._turn(
            "filter", extender, pod, nodes, ExtenderFilterResult(tuple(nodes.names), {}, {})
        )
        return answer

    async def prioritize(
        self, extender: Extender, pod: bytes, nodes: CandidateNodes
    ) -> Sequence[tuple[str, int]]:
        """No priorities."""
        answer: Sequence[tuple[str, int]] = await self._turn("prioritize", extender, pod, nodes, ())
        return answer

    async def preempt(
        self, extender: Extender, pod: bytes, victims: Mapping[str, NodeVictims]
    ) -> Mapping[str, MetaVictims]:
        """As proposed."""
        same = {
            node: MetaVictims(tuple(proposal.pods), proposal.num_pdb_violations)
            for node, proposal in victims.items()
        }
        answer: Mapping[str, MetaVictims] = await self._turn(
            "preempt", extender, pod, victims, same
        )
        return answer

    async def bind(self, extender: Extender, pod: PodRef, node: str) -> None:
        """Do nothing."""
        await self._turn(
            "bind",
            extender,
            msgspec.json.encode({"metadata": {"name": pod.name}}),
            (pod, node),
            None,
        )

    async def _turn(self, verb: str, extender: Extender, pod: bytes, about: Any, usual: Any) -> Any:
        asked = ExtenderCall(
            verb, extender.url, msgspec.json.decode(pod)["metadata"]["name"], about
        )
        self.calls.append(asked)
        await asyncio.sleep(0)
        if verb in self._gates:
            await self._gates[verb].wait()
        if self._failures[verb]:
            raise self._failures[verb].popleft()
        return self.answers[verb](asked) if verb in self.answers else usual
