"""Latest objects: the newest state of each object of a kind. A sink writes them, others read."""

from __future__ import annotations

from typing import Generic, TypeVar

from moorage.core.objects.meta import HasMetadata
from moorage.core.objects.pods import Pod
from moorage.ports.kube import UnreadableObject

T = TypeVar("T", bound=HasMetadata)


class LatestObjects(Generic[T]):
    """By UID or name, whichever identifies an object of the kind."""

    def __init__(self) -> None:
        self.objects: dict[str, T] = {}
        """The newest state that could be taken in."""
        self.aside: dict[str, UnreadableObject] = {}
        """What is set aside, as it cannot be used."""
        self.unreported: dict[str, UnreadableObject] = {}
        """What of it, or of objects of which not all counts, is still to be reported."""


class LatestPods(LatestObjects[Pod]):
    """Pods by UID."""

    def __init__(self) -> None:
        super().__init__()
        self.uids: dict[tuple[str, str], str] = {}
        """By namespace and name, of the pods that are there; of two of one name, that of the one
        that came last.
        """

    def waiting(self, uid: str) -> Pod | None:
        """The newest state of a pod that waits for a node, be it set aside; None where there is
        none.
        """
        pod = self.objects.get(uid) or self.waiting_aside(uid)
        return pod if pod is not None and not pod.spec.node_name else None

    def waiting_aside(self, uid: str) -> Pod | None:
        """The pod with this UID, if it is set aside and waits for a node."""
        aside = self.aside.get(uid)
        return (
            aside.whole
            if aside is not None and isinstance(aside.whole, Pod) and not aside.node_name
            else None
        )

    def report_waiting_aside(self) -> None:
        """Profiles were reconciled: waiting pods that are set aside may be ours from now on."""
        self.unreported.update(
            {uid: aside for uid, aside in self.aside.items() if self.waiting_aside(uid) is not None}
        )
