"""The runner: evaluates a pod against all nodes for a revision, and keeps what can be used again for the next pod.

It owns the templates (an LRU with a byte budget) with their columns and blueprints. It decides nothing: ``cycle`` does.
"""

from __future__ import annotations

import dataclasses
import weakref
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from moorage.core.columns.cache import Cache
from moorage.core.columns.nodes.node_table import Rows
from moorage.core.columns.snapshot import Snapshot
from moorage.core.framework.evaluation.evaluation import Blueprint, ScoreColumn
from moorage.core.framework.evaluation.plugin_result import Column
from moorage.core.framework.interfaces import (
    FilterPlugin,
    Plugin,
    Point,
    PreFilterPlugin,
    PreScorePlugin,
    ScorePlugin,
    SelfPreparingPlugin,
    is_a,
)
from moorage.core.framework.revisions import Revision
from moorage.core.objects.pods import Pod
from moorage.core.pods.ceilings import SMALL, TooLarge, too_large
from moorage.core.pods.signatures import template_key

BYTE_BUDGET = 64 * 2**20
Key = tuple[bytes, tuple[tuple[str, bytes], ...]]
_ARRAYS = 2
"""Arrays of a blueprint's own, blame and totals, counted as if int64."""
_DECODED = 24
"""Bytes that a byte of a template's key costs: the pod, and what plugins compile of it."""
_OVERHEAD = 1200
"""Bytes that an array costs beside its numbers, with the objects around it (measured); in a small cluster that is most of it."""


class Observer(Protocol):
    """Told when an extension point's plugins run; core has no clock of its own."""

    def begin(self, point: Point) -> None:
        """They start."""

    def end(self, point: Point, status: str, profile: str) -> None:
        """They are done for a pod of this profile, with this code's name."""

    def sought_room(self, plugin: str) -> None:
        """A postFilter plugin was asked to make room for a pod."""


class Unobserved:
    """An observer that nobody listens to."""

    def begin(self, point: Point) -> None:
        """Nothing."""

    def end(self, point: Point, status: str, profile: str) -> None:
        """Nothing."""

    def sought_room(self, plugin: str) -> None:
        """Nothing."""


@dataclasses.dataclass(slots=True)
class Template:
    """Pods that ask for the same: their columns by (point, plugin) and their blueprints by revision."""

    pod: Pod
    columns: dict[tuple[Point, Plugin], Column] = dataclasses.field(default_factory=dict)
    blueprints: dict[Revision, Blueprint] = dataclasses.field(default_factory=dict)

    def put(self, pod: Pod) -> None:
        """Let this pod of the template stand for all: what made former ones the same may have changed, and they differ now."""
        self.pod = pod
        for column in self.columns.values():
            column.pod = pod
        for blueprint in self.blueprints.values():
            blueprint.pod = pod

    @property
    def arrays(self) -> int:
        """How many arrays over all nodes it keeps."""
        return len(self.columns) + _ARRAYS * len(self.blueprints)


