"""The custom resources that a conversion makes, and their names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from moorage.api.v1alpha1.common import API_VERSION
from moorage.api.v1alpha1.plugin_config import PluginConfig
from moorage.api.v1alpha1.scheduler_profile import SchedulerProfile


def profile(
    scheduler_name: str | None, spec: Mapping[str, Any], others: Iterable[Mapping[str, Any]]
) -> dict[str, Any]:
    """A SchedulerProfile, named apart from ``others``. Where its own name has to be another it says
    the one for pods.
    """
    name = _object_name(scheduler_name or "", others)
    said = {} if name == scheduler_name else {"schedulerName": scheduler_name}
    return _object(SchedulerProfile.KIND.name, name, {**said, **spec})


def plugin_config(entry: Mapping[str, Any], others: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """A PluginConfig with the arguments of a profile's entry."""
    name = _object_name(re.sub(r"(?<=[a-z])(?=[A-Z])", "-", entry["name"]), others)
    spec = {"plugin": entry["name"], "args": entry["args"]}
    return _object(PluginConfig.KIND.name, name, spec)


def _object(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}


def _object_name(wanted: str, others: Iterable[Mapping[str, Any]]) -> str:
    """A name for an object: what is wanted as far as it can be one, with a number where there is
    one like it.
    """
    name = re.sub(r"[^a-z0-9.-]+", "-", wanted[:253].lower())
    name = re.sub(r"[.-]*\.[.-]*", ".", name).strip("-.")[:200].strip("-.") or "profile"
    taken = {other["metadata"]["name"] for other in others}
    candidates = [name, *(f"{name}-{i}" for i in range(2, len(taken) + 3))]
    return next(candidate for candidate in candidates if candidate not in taken)
