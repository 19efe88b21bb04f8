"""Regular expressions as the API server reads them: RE2's, in a time that is linear in the text.
The one door to the RE2 library.

Python's own can take for ever over a pattern and a text that anybody may send.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import re2

_WORDS: Final = tuple(
    (re.compile(pattern, re.DOTALL), replacement)
    for pattern, replacement in (
        (r"missing (.): (.*)", r"missing closing \1: `\2`"),
        (r"invalid perl operator: (.*)", r"invalid or unsupported Perl syntax: `\1`"),
        (r"invalid repetition size: (.*)", r"invalid repeat count: `\1`"),
        (
            r"no argument for repetition operator: (.*)",
            r"missing argument to repetition operator: `\1`",
        ),
        (r"bad repetition operator: (.*)", r"invalid nested repetition operator: `\1`"),
        (r"trailing \\", r"trailing backslash at end of expression: ``"),
        (r"(.*?): (.*)", r"\1: `\2`"),
    )
)
"""RE2's complaints in C++, and in Go."""
_OPTIONS: Final = re2.Options()
_OPTIONS.log_errors = False
_OPTIONS.never_capture = True  # groups of a large pattern would take all memory


class PatternError(ValueError):
    """This is no regular expression; the text is Go's."""


def matches(pattern: str, text: str) -> bool:
    """Whether a part of the text matches. Raises PatternError."""
    return next(_found(pattern, text), None) is not None


def spans(pattern: str, text: str) -> Iterator[tuple[int, int]]:
    """All matches, from left to right, as Go finds them: none that is empty at the end of another.
    Raises PatternError.
    """
    last = -1
    for match in _found(pattern, text):
        start, end = match.span()
        if end > start or start != last:
            yield start, end
        last = end


def _found(pattern: str, text: str) -> Iterator[Any]:
    try:
        yield from re2.finditer(pattern, text, _OPTIONS)
    except UnicodeEncodeError as error:  # half a surrogate pair is no text
        raise PatternError("error parsing regexp: invalid UTF-8") from error
    except re2.error as error:
        raise PatternError(
            f"error parsing regexp: {_in_go(error.args[0].decode(errors='replace'))}"
        ) from error


def _in_go(complaint: str) -> str:
    return next(
        (found.expand(go) for own, go in _WORDS if (found := own.fullmatch(complaint))), complaint
    )
