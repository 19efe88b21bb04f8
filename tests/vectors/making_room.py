"""What postFilter decides in a scheduling case: its status, and for DefaultPreemption every candidate with its victims."""

from __future__ import annotations

from typing import Any

import numpy as np

from moorage.core.cycle.context import Scheduler
from moorage.core.cycle.post_filter import make_room
from moorage.core.framework.evaluation.evaluation import Blueprint
from moorage.core.framework.interfaces import Attempt, Point
from moorage.core.framework.revisions import Revision
from moorage.core.objects.meta import key
from moorage.core.objects.pods import Pod
from moorage.core.plugins.default_preemption.plugin import NAME, Candidate, DefaultPreemption, choose, dry_run


def post_filter(pod: Pod, revision: Revision, scheduler: Scheduler, blueprint: Blueprint) -> dict[str, Any]:
    """In the form of ``expect.postFilter``. Which of several equals is taken is ours to choose, so all of them are given."""
    snapshot = scheduler.snapshot
    result = make_room(pod, revision, scheduler, blueprint)
    found: dict[str, Any] = {"code": result.status.code.value}
    if result.status.reasons:
        found |= {"plugin": revision.points[Point.POST_FILTER][0], "reasons": list(result.status.reasons)}
    if result.nominated_node is not None:
        found["nominatedNode"] = result.nominated_node
    preemption = revision.deciders.get(NAME)
    if result.victims and isinstance(preemption, DefaultPreemption):
        refusals = blueprint.refusals(snapshot)
        attempt = Attempt(snapshot, refusals, lambda: blueprint.what_if(snapshot), lambda _plugin, _depends: {}, scheduler.seed)
        outcomes = dry_run(pod, attempt, np.flatnonzero(refusals == 1)).values()
        by_node = {snapshot.nodes.names[one.row]: one for one in outcomes if isinstance(one, Candidate)}
        found["candidates"] = {node: {"victims": _names(one.victims), "pdbViolations": one.violations} for node, one in by_node.items()}
        best = by_node[result.nominated_node or ""]
        assert best.victims == result.victims
        equals = sorted(node for node, one in by_node.items() if _equal(one, best))
        if len(equals) == 1:
            found["victims"] = _names(result.victims)
        else:
            del found["nominatedNode"]
            found["nominatedNodes"] = equals
    return found


def _equal(one: Candidate, best: Candidate) -> bool:
    return choose([best, one]) is best and choose([one, best]) is one


def _names(pods: tuple[Pod, ...]) -> list[str]:
    return sorted(map(key, pods))
