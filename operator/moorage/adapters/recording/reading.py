"""Reading recordings: what happened, and when, from a moment on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from moorage.adapters.recording.blocks import (
    HEADER,
    KEY_FRAME,
    BlockHead,
    TornRecording,
    UnreadableRecording,
    read_contents,
    read_heads,
)
from moorage.adapters.recording.header import RecordingHeader
from moorage.api.operator_config import OperatorConfiguration
from moorage.api.resolution import Resolver
from moorage.core.columns.changes import Entry, Gap, Time
from moorage.core.framework.registry import Registry, build_registry
from moorage.core.framework.revisions import Revision
from moorage.core.plugins.intree import INTREE, PRESETS
from moorage.core.recording.wire import Document, EntryDecoder
from moorage.ports.stored_kinds import kinds_in

INTREE_REGISTRY: Final = build_registry(INTREE)


class Recording:
    """A file that was read as far as to know where its blocks are.

    Iterating gives ``(seconds since 1970, entry)``, as often as it is wanted: first a whole state,
    then what happened after it. After a Gap comes a whole state again; other key frames are left
    out.
    """

    def __init__(self, path: Path, at: float | None, registry: Registry) -> None:
        self._path = path
        self._registry = registry
        with path.open("rb") as file:
            self._heads, self._torn = read_heads(file)
            self.header = self._read_header(file)
        """Where the recording is from."""
        self._start = _start(self._heads, at)

    @property
    def key_frames(self) -> tuple[float, ...]:
        """The times of the whole states in it."""
        return tuple(head.milliseconds / 1000 for head in self._heads if head.kind == KEY_FRAME)

    @property
    def torn(self) -> TornRecording | None:
        """Where and why it cannot be read further than to there; None for a whole one. Bytes that
        were changed are found where entries are read.
        """
        return self._torn

    def __iter__(self) -> Iterator[tuple[float, Entry]]:
        decoder = EntryDecoder(
            [kind.struct for kind in kinds_in(self._registry)], _Revisions(self._resolver())
        )
        try:
            with self._path.open("rb") as file:
                yield from _happenings(decoder, read_contents(file, self._heads[self._start :]))
        except TornRecording as torn:
            self._torn = torn

    def _read_header(self, file: BinaryIO) -> RecordingHeader:
        try:
            for head, content in read_contents(file, self._heads[:1]):
                if head.kind == HEADER:
                    return msgspec.json.decode(content, type=RecordingHeader)
        except (TornRecording, msgspec.DecodeError) as error:
            raise UnreadableRecording(f"the recording's header is damaged: {error}") from error
        raise UnreadableRecording("the recording ends within its header: nothing was recorded yet")

    def _resolver(self) -> Resolver:
        """Resolves as the operator did that recorded. Its rule for extenders' hosts is past."""
        settings = {
            "percentageOfNodesToScore": self.header.percentage_of_nodes_to_score,
            "extenders": {"allowedHosts": ("*",)},
        }
        config = OperatorConfiguration.model_validate(settings)
        return Resolver(self._registry, PRESETS, config)


def read_recording(
    path: Path, at: float | None = None, *, registry: Registry = INTREE_REGISTRY
) -> Recording:
    """A recording from its first key frame on, or from the last that is not after ``at`` (seconds
    since 1970). Revisions are made of these plugins; one that needs others is None.

    Raises UnreadableRecording for what is none of ours or of another format, and OSError.
    """
    return Recording(path, at, registry)


def _start(heads: Sequence[BlockHead], at: float | None) -> int:
    """Where to begin: the end, where there is no key frame."""
    key_frames = [i for i, head in enumerate(heads) if head.kind == KEY_FRAME]
    before = [i for i in key_frames if at is not None and heads[i].milliseconds <= 1000 * at]
    return max(before, default=min(key_frames, default=len(heads)))


def _happenings(
    decoder: EntryDecoder, blocks: Iterable[tuple[BlockHead, bytes]]
) -> Iterator[tuple[float, Entry]]:
    """What blocks hold, each with its time. Key frames in between are decoded all the same: they
    say what revisions are made of.
    """
    is_known = False
    for head, content in blocks:
        left_out = is_known and head.kind == KEY_FRAME
        is_known = is_known or head.kind == KEY_FRAME
        milliseconds = head.milliseconds
        for entry in _entries(decoder, head, content):
            if isinstance(entry, Time):
                milliseconds = head.milliseconds + entry.milliseconds
            elif not left_out:
                is_known = is_known and not isinstance(entry, Gap)
                yield milliseconds / 1000, entry


def _entries(decoder: EntryDecoder, head: BlockHead, content: bytes) -> Iterator[Entry]:
    try:
        for line in content.splitlines():
            yield from decoder.decode(line)
    except msgspec.DecodeError as error:
        why = f"a block holds what this version cannot read: {error}"
        raise TornRecording(head.offset, why) from error


class _Revisions:
    """Of documents, the same one for the same document: each key frame names its own again."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._known: dict[bytes, Revision | None] = {}

    def __call__(self, document: Document) -> Revision | None:
        text = msgspec.json.encode(document)
        if text not in self._known:
            resolution = self._resolver.from_document(document)
            self._known[text] = resolution.made if resolution is not None else None
        return self._known[text]
