"""Each view, in both themes and three widths: accessible, quiet, within its origin, never wider
than its window.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest

from tests.page.browsing import DESK, PHONE, SMALL, Visit

VIEWS: Final = {
    "overview": "",
    "nodes": "nodes",
    "nodes-as-table": "nodes?as=table",
    "fragmentation": "nodes?by=fragmentation&group=pool&node=gpu-a100-0117",
    "node": "nodes/general-1843",
    "pending": "pods/ml/eval-vision-0",
    "bound": "pods/shop/checkout-7c9d5b8f64-x2lqp",
    "gated": "pods/reports/backfill-x1",
    "member": "pods/ml/train-llm-0",
    "queue": "queue",
    "queue-of-one": "queue?profile=gpu",
    "profiles": "profiles",
    "profile": "profiles/binpack",
    "recordings": "recordings?at=2026-11-27T13:04:10Z",
    "compare": "compare",
    "parts": "parts",
}


@pytest.mark.parametrize("size", [DESK, PHONE, SMALL], ids=["desk", "phone", "small"])
@pytest.mark.parametrize("path", VIEWS.values(), ids=VIEWS)
def test_a_view_is_accessible(
    visit: Callable[..., Visit], path: str, size: tuple[int, int]
) -> None:
    """It begins with its answer, and axe finds nothing; dark, contrast is all that differs."""
    here = visit(size)
    page = here.open(path)
    assert page.locator("h1").count() == 1
    assert page.locator("main .sentence").first.inner_text().strip()
    assert here.violations() == []
    page.keyboard.press("d")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert here.violations("color-contrast") == []
    width = page.evaluate("document.scrollingElement.scrollWidth")
    assert width <= size[0], "it scrolls sideways"


def test_from_phones_to_walls(visit: Callable[..., Visit]) -> None:
    """The map uses the room there is: more cells in a row, or larger ones."""
    widths = {}
    for size in (SMALL, (1024, 768), (3840, 2160)):
        page = visit(size).open("nodes")
        page.wait_for_selector(".map-labels .heading")
        box = page.locator(".map-layer").bounding_box()
        assert box is not None
        assert box["width"] <= size[0]
        widths[size] = box["width"] / size[0]
    assert min(widths.values()) > 0.4
