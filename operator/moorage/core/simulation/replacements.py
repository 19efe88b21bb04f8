"""Replacements: which pods stay on their node whatever happens, and what controllers make in the
place of one that went.
"""

from __future__ import annotations

import msgspec

from moorage.core.columns.pod_counters import AnyPod
from moorage.core.objects.pods import Pod, off_node

_STAYING_KINDS = ("DaemonSet", "Node")
"""Controllers whose pods a drain leaves alone: they are bound to their node."""


def stays(pod: AnyPod) -> bool:
    """Whether a drain leaves a pod on its node."""
    owners = pod.metadata.owner_references or ()
    return any(owner.controller and owner.kind in _STAYING_KINDS for owner in owners)


def made_again(pod: Pod) -> Pod:
    """The pod that its controller makes in the place of this one. It keeps the UID, and is as ready
    as this one was once it has its place.
    """
    status = msgspec.structs.replace(
        pod.status,
        nominated_node_name="",
        start_time=None,
        container_statuses=None,
        init_container_statuses=None,
        allocated_resources=None,
        resources=None,
        extended_resource_claim_status=None,
    )
    return msgspec.structs.replace(off_node(pod), status=status)
