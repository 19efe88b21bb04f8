"""The evaluator: evaluates a pod against all nodes for a revision, and keeps what can be used again
for the next pod.

It owns the templates (an LRU with a byte budget) with their results and evaluations. It decides
nothing: ``core.cycle`` does.
"""

from __future__ import annotations

import dataclasses
import weakref
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from moorage.core.columns.change_log import Versioned
from moorage.core.columns.nodes.node_table import Rows
from moorage.core.columns.snapshot import ExpressionObserver, Snapshot
from moorage.core.framework.evaluation.evaluation import Evaluation
from moorage.core.framework.evaluation.plugin_result import PluginResult
from moorage.core.framework.evaluation.score_result import ScoreResult
from moorage.core.framework.interfaces import (
    ExtensionPoint,
    FilterPlugin,
    Plugin,
    PreFilterPlugin,
    PreparingScorePlugin,
    PreScorePlugin,
    ScorePlugin,
    SharedSignPlugin,
    SignPlugin,
    is_a,
)
from moorage.core.framework.revisions import Revision
from moorage.core.objects.pods import Pod
from moorage.core.pods.ceilings import MAX_UNCHECKED_BYTES, TooLarge, too_large
from moorage.core.pods.signatures import pod_content, pod_signature

BYTE_BUDGET = 64 * 2**20
Signs = tuple[tuple[str, bytes], ...]
Key = tuple[bytes, Signs]
_SIGNED_SHARE = 32
"""The part of the byte budget, as a divisor, that contents of pods may take."""
_OWN_ARRAYS = 2
"""Arrays of an evaluation's own, ``rejected_by`` and ``totals``, counted as if int64."""
_ROOM_SHARE = 8
"""The part of the byte budget, as a divisor, that is made free at a time: to count what all
templates take is dear.
"""
_BYTES_PER_KEY_BYTE = 24
"""Bytes that a byte of a template's key costs: the pod, and what plugins compile of it."""
_OVERHEAD_BYTES = 1200
"""Bytes that an array costs beside its numbers, with the objects around it (measured); in a small
cluster that is most of it.
"""


class Observer(ExpressionObserver, Protocol):
    """Told when an extension point's plugins run; core has no clock of its own, and hands back
    moments that it was given (``mark``).
    """

    def begin(self, point: ExtensionPoint) -> None:
        """Calls at an extension point start."""

    def end(self, point: ExtensionPoint, status: str, profile: str) -> None:
        """They are done for a pod of this profile, with this code's name."""

    def group_began(self, profile: str) -> None:
        """A pod group of this profile is decided about from now on: the only one of it."""

    def group_decided(self, profile: str) -> None:
        """Its members are decided about; nothing was done yet to make room for them."""

    def mark(self) -> float:
        """The moment, for the observer alone."""

    def placements_found(self, profile: str, number: int) -> None:
        """So many placements may be tried for a pod group of this profile."""

    def placement_tried(self, profile: str, fits: bool, began: float) -> None:
        """A pod group was tried on one of them since then."""

    def group_preemption_ran(self, status: str, began: float) -> None:
        """Whom a pod group may displace was looked for since then, and came to this code's name."""

    def post_filter_ran(self, plugin: str, status: str, began: float) -> None:
        """A postFilter plugin was asked to make room for a pod, since then."""


class NullObserver:
    """An observer that nobody listens to."""

    def begin(self, point: ExtensionPoint) -> None: ...

    def end(self, point: ExtensionPoint, status: str, profile: str) -> None: ...

    def group_began(self, profile: str) -> None: ...

    def group_decided(self, profile: str) -> None: ...

    def mark(self) -> float:
        return 0.0

    def placements_found(self, profile: str, number: int) -> None: ...

    def placement_tried(self, profile: str, fits: bool, began: float) -> None: ...

    def group_preemption_ran(self, status: str, began: float) -> None: ...

    def post_filter_ran(self, plugin: str, status: str, began: float) -> None: ...

    def expression_failed(self, plugin: str, point: str) -> None: ...


class SignedContent(NamedTuple):
    """The part of the template's key that all pods of one content have, until one of ``depends_on``
    has another version. ``each``: the plugins that have to be asked about each of them.
    """

    key: Key
    each: tuple[SignPlugin, ...]
    depends_on: tuple[Versioned, ...]
    versions: list[int]


