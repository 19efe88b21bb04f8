"""JSON depth: how to read what is nested deeper than Python's own parsers go. The API server takes
10,000 levels.
"""

from __future__ import annotations

import json
import re

PARSED = 256
"""Levels that are read of any object; what is deeper is left out."""
_MARGIN = 100
"""Levels that a parser may have less where it is called than here."""
_TOKENS = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[{}\[\]]', re.DOTALL)
"""A text without an end reaches to the end; nothing is tried twice, so this is linear whatever is
read.
"""


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
