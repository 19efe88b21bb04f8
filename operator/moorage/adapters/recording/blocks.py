"""Recordings on disk: blocks of entries, compressed, that can be read up to where a file ends.

    file    = MAGIC, block*
    block   = head (kind, length, entries, milliseconds, CRC-32 of these and the body), body
    body    = a piece of one zstandard stream for each key frame and the blocks after it

Blocks are flushed, so whatever is on disk can be read. The first block is the header, then comes a
key frame. A reader that looks for a moment goes from head to head.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import BinaryIO, Final, NamedTuple

import zstandard

MAGIC: Final = b"moorage recording\n"
HEADER, KEY_FRAME, CHANGES = range(3)
_HEAD: Final = struct.Struct("<BIIQ")
_CHECKSUM: Final = struct.Struct("<I")
_HEAD_BYTES: Final = _HEAD.size + _CHECKSUM.size
_LEVEL: Final = 3


class Block(NamedTuple):
    """Some entries as bytes. ``milliseconds`` since 1970, when they were handed over."""

    kind: int
    entries: int
    milliseconds: int
    content: bytes


class TornRecording(ValueError):
    """A file cannot be read further; where, and why."""

    def __init__(self, offset: int, why: str) -> None:
        super().__init__(f"byte {offset}: {why}")
        self.offset = offset


class BlockWriter:
    """Writes blocks to a binary file. Not for several threads at a time; raises OSError."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._stream = zstandard.ZstdCompressor(_LEVEL).compressobj()
        file.write(MAGIC)

    def write(self, block: Block) -> int:
        """Append it; how many bytes that took. A key frame begins a new stream."""
        if block.kind != CHANGES:
            self._stream = zstandard.ZstdCompressor(_LEVEL).compressobj()
        body = self._stream.compress(block.content)
        body += self._stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
        head = _HEAD.pack(block.kind, len(body), block.entries, block.milliseconds)
        whole = head + _CHECKSUM.pack(zlib.crc32(body, zlib.crc32(head))) + body
        self._file.write(whole)
        self._file.flush()
        return len(whole)


class _Head(NamedTuple):
    kind: int
    length: int
    entries: int
    milliseconds: int
    offset: int


class BlockReader:
    """Reads a file that ``BlockWriter`` wrote. Raises TornRecording where that is not one."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        if file.read(len(MAGIC)) != MAGIC:
            raise TornRecording(0, "this is no recording of moorage")

    def blocks(self, until: int | None = None) -> Iterator[Block]:
        """The header, and all blocks from the last key frame that is not after ``until``
        (milliseconds; None: from the first). Raises TornRecording where the file cannot be read
        further.
        """
        heads, torn = self._heads()
        start = max(
            (
                i
                for i, head in enumerate(heads)
                if head.kind == KEY_FRAME and until is not None and head.milliseconds <= until
            ),
            default=1,
        )
        stream = zstandard.ZstdDecompressor().decompressobj()
        for head in (*heads[:1], *heads[start:]):
            if head.kind != CHANGES:
                stream = zstandard.ZstdDecompressor().decompressobj()
            content = stream.decompress(self._body(head))
            yield Block(head.kind, head.entries, head.milliseconds, content)
        if torn is not None:
            raise torn

    def _body(self, head: _Head) -> bytes:
        self._file.seek(head.offset)
        whole = self._file.read(_HEAD_BYTES + head.length)
        body = whole[_HEAD_BYTES:]
        (checksum,) = _CHECKSUM.unpack_from(whole, _HEAD.size)
        if zlib.crc32(body, zlib.crc32(whole[: _HEAD.size])) != checksum:
            raise TornRecording(head.offset, "the block's sum is wrong")
        return body

    def _heads(self) -> tuple[list[_Head], TornRecording | None]:
        """Where blocks are, and why there are no more of them; None at the end of the file."""
        size = self._file.seek(0, 2)
        offset, heads = len(MAGIC), list[_Head]()
        while offset < size:
            self._file.seek(offset)
            head = self._file.read(_HEAD.size)
            if len(head) < _HEAD.size:
                return heads, TornRecording(offset, "the file ends within a block's head")
            kind, length, entries, milliseconds = _HEAD.unpack(head)
            if kind > CHANGES:
                return heads, TornRecording(offset, "here should be a block's head")
            if offset + _HEAD_BYTES + length > size:
                return heads, TornRecording(offset, "the file ends within a block")
            heads.append(_Head(kind, length, entries, milliseconds, offset))
            offset += _HEAD_BYTES + length
        return heads, None
