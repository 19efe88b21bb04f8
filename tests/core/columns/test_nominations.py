"""Nominations: one node a pod, gone with it, and a version that moves when what is promised changes."""

from __future__ import annotations

import msgspec
import pytest

from moorage.core.columns.cache import Cache
from moorage.core.columns.nominations import Nominations
from moorage.core.columns.requests import pod_requests
from tests.builders import make_node, make_pod

POD = make_pod("a", cpu="1")


def names_on(nominations: Nominations, node: str) -> list[str]:
    """Who is nominated there."""
    return [record.pod.metadata.name for record in nominations.on(node)]


@pytest.fixture
def nominations() -> Nominations:
    """With a pod nominated to n1."""
    nominations = Nominations()
    nominations.put(POD, "n1", pod_requests(POD))
    return nominations


def test_a_pod_is_nominated_to_one_node(nominations: Nominations) -> None:
    """Another nomination takes the first one's place."""
    nominations.put(POD, "n2", pod_requests(POD))
    assert (names_on(nominations, "n1"), names_on(nominations, "n2")) == ([], ["a"])
    assert (len(nominations), list(nominations.nodes)) == (1, ["n2"])


def test_it_goes(nominations: Nominations) -> None:
    """Nothing is left of it; what is unknown is ignored."""
    nominations.remove("uid-a")
    version = nominations.version
    nominations.remove("uid-a")
    assert ("uid-a" in nominations, list(nominations.nodes), nominations.version) == (False, [], version)


def test_the_version_moves_with_what_is_promised(nominations: Nominations) -> None:
    """A new state of the pod that asks for the same changes nothing, one that asks for more does."""
    version = nominations.version
    newer = msgspec.structs.replace(POD, metadata=msgspec.structs.replace(POD.metadata, resource_version="9"))
    nominations.put(newer, "n1", pod_requests(newer))
    assert nominations.version == version
    assert [record.pod for record in nominations.on("n1")] == [newer]
    larger = make_pod("a", cpu="2")
    nominations.put(larger, "n1", pod_requests(larger))
    assert nominations.version > version


@pytest.mark.parametrize("come", ["assumed", "observed"])
def test_a_pod_that_has_a_node_is_not_nominated(come: str) -> None:
    """Its place is taken by itself then."""
    cache = Cache()
    cache.put_node(make_node("n1"))
    cache.nominations.put(POD, "n1", pod_requests(POD))
    if come == "assumed":
        cache.assume(POD, "n1", pod_requests(POD))
    else:
        cache.observe(make_pod("a", cpu="1", node="n1"), pod_requests(POD))
    assert len(cache.nominations) == 0
