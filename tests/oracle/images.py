"""Images, naively: every node's list is searched for every image. What ImageLocality must agree
with.
"""

from __future__ import annotations

from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod

MIB = 1024 * 1024


def names(node: Node) -> dict[str, int]:
    """Every name of every image on a node, with its size."""
    return {
        whole(name): image.size_bytes
        for image in node.status.images or ()
        for name in image.names or ()
    }


def whole(image: str) -> str:
    """An image's name with its registry, its folder there and a tag."""
    *folders, last = image.split("/")
    if ":" not in last:
        last += ":latest"
    registry = "docker.io"
    if folders and (folders[0] == "localhost" or "." in folders[0] or ":" in folders[0]):
        registry = folders.pop(0).replace("index.docker.io", "docker.io")
    if registry == "docker.io" and not folders:
        folders = ["library"]
    return "/".join([registry, *folders, last])


def score(pod: Pod, node: Node, nodes: list[Node]) -> int:
    """ImageLocality's score."""
    containers = [*(pod.spec.init_containers or ()), *(pod.spec.containers or ())]
    images = [one.image for one in containers] + [
        v.image.reference for v in pod.spec.volumes or () if v.image
    ]
    total = 0
    for image in map(whole, images):
        if image in names(node):
            holders = [other for other in nodes if image in names(other)]
            first = min(holders, key=lambda other: other.metadata.name)
            total += int(names(first)[image] * (len(holders) / len(nodes)))
    low, high = 23 * MIB, 1000 * MIB * len(images)
    return 100 * (min(max(total, low), high) - low) // (high - low)
