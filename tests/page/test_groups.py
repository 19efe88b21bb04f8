"""The panel of a pod that waits with its group: members, those that find no node first, why, and
room that is held.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.page.browsing import DESK, Visit

PANEL = "section[aria-labelledby=group]"


def test_the_group_of_a_pod(visit: Callable[..., Visit]) -> None:
    """What it needs, whom it lacks, and until when room is held; each member has a link."""
    page = visit(DESK).open("pods/ml/train-llm-0")
    panel = page.locator(PANEL)
    text = " ".join(panel.inner_text().split())
    assert "Its group, ml/train-llm" in text
    assert "A gang: 24 are needed together; 24 members are here. Priority 2,000." in text
    assert "16 of 24 find a node." in text
    assert "Room is held for it on 1 node, until " in text
    assert "and 12 more" in text
    assert "moorage explain podgroup ml/train-llm" in text
    members = panel.locator("tbody a[data-row]").all_inner_texts()
    assert members[:8] == [f"ml/train-llm-{i}" for i in range(16, 24)]
    link = panel.locator("tbody a[data-row]").first.get_attribute("href") or ""
    assert link.partition("?")[0].endswith("/ui/pods/ml/train-llm-16"), link


def test_a_pod_alone_has_no_such_panel(visit: Callable[..., Visit]) -> None:
    """It is of no group."""
    page = visit(DESK).open("pods/ml/eval-vision-0")
    assert page.locator(PANEL).count() == 0
