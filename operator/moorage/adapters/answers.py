"""Answers: a body that others wrote, read as what it should be."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from moorage.ports.errors import Retryable
from moorage.ports.http_calls import HttpCall, HttpSession

DECODE_ERRORS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What decoding raises: for what is no such JSON, for text that is not UTF-8, for what is nested
too deeply.
"""

MAX_LINE_BYTES = 2**25
"""Bytes of one line of a watch. An object has 1.5 MiB as the API server keeps it, and as JSON at
most six times that.
"""

T = TypeVar("T")


class LineTooLong(Exception):
    """A line does not come to its end."""


class LineSplitter:
    """Cuts chunks into lines; the start of an unfinished line is kept in pieces, so that a giant
    one is joined once.
    """

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._length = 0

    def split(self, chunk: bytes) -> list[bytes]:
        """The lines that this chunk completes. Raises LineTooLong."""
        if b"\n" not in chunk:
            self._keep(chunk)
            return []
        first, *lines = chunk.split(b"\n")
        lines.insert(0, self.rest() + first)
        self._keep(lines.pop())
        return [line for line in lines if line]

    def rest(self) -> bytes:
        """What is unfinished, which is kept no longer."""
        pieces, self._pieces, self._length = self._pieces, [], 0
        return b"".join(pieces)

    def _keep(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._length += len(piece)
        if self._length > MAX_LINE_BYTES:
            raise LineTooLong(f"a line is longer than {MAX_LINE_BYTES} bytes")


class _Metadata(msgspec.Struct, rename="camel"):
    name: str
    namespace: str = ""
    annotations: dict[str, str] | None = None
    labels: dict[str, str] | None = None


class _Object(msgspec.Struct):
    """What objects of all kinds have."""

    metadata: _Metadata
    spec: dict[str, Any] | None = None
    status: dict[str, Any] | None = None


class ListAnswer(msgspec.Struct, frozen=True):
    """A list, its items as data; Go writes an empty one as null."""

    items: tuple[dict[str, Any], ...] | None = None
    metadata: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        """Raises ValueError for an item that is no object of Kubernetes."""
        for i, item in enumerate(self.items or ()):
            _check(item, f"items[{i}]: ")


def _check(item: dict[str, Any], where: str = "") -> None:
    try:
        msgspec.convert(item, _Object)
    except msgspec.ValidationError as error:
        raise ValueError(f"{where}{error}") from error


async def object_at(session: HttpSession, call: HttpCall) -> dict[str, Any]:
    """The object that answers. Raises EdgeError; what is none is Retryable: a proxy on the way may
    have something else to say for a while.
    """
    request = f"{call.method} {call.path}"
    found = decoded(request, await session.call(call), dict[str, Any])
    try:
        _check(found)
    except ValueError as error:
        raise Retryable(f"{request}: the answer cannot be read: {error}") from error
    return found


async def list_at(session: HttpSession, call: HttpCall) -> ListAnswer:
    """The same of a list."""
    return decoded(f"{call.method} {call.path}", await session.call(call), ListAnswer)


def decoded(request: str, body: bytes, kind: type[T], *, outcome_unknown: bool = False) -> T:
    """The body as this kind; an answer that is none is asked for again later. Raises Retryable,
    without the body: it may hold secrets.
    """
    try:
        return msgspec.json.decode(body, type=kind)
    except DECODE_ERRORS as error:
        raise Retryable(
            f"{request}: the answer cannot be read: {error}", outcome_unknown=outcome_unknown
        ) from error
