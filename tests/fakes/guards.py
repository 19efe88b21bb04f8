"""A guard of plugins from outside the tree that only remembers."""

from __future__ import annotations

from moorage.core.framework.guard import PluginFault


class RecordingGuard:
    """``core.framework.guard.Guard``: keeps where the plugin was and what it did wrong; time is
    what a test says.
    """

    def __init__(self, plugin: str = "Strange") -> None:
        self.plugin = plugin
        self.version = "1.0"
        self.seconds = 0.0
        self.entered: list[str] = []
        self.inside = 0
        self.recorded: list[str] = []

    def enter(self, point: str) -> None:
        """Kept."""
        self.entered.append(point)
        self.inside += 1

    def leave(self) -> None:
        """Counted."""
        self.inside -= 1

    def record(self, fault: PluginFault) -> None:
        """Kept."""
        self.recorded.append(str(fault))
