"""The page while a profile is edited, the leader dies and a thousand pods wait: all that it shows
comes by its stream of events, and what is old is never shown as the present.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.page.browsing import SHOWN
from tests.page_live.conftest import PENDING, PROFILE, Cluster
from tests.rig.operators import until

SEEN_MS = 30_000
"""Within which a change is on the page, on a machine that does other things too."""
PLACED = 400
"""Pods for which there is room first."""

ROUND = {"n": "nodes", "q": "queue", "p": "profiles", "o": ""}
"""Keys after g, and the views that they open."""

View = Callable[[str], Page]
OperatorView = Callable[[str, str], Page]


def waits(page: Page, count: int) -> None:
    """The rail says of every view how many pods wait."""
    number = page.locator(".rail a[href*='/queue'] .count")
    expect(number).to_have_text(f"{count:,}", timeout=SEEN_MS)


def without_a_node(queue: Page, count: int) -> None:
    """All of them have been tried in vain, and the queue's order is the operator's own."""
    number = queue.locator(".legend li", has_text="without a node").locator("b")
    expect(number).to_have_text(f"{count:,}", timeout=SEEN_MS)
    expect(queue.locator(".legend")).to_contain_text("one order for all profiles")


def leads(page: Page, name: str) -> None:
    """The rail says who leads, and names one replica alone for it."""
    leading = page.locator(".rail .replica", has_text="leads")
    expect(leading).to_have_count(1, timeout=SEEN_MS)
    expect(leading.locator(".name")).to_have_text(name, timeout=SEEN_MS)


def decides(overview: Page, revision: str) -> None:
    """The row of the profile has this revision."""
    row = overview.get_by_role("row").filter(has_text=PROFILE)
    expect(row.locator("code").first).to_have_text(revision, timeout=SEEN_MS)


def goes_round(overview: Page) -> None:
    """By keys, through the views and back; each has something to say."""
    for key, path in ROUND.items():
        overview.keyboard.press("g")
        overview.keyboard.press(key)
        expect(overview).to_have_url(re.compile(rf"/ui/{path}(\?|$)"))
        expect(overview.locator(SHOWN).first).to_be_visible(timeout=SEEN_MS)


def test_a_day_of_the_cluster(cluster: Cluster, view: View, operator_view: OperatorView) -> None:
    """Pods come, a profile is swapped, the leader is killed, pods find room."""
    overview, queue = view(""), view("queue")
    first = cluster.leader()
    leads(overview, first)
    cluster.add_pods(PENDING)
    goes_round(overview)
    waits(overview, PENDING)
    without_a_node(queue, PENDING)
    revision = cluster.swap(weight=5)
    goes_round(overview)
    decides(overview, revision)
    own = operator_view(first, "queue")
    waits(own, PENDING)
    cluster.replicas[first].kill()
    _its_death_is_told(overview, own, first)
    second = str(until(lambda: cluster.leader().removeprefix(first), "another leader"))
    leads(overview, second)
    expect(overview.locator("main .left-out")).to_have_count(0, timeout=SEEN_MS)
    goes_round(overview)
    own = operator_view(second, "queue")
    waits(own, PENDING)
    decides(overview, cluster.swap(weight=9))
    cluster.add_node("small", PLACED)
    for page in (overview, own):
        waits(page, PENDING - PLACED)
    without_a_node(queue, PENDING - PLACED)
    cluster.add_node("large", PENDING)
    for page in (overview, own):
        waits(page, 0)
    expect(queue.locator("main .sentence")).to_contain_text("Nothing waits", timeout=SEEN_MS)


def _its_death_is_told(overview: Page, own: Page, leader: str) -> None:
    """The page says that what only the leader knew is left out, and why; its own page says that all
    of it is old.
    """
    expect(overview.locator("main .left-out").first).to_contain_text(
        re.compile(f"{leader}_.* does not answer"), timeout=SEEN_MS
    )
    expect(own.locator("main")).to_contain_text("No answer since", timeout=SEEN_MS)
