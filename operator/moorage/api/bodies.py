"""Bodies: the custom resources as the API server has them. They become typed objects here, or a list of what is wrong with them.

The other functions read single fields of bodies that may be malformed, and never raise: a profile that can't be decoded still
has a name, a generation and references.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from moorage.api.conditions import Reason
from moorage.api.decoding import DecodeError, decoder
from moorage.api.size_limits import excess
from moorage.api.v1alpha1.common import API_VERSION, VERSION
from moorage.api.v1alpha1.plugin_config import PluginConfig
from moorage.api.v1alpha1.scheduler_profile import SchedulerProfile, SchedulerProfileSpec
from moorage.core.framework.revisions import FieldError, ProfileErrors

Body: TypeAlias = Mapping[str, Any]
"""An object as the API server has it."""

_STEP = re.compile(r"\[([^]]*)\]|([^.\[\]]+)")
"""Of a field's path."""
_Kind = TypeVar("_Kind", SchedulerProfile, PluginConfig)


def decode_profile(body: Body) -> SchedulerProfile:
    """The typed object, status left out. Raises ProfileErrors whatever the object holds."""
    return _decode(SchedulerProfile, body)


def decode_plugin_config(body: Body) -> PluginConfig:
    """The typed object, status left out. Raises ProfileErrors whatever the object holds."""
    return _decode(PluginConfig, body)


def _decode(kind: type[_Kind], body: Body) -> _Kind:
    spec = _mapping(body.get("spec"))
    if too_much := [FieldError(name, "{…}", text, Reason.INVALID_SPEC) for name, value in spec.items() if (text := excess(value))]:
        raise ProfileErrors(too_much)
    try:
        return decoder(kind).decode({"metadata": body.get("metadata", {}), "spec": body.get("spec", {})})
    except DecodeError as error:
        raise ProfileErrors(
            FieldError(v.path.removeprefix("spec").removeprefix("."), v.value, v.message, Reason.INVALID_SPEC) for v in error.violations
        ) from error


def without(body: Body, paths: Iterable[str]) -> Body:
    """The object less these fields of its spec; of a list whose item is to go, less the field at its top."""
    spec: Any = _mapping(body.get("spec"))
    for path in paths:
        steps = [key or name for key, name in _STEP.findall(path)]
        try:
            spec = _less(spec, steps)
        except (LookupError, TypeError, ValueError):
            spec = {name: kept for name, kept in spec.items() if name not in steps[:1]}
    return {**body, "spec": spec}


def _less(value: Any, steps: Sequence[str]) -> Any:
    """A copy. Raises LookupError, TypeError or ValueError where the steps do not lead to a mapping's entry."""
    head, *rest = steps
    if isinstance(value, list):
        i = int(head)
        return [*value[:i], _less(value[i], rest), *value[i + 1 :]]
    if rest:
        return {**value, head: _less(value[head], rest)}
    return {name: kept for name, kept in value.items() if name != head}


def revision_hash(profile: Body, configs: Iterable[Body]) -> str:
    """8 hex digits that stand for a resolved profile: its generation, those of its PluginConfigs, and the presets' version."""
    parts = [VERSION, *(f"{_metadata(body).get('uid', '')}/{generation(body)}" for body in (profile, *configs))]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:8]


def config_hash(body: Body) -> str:
    """8 hex digits that stand for what a PluginConfig says; "" for one that says too much."""
    if excess(body.get("spec")):
        return ""
    text = json.dumps(body.get("spec"), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def essence(body: Body) -> dict[str, Any]:
    """What a revision is made of: identity and spec, without what others write into objects."""
    kept = {name: _metadata(body)[name] for name in ("name", "uid", "generation", "creationTimestamp") if name in _metadata(body)}
    return {"apiVersion": body.get("apiVersion", API_VERSION), "kind": body.get("kind", ""), "metadata": kept, "spec": body.get("spec", {})}


def generation(body: Body) -> int:
    """The object's generation; 0 when it has none, as in a file."""
    value = _metadata(body).get("generation")
    return value if isinstance(value, int) else 0


def scheduler_name(body: Body) -> str:
    """The name that pods use for a profile."""
    name = _mapping(body.get("spec")).get("schedulerName")
    return name if isinstance(name, str) and name else str(_metadata(body).get("name", ""))


def controller_name(body: Body) -> str:
    """The installation that a profile is for."""
    name = _mapping(body.get("spec")).get("controllerName")
    return name if isinstance(name, str) else str(SchedulerProfileSpec.model_fields["controller_name"].default)


def suspended(body: Body) -> bool:
    """Whether a profile's pods are to stay queued."""
    return _mapping(body.get("spec")).get("suspend") is True


def status(body: Body) -> Mapping[str, Any]:
    """The status that was last written."""
    return _mapping(body.get("status"))


def references(body: Body) -> list[str]:
    """Names of the PluginConfigs that a profile references, sorted."""
    entries = _mapping(body.get("spec")).get("pluginConfig")
    names = [_mapping(_mapping(entry).get("configRef")).get("name") for entry in (entries if isinstance(entries, list) else [])]
    return sorted({name for name in names if isinstance(name, str)})


def _metadata(body: Body) -> Mapping[str, Any]:
    return _mapping(body.get("metadata"))


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
