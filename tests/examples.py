"""How many examples hypothesis tries of what is dear: few in `make test`, five times as many in
`make test-all` (tests/conftest.py).
"""

from __future__ import annotations

from hypothesis import settings

_USUAL = 100
"""Examples of a property that says nothing else, in `make test`."""


def few(examples: int) -> settings:
    """So many, and as many times more as the profile has more than the usual."""
    usual = settings.default.max_examples if settings.default is not None else _USUAL
    return settings(max_examples=examples * usual // _USUAL)
