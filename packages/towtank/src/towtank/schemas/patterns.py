"""Regular expressions as the API server reads them: RE2's, by the CEL library, in a time that is linear in the text.

Python's own can take for ever over a pattern and a text that anybody may send.
"""

from __future__ import annotations

import functools
import re
from typing import Final

from cel_expr_python import cel

_SAID: Final = tuple(
    (re.compile(pattern, re.DOTALL), replacement)
    for pattern, replacement in (
        (r"missing (.): (.*)", r"missing closing \1: `\2`"),
        (r"invalid perl operator: (.*)", r"invalid or unsupported Perl syntax: `\1`"),
        (r"invalid repetition size: (.*)", r"invalid repeat count: `\1`"),
        (r"no argument for repetition operator: (.*)", r"missing argument to repetition operator: `\1`"),
        (r"bad repetition operator: (.*)", r"invalid nested repetition operator: `\1`"),
        (r"trailing \\", r"trailing backslash at end of expression: ``"),
        (r"(.*?): (.*)", r"\1: `\2`"),
    )
)
"""RE2's complaints in C++, and in Go."""


class Malformed(ValueError):
    """This is no regular expression; the text is Go's."""


def matches(pattern: str, text: str) -> bool:
    """Whether a part of the text matches. Raises Malformed."""
    try:
        found = _asked().eval(data={"text": text, "pattern": pattern})
    except TypeError as error:  # half a surrogate pair is no text
        raise Malformed("error parsing regexp: invalid UTF-8") from error
    if found.type() == cel.Type.ERROR:
        raise Malformed(said(str(found.value())))
    return bool(found.value())


def said(complaint: str) -> str:
    """A complaint of the library about a pattern, in Go's words."""
    what = complaint.rpartition("invalid regular expression: ")[2]
    return "error parsing regexp: " + next((found.expand(go) for own, go in _SAID if (found := own.fullmatch(what))), what)


@functools.cache
def _asked() -> cel.Expression:
    variables = {"text": cel.Type.STRING, "pattern": cel.Type.STRING}
    return cel.NewEnv(variables=variables).compile("text.matches(pattern)")
