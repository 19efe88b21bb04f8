"""Groups on the page: those that wait, in the overview, and the panel of a pod that waits with its
group: members, those that find no node first, why, and room that is held.
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


def test_groups_that_wait(visit: Callable[..., Visit]) -> None:
    """In the overview, with members and reason; each leads to the first of its pods."""
    here = visit(DESK)
    table = here.open("").get_by_role("table", name="Groups that wait")
    rows = [" ".join(row.split()) for row in table.locator("tbody tr").all_inner_texts()]
    lacks = "240 Insufficient nvidia.com/gpu"
    held = "room is held for it until 14:35:32 at the latest"
    assert rows == [
        "ml/train-llm gpu-jobs 16 wait, 0 of 24 placed 2 h 11 min 16 of 24 members are here",
        f"ml/tune-sweep gpu-jobs 3 wait, 1 of 4 placed 6 min {lacks}; {held}",
    ]
    table.get_by_role("link", name="ml/train-llm").click()
    here.page.wait_for_url("**/ui/pods/ml/train-llm-0*")


def test_where_no_group_waits(visit: Callable[..., Visit]) -> None:
    """There is no such table; the same where nobody knows of groups."""
    for variant in ("small", "empty"):
        page = visit(DESK, variant).open("")
        assert page.get_by_role("table", name="Groups that wait").count() == 0
