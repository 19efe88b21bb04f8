"""ImageLocality: prefers nodes that hold the pod's images already, the more so the larger they are.

An image that few nodes hold counts for less, so that pods of one image do not all gather where it
was pulled first.
Cost: nothing until images or the number of nodes change; then an addition per node that holds an
image of the pod.
Source: kube-scheduler ImageLocality (v1.37).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from moorage.core.columns.change_log import Versioned
from moorage.core.columns.nodes.node_table import Aspect, Rows
from moorage.core.columns.snapshot import Snapshot
from moorage.core.framework.cluster_events import ClusterEventWithHint
from moorage.core.framework.interfaces import MAX_NODE_SCORE, Scores
from moorage.core.framework.status import Reason
from moorage.core.objects.pods import Pod

NAME = "ImageLocality"
MIN_BYTES = 23 * 2**20
"""Bytes below which it is not worth looking."""
MAX_BYTES_PER_IMAGE = 1000 * 2**20
"""Bytes per container or image volume beyond which more makes no difference."""


@dataclasses.dataclass(frozen=True, slots=True)
class ImageLocality:
    """Scores 0 for 23 MiB or less of images present, 100 for 1000 MiB or more per container and
    image volume, linear in between.
    """

    name: ClassVar[str] = NAME
    reasons: ClassVar[tuple[Reason, ...]] = ()
    reads: ClassVar[frozenset[Aspect]] = frozenset({Aspect.IMAGES})
    events_to_register: ClassVar[tuple[ClusterEventWithHint, ...]] = ()

    def depends_on(self, snapshot: Snapshot) -> tuple[Versioned, ...]:
        """What an image is worth depends on all nodes."""
        return snapshot.nodes.images, snapshot.nodes.logs[Aspect.MEMBERSHIP]

    def score(self, state: Pod, snapshot: Snapshot, rows: Rows) -> Scores:
        """The share of the pod's image bytes that a node holds, each image weighed by the share of
        nodes that hold it.
        """
        nodes = snapshot.nodes
        images = tuple(_images(state))
        most = MAX_BYTES_PER_IMAGE * len(images)
        held = np.zeros(nodes.rows, np.int64)
        for image in images:
            size, holders = nodes.images.holders(image)
            if holders:
                worth = int(size * (len(holders) / len(nodes)))
                held[np.fromiter(holders, np.intp, len(holders))] += min(worth, most)
        return (
            (np.clip(held[rows], MIN_BYTES, most) - MIN_BYTES)
            * MAX_NODE_SCORE
            // (most - MIN_BYTES)
        )


def _images(pod: Pod) -> Iterator[str]:
    """Every image that the pod uses, as often as it does."""
    for container in (pod.spec.init_containers or ()) + (pod.spec.containers or ()):
        yield container.image
    for volume in pod.spec.volumes or ():
        if volume.image is not None:
            yield volume.image.reference
