"""Tokens of service accounts: given out, and known again until they expire, or their account or the
cluster ends.
"""

from __future__ import annotations

import secrets
from datetime import datetime
from typing import Final

from towtank.model import times
from towtank.model.api_errors import too_many_requests
from towtank.storage.store import StoreChange
from towtank.storage.verbs import Verbs
from towtank.subresources.review import ACCOUNT

MAX_TOKENS: Final = 10_000
"""That are good at one time."""
_RETRY_AFTER_SECONDS: Final = 60
_ACCOUNTS: Final = "serviceaccounts"


class IssuedTokens:
    """A ``review.TokenIssuer`` that keeps its tokens in memory."""

    def __init__(self, verbs: Verbs) -> None:
        self._clock = verbs.clock
        self._users: dict[str, tuple[str, datetime]] = {}
        verbs.store.subscribe(_ACCOUNTS, self._on_change)

    def issue(self, user: str, seconds: int) -> str:
        """A new token. Raises ApiError 429."""
        now = self._clock()
        self._users = {
            token: (who, until) for token, (who, until) in self._users.items() if until > now
        }
        if len(self._users) >= MAX_TOKENS:
            raise too_many_requests(f"{MAX_TOKENS} tokens are in use", _RETRY_AFTER_SECONDS)
        token = secrets.token_urlsafe(32)
        self._users[token] = (user, times.after(now, seconds))
        return token

    def user(self, token: str) -> str:
        """Whose it is, or ""."""
        user, until = self._users.get(token, ("", None))
        return user if until is not None and until > self._clock() else ""

    def _on_change(self, change: StoreChange) -> None:
        """Nobody is a service account that is not there: a later one of the name is another."""
        if change.type == "DELETED":
            gone = ACCOUNT + ":".join(change.now.key)
            self._users = {token: one for token, one in self._users.items() if one[0] != gone}
