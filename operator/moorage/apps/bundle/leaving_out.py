"""What is left out of a bundle: fields that may hold anything, credentials wherever they stand, and
names where they are to be hashed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping
from typing import Any, Final

LEFT_OUT: Final = "(left out)"
_FIELDS: Final = frozenset(
    ("annotations", "managedFields", "env", "envFrom", "command", "image", "images", "data")
)
"""Of objects; ``data`` is that of Secrets and ConfigMaps, should one be in an object."""
_SECRET_FIELD: Final = re.compile(
    r"token|secret|passw|credential|api-?_?key|authorization|keydata|certdata|cadata|private",
    re.IGNORECASE,
)
_IN_TEXTS: Final = tuple(
    re.compile(pattern, flags)
    for pattern, flags in (
        (r"(?<=://)[^/\s\"'@]+(?=@)", 0),
        (r"(?<=[?&])([\w.-]*(?:token|key|secret|passw|sig)[\w.-]*=)[^&\s\"']+", re.IGNORECASE),
        (r"([\w.-]*(?:token|secret|passw|api-?_?key)[\w.-]*[=:] ?)[^\s&\"',;}]+", re.IGNORECASE),
        (r"\b(bearer\s+|basic\s+)[\w.~+/=-]{8,}", re.IGNORECASE),
        (r"\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*", 0),
        (r"-----BEGIN [A-Z ]*-----[\s\S]*?-----END [A-Z ]*-----", 0),
    )
)
"""User and password of an address, a secret in its query, one with a name, a header, a JWT, PEM."""
_SHORTEST: Final = 6
"""A secret that is looked for in texts has so many characters: shorter ones are words."""
_NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?")
_NO_SECRET: Final = frozenset(("default", "kube-system", "kube-public", "kube-node-lease"))


class LeavingOut:
    """Cleans the parts of one bundle. What it met as the value of a secret field it takes out of
    all texts, too: messages quote values.
    """

    def __init__(self) -> None:
        self._secrets: set[str] = set()

    def clean(self, value: Any) -> Any:
        """An object, or part of one, without what is left out."""
        if isinstance(value, Mapping):
            return {
                name: self._hidden(one) if _SECRET_FIELD.search(str(name)) else self.clean(one)
                for name, one in value.items()
                if name not in _FIELDS
            }
        if isinstance(value, list | tuple):
            return [self.clean(one) for one in value]
        return value

    def clean_text(self, text: str) -> str:
        """A text; the objects that it may quote were cleaned before."""
        for pattern in _IN_TEXTS:
            text = pattern.sub(rf"\g<1>{LEFT_OUT}" if pattern.groups else LEFT_OUT, text)
        for secret in sorted(self._secrets, key=len, reverse=True):
            text = text.replace(secret, LEFT_OUT)
        return text

    def _hidden(self, value: Any) -> Any:
        """In its place; true and false say nothing."""
        if isinstance(value, Mapping):
            return {name: self._hidden(one) for name, one in value.items()}
        if isinstance(value, list | tuple):
            return [self._hidden(one) for one in value]
        if isinstance(value, bool) or value in (None, ""):
            return value
        if len(text := str(value)) >= _SHORTEST:
            self._secrets.add(text)
        return LEFT_OUT


def hashed(text: str, names: Collection[str], salt: bytes) -> str:
    """The text with a hash for each of these names, the same one for the same name and salt."""

    def of(found: re.Match[str]) -> str:
        name = found[0]
        if name not in names or name in _NO_SECRET:
            return name
        return f"x{hashlib.sha256(salt + name.encode()).hexdigest()[:12]}"

    return _NAME.sub(of, text)
