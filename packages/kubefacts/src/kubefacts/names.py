"""What Kubernetes lets things be called. Each function returns what is wrong with a text, in its
words; nothing when nothing is.

Source: Kubernetes apimachinery ``IsQualifiedName``, ``IsDNS1123Subdomain`` and others (v1.36),
whose messages administrators know.
"""

from __future__ import annotations

import re

_NAME = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(rf"{_LABEL.pattern}(\.{_LABEL.pattern})*")
_VALUE = re.compile(rf"({_NAME.pattern})?")
_WHOLE = re.compile(rf"({_SUBDOMAIN.pattern}/)?{_NAME.pattern}")
_MAX_LABEL, _MAX_SUBDOMAIN = 63, 253
_CHARACTERS = (
    "consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character"
)
_NAME_RULE = (
    f"must {_CHARACTERS} (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation "
    f"is '{_NAME.pattern}')"
)
_VALUE_RULE = (
    f"a valid label must be an empty string or {_CHARACTERS} (e.g. 'MyValue',  or 'my_value',  "
    f"or '12345', "
    f"regex used for validation is '{_VALUE.pattern}')"
)
_LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric "
    f"character (e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL.pattern}')"
)
_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with "
    f"an alphanumeric character (e.g. 'example.com', regex used for validation is "
    f"'{_SUBDOMAIN.pattern}')"
)


def qualified_name(text: str) -> list[str]:
    """A label's key, a taint's, a resource's: ``name`` or ``prefix.example.com/name``."""
    if text.count("/") > 1:
        return [
            (
                f"a valid label key {_NAME_RULE} with an optional DNS subdomain prefix and '/' "
                f"(e.g. 'example.com/MyName')"
            )
        ]
    prefix, slash, name = text.rpartition("/")
    found = _part("name part ", name, _MAX_LABEL, _NAME, _NAME_RULE)
    if not slash:
        return found
    if not prefix:
        return ["prefix part must be non-empty", *found]
    return _part("prefix part ", prefix, _MAX_SUBDOMAIN, _SUBDOMAIN, _SUBDOMAIN_RULE) + found


def is_qualified(text: str) -> bool:
    """Whether this is a qualified name."""
    return (len(text) <= _MAX_LABEL and _WHOLE.fullmatch(text) is not None) or not qualified_name(
        text
    )


def label_value(text: str) -> list[str]:
    """A label's value, which may be empty."""
    too_long = (
        [f"must be no more than {_MAX_LABEL} bytes"]
        if len(text.encode(errors="surrogatepass")) > _MAX_LABEL
        else []
    )
    return too_long if _VALUE.fullmatch(text) else [*too_long, _VALUE_RULE]


def dns_label(text: str) -> list[str]:
    """The name of a namespace, a service, a container."""
    if "." in text:
        return ["must not contain dots"]
    return _dns(text, _MAX_LABEL, _LABEL, _LABEL_RULE)


def dns_subdomain(text: str) -> list[str]:
    """The name of most objects."""
    return _dns(text, _MAX_SUBDOMAIN, _SUBDOMAIN, _SUBDOMAIN_RULE)


def path_segment(text: str) -> list[str]:
    """What may stand in a path: the name of a role."""
    if text in {".", ".."}:
        return [f"may not be '{text}'"]
    return [f"may not contain '{character}'" for character in "/%" if character in text]


def _part(part: str, text: str, longest: int, form: re.Pattern[str], rule: str) -> list[str]:
    found = []
    if len(text.encode(errors="surrogatepass")) > longest:
        found.append(f"{part}must be no more than {longest} bytes")
    elif not text:
        found.append(f"{part}must be non-empty")
    return found if form.fullmatch(text) else [*found, f"{part}{rule}"]


def _dns(text: str, longest: int, form: re.Pattern[str], rule: str) -> list[str]:
    found = [f"must be no more than {longest} characters"] if len(text) > longest else []
    return found if form.fullmatch(text) else [*found, rule]
