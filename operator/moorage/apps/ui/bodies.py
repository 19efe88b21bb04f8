"""What is sent: bytes with their type, a tag by which a browser knows them again, and the same
compressed, made when first asked for.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable, Mapping
from typing import Final

import zstandard

SMALL: Final = 1_400
"""Bytes that go in one packet anyway."""
ENCODINGS: Final[Mapping[str, Callable[[bytes], bytes]]] = {
    "zstd": lambda data: zstandard.ZstdCompressor(level=6).compress(data),
    "gzip": lambda data: gzip.compress(data, compresslevel=6, mtime=0),
}
"""The better first."""
_COMPRESSED: Final = ("image/png", "font/woff2", "image/x-icon")


class Body:
    """The body of an answer."""

    def __init__(self, data: bytes, content_type: str) -> None:
        self.data = data
        self.content_type = content_type
        self.tag = hashlib.blake2b(data, digest_size=12).hexdigest()
        self._encoded: dict[str, bytes] = {}

    def encoding(self, accepted: str) -> str:
        """The best encoding that an Accept-Encoding of this text allows; "" for none."""
        if len(self.data) <= SMALL or self.content_type in _COMPRESSED:
            return ""
        wanted = {name for name, quality in map(_accepted, accepted.split(",")) if quality}
        return next((name for name in ENCODINGS if name in wanted), "")

    def encoded(self, encoding: str) -> bytes:
        """The bytes in an encoding, "" for none. Takes milliseconds the first time."""
        if not encoding:
            return self.data
        if encoding not in self._encoded:
            self._encoded[encoding] = ENCODINGS[encoding](self.data)
        return self._encoded[encoding]


def _accepted(part: str) -> tuple[str, bool]:
    """An encoding, and whether it may be used."""
    name, _, quality = part.partition(";")
    refused = quality.replace(" ", "").removeprefix("q=") in ("0", "0.0", "0.00", "0.000")
    return name.strip().lower(), not refused
