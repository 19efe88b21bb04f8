"""Answers of extenders on the wire."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from moorage.core.columns.changes import Entry
from moorage.core.framework.extenders import (
    ExtenderAnswer,
    ExtenderFailure,
    ExtenderFilterResult,
    MetaVictims,
)


class _Answered(Entry, frozen=True):
    cycle: int
    sampled_from: int


class WiredFailure(_Answered, frozen=True, tag=22):
    """One that failed."""

    text: str
    makes_room: bool = True


class WiredFilterResult(_Answered, frozen=True, tag=25):
    """To filter."""

    result: ExtenderFilterResult
    makes_room: bool = True


class WiredPriorities(_Answered, frozen=True, tag=26):
    """To prioritize."""

    priorities: tuple[tuple[tuple[str, int], ...] | str, ...]
    """Of each extender that was asked; the text of one that failed."""
    makes_room: bool = True


class WiredVictims(_Answered, frozen=True, tag=27):
    """To preempt."""

    victims: dict[str, MetaVictims]
    makes_room: bool = True


AnyAnswer: TypeAlias = WiredFailure | WiredFilterResult | WiredPriorities | WiredVictims


def wired_answer(
    answer: ExtenderAnswer, cycle: int = 0, sampled_from: int = 0, makes_room: bool = True
) -> AnyAnswer:
    """What extenders said, as an entry."""
    head, room = (cycle, sampled_from), makes_room
    if isinstance(answer, ExtenderFailure):
        return WiredFailure(*head, answer.text, room)
    if isinstance(answer, ExtenderFilterResult):
        return WiredFilterResult(*head, answer, room)
    if isinstance(answer, Mapping):
        return WiredVictims(*head, dict(answer), room)
    priorities = tuple(
        one.text if isinstance(one, ExtenderFailure) else tuple(map(_pair, one)) for one in answer
    )
    return WiredPriorities(*head, priorities, room)


def _pair(priority: tuple[str, int]) -> tuple[str, int]:
    node, value = priority
    return node, value


def read_answer(wired: AnyAnswer) -> ExtenderAnswer:
    """What was written."""
    match wired:
        case WiredFailure():
            return ExtenderFailure(wired.text)
        case WiredFilterResult():
            return wired.result
        case WiredVictims():
            return wired.victims
        case WiredPriorities():
            return tuple(
                ExtenderFailure(one) if isinstance(one, str) else one for one in wired.priorities
            )
