"""Volcano: volcano-scheduler.conf as a SchedulerProfile.

Plugins that choose nodes have their equals here; queues, shares and jobs have not. A score that the
file does not list is not given there, so it has the weight 0 here. Source: read in
volcano-sh/volcano, August 2026.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from moorage.apps.convert.assembling import FIT
from moorage.apps.convert.origins import volcano_tables as tables
from moorage.apps.convert.origins.fit_scoring import FitTerm, combined
from moorage.apps.convert.origins.origin import Origin, OriginResult, objects_at
from moorage.apps.convert.remarks import ConversionRemark
from moorage.apps.convert.source_documents import WantedDocuments

_NAME = "volcano"
_PREEMPTION = "DefaultPreemption"
_EVEN = {"cpu": 1, "memory": 1}
_FIELDS = ("actions", "tiers", "configurations", "metrics")
_ACTIONS = "enqueue, allocate, backfill"
_SIGNS = {"MostAllocated": 1, "LeastAllocated": -1}


class _Plugin(NamedTuple):
    """An entry of the file, and where it stands."""

    path: str
    name: str
    option: Mapping[str, Any]
    arguments: Mapping[str, Any]

    def at(self, argument: str) -> str:
        """The path of an argument."""
        return f"{self.path}.arguments[{argument}]"


class _Reading:
    """A file being read: what the profile gets, and what there is to say."""

    def __init__(self) -> None:
        self.remarks: list[ConversionRemark] = []
        self.weights = {name: 0 for name, _ in tables.SCORES.values()}
        self.terms: list[FitTerm] = []
        self.disabled: dict[str, list[str]] = {}
        self.known: set[str] = set()
        """Paths of arguments that were read."""

    def remark(self, path: str, text: str) -> None:
        """Say this of what stands there; nothing if there is nothing to say."""
        if text:
            self.remarks.append(ConversionRemark(path, text))

    def argument(self, plugin: _Plugin, name: str, default: Any) -> Any:
        """What is given, or what counts unless it is."""
        self.known.add(plugin.at(name))
        return plugin.arguments.get(name, default)

    def number(self, plugin: _Plugin, name: str, default: int) -> int:
        """What is no whole number does not count in Volcano either."""
        value = self.argument(plugin, name, default)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
        text = f"should be a whole number, 0 or more; {default} counts"
        self.remark(plugin.at(name), f"{value!r} is left out: {text}")
        return default

    def disable(self, plugin: str, *points: str) -> None:
        """Take a plugin away at these points."""
        for point in points:
            self.disabled.setdefault(point, []).append(plugin)


def convert(document: Mapping[str, Any]) -> OriginResult:
    """The profile of a file."""
    reading = _Reading()
    reading.remark("", tables.STOP_FIRST)
    _read_actions(reading, document.get("actions"))
    plugins = list(_plugins(document))
    for plugin in plugins:
        _read_plugin(reading, plugin)
    names = {plugin.name for plugin in plugins if plugin.option.get("enablePredicate") is not False}
    reading.remark("tiers", "" if "gang" in names else tables.GANG_ABSENT)
    reading.remark("tiers", "" if "predicates" in names else tables.PREDICATES_ABSENT)
    for field in document:
        if field not in ("actions", "tiers"):
            reading.remark(field, "is left out: it is of Volcano's own process")
    return OriginResult((_spec(reading),), tuple(reading.remarks))


def _spec(reading: _Reading) -> dict[str, Any]:
    fit = combined(reading.terms)
    if fit.dropped:
        text = "some scores prefer full nodes and others empty ones, which cancels out for "
        weight = f": {FIT} has the weight {fit.weight}"
        reading.remark("tiers", f"{text}{', '.join(fit.dropped)}{weight}")
    config = [{"name": FIT, "args": fit.args}] if fit.weight else []
    if reading.weights[tables.BALANCED]:
        args = {"resources": tables.BALANCED_RESOURCES}
        config.append({"name": tables.BALANCED, "args": args})
    plugins = {
        point: {"disabled": [{"name": name} for name in names]}
        for point, names in reading.disabled.items()
    }
    return {
        "schedulerName": _NAME,
        **({"plugins": plugins} if plugins else {}),
        "weights": {**reading.weights, FIT: fit.weight},
        **({"pluginConfig": config} if config else {}),
    }


def _read_actions(reading: _Reading, value: Any) -> None:
    names = [name.strip() for name in str(value or _ACTIONS).split(",")]
    for name in names:
        text = tables.ACTIONS.get(name, tables.UNKNOWN_ACTION)
        reading.remark("actions", text and f"{name} {text}")
    if not {"preempt", "gangpreempt"} & set(names):
        reading.remark("actions", f"preempt is not among them: {_PREEMPTION} is disabled")
        reading.disable(_PREEMPTION, "multiPoint")


def _plugins(document: Mapping[str, Any]) -> Iterator[_Plugin]:
    for tier, one in objects_at("tiers", document.get("tiers")):
        for path, option in objects_at(f"{tier}.plugins", one.get("plugins")):
            given = option.get("arguments")
            arguments = given if isinstance(given, dict) else {}
            yield _Plugin(path, str(option.get("name")), option, arguments)


def _read_plugin(reading: _Reading, plugin: _Plugin) -> None:
    """What a plugin comes to, with a remark on each argument that nobody read."""
    if plugin.name not in _READERS:
        text = tables.NO_EQUAL.get(plugin.name, tables.UNKNOWN_PLUGIN)
        reading.remark(plugin.path, text and f"{plugin.name} {text}")
        return
    _READERS[plugin.name](reading, plugin)
    for name in plugin.arguments:
        if plugin.at(name) not in reading.known:
            unknown = "is left out: nothing here is set by it"
            reading.remark(plugin.at(name), tables.ARGUMENTS.get(name, unknown))


# ---- plugins that choose nodes -------------------------------------------------------------------


def _predicates(reading: _Reading, plugin: _Plugin) -> None:
    """A filter that is off is off here; the score of the same plugin stays."""
    for switch, name in tables.PREDICATES.items():
        if str(reading.argument(plugin, switch, True)).lower() in ("false", "f", "0"):
            scores = name in reading.weights
            reading.disable(name, *(("preFilter", "filter") if scores else ("multiPoint",)))


def _nodeorder(reading: _Reading, plugin: _Plugin) -> None:
    least = reading.number(plugin, "leastrequested.weight", 1)
    most = reading.number(plugin, "mostrequested.weight", 0)
    weights = {
        name: reading.number(plugin, argument, default)
        for argument, (name, default) in tables.SCORES.items()
    }
    if plugin.option.get("enableNodeOrder") is not False:
        reading.weights |= weights
        reading.terms.append(FitTerm(most - least, _EVEN))


def _binpack(reading: _Reading, plugin: _Plugin) -> None:
    weight = reading.number(plugin, "binpack.weight", 1)
    arguments = {"cpu": "binpack.cpu", "memory": "binpack.memory"}
    for listed in str(reading.argument(plugin, "binpack.resources", "")).split(","):
        if name := listed.strip():
            arguments[name] = f"binpack.resources.{name}"
    resources = {name: reading.number(plugin, key, 1) for name, key in arguments.items()}
    if plugin.option.get("enableNodeOrder") is not False:
        reading.terms.append(FitTerm(weight, resources))


def _resource_strategy_fit(reading: _Reading, plugin: _Plugin) -> None:
    """Some resources may be preferred full and others empty."""
    weight = reading.number(plugin, "resourceStrategyFitWeight", 10)
    given = reading.argument(plugin, "resources", None)
    resources: dict[str, int] = {}
    for name, one in given.items() if isinstance(given, dict) and given else ():
        if "*" in name:
            text = f"{name} is left out: name each resource of this kind"
            reading.remark(plugin.at("resources"), text)
            continue
        kind, share = (one.get("type"), one.get("weight")) if isinstance(one, dict) else ("", 1)
        size = share if isinstance(share, int) and share > 0 else 1
        resources[name] = size * _SIGNS.get(str(kind), -1)
    if plugin.option.get("enableNodeOrder") is not False:
        reading.terms.append(FitTerm(weight, resources or {"cpu": -1, "memory": -1}))


_READERS: Mapping[str, Callable[[_Reading, _Plugin], None]] = {
    "predicates": _predicates,
    "nodeorder": _nodeorder,
    "binpack": _binpack,
    "resource-strategy-fit": _resource_strategy_fit,
}


def _is_configuration(document: Mapping[str, Any]) -> bool:
    return isinstance(document.get("tiers"), list) or (
        isinstance(document.get("actions"), str) and set(document) <= set(_FIELDS)
    )


VOLCANO = Origin(
    "volcano-scheduler.conf", WantedDocuments(_is_configuration, ("tiers", "actions")), convert
)
