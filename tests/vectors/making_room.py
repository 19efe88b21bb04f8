"""What postFilter decides in a scheduling case: its status, and for DefaultPreemption every
candidate with its victims.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from moorage.core.cycle.context import CycleContext
from moorage.core.cycle.post_filter import run_post_filters
from moorage.core.framework.evaluation.evaluation import Evaluation
from moorage.core.framework.evaluation.rejections import node_codes
from moorage.core.framework.interfaces import ExtensionPoint
from moorage.core.framework.post_filter_contract import FailedAttempt
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import Code
from moorage.core.objects.meta import key
from moorage.core.objects.pods import Pod
from moorage.core.plugins.default_preemption.candidates import PreemptionCandidate, choose
from moorage.core.plugins.default_preemption.plugin import NAME, DefaultPreemption
from moorage.core.plugins.default_preemption.victim_search import dry_run


def post_filter(
    pod: Pod, revision: Revision, context: CycleContext, evaluation: Evaluation
) -> dict[str, Any]:
    """In the form of ``expect.postFilter``. Which of several equals is taken is ours to choose, so
    all of them are given.
    """
    snapshot = context.snapshot
    result = run_post_filters(pod, revision, context, evaluation).result
    found: dict[str, Any] = {"code": result.status.code.value}
    if result.status.code is not Code.SUCCESS:
        found["plugin"] = revision.points[ExtensionPoint.POST_FILTER][0]
    if result.status.reasons:
        found["reasons"] = list(result.status.reasons)
    if result.nominated_node is not None:
        found["nominatedNode"] = result.nominated_node
    preemption = revision.deciders.get(NAME)
    if result.victims and isinstance(preemption, DefaultPreemption):
        refusals = node_codes(evaluation, snapshot)
        attempt = FailedAttempt(
            snapshot,
            refusals,
            lambda: evaluation.dry_run(snapshot),
            lambda _plugin, _depends: {},
            context.seed,
        )
        outcomes = dry_run(pod, attempt, np.flatnonzero(refusals == 1)).values()
        by_node = {
            snapshot.nodes.names[one.row]: one
            for one in outcomes
            if isinstance(one, PreemptionCandidate)
        }
        found["candidates"] = {
            node: {"victims": _names(one.victims), "pdbViolations": one.num_pdb_violations}
            for node, one in by_node.items()
        }
        best = by_node[result.nominated_node or ""]
        assert best.victims == result.victims
        equals = sorted(node for node, one in by_node.items() if _equal(one, best))
        if len(equals) == 1:
            found["victims"] = _names(result.victims)
        else:
            del found["nominatedNode"]
            found["nominatedNodes"] = equals
            found["reasons"] = [named_first(found, reason) for reason in found["reasons"]]
    return found


def named_first(found: dict[str, Any], text: str) -> str:
    """A text about the chosen node, as if the first of its equals had been chosen."""
    first = min(found.get("nominatedNodes", ()), default=r"\g<0>")
    return re.sub(r"(?<=potential placement for pod on node )[^,]+", first, text)


def _equal(one: PreemptionCandidate, best: PreemptionCandidate) -> bool:
    return choose([best, one]) is best and choose([one, best]) is one


def _names(pods: tuple[Pod, ...]) -> list[str]:
    return sorted(map(key, pods))
