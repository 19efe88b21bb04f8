"""The page on loopback, for the person at this machine alone.

Others who have an account here can reach the port too, and so can any page in the browser. So a
token, which is printed, is traded for a cookie; the header Host must be ours, which keeps out a
name that was bent to 127.0.0.1; and the cookie is not sent with what another site makes the browser
ask.

The address that a browser is started with can be read by others, as all words of a command can. Its
token opens once. Whoever comes second is told so, and the first one's cookie is void from then on.
"""

from __future__ import annotations

import hmac
import secrets
from typing import Final

from aiohttp import web

from moorage.apps.ui.page_handler import HEADERS, PageHandler, refusal, send
from moorage.ports.requesters import Denied, parameters

NAMES: Final = ("127.0.0.1", "localhost")
_AGAIN: Final = "open the address that `moorage ui` has printed"


class Doorkeeper:
    """Knows tokens and cookies. ``token`` is the one that is printed, and opens again and again."""

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(24)
        self._cookie = secrets.token_urlsafe(24)
        self._once: dict[str, str] = {}
        """Tokens that open once, with the cookies that they gave; "" while they are unused."""

    def token_for_once(self) -> str:
        """A token for a command that others can read."""
        token = secrets.token_urlsafe(24)
        self._once[token] = ""
        return token

    def cookie(self, token: str) -> str:
        """The cookie for a token. Raises Denied."""
        if _same(token, self.token):
            return self._cookie
        for known, given in self._once.items():
            if not _same(token, known):
                continue
            if given:
                self._once[known] = secrets.token_urlsafe(24)  # nobody has this one
                raise Denied(403, f"this address was used before, and is void now; {_AGAIN}")
            self._once[known] = secrets.token_urlsafe(24)
            return self._once[known]
        raise Denied(403, f"this address is of another `moorage ui`, or mistyped; {_AGAIN}")

    def knows(self, cookie: str) -> bool:
        """Whether this cookie may see the page."""
        return any(_same(cookie, one) for one in (self._cookie, *self._once.values()) if one)


class LoopbackHandler:
    """All that is asked of the port."""

    def __init__(self, page: PageHandler, doorkeeper: Doorkeeper, port: int) -> None:
        self._page = page
        self._doorkeeper = doorkeeper
        self._hosts = frozenset(f"{name}:{port}" for name in NAMES)
        self._cookie_name = f"moorage-{port}"  # a browser shares cookies between ports

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer and send."""
        try:
            self._check(request)
            first, _, path = request.path.removeprefix("/").partition("/")
            if first == "open" and request.method == "GET":
                return await send(request, self._opened(self._doorkeeper.cookie(path)))
            if not self._doorkeeper.knows(request.cookies.get(self._cookie_name, "")):
                raise Denied(403, f"no cookie of this page; {_AGAIN}")
            if first != "ui":
                raise Denied(404, "there is nothing here but /ui/")
            query = parameters(request.query.items())
        except Denied as denied:
            return await send(request, refusal(denied))
        return await self._page.answer(request, path, query)

    def _check(self, request: web.BaseRequest) -> None:
        """Whether it is asked under our name, and by our page. Raises Denied."""
        if request.headers.get("Host", "") not in self._hosts:
            raise Denied(403, f"this page is at {min(self._hosts)} only")
        origin = request.headers.get("Origin")
        if origin is not None and origin.removeprefix("http://") not in self._hosts:
            raise Denied(403, "other origins may ask nothing here")

    def _opened(self, cookie: str) -> web.Response:
        """No redirect: a browser would hold the next request for one of the site that had the
        link, and leave the cookie out.
        """
        text = (
            '<!doctype html><html lang="en"><meta charset="utf-8"><title>Moorage</title>'
            '<link rel="icon" href="/ui/static/icon.svg">'
            '<meta http-equiv="refresh" content="0; url=/ui/"><a href="/ui/">Moorage</a></html>'
        )
        response = web.Response(text=text, content_type="text/html", headers=HEADERS)
        response.set_cookie(
            self._cookie_name, cookie, path="/ui/", httponly=True, samesite="Strict"
        )
        return response


def address(port: int, token: str) -> str:
    """Where a browser opens the page."""
    return f"http://{NAMES[0]}:{port}/open/{token}"


def _same(one: str, other: str) -> bool:
    """Takes as long whatever differs."""
    return hmac.compare_digest(one.encode(errors="replace"), other.encode())
