"""Match counters: how many pods on each node a selector matches, and how many carry a term, kept as
pods come and go.

Inter-pod affinity and topology spread ask about all pods of the cluster; with these counters a
decision costs what the nodes are, not what the pods are. A counter of matching pods is made when
first asked for, by one look at the pods of the namespaces that it speaks of, and dropped when many
others were asked for since; a counter of carried terms lives as long as a pod carries the term. A
pod finds its counters through an index over label values, so its coming and going costs what
matches it.
"""

from __future__ import annotations

import enum
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from kubefacts.labels import Selector
from moorage.core.columns.change_log import VersionCounter
from moorage.core.objects.meta import Labels, Namespace, PartialObject
from moorage.core.objects.pods import Pod
from moorage.core.pods.affinity_terms import AffinityTerm, pod_terms
from moorage.core.structures.all_or_none import Step, all_or_none
from moorage.core.structures.growing import grown

Counts = npt.NDArray[np.int64]
AnyPod = Pod | PartialObject
T = TypeVar("T", bound=Hashable)

MAX_COUNTERS = 4096
"""Counters of matching pods that are kept at once; one takes at most 8 bytes a node."""
MAX_WORDS = 2**16
"""Keys and values in the selectors of these counters."""
_LISTED_ROWS = 64
"""Rows that a counter lists; one that counts on more has an array."""
_NONE: Counts = np.zeros(0, np.int64)

_INDEXED_VALUES = 256
"""Values that a selector is found by, each: to ask one with more of them about every pod costs
less.
"""


class PodQuery(NamedTuple):
    """Pods to count: in these namespaces (None: in all), which the selector matches; ``alive``:
    less those being deleted.
    """

    namespaces: frozenset[str] | None
    selector: Selector
    alive: bool = False

    def matches(self, pod: AnyPod) -> bool:
        """Whether the pod is to be counted."""
        meta = pod.metadata
        if self.namespaces is not None and meta.namespace not in self.namespaces:
            return False
        return not (self.alive and meta.deletion_timestamp is not None) and self.selector.matches(
            meta.labels
        )


class AffinityTermKind(enum.Enum):
    """Which list of a pod's affinity a carried term stands in."""

    AFFINITY = "affinity"
    ANTI_AFFINITY = "anti-affinity"
    PREFERRED = "preferred"


class ExistingTerm(NamedTuple):
    """A term that pods carry."""

    kind: AffinityTermKind
    term: AffinityTerm


class RowCounter:
    """A number of pods per row. ``version`` moves when one of them changes, or when the counter is
    not kept any more.
    """

    __slots__ = ("_counts", "_few", "id", "total", "version")

    def __init__(self, number: int) -> None:
        self.id = number
        """Never given twice."""
        self.version = 0
        self.total = 0
        self._few: dict[int, int] | None = {}
        """By row, as long as these are few; then ``_counts`` has them."""
        self._counts: Counts = _NONE

    def add(self, row: int, number: int) -> None:
        """So many pods more on this row."""
        few = self._few
        if few is not None and len(few) == _LISTED_ROWS and row not in few:
            self._counts = grown(self.per_row(max(*few, row) + 1).copy(), _LISTED_ROWS)
            self._few = few = None
        if few is None:
            if row >= self._counts.size:
                self._counts = grown(self._counts, row + 1)
            self._counts[row] += number
        else:
            left = few[row] = few.get(row, 0) + number
            if not left:
                del few[row]
        self.total += number
        self.version += 1
        if not self.total:
            self._few, self._counts = {}, _NONE

    def per_row(self, rows: int) -> Counts:
        """int64[rows]: the pods on each row; read-only, and right until the next change."""
        if self._few is None:
            self._counts = grown(self._counts, rows)
            view = self._counts[:rows]
        else:
            view = np.zeros(rows, np.int64)
            view[list(self._few)] = list(self._few.values())
        view.flags.writeable = False
        return view


class SelectorIndex(Generic[T]):
    """Finds whose selector may match some labels: by one label value that the selector insists on,
    where there is one.
    """

    def __init__(self) -> None:
        self._by_value: dict[tuple[str, str], dict[T, None]] = {}
        self._others: dict[T, None] = {}

    def __len__(self) -> int:
        """How many label values, and selectors without one, are known."""
        return len(self._by_value) + len(self._others)

    def add(self, item: T, selector: Selector) -> bool:
        """Enter an item under its selector; whether anything is in."""
        pairs, stands_apart = required_pairs(selector), _is_unindexable(selector)
        for pair in pairs:
            self._by_value.setdefault(pair, {})[item] = None
        if stands_apart:
            self._others[item] = None
        return bool(self._by_value or self._others)

    def remove(self, item: T, selector: Selector) -> bool:
        """Take an item out again; whether anything is left."""
        pairs, stands_apart = required_pairs(selector), _is_unindexable(selector)
        for pair in pairs:
            place = self._by_value[pair]
            del place[item]
            if not place:
                del self._by_value[pair]
        if stands_apart:
            del self._others[item]
        return bool(self._by_value or self._others)

    def candidates(self, labels: Labels | None) -> Iterator[T]:
        """The items whose selectors may match, each once, in the order of the labels' names."""
        for pair in sorted((labels or {}).items()) if self._by_value else ():
            yield from self._by_value.get(pair, ())
        yield from self._others


