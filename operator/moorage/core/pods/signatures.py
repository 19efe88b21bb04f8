"""Pod signatures: what makes two pods the same to the scheduler.

Pods of one controller differ in name, uid and often in labels, but ask for the same. The signature
of a template is the encoded part of the pod that placement depends on; ``objects.pods.PodSpec``
declares nothing else, so the whole spec goes in, less the volumes that placement does not depend
on: an API server gives each pod's token volume a random name. Which group a pod is in says with
whom it goes, not where: groups of one template share masks. Plugins whose answers depend on names
or labels add to it (``framework.interfaces.SignPlugin``).

A waiting pod is asked about more coarsely, by hints (``ClusterEventWithHint.shared_by_signature``),
for which its labels count too.
"""

from __future__ import annotations

import msgspec

from moorage.core.objects.pods import Pod, PodSpec, PodStatus, Volume

_encode = msgspec.msgpack.Encoder().encode
_NOTHING = PodStatus()


def pod_signature(pod: Pod) -> bytes:
    """Equal for pods that may share masks and scores: namespace, spec, and what a kubelet said of
    resources.
    """
    return _encode(_placement_facts(pod))


def pod_content(pod: Pod) -> bytes:
    """Equal for pods that are the same but for what is each pod's own: the signature's parts, with
    labels and owners.
    """
    metadata, group = pod.metadata, pod.spec.scheduling_group
    return _encode((metadata.labels, metadata.owner_references, group, _placement_facts(pod)))


def _placement_facts(pod: Pod) -> tuple[str, PodSpec, PodStatus]:
    spec, status = pod.spec, pod.status
    if spec.scheduling_group is not None:
        spec = msgspec.structs.replace(spec, scheduling_group=None)
    if spec.volumes is not None:
        spec = msgspec.structs.replace(
            spec, volumes=tuple(volume for volume in spec.volumes if volume != Volume(volume.name))
        )
    if (
        status.container_statuses
        or status.init_container_statuses
        or status.allocated_resources
        or status.resources
    ):
        said: PodStatus = PodStatus(
            container_statuses=status.container_statuses,
            init_container_statuses=status.init_container_statuses,
            allocated_resources=status.allocated_resources,
            resources=status.resources,
            conditions=status.conditions,
        )
    else:
        said = _NOTHING
    return pod.metadata.namespace, spec, said


def waiting_signature(pod: Pod) -> bytes:
    """Equal for pods that hints may not tell apart: template and labels. A pod that has objects
    named after it is one of its own.
    """
    spec, metadata = pod.spec, pod.metadata
    named_after = bool(spec.resource_claims) or any(
        volume.ephemeral is not None for volume in spec.volumes or ()
    )
    own = (metadata.labels, spec.scheduling_group, metadata.uid if named_after else "")
    return pod_signature(pod) + _encode(own)
