"""Which nodes hold which images, and how large these are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from moorage.core.columns.nodes.image_table import ImageTable
from moorage.core.objects.nodes import ContainerImage

NAMES = st.sampled_from(["nginx", "nginx:latest", "docker.io/library/nginx", "redis"])
IMAGES = st.lists(st.tuples(NAMES, st.integers(1, 3)), max_size=3).map(
    lambda held: tuple(ContainerImage((name,), size) for name, size in held)
)


@given(st.lists(st.tuples(st.integers(0, 3), IMAGES), max_size=12))
def test_what_is_told_of_an_image_goes_by_the_nodes_there_are(
    reports: list[tuple[int, tuple[ContainerImage, ...]]],
) -> None:
    """Not by what they held before, nor by which of them came first."""
    table, fresh = ImageTable(), ImageTable()
    for row, images in reports:
        table.put(row, f"n{row}", images)
        assert not table.put(row, f"n{row}", images)
    for row, images in sorted(dict(reports).items()):
        fresh.put(row, f"n{row}", images)
    for name in ("nginx", "redis"):
        (size, rows), (want, holders) = table.holders(name), fresh.holders(name)
        assert (size, {*rows}) == (want, {*holders})


def test_a_size_is_what_the_first_node_by_name_reports() -> None:
    """Of those that hold the image now."""
    table = ImageTable()
    assert table.put(3, "n3", (ContainerImage(("nginx",), 10),))
    assert table.put(1, "n1", (ContainerImage(("nginx:latest",), 20),))
    assert table.holders("nginx") == (20, {3: None, 1: None}.keys())
    assert table.put(1, "n1", (ContainerImage(("nginx",), 30),))
    assert not table.put(1, "n1", (ContainerImage(("docker.io/library/nginx",), 30),))
    assert table.holders("nginx")[0] == 30
    assert table.put(1, "n1", ())
    assert table.holders("nginx") == (10, {3: None}.keys())
    assert table.put(3, "n3", ())
    assert table.holders("nginx") == (0, {}.keys())
