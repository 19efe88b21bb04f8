"""The description leaves nothing out: neither an attribute that is new, nor any difference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from moorage.core.columns.cache import Cache
from moorage.core.columns.store import Store
from moorage.core.devices.ledger import DeviceLedger
from moorage.core.objects.meta import Namespace, ObjectMeta
from moorage.core.plugins.intree import INDEXES
from moorage.core.pods.requests import pod_requests
from tests.builders import make_node, make_pod
from tests.fuzz.describing import MEANINGS, Description, differences


def a_cache(*order: str) -> Cache:
    """Nodes in this order, and a pod on one of them."""
    cache = Cache(Store(INDEXES))
    for name in order:
        cache.put_node(make_node(name, cpu="4", labels={"disk": name}))
        cache.nodes.labels.column("disk")
    pod = make_pod("a", cpu="1", node="n1")
    cache.observe(pod, pod_requests(pod))
    cache.store.put(Namespace(ObjectMeta("default")))
    return cache


def described(cache: Cache) -> Any:
    """All that it holds."""
    return Description(cache).of(cache)


def test_rows_and_numbers_are_nothing() -> None:
    """What has come in another order is the same."""
    assert not list(
        differences(described(a_cache("n1", "n2", "n3")), described(a_cache("n3", "n2", "n1")))
    )


@pytest.mark.parametrize(
    "part",
    [lambda cache: cache, lambda cache: cache.nodes, lambda cache: cache.store.index(DeviceLedger)],
)
def test_an_attribute_that_is_not_told_of_fails(part: Callable[[Cache], Any]) -> None:
    """Whoever adds one says what it means."""
    cache = a_cache("n1")
    part(cache).added = 0
    with pytest.raises(AssertionError, match="added"):
        described(cache)


def test_an_array_that_nobody_can_compare_fails() -> None:
    """In a class that is read attribute by attribute."""
    cache = a_cache("n1")
    uses = cache.store.index(DeviceLedger)._uses
    assert type(uses) not in MEANINGS
    uses.added = np.zeros(3)  # type: ignore[attr-defined]
    with pytest.raises(AssertionError, match="ndarray"):
        described(cache)


def _charge(cache: Cache) -> None:
    cache.nodes._requested[0, 0] += 1


def _recount(cache: Cache) -> None:
    cache.priorities._totals[0] = 7


def _rename(cache: Cache) -> None:
    cache.nodes.labels.column("disk").put(0, "another")


def _misplace(cache: Cache) -> None:
    cache._in_namespace["default"].clear()


@pytest.mark.parametrize("harm", [_charge, _recount, _rename, _misplace])
def test_what_is_wrong_is_seen(harm: Callable[[Cache], None]) -> None:
    """And named with its place."""
    cache = a_cache("n1", "n2")
    harm(cache)
    assert list(differences(described(cache), described(a_cache("n1", "n2"))))
