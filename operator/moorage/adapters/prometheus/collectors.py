"""Collectors: what the metrics share, whatever they measure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Generic, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

M = TypeVar("M", Counter, Gauge, Histogram)

MAX_SERIES = 5000
"""Label sets of one metric: those of profiles that come and go must not grow for ever."""


def exponential(start: float, factor: float, count: int) -> tuple[float, ...]:
    """Upper bounds of buckets, each ``factor`` times the one before."""
    return tuple(start * factor**i for i in range(count))


class Children(Generic[M]):
    """Looks the children of a metric up once; of more than MAX_SERIES the one made first goes."""

    def __init__(self, metric: M) -> None:
        self._metric: M = metric
        self._known: dict[tuple[str, ...], M] = {}

    def __call__(self, *values: str) -> M:
        child = self._known.get(values)
        if child is None:
            if len(self._known) == MAX_SERIES:
                oldest = next(iter(self._known))
                del self._known[oldest]
                self._metric.remove(*oldest)
            child = self._known[values] = self._metric.labels(*values) if values else self._metric
        return child

    def samples(self) -> Iterator[Sample]:
        """All that is counted now."""
        return (sample for family in self._metric.collect() for sample in family.samples)

    def clear(self) -> None:
        self._known.clear()
        self._metric.clear()


class Pulled(Collector):
    """A gauge, or a counter when its name says so, whose samples are read when they are asked
    for.
    """

    def __init__(
        self, name: str, text: str, label: str, read: Callable[[], Mapping[str, float]]
    ) -> None:
        self._describe = (name, text, label)
        self._read = read

    def collect(self) -> Iterator[GaugeMetricFamily | CounterMetricFamily]:
        name, text, label = self._describe
        kind = CounterMetricFamily if name.endswith("_total") else GaugeMetricFamily
        family = kind(name, text, labels=[label] if label else [])
        for value, number in self._read().items():
            family.add_metric([value] if label else [], number)
        yield family


class Declarations:
    """Declares metrics in a registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def _counter(self, name: str, text: str, *labels: str) -> Children[Counter]:
        return Children(Counter(name, text, labels, registry=self._registry))

    def _gauge(self, name: str, text: str, *labels: str) -> Children[Gauge]:
        return Children(Gauge(name, text, labels, registry=self._registry))

    def _histogram(
        self, name: str, text: str, buckets: tuple[float, ...], *labels: str
    ) -> Children[Histogram]:
        return Children(Histogram(name, text, labels, registry=self._registry, buckets=buckets))
