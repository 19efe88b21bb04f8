"""Recordings on disk: what was written is read, up to where a file is whole."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.adapters.recording.blocks import (
    CHANGES,
    HEADER,
    KEY_FRAME,
    MAGIC,
    Block,
    BlockReader,
    BlockWriter,
    TornRecording,
)

BLOCKS = [
    Block(HEADER, 1, 0, b"header"),
    Block(KEY_FRAME, 2, 0, b"frame 0" * 50),
    Block(CHANGES, 3, 1000, b"some" * 20),
    Block(CHANGES, 1, 2000, b"more of some" * 20),
    Block(KEY_FRAME, 2, 3000, b"frame 3000"),
    Block(CHANGES, 1, 4000, b"the last"),
]


def written(blocks: list[Block]) -> bytes:
    file = io.BytesIO()
    writer = BlockWriter(file)
    for block in blocks:
        before = file.tell()
        assert writer.write(block) == file.tell() - before
    return file.getvalue()


def read(content: bytes, until: int | None = None) -> tuple[list[Block], str]:
    """What can be read, and why not more."""
    found = []
    try:
        for block in BlockReader(io.BytesIO(content)).blocks(until):
            found.append(block)  # noqa: PERF402 - kept when it raises
    except TornRecording as torn:
        return found, str(torn)
    return found, ""


def test_what_was_written_is_read() -> None:
    assert read(written(BLOCKS)) == (BLOCKS, "")


@pytest.mark.parametrize(("until", "first"), [(None, 1), (0, 1), (2999, 1), (3000, 4), (10**6, 4)])
def test_reading_begins_at_the_last_key_frame_before_a_moment(
    until: int | None, first: int
) -> None:
    """The header comes in any case."""
    assert read(written(BLOCKS), until) == (BLOCKS[:1] + BLOCKS[first:], "")


@given(st.data())
def test_a_file_that_ends_anywhere_is_read_up_to_there(data: st.DataObject) -> None:
    """Whole blocks alone, and it says where the file ends."""
    whole = written(BLOCKS)
    ends = [len(written(BLOCKS[:count])) for count in range(len(BLOCKS) + 1)]
    length = data.draw(st.integers(len(MAGIC), len(whole)))
    complete = sum(end <= length for end in ends) - 1
    blocks, why = read(whole[:length])
    assert blocks == BLOCKS[:complete]
    assert (why == "") == (length == ends[complete])
    assert why == "" or why.startswith(f"byte {ends[complete]}: ")


@given(st.data())
def test_a_byte_that_was_changed_is_found(data: st.DataObject) -> None:
    """What stands before it is read, nothing of it."""
    whole = bytearray(written(BLOCKS))
    place = data.draw(st.integers(0, len(whole) - 1))
    whole[place] ^= data.draw(st.integers(1, 255))
    blocks: list[Block] = []
    why = ""
    try:
        blocks, why = read(bytes(whole))
    except TornRecording as torn:
        why = str(torn)
    assert why
    assert blocks == BLOCKS[: len(blocks)]
