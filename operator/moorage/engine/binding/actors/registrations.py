"""Registrations: what a package from outside the tree gives, plugin by plugin."""

from __future__ import annotations

import dataclasses

from moorage.core.framework.registry import PluginSpec
from moorage.engine.binding.actors.contract import ActorFactory


@dataclasses.dataclass(frozen=True, slots=True)
class PluginRegistration:
    """A plugin of a package: its spec, and what makes its actor where the spec says that it acts
    (``acts_at``).
    """

    spec: PluginSpec
    actor: ActorFactory | None = None
