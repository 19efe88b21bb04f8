"""What claims are allocated in a scheduling case: ``expect.allocations``, node by node."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import msgspec

from moorage.core.columns.snapshot import Snapshot
from moorage.core.framework.revisions import Revision
from moorage.core.framework.status import SUCCESS
from moorage.core.objects.meta import key
from moorage.core.objects.pods import Pod
from moorage.core.objects.resource_claims import Allocation
from moorage.core.plugins.dynamic_resources.claim_reservation import ClaimReservation
from moorage.core.plugins.dynamic_resources.plugin import NAME, DynamicResources


def allocations(
    pod: Pod, revision: Revision, snapshot: Snapshot, nodes: Iterable[str]
) -> dict[str, Any]:
    """Reserve on each feasible node, and give all of it back. Cases with other plugins say nothing
    of it.
    """
    plugin = revision.deciders.get(NAME)
    if not isinstance(plugin, DynamicResources) or "NodeResourcesFit" in revision.deciders:
        return {}
    found: dict[str, Any] = {}
    for node in nodes:
        reserved = plugin.reserve(pod, node, snapshot)
        assert reserved.status == SUCCESS
        if isinstance(reserved.value, ClaimReservation):
            given = [one for one in reserved.value.claims if one.allocation is not None]
            found[node] = {key(one.claim): _shown(one.allocation) for one in given}
            assert reserved.unreserve is not None
            reserved.unreserve()
    return {"allocations": found} if found else {}


def _shown(allocation: Allocation | None) -> Any:
    """The allocation as JSON; the ids of shares, which kube-scheduler draws by chance, as ``*``."""
    document = json.loads(msgspec.json.encode(allocation))
    for result in document["devices"].get("results", ()):
        if "shareID" in result:
            result["shareID"] = "*"
    return document
