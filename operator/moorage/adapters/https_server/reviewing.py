"""Reviews: what API servers ask about objects that are about to be stored.

Whoever reaches the port may ask, as the API servers' addresses are not known and they show no
certificate by default. So no more is done for anybody than to judge what he sends, for a few at a
time; he is given no time that an API server would not need.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from aiohttp import web

from moorage.adapters.https_server.answering import JSON, bytes_page, refusal, sent
from moorage.ports.errors import EdgeError
from moorage.ports.requesters import Denied

Review = Callable[[bytes], Awaitable[bytes]]
"""Answers an AdmissionReview (JSON). Raises Denied and EdgeError."""

MAX_REVIEWS: Final = 4
"""Reviews under way; others wait."""
BODY_BYTES: Final = 8 * 1024**2
"""Of a review, which holds an object twice; the API server takes objects of 3 MiB."""
BODY_SECONDS: Final = 1.0
"""For a review to arrive once its turn has come."""
ANSWER_SECONDS: Final = 4.5
"""Until a review is answered: the API server waits 5 s."""


class ReviewHandler:
    """Answers POSTs of reviews, by path. ``admitted`` are the connections whose reviews have their
    turn.
    """

    body_bytes = BODY_BYTES

    def __init__(self, reviews: Mapping[str, Review]) -> None:
        self._reviews = reviews
        self._turns = asyncio.Semaphore(MAX_REVIEWS)
        self.admitted: set[object] = set()

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer and send; what is returned has been sent."""
        try:
            return await sent(request, bytes_page(await self._reviewed(request), JSON))
        except Denied as denied:
            return await sent(request, refusal(denied, "POST"))

    async def _reviewed(self, request: web.BaseRequest) -> bytes:
        if (review := self._reviews.get(request.path)) is None:
            raise Denied(404, "there is nothing here")
        if request.method != "POST":
            raise Denied(405, "only POST is allowed")
        try:
            async with asyncio.timeout(ANSWER_SECONDS), self._turns:
                self.admitted.add(request.protocol)
                return await review(await _body(request))
        except TimeoutError as error:
            raise Denied(503, f"no answer within {ANSWER_SECONDS:g} s") from error
        except EdgeError as error:
            raise Denied(503, str(error)) from error
        finally:
            self.admitted.discard(request.protocol)


async def _body(request: web.BaseRequest) -> bytes:
    """All that comes with a request. Raises Denied for one that is too long, or too slow."""
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.content.iter_any():
                body += chunk
                if len(body) > BODY_BYTES:
                    raise Denied(413, f"a review has at most {BODY_BYTES} bytes")
    except TimeoutError as error:
        raise Denied(408, f"the review did not come within {BODY_SECONDS:g} s") from error
    return bytes(body)
