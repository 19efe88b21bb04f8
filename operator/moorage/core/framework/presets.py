"""Presets: named starting points of a profile, with contents that stay as they are within an API
version.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from moorage.core.framework.interfaces import ExtensionPoint


@dataclasses.dataclass(frozen=True, slots=True)
class Preset:
    """A preset.

    ``plugins``: (name, score weight) in order, enabled at every point they have, less what
    ``without`` names for a point. ``args``: arguments that differ from the plugins' own defaults.
    """

    name: str
    plugins: tuple[tuple[str, int], ...]
    args: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    without: Mapping[ExtensionPoint, tuple[str, ...]] = dataclasses.field(default_factory=dict)