class Runner:
    """See the module's docstring. ``hits`` and ``misses`` count lookups of blueprints."""

    def __init__(self, cache: Cache, byte_budget: int = BYTE_BUDGET) -> None:
        self.snapshot = Snapshot(cache)
        self.hits = 0
        self.misses = 0
        self._budget = byte_budget
        self._templates: OrderedDict[Key, Template] = OrderedDict()
        self._arrays = 0
        self._said = 0
        """Bytes of the templates' keys."""
        self._retired: weakref.WeakSet[Revision] = weakref.WeakSet()

    def blueprint(self, pod: Pod, revision: Revision) -> Blueprint:
        """The blueprint of the pod's template; not yet caught up. Raises TooLarge."""
        key = self._key(pod, revision)
        template = self._templates.get(key)
        if template is None:
            template = self._templates[key] = Template(pod)
            self._said += _length(key)
        else:
            self._templates.move_to_end(key)
            template.put(pod)
        blueprint = template.blueprints.get(revision)
        if blueprint is not None:
            self.hits += 1
            return blueprint
        self.misses += 1
        before = template.arrays
        blueprint = template.blueprints[revision] = _compile(template, revision)
        self._clear(template)
        self._arrays += template.arrays - before
        self._evict()
        return blueprint

    def retire(self, revision: Revision) -> None:
        """Nobody will ask for this revision again.

        What only it used goes when its template is compiled for another revision, which takes over the columns that did not change,
        or with the template: going through all of them now would hold up a swap.
        """
        self._retired.add(revision)

    def __len__(self) -> int:
        """How many templates are kept."""
        return len(self._templates)

    def _key(self, pod: Pod, revision: Revision) -> Key:
        """The pod's template key, with what each plugin that tells pods apart says of it, under the plugin's name."""
        template = template_key(pod)
        if len(template) > SMALL and (excess := too_large(pod)):
            raise TooLarge(excess)
        said = tuple((plugin.name, plugin.distinguish(pod, self.snapshot)) for plugin in revision.distinguishing)
        return template, tuple(pair for pair in said if pair[1])

    def _clear(self, template: Template) -> None:
        """Drop what only retired revisions used."""
        gone = [revision for revision in template.blueprints if revision in self._retired]
        for revision in gone:
            del template.blueprints[revision]
        if gone:
            used = {id(column) for blueprint in template.blueprints.values() for column in _columns_of(blueprint)}
            template.columns = {key: column for key, column in template.columns.items() if id(column) in used}

    def _evict(self) -> None:
        """Drop the templates not used for longest until the budget holds; the newest stays."""
        per_array = 8 * self.snapshot.nodes.live.size + _OVERHEAD
        while self._arrays * per_array + self._said * _DECODED > self._budget and len(self._templates) > 1:
            key, template = self._templates.popitem(last=False)
            self._arrays -= template.arrays
            self._said -= _length(key)


def _length(key: Key) -> int:
    return len(key[0]) + sum(len(said) for _, said in key[1])


def _compile(template: Template, revision: Revision) -> Blueprint:
    filters = {name: _filter_column(template, plugin) for name, plugin in revision.at(Point.FILTER)}
    preparing = {name: filters.get(name) or _filter_column(template, plugin) for name, plugin in revision.at(Point.PRE_FILTER)}
    scores = {name: ScoreColumn(_score_column(template, plugin), revision.weights[name]) for name, plugin in revision.at(Point.SCORE)}
    return Blueprint(template.pod, preparing, filters, scores)


def _filter_column(template: Template, plugin: Any) -> Column:
    """A column shared by pre_filter and filter; a plugin with pre_filter alone passes every row."""
    key = (Point.FILTER, plugin)
    if key not in template.columns:
        prepare = plugin.pre_filter if is_a(plugin, PreFilterPlugin) else None
        ask = plugin.filter if is_a(plugin, FilterPlugin) else _zeros
        template.columns[key] = Column(plugin, template.pod, ask, prepare)
    return template.columns[key]


def _score_column(template: Template, plugin: Any) -> Column:
    key = (Point.SCORE, plugin)
    if key not in template.columns:
        prepare = plugin.pre_score if is_a(plugin, PreScorePlugin) else None
        if is_a(plugin, SelfPreparingPlugin):
            prepare = plugin.prepare_score
        ask = plugin.score if is_a(plugin, ScorePlugin) else _zeros
        template.columns[key] = Column(plugin, template.pod, ask, prepare)
    return template.columns[key]


def _zeros(_state: Any, snapshot: Snapshot, rows: Rows) -> npt.NDArray[np.int64]:
    return np.zeros(snapshot.nodes.live[rows].size, np.int64)


def _columns_of(blueprint: Blueprint) -> Iterator[Column]:
    yield from blueprint.preparing.values()
    yield from blueprint.filters.values()
    yield from (part.column for part in blueprint.scores.values())