@dataclasses.dataclass(slots=True)
class PodTemplateState:
    """Pods that ask for the same: their results by (point, plugin) and their evaluations by
    revision.
    """

    results: dict[tuple[ExtensionPoint, Plugin], PluginResult] = dataclasses.field(
        default_factory=dict
    )
    evaluations: dict[Revision, Evaluation] = dataclasses.field(default_factory=dict)

    @property
    def object_count(self) -> int:
        """How many results and arrays of evaluations it has."""
        return len(self.results) + _OWN_ARRAYS * len(self.evaluations)

    @property
    def array_count(self) -> int:
        """How many arrays over all nodes it keeps; a result that was not asked yet counts as one.

        Of a plain pod most plugins have nothing to say, and keep nothing.
        """
        return (
            sum(result.applies for result in self.results.values())
            + _OWN_ARRAYS * len(self.evaluations)
            + sum(evaluation.normalized_count for evaluation in self.evaluations.values())
        )


class Evaluator:
    """Evaluates pods against all nodes. ``hits`` and ``misses`` count lookups of evaluations."""

    def __init__(self, snapshot: Snapshot, byte_budget: int = BYTE_BUDGET) -> None:
        self.snapshot = snapshot
        self.hits = 0
        self.misses = 0
        self._budget = byte_budget
        self._templates: OrderedDict[Key, PodTemplateState] = OrderedDict()
        self._arrays = 0
        """Arrays of all templates: at most so many, exact after they were counted."""
        self._objects = 0
        self._key_bytes = 0
        """Bytes of the templates' keys."""
        self._retired: weakref.WeakSet[Revision] = weakref.WeakSet()
        self._signed: dict[tuple[bytes, Revision], SignedContent] = {}
        """What plugins said of pods by their content, as long as that is not too much."""
        self._signed_bytes = 0

    def evaluation(self, pod: Pod, revision: Revision) -> Evaluation:
        """The evaluation of the pod's template; not yet caught up. Raises TooLarge."""
        key = self._key(pod, revision)
        template = self._templates.get(key)
        if template is None:
            template = self._templates[key] = PodTemplateState()
            self._key_bytes += _length(key)
        self._templates.move_to_end(key)
        evaluation = template.evaluations.get(revision)
        if evaluation is None:
            self.misses += 1
            return self._compile(pod, template, revision)
        self.hits += 1
        evaluation.pod = pod
        return evaluation

    def _compile(self, pod: Pod, template: PodTemplateState, revision: Revision) -> Evaluation:
        """The template's evaluation for a revision; others go that there is no more room for."""
        before = template.array_count, template.object_count
        evaluation = template.evaluations[revision] = _new_evaluation(pod, template, revision)
        self._clear(template)
        self._arrays += template.array_count - before[0]
        self._objects += template.object_count - before[1]
        self._evict()
        return evaluation

    def retire(self, revision: Revision) -> None:
        """Nobody will ask for this revision again.

        What only it used goes when its template is compiled for another revision, which takes over
        the results that did not change, or with the template: going through all of them now would
        hold up a swap.
        """
        self._retired.add(revision)
        self._forget_signed()

    def __len__(self) -> int:
        """How many templates are kept."""
        return len(self._templates)

    def _key(self, pod: Pod, revision: Revision) -> Key:
        """The pod's template key, with what each plugin that tells pods apart says of it, under the
        plugin's name, and which room is held from it, under none. Raises TooLarge.
        """
        content = pod_content(pod), revision
        signed = self._signed.get(content)
        if signed is None or signed.versions != [one.version for one in signed.depends_on]:
            signed = self._signed_anew(content, pod)
        held = self.snapshot.nominations.held_from(pod)
        if not (signed.each or held):
            return signed.key
        template, said = signed.key
        kept: Signs = (("", repr(held).encode()),) if held else ()
        return template, said + _said(signed.each, pod, self.snapshot) + kept

    def _signed_anew(self, content: tuple[bytes, Revision], pod: Pod) -> SignedContent:
        """What plugins say of the pod now, kept by its content. Raises TooLarge."""
        signed = self._sign(pod, content[1])
        if content not in self._signed:
            # only of what is kept: a pod that is too large is signed again and again
            if self._signed_bytes + len(content[0]) > self._budget // _SIGNED_SHARE:
                self._forget_signed()
            self._signed_bytes += len(content[0])
        self._signed[content] = signed
        return signed

    def _sign(self, pod: Pod, revision: Revision) -> SignedContent:
        template = pod_signature(pod)
        if len(template) > MAX_UNCHECKED_BYTES and (excess := too_large(pod)):
            raise TooLarge(excess)
        shared: list[SignPlugin] = []
        each: list[SignPlugin] = []
        depends_on: dict[Versioned, None] = {}
        for plugin in revision.sign_plugins:
            depends = (
                plugin.sign_depends_on(pod, self.snapshot)
                if is_a(plugin, SharedSignPlugin)
                else None
            )
            (each if depends is None else shared).append(plugin)
            depends_on |= dict.fromkeys(depends or ())
        key = template, _said(shared, pod, self.snapshot)
        versions = [one.version for one in depends_on]
        return SignedContent(key, tuple(each), tuple(depends_on), versions)

    def _forget_signed(self) -> None:
        self._signed.clear()
        self._signed_bytes = 0

    def _clear(self, template: PodTemplateState) -> None:
        """Drop what only retired revisions used."""
        gone = [revision for revision in template.evaluations if revision in self._retired]
        for revision in gone:
            del template.evaluations[revision]
        if gone:
            used = {
                id(column)
                for evaluation in template.evaluations.values()
                for column in _results_of(evaluation)
            }
            template.results = {
                key: column for key, column in template.results.items() if id(column) in used
            }

    def _evict(self) -> None:
        """Beyond the budget, drop the templates not used for longest; the newest stays."""
        if self._bytes <= self._budget:
            return
        self._arrays = sum(template.array_count for template in self._templates.values())
        if self._bytes <= self._budget:
            return
        room = self._budget - self._budget // _ROOM_SHARE
        while self._bytes > room and len(self._templates) > 1:
            key, template = self._templates.popitem(last=False)
            self._arrays -= template.array_count
            self._objects -= template.object_count
            self._key_bytes -= _length(key)

    @property
    def _bytes(self) -> int:
        arrays = 8 * self.snapshot.nodes.live.size * self._arrays
        return arrays + _OVERHEAD_BYTES * self._objects + _BYTES_PER_KEY_BYTE * self._key_bytes


