"""When there is little to see, nothing, or something is wrong."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Route, expect

from tests.page.browsing import PHONE, Visit

Visits = Callable[..., Visit]


@pytest.mark.parametrize("path", ["", "nodes", "queue", "profiles", "recordings", "compare"])
@pytest.mark.parametrize("variant", ["empty", "small", "recorded"])
def test_a_view_has_something_to_say(visit: Visits, path: str, variant: str) -> None:
    """Also of a cluster without nodes, one without Moorage, and of a recording alone."""
    here = visit(PHONE, variant)
    page = here.open(path)
    assert page.locator("main .sentence").first.inner_text().strip()
    assert here.violations() == []


def test_what_is_not_there_says_so(visit: Visits) -> None:
    """A pod that is gone, and an address that is none."""
    here = visit()
    here.page.goto(f"{here.base}pods/ml/gone")
    expect(here.page.locator(".note")).to_contain_text("there is no pod ml/gone")
    here.open("nowhere")
    expect(here.page.locator(".sentence")).to_have_text("There is no such view.")
    # the browser tells the console of every 404
    here.wrong[:] = [one for one in here.wrong if "404" not in one]


def test_a_silent_server_is_told(visit: Visits) -> None:
    """What there was stays, with its age; it comes back by itself."""
    here = visit()
    page = here.page

    def silent(route: Route) -> None:
        route.abort()

    page.route("**/ui/events", silent)
    here.open("")
    expect(page.locator(".note").first).to_contain_text("No answer since")
    expect(page.locator(".ribbon")).to_contain_text("Stands at 14:32:08")
    page.unroute("**/ui/events", silent)
    expect(page.locator(".ribbon")).to_contain_text("Live", timeout=15_000)
    here.wrong[:] = [one for one in here.wrong if "ERR_FAILED" not in one]


@pytest.mark.parametrize("path", ["", "nodes", "profiles", "queue"])
def test_what_cannot_be_had_any_more_is_old(visit: Visits, path: str) -> None:
    """Every view says so of the profiles, whose leader is in the rail, and the queue of itself;
    until they are there again.
    """
    here = visit()
    page = here.open(path)
    refused = {"status": 503, "json": {"error": "SchedulerProfiles: no answer"}}
    for name in ("status", "queue"):
        page.route(f"**/api/{name}", lambda route: route.fulfill(**refused))
    expect(page.locator(".rail .replica").first).to_contain_text("leads")
    change = "async () => (await import('/ui/static/js/source.js')).changed(['status', 'queue'])"
    page.evaluate(change)
    said = "SchedulerProfiles: no answer What is shown is from 14:32:08."
    notes = page.locator(".note", has_text=said)
    expect(notes).to_have_count(2 if path == "queue" else 1)
    for name in ("status", "queue"):
        page.unroute(f"**/api/{name}")
    page.evaluate(change)
    expect(notes).to_have_count(0, timeout=15_000)
    here.wrong[:] = [one for one in here.wrong if "503" not in one]


def test_a_mistake_in_the_answer_ends_the_view_only(visit: Visits) -> None:
    """Words instead of an empty page."""
    here = visit()
    page = here.page
    page.route("**/api/nodes*", lambda route: route.fulfill(json={"answer": "x", "leftOut": []}))
    page.goto(f"{here.base}nodes")
    expect(page.locator(".note").first).to_contain_text("The page has a mistake")
    page.unroute("**/api/nodes*")
    here.wrong.clear()
