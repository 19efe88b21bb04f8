"""Settings: what is in effect in a profile, one value each, and where it is said.

A setting is in effect whether the spec says it, a PluginConfig, the preset, or nobody: so two
profiles that come to the same have the same settings, and where they do not, ``said_by`` tells
whom to ask.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from moorage.api import plugin_args, revision_content
from moorage.api.resolution import Resolver
from moorage.api.resolved_profile import Resolution
from moorage.core.framework.interfaces import ExtensionPoint

_DEFAULT = "the plugin's default"
_ORDER = "order at "
ABSENT = "-"
"""How a setting is shown where there is none."""
_OWN_ROWS = (ExtensionPoint.SCORE, ExtensionPoint.PRE_SCORE, ExtensionPoint.QUEUE_SORT)
"""Points of which another row tells: weights say who scores."""
_ADDED_UP = (ExtensionPoint.SCORE, ExtensionPoint.PRE_SCORE, ExtensionPoint.PLACEMENT_SCORE)
"""Points whose order has no effect: a node's total is a sum."""


class Setting(NamedTuple):
    """One value, and the field, PluginConfig or preset that says it."""

    value: str
    said_by: str


class SettingDifference(NamedTuple):
    """A setting that two profiles do not share; None where one has no such setting."""

    setting: str
    a: Setting | None
    b: Setting | None

    @property
    def values(self) -> tuple[str, str]:
        """As they are shown: of an order what stands elsewhere, between what is alike."""
        shown = _shown(self.a), _shown(self.b)
        return _reordered(*shown) if self.setting.startswith(_ORDER) else shown

    @property
    def said_by(self) -> str:
        """By whom each is said, once where that is the same."""
        return " -> ".join(dict.fromkeys(one.said_by for one in (self.a, self.b) if one))

    @property
    def sentence(self) -> str:
        """In half a line."""
        return f"{self.setting} {' -> '.join(self.values)}"


Settings = Mapping[str, Setting]


def settings(resolution: Resolution, resolver: Resolver) -> Settings:
    """All settings of a profile without errors, by what they are called."""
    return dict(_Reading(resolution, resolver).all())


def differences(a: Settings, b: Settings) -> list[SettingDifference]:
    """What differs, in the order of the settings. An order is compared where both have the same
    plugins.
    """
    found = []
    for name in dict.fromkeys((*a, *b)):
        one, other = a.get(name), b.get(name)
        if _shown(one) == _shown(other) or _says_nothing(one, other):
            continue
        if not name.startswith(_ORDER) or _members(one) == _members(other):
            found.append(SettingDifference(name, one, other))
    return found


