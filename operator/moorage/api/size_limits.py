"""Size limits: how deep and how large what people write may be, and how to read what is deeper than
Python's own parsers go.

The API server takes 10,000 levels and 1.5 MB. What nobody would write by hand is refused by name,
before anything looks into it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

MAX_DEPTH = 64
"""Levels of a spec."""
MAX_VALUES = 1_000
"""Values of a field of a spec, at all levels together: the arguments of a plugin have a few hundred
at most.
"""
MOST_BYTES = 32 * 1024
"""Of a whole spec's JSON: thousands of objects must find room in memory, with what is made of
them.
"""
PARSED = 256
"""Levels that are read of any object; what is deeper is left out."""
_MARGIN = 100
"""Levels that a parser may have less where it is called than here."""
_TOKENS = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[{}\[\]]', re.DOTALL)
"""A text without an end reaches to the end; nothing is tried twice, so this is linear whatever is
read.
"""


def excess(value: object) -> str:
    """What is too much of a value, "" for nothing."""
    count, depth, level = 0, 0, [value]
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            return f"is nested deeper than {MAX_DEPTH} levels"
        below: list[object] = []
        for item in level:
            below += (
                item.values()
                if isinstance(item, Mapping)
                else item
                if isinstance(item, (list, tuple))
                else ()
            )
        count += len(below)
        if count > MAX_VALUES:
            return f"holds more than {MAX_VALUES} values"
        level = below
    return ""


def parseable(text: bytes) -> bytes:
    """The JSON, less what is nested too deep for parsers if anything is; what is no JSON stays as
    it is.
    """
    try:
        json.loads(b"[" * _MARGIN + text + b"]" * _MARGIN)
    except RecursionError:
        return shallow(text)
    except ValueError:
        return text
    return text


def shallow(text: bytes) -> bytes:
    """The JSON with null for whatever is nested deeper than ``PARSED`` levels; less all after that
    where it does not come to its end.
    """
    pieces, depth, start = [], 0, 0
    for token in _TOKENS.finditer(text):
        at = token.start()
        if text[at] in b"{[":
            depth += 1
            if depth == PARSED + 1:
                pieces.append(text[start:at])
        elif text[at] in b"}]":
            if depth == PARSED + 1:
                pieces.append(b"null")
                start = token.end()
            depth -= 1
    return b"".join((*pieces, text[start:] if depth <= PARSED else b""))
