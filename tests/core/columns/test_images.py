"""Which nodes hold which images, and how large these are."""

from __future__ import annotations

from moorage.core.columns.nodes.image_table import ImageTable
from moorage.core.objects.nodes import ContainerImage


def test_a_size_is_that_of_the_first_node_that_holds_the_image() -> None:
    """And follows what that node reports; when it does not hold the image any more, the next one's
    counts.
    """
    table = ImageTable()
    assert table.put(3, (ContainerImage(("nginx",), 10),))
    assert table.put(1, (ContainerImage(("nginx:latest",), 20),))
    assert table.holders("nginx") == (10, {3: None, 1: None}.keys())
    assert table.put(3, (ContainerImage(("nginx",), 11),))
    assert not table.put(3, (ContainerImage(("docker.io/library/nginx",), 11),))
    assert table.holders("nginx")[0] == 11
    assert table.put(3, ())
    assert table.holders("nginx") == (20, {1: None}.keys())
    assert table.put(1, ())
    assert table.holders("nginx") == (0, {}.keys())
