"""Tokens of service accounts: given out, and known again until they expire or the cluster ends."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import datetime

from moorage.devcluster import objects


class IssuedTokens:
    """``reviews.Tokens``, in memory."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._users: dict[str, tuple[str, datetime]] = {}

    def issue(self, user: str, seconds: int) -> str:
        """A new token."""
        now = self._clock()
        self._users = {token: (who, until) for token, (who, until) in self._users.items() if until > now}
        token = secrets.token_urlsafe(32)
        self._users[token] = (user, objects.after(now, seconds))
        return token

    def user(self, token: str) -> str:
        """Whose it is, or ""."""
        user, until = self._users.get(token, ("", None))
        return user if until is not None and until > self._clock() else ""
