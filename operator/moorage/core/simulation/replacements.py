"""Replacements: what controllers make in the place of a pod that went."""

from __future__ import annotations

import msgspec

from moorage.core.objects.pods import Pod, off_node


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
