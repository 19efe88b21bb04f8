"""Images, naively: every node's list is searched for every image. What ImageLocality must agree with."""

from __future__ import annotations

from moorage.core.objects import Node, Pod

MIB = 1024 * 1024


def names(node: Node) -> dict[str, int]:
    """Every name of every image on a node, with its size."""
    return {name: image.size_bytes for image in node.status.images or () for name in image.names or ()}


def tagged(image: str) -> str:
    """An image's name with a tag."""
    last = image.split("/")[-1]
    return image if ":" in last else image + ":latest"


def score(pod: Pod, node: Node, nodes: list[Node]) -> int:
    """ImageLocality's score; ``nodes`` in the order in which they came."""
    containers = [*(pod.spec.init_containers or ()), *(pod.spec.containers or ())]
    images = [one.image for one in containers] + [v.image.reference for v in pod.spec.volumes or () if v.image]
    total = 0
    for image in map(tagged, images):
        if image in names(node):
            holders = [other for other in nodes if image in names(other)]
            total += int(names(holders[0])[image] * (len(holders) / len(nodes)))
    low, high = 23 * MIB, 1000 * MIB * len(containers)
    return 100 * (min(max(total, low), high) - low) // (high - low)