def required_pairs(selector: Selector) -> list[tuple[str, str]]:
    """The label values of which an object must have one, by the selector's first condition that is
    so plain; without any, none.
    """
    for condition in selector.conditions or ():
        if condition.operator == "In" and len(condition.values) <= _INDEXED_VALUES:
            return [(condition.key, value) for value in sorted(condition.values)]
    return []


def _is_unindexable(selector: Selector) -> bool:
    """Whether it must be asked about every object: it may select some, and insists on no value, or
    on one of very many.
    """
    return selector.conditions is not None and not any(
        one.operator == "In" and len(one.values) <= _INDEXED_VALUES for one in selector.conditions
    )


class PodCounters:
    """All counters. ``pods`` gives the pods of the namespaces (None: of all) that are on a row,
    with that row.

    ``most``: so many counters of matching pods are kept at most.
    """

    def __init__(
        self,
        pods: Callable[[frozenset[str] | None], Iterable[tuple[AnyPod, int]]],
        namespaces: Mapping[str, Namespace],
        most: int = MAX_COUNTERS,
    ) -> None:
        self._pods = pods
        self._most = most
        self._namespaces = namespaces
        self.made = 0
        """How many counters there have been."""
        self._matching: OrderedDict[PodQuery, RowCounter] = OrderedDict()
        self._words = 0
        self._queries: SelectorIndex[PodQuery] = SelectorIndex()
        self.existing_terms = VersionCounter()
        """Moves when pods carry a term that none did before, or none carry it any more."""
        self._existing: dict[ExistingTerm, RowCounter] = {}
        self._terms: SelectorIndex[ExistingTerm] = SelectorIndex()

    # ---- reading ---------------------------------------------------------------------------------

    def matching(self, query: PodQuery) -> RowCounter:
        """The counter of the pods that a query speaks of; made now if nobody asked for it lately
        (O(pods of its namespaces)).
        """
        counter = self._matching.get(query)
        if counter is None:
            counter = self._make()
            for pod, row in self._pods(query.namespaces):
                if query.matches(pod):
                    counter.add(row, 1)
            self._queries.add(query, query.selector)
            self._matching[query] = counter
            self._words += query.selector.words
            self._evict()
        self._matching.move_to_end(query)
        return counter

    def _evict(self) -> None:
        """Drop the counters not asked for for longest, while there are too many; the newest
        stays.
        """
        while len(self._matching) > 1 and (
            len(self._matching) > self._most or self._words > MAX_WORDS
        ):
            query, dropped = self._matching.popitem(last=False)
            self._queries.remove(query, query.selector)
            self._words -= query.selector.words
            dropped.version += 1

    @property
    def has_existing_terms(self) -> bool:
        """Whether any pod on a node carries a term."""
        return bool(self._existing)

    def existing_terms_matching(self, pod: Pod) -> Iterator[tuple[ExistingTerm, RowCounter]]:
        """The terms that pods on nodes carry and that speak of this pod, with the number of
        carriers per row (each listing counts).
        """
        if not self._existing:
            return
        namespace, labels = pod.metadata.namespace, pod.metadata.labels
        there = self._namespaces.get(namespace)
        namespace_labels = there.metadata.labels if there is not None else None
        for carried in self._terms.candidates(labels):
            if carried.term.matches(namespace, namespace_labels, labels):
                yield carried, self._existing[carried]

    # ---- writing (the cache) ---------------------------------------------------------------------

    def charge(self, row: int, pod: AnyPod, sign: int) -> None:
        """A pod came to this row (``sign`` 1) or left it (-1)."""
        steps: list[Step] = []
        if self._matching:
            labels = pod.metadata.labels
            steps += [
                (self._matching[query].add, row)
                for query in self._queries.candidates(labels)
                if query.matches(pod)
            ]
        if isinstance(pod, Pod) and pod.spec.affinity is not None:
            steps += [(self._count_existing, row, carried) for carried in existing_terms_of(pod)]
        if steps:
            all_or_none(sign, *steps)

    def _count_existing(self, row: int, carried: ExistingTerm, sign: int) -> None:
        known = self._existing.get(carried)
        counter = self._make() if known is None else known
        if known is None or not counter.total + sign:
            self.existing_terms.increment()
        counter.add(row, sign)
        try:
            if known is None:
                self._terms.add(carried, carried.term.selector)
            elif not counter.total:
                self._terms.remove(carried, carried.term.selector)
        except BaseException:
            counter.add(row, -sign)
            raise
        self._existing[carried] = counter
        if not counter.total:
            del self._existing[carried]

    def _make(self) -> RowCounter:
        self.made += 1
        return RowCounter(self.made)


def existing_terms_of(pod: Pod) -> Iterator[ExistingTerm]:
    """Every term that a pod carries, as often as it does."""
    terms = pod_terms(pod)
    yield from (ExistingTerm(AffinityTermKind.AFFINITY, term) for term in terms.affinity)
    yield from (ExistingTerm(AffinityTermKind.ANTI_AFFINITY, term) for term in terms.anti_affinity)
    yield from (ExistingTerm(AffinityTermKind.PREFERRED, term) for term in terms.preferred)
