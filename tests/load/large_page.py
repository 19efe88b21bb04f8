"""The page of 5,000 nodes and 150,000 pods: ``python -m tests.load.large_page`` prints the address.

The program's own code makes the documents, of a state that changes as often as listeners are told.
"""

from __future__ import annotations

import asyncio
import datetime
import itertools
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from moorage.apps.ui.document_changes import Changes
from moorage.apps.ui.event_stream import BETWEEN_SECONDS
from moorage.apps.ui.frame_documents import (
    OF_FRAMES,
    PageSubject,
    document_of_frame,
    frame_document,
)
from moorage.apps.ui.questions import Question
from moorage.apps.ui.queue_pages import queue_of
from moorage.apps.worlds.world import empty_context
from moorage.apps.worlds.world_frame import WorldFrame, take_frame
from moorage.core.cycle.context import CycleContext
from moorage.core.objects.pods import Pod
from moorage.core.pods.requests import pod_requests
from moorage.core.simulation.measures import ZONE
from tests.apps.ui.serve_fixtures import serve
from tests.builders import make_node, make_pod

NODES: Final = 5_000
PODS: Final = 150_000
WAITING: Final = 200
ZONES: Final = 3
HAS: Final = (*OF_FRAMES, "queue")
_POD: Final = make_pod("pod", cpu="500m", memory="1Gi")
_REQUESTS: Final = pod_requests(_POD)


def large_context() -> CycleContext:
    """A cluster of that size, whose nodes are differently full."""
    cache = (context := empty_context()).cache
    for number in range(NODES):
        labels = {ZONE: f"zone-{number % ZONES}"}
        cache.put_node(make_node(_node(number), cpu="32", memory="64Gi", labels=labels))
    for number in range(PODS):
        # 22 to 37 pods a node
        node = number % NODES if number < PODS * 3 // 4 else number * number % NODES
        cache.observe(_pod(number, _node(node)), _REQUESTS)
    for number in range(PODS, PODS + WAITING):
        cache.observe_waiting(_pod(number, ""), _REQUESTS)
    return context


def _node(number: int) -> str:
    return f"node-{number:04}"


def _pod(number: int, node: str) -> Pod:
    name = f"pod-{number:06}"
    meta = msgspec.structs.replace(_POD.metadata, name=name, uid=name)
    return msgspec.structs.replace(
        _POD, metadata=meta, spec=msgspec.structs.replace(_POD.spec, node_name=node)
    )


class LargeSource:
    """``PageSource`` of that cluster; a pod goes and another one comes all the time."""

    def __init__(self, context: CycleContext) -> None:
        self.changes = Changes()
        self.changes.add(HAS)
        self._context = context

    async def open(self) -> str:
        """As ``PageSource``."""
        return "large"

    async def run(self) -> None:
        """Change one node after the other."""
        for number in itertools.count():
            await asyncio.sleep(BETWEEN_SECONDS)
            self._context.cache.remove(f"pod-{number:06}")
            self._context.cache.observe(_pod(PODS + WAITING + number, _node(number)), _REQUESTS)
            self.changes.add(HAS)

    async def close(self) -> None:
        """Nothing is held."""

    async def document(self, question: Question) -> Mapping[str, Any]:
        """As ``PageSource``."""
        frame = self._frame()
        if question.document == "queue":
            return document_of_frame("Queue", frame, queue_of(frame))
        subject = PageSubject("large", "", True, HAS)
        return await asyncio.to_thread(frame_document, frame, question, subject)

    def _frame(self) -> WorldFrame:
        return take_frame(self._context, {}, "a test", datetime.datetime.now(datetime.UTC))


if __name__ == "__main__":
    asyncio.run(serve(LargeSource(large_context()), 0))
