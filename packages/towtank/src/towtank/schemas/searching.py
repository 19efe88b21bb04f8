"""Which part of a text a regular expression matches. RE2 in the library says only whether there is one.

An expression becomes a program of steps that each take one character or none; what single characters are, RE2 says. A step is tried at
most once at each place of the text, so that no expression takes longer than its length times the text's.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from towtank.schemas import patterns

_LONGEST: Final = 5000
"""Steps of a program, which repetitions multiply."""
_TOKEN: Final = re.compile(
    r"\\Q(?P<quoted>.*?)(?:\\E|\Z)|(?P<open>\(\?P?<\w+>|\(\?[imsU-]*:|\((?!\?))|\(\?(?P<flags>[imsU-]+)\)|(?P<close>\))|(?P<or>\|)"
    r"|(?P<repeat>(?:[*+?]|\{\d+(?:,\d*)?\})\??)|(?P<place>\^|\$|\\[AzbB])"
    r"|\\[pP](?:\{\^?\w+\}|\w)|\\x(?:\{[0-9a-fA-F]+\}|[0-9a-fA-F]{2})|\\[0-7]{1,3}|\\."
    r"|\[\^?\]?(?:\[:\^?\w+:\]|\\[pP]\{\^?\w+\}|\\.|[^\]\\])*\]|.",
    re.DOTALL,
)


class _Step(NamedTuple):
    """``text`` is what stands here, one character or (``place``) a place; where ``then`` is set it is a fork of the program's, in order."""

    text: str
    place: bool = False
    then: tuple[int, ...] = ()


_Program = tuple[_Step, ...]


def spans(pattern: str, text: str) -> Iterator[tuple[int, int]]:
    """All matches, from left to right, as Go finds them. Raises patterns.Malformed."""
    patterns.matches(pattern, "")
    program = _program(pattern)
    place, last = 0, -1
    while place <= len(text) and (found := _first(program, text, place)):
        start, end = found
        if end > start or start != last:
            yield found
        place, last = max(end, place + (end == place)), end


def _first(program: _Program, text: str, place: int) -> tuple[int, int] | None:
    """The first match from a place on, and of those that begin there the one that the expression prefers."""
    tried: set[tuple[int, int]] = set()
    for start in range(place, len(text) + 1):
        ahead = [(0, start)]
        while ahead:
            at = step, now = ahead.pop()
            if at in tried:
                continue
            tried.add(at)
            if step == len(program):
                return start, now
            ahead += _next(program[step], step, text, now)
    return None


def _next(one: _Step, step: int, text: str, now: int) -> list[tuple[int, int]]:
    if one.then:
        return [(step + ahead, now) for ahead in reversed(one.then)]
    if one.place:
        beside = text[max(now - 1, 0) : now + 1]
        return [(step + 1, now)] if _stands(one.text, beside, now > 0, now < len(text)) else []
    return [(step + 1, now + 1)] if now < len(text) and _is(one.text, text[now]) else []


@functools.lru_cache(maxsize=4096)
def _is(atom: str, character: str) -> bool:
    return patterns.matches(rf"\A{atom}\z", character)


@functools.lru_cache(maxsize=4096)
def _stands(atom: str, beside: str, before: bool, behind: bool) -> bool:
    """Whether a place is what an expression wants, between two characters, or where one of them is missing."""
    left, right = beside[:1] if before else "", beside[-1:] if behind else ""
    return patterns.matches(rf"\A(?s:.{{{len(left)}}}){atom}(?s:.{{{len(right)}}})\z", left + right)


# ---- programs --------------------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=256)
def _program(pattern: str) -> _Program:
    return _Reader(pattern).alternatives("")


class _Reader:
    """Reads what RE2 has found to be right."""

    def __init__(self, pattern: str) -> None:
        self._tokens = list(_TOKEN.finditer(pattern))[::-1]

    def alternatives(self, flags: str) -> _Program:
        """Up to the end, or to the parenthesis that closes."""
        program, flags = self._sequence(flags)
        if self._tokens and self._tokens.pop()["or"]:
            other = self.alternatives(flags)
            return (_Step("", then=(1, len(program) + 2)), *program, _Step("", then=(len(other) + 1,)), *other)
        return program

    def _sequence(self, flags: str) -> tuple[_Program, str]:
        program: _Program = ()
        while self._tokens and not (self._tokens[-1]["or"] or self._tokens[-1]["close"]):
            token = self._tokens.pop()
            if token["flags"]:
                flags = _changed(flags, token["flags"])
            else:
                program = _limited(program + self._repeated(token, flags))
        return program, flags

    def _repeated(self, token: re.Match[str], flags: str) -> _Program:
        one: _Program
        if opening := token["open"]:
            one = self.alternatives(_changed(flags, opening[2:-1]) if opening[1:2] == "?" and opening[-1] == ":" else flags)
        elif token["quoted"] is not None:
            quoted = tuple(_atom(re.escape(each), flags) for each in token["quoted"])
            return quoted[:-1] + self._counted(quoted[-1:], flags)
        else:
            one = (_atom(token[0], flags, place=bool(token["place"])),)
        return self._counted(one, flags)

    def _counted(self, one: _Program, flags: str) -> _Program:
        while self._tokens and (said := self._tokens[-1]["repeat"]):
            self._tokens.pop()
            lazy = (len(said) > 1 and said.endswith("?")) != ("U" in flags)
            least, _, most = {"*": "0,", "+": "1,", "?": "0,1"}.get(said[0], said.strip("{}?")).partition(",")
            bound = most or ("" if "," in said or said[0] in "*+" else least)
            one = _limited(one * int(least) + _optional(one, int(bound) - int(least) if bound else -1, lazy))
        return one


def _optional(one: _Program, times: int, lazy: bool) -> _Program:
    """Up to so many times; -1: as often as there is one."""
    if times < 0:
        return (_fork(len(one) + 2, lazy), *one, _Step("", then=(-len(one) - 1,)))
    return _limited((_fork(len(one) + 1, lazy), *one) * times)


def _fork(beyond: int, lazy: bool) -> _Step:
    return _Step("", then=(beyond, 1) if lazy else (1, beyond))


def _limited(program: _Program) -> _Program:
    if len(program) > _LONGEST:
        raise patterns.Malformed("error parsing regexp: expression is too large to find parts with")
    return program


def _changed(flags: str, said: str) -> str:
    on, _, off = said.partition("-")
    return "".join(sorted(set(flags) - set(off) | set(on)))


def _atom(text: str, flags: str, *, place: bool = False) -> _Step:
    own = "".join(flag for flag in flags if flag != "U")
    return _Step(f"(?{own}:{text})" if own else f"(?:{text})", place)
