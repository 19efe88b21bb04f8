"""Lists, a page at a time."""

from __future__ import annotations

import asyncio
import json
import urllib.parse
from typing import Any, cast

import pytest

from moorage.apps.exit_status import NoAnswer
from moorage.apps.reach.installations import look
from moorage.apps.reach.listing import each_item
from moorage.apps.reach.surroundings import profiles_of
from moorage.apps.worlds.reaching import Connection
from moorage.ports.errors import Retryable
from moorage.ports.http_calls import METADATA_ALONE, HttpCall


class Pages:
    """A session with a list: its pages by their tokens, each with the token of the next."""

    def __init__(self, **pages: tuple[list[int], str]) -> None:
        self.asked: list[HttpCall] = []
        self._pages = pages

    async def call(self, call: HttpCall) -> bytes:
        """The page that is asked for."""
        self.asked.append(call)
        query = dict(urllib.parse.parse_qsl(call.path.partition("?")[2]))
        assert query["limit"] == "2"
        numbers, following = self._pages[query.get("continue", "first")]
        items = [{"n": number, "metadata": {"name": str(number)}} for number in numbers]
        return json.dumps({"metadata": {"continue": following}, "items": items}).encode()


def numbers(session: Pages) -> list[int]:
    """All that the list has."""

    async def scenario() -> list[int]:
        listed = each_item(cast("Any", session), "/x", {"limit": "2"}, accept=METADATA_ALONE)
        return [one["n"] async for one in listed]

    return asyncio.run(scenario())


def test_all_pages() -> None:
    """In their order, each asked for once and in the form that is wanted; one may be empty."""
    session = Pages(first=([1, 2], "a&b"), **{"a&b": ([], "c"), "c": ([3], "")})
    assert numbers(session) == [1, 2, 3]
    assert [call.accept for call in session.asked] == [METADATA_ALONE] * 3


def test_a_list_without_an_end() -> None:
    """A page that names itself is no answer."""
    with pytest.raises(Retryable, match=r"GET /x: the list goes round"):
        numbers(Pages(first=([1], "a"), a=([2], "a")))


@pytest.mark.parametrize(
    "body",
    [b"<html>Log in</html>", b"", b"[]", b"null", b'{"items": {}}', b'{"items": [null]}', b"\xff"],
    ids=repr,
)
def test_what_is_no_list_is_no_answer(body: bytes) -> None:
    """A portal or a proxy on the way may speak for the API server, and says 200."""

    class Portal:
        async def call(self, call: HttpCall) -> bytes:
            return body

    async def scenario() -> None:
        with pytest.raises(Retryable, match=r"GET /x.*: the answer cannot be read"):
            async for _ in each_item(cast("Any", Portal()), "/x", {}):
                pass
        with pytest.raises(NoAnswer, match=r"SchedulerProfiles at here: .*cannot be read"):
            await profiles_of(Connection(cast("Any", Portal()), "here", ""))
        with pytest.raises(Retryable):
            await look(cast("Any", Portal()), "moorage-system", "moorage")

    asyncio.run(scenario())
