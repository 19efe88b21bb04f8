"""Qualified names: the syntax of label keys, resource names and the like: ``name`` or ``prefix.example.com/name``.

Source: Kubernetes apimachinery ``IsQualifiedName`` (v1.36), whose messages administrators and tools know.
"""

from __future__ import annotations

import re

_NAME = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_WHOLE = re.compile(rf"({_SUBDOMAIN.pattern}/)?{_NAME.pattern}")
_SURE = 63
"""Characters of a name with its prefix that are not too many for either."""
_NAME_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    f"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_NAME.pattern}')"
)
_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with "
    f"an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN.pattern}')"
)


def problems(text: str) -> list[str]:
    """What is wrong with a qualified name; empty when nothing is."""
    if text.count("/") > 1:
        return [f"a valid label key {_NAME_RULE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"]
    prefix, slash, name = text.rpartition("/")
    found = _problems_of("name part ", name, 63, _NAME, _NAME_RULE)
    if not slash:
        return found
    if not prefix:
        return ["prefix part must be non-empty", *found]
    return _problems_of("prefix part ", prefix, 253, _SUBDOMAIN, _SUBDOMAIN_RULE) + found


def is_qualified(text: str) -> bool:
    """Whether this is a qualified name."""
    return (len(text) <= _SURE and _WHOLE.fullmatch(text) is not None) or not problems(text)


def _problems_of(part: str, text: str, longest: int, form: re.Pattern[str], rule: str) -> list[str]:
    found = []
    if len(text.encode()) > longest:
        found.append(f"{part}must be no more than {longest} bytes")
    elif not text:
        found.append(f"{part}must be non-empty")
    return found if form.fullmatch(text) else [*found, f"{part}{rule}"]
