"""What hands and addresses do: keys, links, the way back, time, and that nothing is written."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import urlsplit

from playwright.sync_api import Page, expect

from tests.page.browsing import SHOWN, Visit

Visits = Callable[..., Visit]


def place(page: Page) -> str:
    """What the address holds, without the theme."""
    parts = urlsplit(page.url)
    query = "&".join(one for one in parts.query.split("&") if not one.startswith("theme="))
    return parts.path.removeprefix("/ui/") + (f"?{query}" if query else "")


def test_two_keys_go_to_each_view(visit: Visits) -> None:
    """`g` and the view's letter; Back returns."""
    page = visit().open("")
    for letter, path in (("n", "nodes"), ("q", "queue"), ("p", "profiles"), ("r", "recordings")):
        page.keyboard.press("g")
        page.keyboard.press(letter)
        page.wait_for_selector(SHOWN)
        assert place(page) == path
    page.go_back()
    assert place(page) == "profiles"


def test_rows_are_reached_and_opened(visit: Visits) -> None:
    """`j` goes down, Enter opens, Escape comes back."""
    page = visit().open("profiles")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_selector(".revisions")
    assert place(page) == "profiles/binpack"
    page.keyboard.press("Escape")
    expect(page.locator("h1")).to_have_text("Profiles")


def test_the_map_is_walked_by_arrows(visit: Visits) -> None:
    """The first cell, the one beside it, the table with `t`, colours by number."""
    page = visit().open("nodes")
    page.wait_for_selector(".map-labels .heading")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".map-card b").first).to_have_text("general-0003")
    page.keyboard.press("ArrowRight")
    assert place(page) == "nodes?node=general-0006"
    page.keyboard.press("2")
    expect(page).to_have_url(re.compile("by=memory"))
    page.keyboard.press("t")
    expect(page.locator("table[aria-label=Nodes]")).to_be_visible()
    assert "as=table" in page.url


def test_a_long_table_draws_what_is_in_sight(visit: Visits) -> None:
    """Of 5,000 rows some dozens are there; screen readers are told how many there are."""
    page = visit().open("nodes?as=table")
    table = page.locator("table[aria-label=Nodes]")
    expect(table).to_have_attribute("aria-rowcount", "5001")
    assert page.locator("tbody tr:not(.pad)").count() < 120
    page.evaluate("scrollTo(0, document.scrollingElement.scrollHeight)")
    expect(page.get_by_role("link", name="highmem-0560")).to_be_visible()


def test_something_is_found(visit: Visits) -> None:
    """`/`, a few letters, Enter."""
    page = visit().open("")
    page.keyboard.press("/")
    expect(page.get_by_role("combobox")).to_be_focused()
    page.keyboard.type("eval")
    page.get_by_role("option", name="ml/eval-vision-0").wait_for()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("/")
    expect(page.get_by_role("combobox")).to_be_focused()
    page.keyboard.type("eval")
    option = page.get_by_role("option", name="ml/eval-vision-0")
    option.wait_for()
    option.click()
    page.wait_for_selector(".suggestions")
    assert place(page) == "pods/ml/eval-vision-0"


def test_a_dialog_is_gone_by_the_next_key(visit: Visits) -> None:
    """Whoever types fast finds it open after an odd number of keys."""
    page = visit().open("")
    for _ in range(10):
        for key in ("?", "Escape", "/", "Escape"):
            page.keyboard.press(key)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()


def test_a_key_can_be_switched_off(visit: Visits) -> None:
    """WCAG 2.1.4. While somebody types no key means anything else."""
    page = visit().open("")
    page.keyboard.press("?")
    page.get_by_role("checkbox", name="Light or dark").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("d")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    page.keyboard.press("?")
    page.get_by_role("checkbox", name="Light or dark").check()
    page.keyboard.press("Escape")


def test_the_ribbon_shows_another_moment(visit: Visits) -> None:
    """A slider for keys; links keep the moment; `l` goes back to the present."""
    page = visit().open("")
    slider = page.get_by_role("slider", name="Moment shown")
    expect(slider).to_have_attribute("aria-valuetext", "live")
    slider.press("PageDown")
    expect(slider).to_have_attribute("aria-valuetext", "14:22:08, 27 Nov, recorded")
    assert "at=2026-11-27T14:22:08Z" in page.url
    page.get_by_role("link", name="Queue").first.click()
    expect(page.locator("h1")).to_have_text("Queue")
    assert "at=2026-11-27T14:22:08Z" in page.url
    page.keyboard.press("l")
    assert "at=" not in page.url


def test_two_revisions_are_compared_by_a_click(visit: Visits) -> None:
    """The active one and the trial at first; the address says which two."""
    page = visit().open("profiles/binpack")
    expect(page.locator(".sentence").first).to_contain_text("2 settings differ")
    expect(page.locator(".revisions [aria-pressed=true]")).to_have_count(2)


def test_only_get_is_used(visit: Visits) -> None:
    """Read-only: whatever is pressed, nothing else is sent."""
    here = visit()
    methods = set()
    here.page.on("request", lambda request: methods.add(request.method))
    for path in ("", "nodes", "profiles/binpack", "recordings", "compare"):
        here.open(path)
    assert methods == {"GET"}
