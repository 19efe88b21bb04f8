"""An election whose outcome a test decides."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from moorage.ports.leadership import Leadership


@dataclasses.dataclass
class FakeElection:
    """``ports.leadership.Election``."""

    who: Callable[[], Leadership | None] = lambda: None
    identity: str = "me"

    @property
    def leadership(self) -> Leadership | None:
        """What ``who`` says."""
        return self.who()
