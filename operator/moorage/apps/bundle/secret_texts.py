"""Credentials in texts, by what stands before them: logs and messages quote anything."""

from __future__ import annotations

import re
from typing import Final

LEFT_OUT: Final = "(left out)"
_WORDS: Final = (
    r"(?:token|secret|passw|passphrase|pwd|credential|(?:api|access)[-_ ]?key|"
    r"(?:key|cert|ca)[-_]?data|private)"
)
_HEADERS: Final = r"(?:authorization|cookie)"
SECRET_NAME: Final = re.compile(f"{_WORDS}|{_HEADERS}", re.IGNORECASE)
"""In the name of what is secret."""
SECRET_FLAG: Final = re.compile(rf"--?(?=[\w.-]*{_WORDS})[\w.-]+", re.IGNORECASE)
"""An argument after which comes a secret."""

# A quote may be escaped, as often as the text that it is in was quoted.
_QUOTE: Final = r"(?:\\*[\"'])?"
_IS: Final = rf"{_QUOTE}[ \t]*(?:=>|:=|[=:])[ \t]*"
_NEXT: Final = rf"{_QUOTE}(?:[ \t]*,)?[ \t]*"
_INSIDE: Final = r"(?:(?!(?<!\\)(?P=quote))[\s\S])"
_QUOTED: Final = rf"(?P<quote>\\*[\"'])(?:{_INSIDE}{{0,1000}}(?P=quote)|[^\n]*)"
"""To the quote that ends it, be that some lines below, or to the end of the line."""
_BELOW: Final = r"(?:[|>][-+\d]*)?[ \t]*(?:\n[ \t]+[^\n]+)+"
"""The lines that belong to a key of YAML."""
_REST: Final = r"[\w.-]{0,64}"
"""Of a name; short, as each place in a long text may begin one."""


def _after(before: str, bare: str = r"[^\s&]+", behind: str = "") -> re.Pattern[str]:
    """Group 1, which stays, and what is quoted after it or looks like ``bare``, where ``behind``
    follows.
    """
    return re.compile(rf"({before})(?:{_QUOTED}|{bare}){behind}", re.IGNORECASE)


_PATTERNS: Final = (
    re.compile(r"-----BEGIN [A-Z0-9 ]*-----(?:[\s\S]*?-----END [A-Z0-9 ]*-----|[\w+/=\\\s]*)"),
    re.compile(r"\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*"),
    re.compile(r"(?<=://)[^/\s\"']+(?=@)"),
    re.compile(r"([?&](?:[\w.-]{0,64}?)(?:key|sig)[\w.-]{0,64}=)[^&\s\"']+", re.IGNORECASE),
    re.compile(r"\b((?:bearer|basic)[ \t]+)[\w.~+/=-]{8,}", re.IGNORECASE),
    _after(rf"{_HEADERS}{_REST}{_IS}", r"[^\n]+"),
    _after(rf"{_WORDS}{_REST}{_QUOTE}:[ \t]*", _BELOW),
    _after(rf"{_WORDS}{_REST}{_IS}"),
    _after(rf"(?<![\w-])--?(?=[\w.-]{{0,64}}{_WORDS})[\w.-]{{1,64}}(?:[\"',]|[ \t]){_NEXT}"),
    _after(rf"{_WORDS}{_REST}{_NEXT}{_QUOTE}value{_IS}"),
    _after(
        rf"value{_IS}", r"[^\s&,]+", rf"(?={_NEXT}{_QUOTE}name{_IS}{_QUOTE}[\w.-]{{0,64}}?{_WORDS})"
    ),
)
"""PEM, a JWT, who calls an address, a key in its query, a header, and what has a name: below it,
after ``=`` or ``:``, after a flag, and as the value of a ``{name, value}``, in both orders.
"""


def without_secrets(text: str) -> str:
    """The text; rather too little of it than too much."""
    for pattern in _PATTERNS:
        text = pattern.sub(rf"\g<1>{LEFT_OUT}" if pattern.groups else LEFT_OUT, text)
    return text
