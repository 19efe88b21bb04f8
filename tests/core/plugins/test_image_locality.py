"""ImageLocality: agrees with searching every node's list, and with numbers worked out by hand."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings

from moorage.core.columns.cache import Cache
from moorage.core.columns.snapshot import Snapshot
from moorage.core.framework.interfaces import DependentPlugin, ScorePlugin
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod
from moorage.core.plugins.image_locality import ImageLocality
from tests.builders import make_node
from tests.core.resource_strategies import Cluster, clusters, one_row
from tests.oracle import images as naive

PLUGIN = ImageLocality()
_score: ScorePlugin = PLUGIN
_depends: DependentPlugin = PLUGIN
MIB = 2**20


def node_with(name: str, **images: int) -> Node:
    """A node with images of these sizes, under the names ``<image>:latest``."""
    held = [
        {"names": [f"{image}:latest", f"{image}@sha256:0"], "sizeBytes": size}
        for image, size in images.items()
    ]
    return msgspec.convert({"metadata": {"name": name}, "status": {"images": held}}, Node)


def pod_with(*images: str) -> Pod:
    """A pod with a container of each image."""
    return msgspec.convert(
        {"metadata": {"name": "p"}, "spec": {"containers": [{"image": image} for image in images]}},
        Pod,
    )


def snapshot_of(*nodes: Node) -> Snapshot:
    """Only nodes."""
    cache = Cache()
    for node in nodes:
        cache.put_node(node)
    return Snapshot(cache)


@given(clusters())
@settings(deadline=None)
def test_agrees_with_searching(cluster: Cluster) -> None:
    """For all rows at once and for each row alone."""
    snapshot = cluster.snapshot()
    scores = PLUGIN.score(cluster.pod, snapshot, snapshot.nodes.all_rows)
    for node in cluster.nodes:
        row = snapshot.nodes.row_of[node.metadata.name]
        assert scores[row] == naive.score(cluster.pod, node, cluster.nodes)
        assert PLUGIN.score(cluster.pod, snapshot, one_row(row)).tolist() == [scores[row]]


BY_HAND = {
    "500 MiB on 2 of 4 nodes": ([{"a": 500 * MIB}, {"a": 500 * MIB}, {}, {}], ["a"], 23),
    "two images, one of them everywhere": (
        [{"a": 500 * MIB, "b": 300 * MIB}, *[{"a": 500 * MIB}] * 3],
        ["a", "b"],
        27,
    ),
    "too small to matter": ([{"a": 10 * MIB}] * 4, ["a"], 0),
    "larger than matters": ([{"a": 5000 * MIB}] * 4, ["a"], 100),
    "counted once per use": ([{"a": 500 * MIB}], ["a", "a:latest", "a@sha256:0"], 49),
    "a fraction that float64 takes below an integer": (
        [{"a": 1966604288}] * 3 + [{}] * 8,
        ["a"],
        49,
    ),
    "larger than an integer": ([{"a": 2**63 - 1}], ["a"], 100),
    "an image that nobody has": ([{"a": 500 * MIB}], ["b"], 0),
}


@pytest.mark.parametrize("case", BY_HAND)
def test_scores_worked_out_by_hand(case: str) -> None:
    """The first node's score."""
    images, used, want = BY_HAND[case]
    snapshot = snapshot_of(*(node_with(f"n{i}", **held) for i, held in enumerate(images)))
    assert PLUGIN.score(pod_with(*used), snapshot, snapshot.nodes.all_rows)[0] == want


def versions(snapshot: Snapshot) -> tuple[int, ...]:
    """Where the plugin's clocks stand."""
    return tuple(one.version for one in PLUGIN.depends_on(snapshot))


def test_scores_are_stale_when_any_node_gets_an_image_or_comes_or_goes() -> None:
    """An image's worth depends on how many of how many nodes hold it; other changes move
    nothing.
    """
    cache = Cache()
    snapshot = Snapshot(cache)
    cache.put_node(node_with("a", web=MIB))
    seen = [versions(snapshot)]
    cache.put_node(make_node("b"))
    seen.append(versions(snapshot))
    cache.put_node(node_with("b", web=MIB))
    seen.append(versions(snapshot))
    cache.remove_node("a")
    seen.append(versions(snapshot))
    assert len(set(seen)) == 4
    cache.put_node(node_with("b", web=MIB))
    assert versions(snapshot) == seen[-1]


def test_registers_no_events() -> None:
    """It refuses nobody."""
    assert PLUGIN.events_to_register == ()


@pytest.mark.parametrize(
    "on_node",
    ["docker.io/library/a:latest", "a:latest", "index.docker.io/a:latest", "docker.io/a:latest"],
)
@pytest.mark.parametrize(
    "wanted",
    [
        "a",
        "a:latest",
        "library/a",
        "docker.io/a",
        "docker.io/library/a",
        "index.docker.io/library/a:latest",
    ],
)
def test_one_image_has_many_names(on_node: str, wanted: str) -> None:
    """Runtimes report it with registry and folder, people leave these out."""
    there = msgspec.convert(
        {
            "metadata": {"name": "n"},
            "status": {"images": [{"names": [on_node], "sizeBytes": 500 * MIB}]},
        },
        Node,
    )
    snapshot = snapshot_of(there)
    assert PLUGIN.score(pod_with(wanted), snapshot, snapshot.nodes.all_rows).tolist()[0] == 48


@pytest.mark.parametrize(
    "other",
    [
        "b/a",
        "localhost/a",
        "registry.test/a",
        "registry:5000/a",
        "a:1",
        "docker.io/b/a",
        "a@sha256:0",
    ],
)
def test_other_images_are_others(other: str) -> None:
    """In another folder, from another registry, of another tag."""
    snapshot = snapshot_of(node_with("n", **{"docker.io/library/a": 500 * MIB}))
    wanted = other.replace("a@sha256:0", "c@sha256:0")
    assert PLUGIN.score(pod_with(wanted), snapshot, snapshot.nodes.all_rows).tolist()[0] == 0
