"""Lists of the API server, a page at a time."""

from __future__ import annotations

import urllib.parse
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

from moorage.adapters.answers import list_at
from moorage.ports.http_calls import HttpCall, HttpSession, next_page

SECONDS: Final = 60.0
"""For a page."""


async def each_item(
    session: HttpSession, path: str, query: Mapping[str, str], *, accept: str = ""
) -> AsyncIterator[Mapping[str, Any]]:
    """The items of all pages; ``query`` has the limit of one. Raises EdgeError."""
    token = ""
    while True:
        asked = urllib.parse.urlencode({**query, **({"continue": token} if token else {})})
        call = HttpCall("GET", f"{path}?{asked}", accept=accept, timeout=SECONDS)
        page = await list_at(session, call)
        for one in page.items or ():
            yield one
        following = str((page.metadata or {}).get("continue") or "")
        token = next_page(f"GET {path}", token, following)
        if not token:
            return