class _Reading:
    """The settings of one profile, read off what it was resolved to."""

    def __init__(self, resolution: Resolution, resolver: Resolver) -> None:
        self._revision = resolution.revision
        self._queue = resolution.queue_config
        self._registry = resolver.registry
        spec = resolution.profile.get("spec") or {}
        self._spec = spec
        self._preset = str(spec.get("preset", "Default"))
        self._preset_args = resolver.presets[self._preset].args
        self._args = json.loads(revision_content.canonical(resolver.content(resolution)))["args"]
        self._entries = {entry["name"]: entry for entry in spec.get("pluginConfig") or ()}
        self._used = resolution.used

    def all(self) -> Iterator[tuple[str, Setting]]:
        for name, weight in self._revision.weights.items():
            yield f"weight of {name}", Setting(str(weight), self._weight_said_by(name))
        for name, weight in self._revision.placement_weights.items():
            said_by = self._named_by(name, ExtensionPoint.PLACEMENT_SCORE)
            yield f"weight of {name} for placements", Setting(str(weight), said_by)
        for name in dict.fromkeys(n for names in self._revision.points.values() for n in names):
            yield from self._plugin(name)
        for point, names in self._revision.points.items():
            if len(names) > 1 and point not in _ADDED_UP:
                yield f"{_ORDER}{point.value}", Setting(", ".join(names), "spec.plugins")
        yield from self._numbers()
        for i, extender in enumerate(self._spec.get("extenders") or ()):
            yield f"extender {i + 1}", Setting(_text(extender), "spec.extenders")

    def _numbers(self) -> Iterator[tuple[str, Setting]]:
        numbers = (
            ("percentageOfNodesToScore", self._revision.percentage_of_nodes_to_score),
            ("podInitialBackoffSeconds", self._queue.initial_backoff),
            ("podMaxBackoffSeconds", self._queue.max_backoff),
        )
        for field, value in numbers:
            by = f"spec.{field}" if self._spec.get(field) is not None else "the operator"
            yield field, Setting(f"{value:g}", by)

    def _plugin(self, name: str) -> Iterator[tuple[str, Setting]]:
        points = [
            point.value
            for point, names in self._revision.points.items()
            if name in names and point not in _OWN_ROWS
        ]
        if points:
            yield f"plugin {name}", Setting(", ".join(points), self._plugin_said_by(name))
        plugin = self._registry[name]
        if plugin.args is not None:
            args = plugin_args.decode(plugin, self._args.get(name, {}), trusted=True)
            for path, label, value in _leaves(plugin_args.encode(args)):
                yield f"{name} {label}", Setting(value, self._args_said_by(name, path))

    # ---- by whom ---------------------------------------------------------------------------------

    def _weight_said_by(self, name: str) -> str:
        if name in (self._spec.get("weights") or {}):
            return "spec.weights"
        return self._named_by(name, ExtensionPoint.SCORE)

    def _named_by(self, name: str, point: ExtensionPoint) -> str:
        for place in (point.value, "multiPoint"):
            if name in self._named(place, "enabled"):
                return f"spec.plugins.{place}"
        return f"preset {self._preset}"

    def _plugin_said_by(self, name: str) -> str:
        for point in self._spec.get("plugins") or {}:
            if {name, "*"} & {*self._named(point, "enabled"), *self._named(point, "disabled")}:
                return f"spec.plugins.{point}"
        return f"preset {self._preset}"

    def _named(self, point: str, which: str) -> list[str]:
        plugins = (self._spec.get("plugins") or {}).get(point) or {}
        return [str(entry.get("name")) for entry in plugins.get(which) or ()]

    def _args_said_by(self, name: str, path: Sequence[str]) -> str:
        entry = self._entries.get(name) or {}
        reference = (entry.get("configRef") or {}).get("name")
        body = self._used.get(reference) if reference is not None else None
        given = entry.get("args") if body is None else (body.get("spec") or {}).get("args")
        if _says(given, path):
            return "spec.pluginConfig" if body is None else f"PluginConfig {reference}"
        preset = self._preset_args.get(name)
        set_there = {} if preset is None else plugin_args.encode_set(self._registry[name], preset)
        return f"preset {self._preset}" if _says(set_there, path) else _DEFAULT


def _says(document: object, path: Sequence[str]) -> bool:
    """Whether a document has this field, or a list that holds it."""
    for step in path:
        if not isinstance(document, Mapping):
            return document is not None
        if step not in document:
            return False
        document = document[step]
    return document is not None


def _leaves(
    document: Any, path: tuple[str, ...] = (), label: str = ""
) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """(path of fields, label, value) of everything below. Items of lists that have a name, and one
    field more, are values of their own.
    """
    if isinstance(document, Mapping):
        for name, value in document.items():
            yield from _leaves(value, (*path, name), f"{label}.{name}".removeprefix("."))
    elif isinstance(document, list) and document and all(map(_is_named_value, document)):
        for item in document:
            (value,) = (value for field, value in item.items() if field != "name")
            yield path, f"{label}[{item['name']}]", _text(value)
    else:
        yield path, label, _text(document)


def _is_named_value(item: object) -> bool:
    return isinstance(item, Mapping) and len(item) == 2 and "name" in item


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _reordered(a: str, b: str) -> tuple[str, str]:
    """Two orders of the same names, without those at both ends that stand alike."""
    one, other = a.split(", "), b.split(", ")
    alike = [x == y for x, y in zip(one, other, strict=True)]
    first, last = alike.index(False), len(alike) - alike[::-1].index(False)
    before, after = "..., " * (first > 0), ", ..." * (last < len(alike))
    texts = (", ".join(names[first:last]) for names in (one, other))
    shown_a, shown_b = (f"{before}{text}{after}" for text in texts)
    return shown_a, shown_b


def _shown(setting: Setting | None) -> str:
    return ABSENT if setting is None else setting.value


def _says_nothing(one: Setting | None, other: Setting | None) -> bool:
    """Whether only one of the two has the plugin, and nobody says its arguments."""
    alone = [setting for setting in (one, other) if setting is not None]
    return len(alone) == 1 and alone[0].said_by == _DEFAULT


def _members(setting: Setting | None) -> list[str]:
    return sorted(_shown(setting).split(", "))
