"""The formats of texts that a schema may ask for. The API server knows a few more, and ignores what
it does not know.

Source: the package strfmt of kube-openapi.
"""

from __future__ import annotations

import base64
import datetime
import ipaddress
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

_LABEL: Final = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_UNIT: Final = (
    r"(?:ns|us|µs|ms|s|m|h|d|w|nanos?(?:econds?)?|micros?(?:econds?)?|millis?(?:econds?)?|"
    r"sec(?:ond)?s?|min(?:ute)?s?|hours?|days?|weeks?)"
)

_PATTERNS: Final[Mapping[str, str]] = {
    "date": r"\d{4}-\d\d-\d\d",
    "date-time": r"(?i)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)",
    "cidr": r"[^/]+/\d{1,3}",
    "uuid": r"(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}",
    "email": r"[^\s@<>]+@[^\s@<>]+",
    "hostname": rf"{_LABEL}|(?:{_LABEL}\.)+[a-zA-Z]{{2,63}}",
    "uri": r"(?:/|[a-zA-Z][a-zA-Z0-9+.-]*:)\S*",
    "duration": rf"[+-]?(?:0|(?:[0-9]+(?:\.[0-9]*)?\s*{_UNIT}\s*)+)",
    "mac": r"(?i)(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}|(?:[0-9a-f]{4}\.){2}[0-9a-f]{4}",
    "byte": r"(?s).+",
}
_READERS: Final[Mapping[str, Callable[[str], Any]]] = {
    "date": datetime.date.fromisoformat,
    "date-time": lambda text: datetime.date.fromisoformat(text[:10]),
    "byte": lambda text: base64.b64decode(text, validate=True),
    "ipv4": ipaddress.IPv4Address,
    "ipv6": ipaddress.IPv6Address,
    "cidr": lambda text: ipaddress.ip_network(text, strict=False),
}
KNOWN: Final = frozenset({*_PATTERNS, *_READERS, "int32", "int64", "float", "double"})
"""Those that are checked here, and those of numbers."""


def fits(text: str, form: str) -> bool:
    """Whether a text is of this format."""
    if (pattern := _PATTERNS.get(form)) and not re.fullmatch(pattern, text):
        return False
    if (reader := _READERS.get(form)) is not None:
        try:
            reader(text)
        except ValueError:  # binascii.Error is one
            return False
    return True
