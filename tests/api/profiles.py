"""Objects for the tests of api, and a resolver with the plugins in the tree."""

from __future__ import annotations

from typing import Any

from moorage.api.resolution import Resolver
from moorage.api.resolved_profile import Resolution
from moorage.core.framework.registry import build_registry
from moorage.core.plugins.intree import INTREE, PRESETS

RESOLVER = Resolver(build_registry(INTREE), PRESETS)


def a_profile(spec: Any, name: str = "binpack", generation: int = 1) -> dict[str, Any]:
    """A SchedulerProfile as the API server has it."""
    return {
        "apiVersion": "moorage.dev/v1alpha1",
        "kind": "SchedulerProfile",
        "metadata": {
            "name": name,
            "uid": f"uid-{name}",
            "generation": generation,
            "resourceVersion": "9",
            "managedFields": [{}],
        },
        "spec": spec,
        "status": {"conditions": "whatever"},
    }


def a_config(name: str, plugin: str, args: Any, generation: int = 1) -> dict[str, Any]:
    """A PluginConfig as the API server has it."""
    metadata = {"name": name, "uid": f"uid-{name}", "generation": generation}
    return {"kind": "PluginConfig", "metadata": metadata, "spec": {"plugin": plugin, "args": args}}


def resolve(spec: Any, *configs: dict[str, Any]) -> Resolution:
    """What becomes of a spec beside these PluginConfigs."""
    return RESOLVER(a_profile(spec), {config["metadata"]["name"]: config for config in configs})
