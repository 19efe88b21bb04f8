"""VolumeBinding: its arguments, for now; the plugin is not built yet.

Source: kube-scheduler VolumeBinding (v1.36).
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

from moorage.core.framework.arguments import ARGUMENTS, Violation

NAME = "VolumeBinding"


@dataclasses.dataclass(frozen=True, slots=True)
class VolumeBindingArgs:
    """How long to wait for volumes to be bound, in seconds; 0 is not at all."""

    __pydantic_config__: ClassVar = ARGUMENTS

    bind_timeout_seconds: int = 600
    shape: tuple[dict[str, Any], ...] | None = None
    """Not allowed: it is for the feature gate StorageCapacityScoring, which is off."""

    def validate(self) -> list[Violation]:
        """No negative time, and no shape."""
        found: list[Violation] = []
        if self.bind_timeout_seconds < 0:
            text = "invalid BindTimeoutSeconds, should not be a negative value"
            found.append(Violation("bindTimeoutSeconds", self.bind_timeout_seconds, text))
        if self.shape is not None:
            text = "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring"
            found.append(Violation("shape", self.shape, text))
        return found