def _said(plugins: Iterable[SignPlugin], pod: Pod, snapshot: Snapshot) -> Signs:
    said = ((plugin.name, plugin.sign_pod(pod, snapshot)) for plugin in plugins)
    return tuple(pair for pair in said if pair[1])


def _length(key: Key) -> int:
    return len(key[0]) + sum(len(said) for _, said in key[1])


def _new_evaluation(pod: Pod, template: PodTemplateState, revision: Revision) -> Evaluation:
    filters = {
        name: _filter_result(pod, template, plugin)
        for name, plugin in revision.at(ExtensionPoint.FILTER)
    }
    preparing = {
        name: filters.get(name) or _filter_result(pod, template, plugin)
        for name, plugin in revision.at(ExtensionPoint.PRE_FILTER)
    }
    scores = {
        name: ScoreResult(_score_result(pod, template, plugin), revision.weights[name])
        for name, plugin in revision.at(ExtensionPoint.SCORE)
    }
    return Evaluation(pod, preparing, filters, scores)


def _filter_result(pod: Pod, template: PodTemplateState, plugin: Any) -> PluginResult:
    """A result shared by pre_filter and filter; a plugin with pre_filter alone passes every row."""
    key = (ExtensionPoint.FILTER, plugin)
    if key not in template.results:
        prepare = plugin.pre_filter if is_a(plugin, PreFilterPlugin) else None
        ask = plugin.filter if is_a(plugin, FilterPlugin) else _zeros
        template.results[key] = PluginResult(plugin, pod, ask, prepare)
    return template.results[key]


def _score_result(pod: Pod, template: PodTemplateState, plugin: Any) -> PluginResult:
    key = (ExtensionPoint.SCORE, plugin)
    if key not in template.results:
        prepare = plugin.pre_score if is_a(plugin, PreScorePlugin) else None
        if is_a(plugin, PreparingScorePlugin):
            prepare = plugin.prepare_score
        ask = plugin.score if is_a(plugin, ScorePlugin) else _zeros
        template.results[key] = PluginResult(plugin, pod, ask, prepare)
    return template.results[key]


def _zeros(_state: Any, snapshot: Snapshot, rows: Rows) -> npt.NDArray[np.int64]:
    return np.zeros(snapshot.nodes.live[rows].size, np.int64)


def _results_of(evaluation: Evaluation) -> Iterator[PluginResult]:
    yield from evaluation.pre_filters.values()
    yield from evaluation.filters.values()
    yield from (part.result for part in evaluation.scores.values())
