"""Recordings on disk: blocks of entries, compressed, that can be read up to where a file ends.

    file  = "moorage recording", format, newline, block*
    block = head, body
    head  = kind, bytes of the body, entries, milliseconds, CRC-32 of the body, CRC-32 of all these
    body  = lines of JSON, a piece of one zstandard stream for each key frame and what follows it

The first block is the header, then comes a key frame. Blocks are flushed, so that whatever is on
disk can be read, and heads have a sum of their own, so that a reader that looks for a moment goes
from head to head.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterable, Iterator
from typing import BinaryIO, Final, NamedTuple

import zstandard

FORMAT: Final = 2
"""Grows with what a reader of the one before could not read; those before it are read. 2: profiles
that hold their pods.
"""
FIRST_LINE: Final = b"moorage recording %d\n" % FORMAT
HEADER, KEY_FRAME, CHANGES = range(3)
_LEVEL: Final = 1
"""What repeats most is the entry before: more effort finds little more."""
_FACTS: Final = struct.Struct("<BIIQI")
_SUM: Final = struct.Struct("<I")
MAX_MILLISECONDS: Final = 253_402_214_400_000
"""The last day of the year 9999: later times cannot be shown."""
_HEAD_BYTES: Final = _FACTS.size + _SUM.size
MOST_CONTENT: Final = 2**30
"""Bytes that a block may hold: a key frame of a million pods has as many."""
_FREE_CONTENT, _MOST_RATIO = 2**26, 2000
"""Less than the first is always read; of more a block has so many times what it is on disk at most:
the most repetitive entries come to 500, what only means to fill a memory to 32,000.
"""
_STEP: Final = 1024
"""Bytes that are decompressed at a time: they hold 32 MiB at most."""


class UnreadableRecording(ValueError):
    """A file is no recording, or one that this version cannot read; says why and what to do."""


class TornRecording(ValueError):
    """A file cannot be read further; where, and why."""

    def __init__(self, offset: int, why: str) -> None:
        super().__init__(f"byte {offset}: {why}")
        self.offset = offset
        self.why = why


class BlockHead(NamedTuple):
    """What stands before a block. ``milliseconds`` since 1970, when it was begun."""

    kind: int
    entries: int
    milliseconds: int
    length: int
    checksum: int
    offset: int
    """Where it begins."""


class BlockWriter:
    """Writes blocks to a binary file. Not for several threads at a time; raises OSError."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._stream = _new_stream()
        self.size = 0
        """Bytes."""

    def compress(self, kind: int, pieces: Iterable[bytes]) -> bytes:
        """The body of the next block; a key frame begins a new stream. The interpreter is let go
        after each piece.
        """
        if kind != CHANGES:
            self._stream = _new_stream()
        body = b"".join(map(self._stream.compress, pieces))
        return body + self._stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)

    def write(self, kind: int, entries: int, milliseconds: int, body: bytes) -> None:
        """Append a block whose body is the last one that ``compress`` gave."""
        facts = _FACTS.pack(kind, len(body), entries, milliseconds, zlib.crc32(body))
        block = facts + _SUM.pack(zlib.crc32(facts)) + body
        written = block if self.size else FIRST_LINE + block
        self._file.write(written)
        self._file.flush()
        self.size += len(written)

    def close(self) -> None:
        """Nothing more is written."""
        self._file.close()


def _new_stream() -> zstandard.ZstdCompressionObj:
    return zstandard.ZstdCompressor(_LEVEL).compressobj()


def read_heads(file: BinaryIO) -> tuple[list[BlockHead], TornRecording | None]:
    """Where the blocks of a file are, and why there are no more of them; None at its end. Raises
    UnreadableRecording.
    """
    _check_format(file.readline(64))
    size = file.seek(0, 2)
    offset, heads = len(FIRST_LINE), list[BlockHead]()
    while offset < size:
        file.seek(offset)
        whole = file.read(_HEAD_BYTES)
        if len(whole) < _HEAD_BYTES:
            return heads, TornRecording(offset, "the file ends within a block's head")
        facts, checksum = whole[: _FACTS.size], _SUM.unpack_from(whole, _FACTS.size)[0]
        if zlib.crc32(facts) != checksum:
            return heads, TornRecording(offset, "the sum of a block's head is wrong")
        kind, length, entries, milliseconds, body_sum = _FACTS.unpack(facts)
        if milliseconds > MAX_MILLISECONDS:
            return heads, TornRecording(offset, "the time of a block is after the year 9999")
        end = offset + _HEAD_BYTES + length
        if end > size:
            return heads, TornRecording(offset, "the file ends within a block")
        heads.append(BlockHead(kind, entries, milliseconds, length, body_sum, offset))
        offset = end
    return heads, None


def read_contents(file: BinaryIO, heads: Iterable[BlockHead]) -> Iterator[tuple[BlockHead, bytes]]:
    """What is in these blocks, of which the first is no CHANGES. Raises TornRecording."""
    stream = zstandard.ZstdDecompressor().decompressobj()
    for head in heads:
        if head.kind != CHANGES:
            stream = zstandard.ZstdDecompressor().decompressobj()
        file.seek(head.offset + _HEAD_BYTES)
        body = file.read(head.length)
        if zlib.crc32(body) != head.checksum:
            raise TornRecording(head.offset, "a block's sum is wrong")
        try:
            content = _decompressed(stream, body)
        except (zstandard.ZstdError, ValueError) as error:
            raise TornRecording(head.offset, f"a block cannot be decompressed: {error}") from error
        yield head, content


def _decompressed(stream: zstandard.ZstdDecompressionObj, body: bytes) -> bytes:
    """What a few bytes may hold has an end, as who made them is not known. Raises ValueError and
    ZstdError.
    """
    most = min(MOST_CONTENT, max(_FREE_CONTENT, _MOST_RATIO * len(body)))
    pieces, size = list[bytes](), 0
    for start in range(0, len(body), _STEP):
        pieces.append(stream.decompress(body[start : start + _STEP]))
        size += len(pieces[-1])
        if size > most:
            raise ValueError(f"its {len(body):,} bytes hold more than {most:,}")
    return b"".join(pieces)


def _check_format(line: bytes) -> None:
    found = re.fullmatch(rb"moorage recording ([0-9]{1,9})\n", line)
    if found is None:
        raise UnreadableRecording("this is no recording of moorage, or its first bytes are damaged")
    if not 1 <= (version := int(found[1])) <= FORMAT:
        newer = "a newer moorage" if version > FORMAT else "an older moorage"
        raise UnreadableRecording(
            f"this recording has format {version}, and this moorage reads formats 1 to {FORMAT}: "
            f"open it with {newer}"
        )
