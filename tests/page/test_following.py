"""What the page does when documents change, streams end, and servers have too much to do."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect

from tests.page.browsing import Visit

Visits = Callable[..., Visit]
EVENT = 'id: 1-1\nevent: changed\ndata: {"documents": [], "at": ""}\n\n'


def test_a_recording_is_followed_while_it_is_gone_through(visit: Visits) -> None:
    """Its timeline and its worlds come later than the page: nobody has to load it again."""
    here = visit(variant="making")
    page = here.open("recordings?at=2026-11-27T13:04:10Z")
    expect(page.locator(".happened li")).to_have_count(1)
    expect(page.locator(".happened li")).not_to_have_count(1, timeout=10_000)
    page = here.open("compare")
    expect(page.locator("progress")).to_have_count(1)
    expect(page.locator("progress")).to_have_count(0, timeout=10_000)


def _asked(page: Page) -> list[str]:
    """The documents that are asked for from now on."""
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.url) if "/ui/api/" in one.url else None)
    return asked


@pytest.mark.parametrize("known", [True, False], ids=["with-an-id", "without"])
def test_a_stream_that_ends_is_no_news(visit: Visits, known: bool) -> None:
    """The server ends each after a while. The browser comes back and says what it knows; where it
    knows nothing, all that is shown is fetched anew.
    """
    here = visit()
    page = here.page
    opened: list[Route] = []

    def briefly(route: Route) -> None:
        opened.append(route)
        body = f"retry: 300\n\n{EVENT if known else ''}"
        route.fulfill(body=body, content_type="text/event-stream")

    page.route("**/ui/events", briefly)
    here.open("queue")
    asked = _asked(page)
    begun = len(opened)
    page.wait_for_timeout(4000)
    assert len(opened) > begun + 2
    expect(page.locator("main")).not_to_contain_text("No answer since")
    assert bool(asked) is not known
    page.unroute("**/ui/events", briefly)


def test_a_server_with_too_much_to_do_is_asked_again(visit: Visits) -> None:
    """When it says, and without a word of it."""
    here = visit()
    page = here.page
    refused: list[Route] = []

    def once(route: Route) -> None:
        if refused:
            route.continue_()
        else:
            refused.append(route)
            body = {"error": "16 documents are being made"}
            route.fulfill(status=429, headers={"Retry-After": "1"}, json=body)

    page.route("**/api/pod?*", once)
    page.goto(f"{here.base}pods/ml/eval-vision-0")
    expect(page.locator("main .sentence")).to_contain_text("No node has 4 GPUs", timeout=4000)
    assert refused
    page.unroute("**/api/pod?*", once)
    here.wrong[:] = [one for one in here.wrong if "429" not in one]


def test_an_address_is_never_before_its_moment(visit: Visits) -> None:
    """It holds seconds; the one before the first of a recording shows nothing."""
    page = visit().open("")
    words = "async at => (await import('/ui/static/js/words.js')).rfc3339(at)"
    assert page.evaluate(words, 1_795_789_926.4) == "2026-11-27T14:32:07Z"
    assert page.evaluate(words, 1_795_789_926) == "2026-11-27T14:32:06Z"


def test_nobody_leads_from_tomorrow_on(visit: Visits) -> None:
    """One document may be newer than the moment that another is of."""
    page = visit().open("")
    words = "async seconds => (await import('/ui/static/js/words.js')).age(seconds)"
    assert page.evaluate(words, -16.6) == page.evaluate(words, 0) == "0.0 s"


@pytest.mark.parametrize(
    ("pod", "word"), [("reports/held-0", "Suspended"), ("shop/leaving-0", "Being deleted")]
)
def test_a_pod_that_is_not_tried_says_why(visit: Visits, pod: str, word: str) -> None:
    """In words, not in those of the document."""
    page = visit().open(f"pods/{pod}")
    expect(page.locator(".chip").first).to_contain_text(word)
