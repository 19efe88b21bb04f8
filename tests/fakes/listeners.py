"""Listeners of intake that do nothing, and of the queue."""

from __future__ import annotations

from moorage.core.objects.pods import Pod
from moorage.ports.stored_kinds import StoredKind


class Unheard:
    """``PodLifecycleListener``, ``NodeListener`` and ``ListListener``."""

    def pod_needs_no_node(self, uid: str) -> None:
        """Nothing."""

    def pod_placed(self, node: str) -> None:
        """Nothing."""

    def node_deleted(self, node: str) -> None:
        """Nothing."""

    def node_changed(self, node: str) -> None:
        """Nothing."""

    def kind_listed(self, kind: StoredKind, served: bool) -> None:
        """Nothing."""


class FakeQueueListener:
    """``QueueListener`` that keeps which plugins failed at which pods."""

    def __init__(self) -> None:
        self.failures: list[tuple[str, str, str]] = []
        self.enqueued: list[tuple[str, str]] = []
        self.came: list[tuple[str, str, str]] = []
        self.held: list[str] = []

    def pod_enqueued(self, queue: str, event: str, came: str) -> None:
        """Keep it."""
        self.enqueued.append((queue, event))
        if came:
            self.came.append((queue, event, came))

    def pod_held(self, uid: str) -> None:
        """Keep it."""
        self.held.append(uid)

    def plugin_failed(self, plugin: str, pod: Pod, error: Exception) -> None:
        """Keep it."""
        self.failures.append((plugin, pod.metadata.name, str(error)))


class StrictQueueListener(FakeQueueListener):
    """One for queues whose plugins do not fail."""

    def plugin_failed(self, plugin: str, pod: Pod, error: Exception) -> None:
        """They do not."""
        raise AssertionError(f"{plugin} failed")
