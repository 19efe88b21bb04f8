"""Texts that others chose, as they may be shown on a terminal, in a line of a log or in an
event.
"""

from __future__ import annotations


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
