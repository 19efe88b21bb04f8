"""What if: the cycle asked again about another pod, or with other nodes or pods there."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

from moorage.core.columns.cache import PodInfo
from moorage.core.columns.new_nodes import NewNode
from moorage.core.cycle.context import CycleContext, Decision, ScheduleResult
from moorage.core.cycle.cycle import decide, run_filters
from moorage.core.explaining.searches import Search
from moorage.core.framework.evaluation.evaluation import Evaluation
from moorage.core.framework.revisions import Revision
from moorage.core.objects.pods import Pod, on_node
from moorage.core.objects.storage import CSINode
from moorage.core.pods.requests import pod_requests


class WhatIf:
    """Asks the cycle, and takes back whatever it changed for a question."""

    together = 1
    """How many pods have to find a node for the answer to be yes."""

    def __init__(self, context: CycleContext, revision: Revision) -> None:
        self.context = context
        self.revision = revision

    def fits(self, pod: Pod) -> bool:
        """Whether any node takes this pod. Raises OutOfTime where there is no time left to ask."""
        self.context.budget.check()
        evaluation = run_filters(pod, self.revision, self.context)
        return isinstance(evaluation, Evaluation) and evaluation.fits

    def decide(self, pod: Pod) -> ScheduleResult | None:
        """Where this pod would go; None for nowhere, without a look at whom it might displace."""
        outcome = self.outcome(pod) if self.fits(pod) else None
        return outcome if isinstance(outcome, ScheduleResult) else None

    def outcome(self, pod: Pod) -> Decision:
        """What the cycle decides, with the sampler left as it was."""
        start = self.context.sampler.start
        try:
            return decide(pod, self.revision, self.context)
        finally:
            self.context.sampler.start = start

    def fitting_nodes(self, pod: Pod) -> list[str]:
        """The nodes that take this pod."""
        evaluation = run_filters(pod, self.revision, self.context)
        if not isinstance(evaluation, Evaluation) or not evaluation.fits:
            return []
        names = self.context.snapshot.nodes.names
        return [names[row] for row in evaluation.feasible().tolist()]

    @contextlib.contextmanager
    def placing(self, pod: Pod) -> Iterator[ScheduleResult | None]:
        """With this pod where it would go; None where that is nowhere, and nothing is changed."""
        placed = self.decide(pod)
        if placed is None:
            yield None
            return
        with self.with_pod(pod, placed.node):
            yield placed

    def own_searches(self, _pod: Pod) -> tuple[Search[Any], ...]:
        """Changes that only such a question has; none for a single pod."""
        return ()

    def beside_siblings(self) -> contextlib.AbstractContextManager[None]:
        """With those there that go before this pod in any case: of a single pod, nobody."""
        return contextlib.nullcontext()

    @contextlib.contextmanager
    def with_nodes(self, nodes: Iterable[NewNode]) -> Iterator[None]:
        """With these nodes there too, and what comes with each; their names must be new."""
        cache = self.context.cache
        with contextlib.ExitStack() as undo:
            for new in nodes:
                name = new.node.metadata.name
                cache.put_node(new.node)
                undo.callback(cache.remove_node, name)
                if new.drivers is not None:
                    cache.store.put(new.drivers)
                    undo.callback(cache.store.remove, CSINode, name)
                for pod in new.pods:
                    cache.observe(pod, pod_requests(pod))
                    undo.callback(cache.remove, pod.metadata.uid)
            yield

    @contextlib.contextmanager
    def without(self, info: PodInfo) -> Iterator[None]:
        """Without a pod that is on a node."""
        cache = self.context.cache
        cache.remove(info.pod.metadata.uid)
        try:
            yield
        finally:
            cache.put_back(info)

    @contextlib.contextmanager
    def with_pod(self, pod: Pod, node: str) -> Iterator[None]:
        """With a pod on this node that is on none."""
        cache, there = self.context.cache, on_node(pod, node)
        nomination = cache.nominations.state(pod.metadata.uid)
        cache.assume(there, node, pod_requests(there))
        try:
            yield
        finally:
            cache.forget(pod.metadata.uid)
            cache.nominations.restore(nomination)
