"""An HTTP/1.1 answer, and how it is taken apart."""

from __future__ import annotations

import dataclasses

CHUNKED = -1


@dataclasses.dataclass(frozen=True, slots=True)
class HttpResponse:
    """A whole answer; ``head`` is the raw status line and header lines in lower case."""

    status: int
    head: bytes
    body: bytes

    def header(self, name: bytes) -> str:
        """The value of a header (its name in lower case), "" when it is absent."""
        return header(self.head, name).decode("latin-1")


def header(head: bytes, name: bytes) -> bytes:
    """The value of a header (its name in lower case), b"" when it is absent."""
    start = head.find(b"\r\n" + name + b":")
    if start < 0:
        return b""
    start += len(name) + 3
    end = head.find(b"\r\n", start)
    return head[start : end if end >= 0 else len(head)].strip()


def body_length(head: bytes) -> int | None:
    """How long the body is by its head: CHUNKED, None up to the connection's end. Raises
    ValueError.
    """
    if head[9:12] in (b"204", b"304"):
        return 0
    if b"chunked" in header(head, b"transfer-encoding"):
        return CHUNKED
    digits = header(head, b"content-length")
    return number(digits, 10) if digits else None


def number(text: bytes, base: int) -> int:
    """Of digits only. Raises ValueError."""
    if not text.isalnum():
        raise ValueError(f"{text[:20]!r} is no number")
    return int(text, base)


def cut(buffer: bytearray, length: int) -> bytes:
    """So many bytes, taken off the front; copied once, however many they are."""
    with memoryview(buffer) as view:
        body = bytes(view[:length])
    del buffer[:length]
    return body
