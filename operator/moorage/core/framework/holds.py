"""Holds: why nobody tries the pods of a profile, though a revision of it is there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple


class Hold(NamedTuple):
    """Why nobody tries a profile's pods: ``verdict`` is that in a word, ``why`` says what the
    SchedulerProfile does, as in "is suspended".
    """

    verdict: str
    why: str


SUSPENDED: Final = Hold("Suspended", "is suspended")


def lacks(rights: Iterable[str]) -> Hold:
    """Of a profile that cannot do without rights which the operator does not have."""
    return Hold("ProfileWaiting", f"waits until the operator has the right to {', '.join(rights)}")


def waits_for(kinds: Iterable[str]) -> Hold:
    """Of a profile that decides by kinds of objects which are not up to date."""
    return Hold("ProfileWaiting", f"waits until {', '.join(kinds)} are up to date")
