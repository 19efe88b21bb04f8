"""Texts that others chose, as they may be shown on a terminal, in a line of a log or in an event;
and names of objects and label values that are made from them, where they may be too long.
"""

from __future__ import annotations

import hashlib

MAX_LABEL_CHARACTERS = 63
MAX_NAME_CHARACTERS = 253


def shortened(name: str, limit: int = MAX_LABEL_CHARACTERS) -> str:
    """``name``, or where it is longer than ``limit`` its beginning and a hash of the whole; valid
    wherever ``name`` is.
    """
    if len(name) <= limit:
        return name
    return f"{name[: limit - 11].rstrip('-._')}-{_digest(name)}"


def replica_lease(lease: str, identity: str) -> str:
    """The name of the Lease in which a replica of the installation with this leader's Lease says
    what it has ready.
    """
    return f"{shortened(lease, MAX_NAME_CHARACTERS - 11)}-{_digest(identity)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def printable(text: str) -> str:
    r"""The text with all that does not print, or changes how other text prints, as Python writes
    it: ``\n``, ``\x1b``, ``\u202e``.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def printable_lines(text: str, indent: str = "") -> str:
    """The same for a text of several lines; ``indent`` keeps those after the first from passing for
    something else.
    """
    return f"\n{indent}".join(map(printable, text.split("\n")))
