"""The handler for PluginConfigs."""

from __future__ import annotations

from typing import Any

import kopf

from moorage.handlers.deliveries import Deliveries, ProfileReceiver

PLURAL = "pluginconfigs"


def register(
    registry: kopf.OperatorRegistry, group: str, version: str, receiver: ProfileReceiver
) -> Deliveries:
    """Make ``receiver`` hear of every PluginConfig."""
    configs = Deliveries(PLURAL, receiver.plugin_config_changed)

    @kopf.on.event(group, version, PLURAL, registry=registry)
    async def plugin_config(event: kopf.RawEvent, **_: Any) -> None:
        configs.heard(event)

    return configs
