"""Segments: the files of a recording, each of which can be read without the others."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

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
from moorage.core.framework.registry import Registry
from moorage.core.framework.revisions import Revision
from moorage.core.plugins.intree import PRESETS
from moorage.core.recording.wire import Document, EntryDecoder
from moorage.ports.stored_kinds import kinds_in


class Reached(NamedTuple):
    """Where reading came to its end: the place of the key frame that comes next, and whether the
    state before that one is known.
    """

    key_frame: int = 0
    is_known: bool = False


class Segment:
    """A file that was read as far as to know where its blocks are. Raises UnreadableRecording and
    OSError.
    """

    def __init__(self, path: Path, registry: Registry) -> None:
        self.path = path
        self._registry = registry
        with path.open("rb") as file:
            self._heads, self.torn = read_heads(file)
            """Where and why it cannot be read further than to there; None for a whole one."""
            self.header = self._read_header(file)
        self.resolver = self._resolver()
        """Resolves as the operator did that recorded. Its rule for extenders' hosts is past."""
        self._key_frames = [i for i, head in enumerate(self._heads) if head.kind == KEY_FRAME]

    @property
    def key_frames(self) -> tuple[float, ...]:
        """The times of the whole states in it."""
        return tuple(self._heads[i].milliseconds / 1000 for i in self._key_frames)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many entries there are from each key frame to the next, its own included."""
        ends = [*self._key_frames[1:], len(self._heads)]
        return tuple(
            sum(head.entries for head in self._heads[begin:end])
            for begin, end in zip(self._key_frames, ends, strict=True)
        )

    def goes_on_from(self, before: Segment) -> bool:
        """Whether nothing is missing between the end of that file and the begin of this one."""
        mine, its = self.header, before.header
        follows = (mine.replica, mine.follows) == (its.replica, its.begin)
        return follows and before.torn is None

    def key_frame(self, place: int) -> Generator[tuple[float, Entry], None, None]:
        """What this key frame holds, by its place among them."""
        start = self._key_frames[place]
        yield from self._read(start, start + 1, is_known=False)

    def happenings(
        self, begin: int = 0, end: int | None = None, *, is_known: bool = False
    ) -> Generator[tuple[float, Entry], None, Reached]:
        """What happened, each with its time, from one key frame to another (by their places among
        them; None: to the end). ``is_known``: the state before is known, so that no key frame has
        to be read. A file that is torn in between has been read to its end.
        """
        here = len(self._heads)
        start = self._key_frames[begin] if self._key_frames else here
        stop = here if end is None else self._key_frames[end]
        known = yield from self._read(start, stop, is_known)
        if known is None or end is None:
            return Reached(len(self._key_frames), bool(known))
        return Reached(end, known)

    def _read(
        self, start: int, stop: int, is_known: bool
    ) -> Generator[tuple[float, Entry], None, bool | None]:
        """What these blocks hold. Returns whether the state is known at their end, None where the
        file is torn before it.
        """
        decoder = EntryDecoder(
            [kind.struct for kind in kinds_in(self._registry)], _Revisions(self.resolver)
        )
        try:
            with self.path.open("rb") as file:
                blocks = read_contents(file, self._heads[start:stop])
                return (yield from _happenings(decoder, blocks, is_known))
        except TornRecording as torn:
            self.torn = torn
        except FileNotFoundError:
            self.torn = TornRecording(0, "the file has been removed")
        return None

    def _read_header(self, file: BinaryIO) -> RecordingHeader:
        try:
            for head, content in read_contents(file, self._heads[:1]):
                if head.kind == HEADER:
                    return msgspec.json.decode(content, type=RecordingHeader)
        except (TornRecording, msgspec.DecodeError) as error:
            raise UnreadableRecording(f"the recording's header is damaged: {error}") from error
        raise UnreadableRecording("the recording ends within its header: nothing was recorded yet")

    def _resolver(self) -> Resolver:
        settings = {
            "percentageOfNodesToScore": self.header.percentage_of_nodes_to_score,
            "extenders": {"allowedHosts": ("*",)},
        }
        config = OperatorConfiguration.model_validate(settings)
        return Resolver(self._registry, PRESETS, config)


def _happenings(
    decoder: EntryDecoder, blocks: Iterable[tuple[BlockHead, bytes]], is_known: bool
) -> Generator[tuple[float, Entry], None, bool]:
    """What blocks hold, each with its time. Key frames in between are decoded all the same: they
    say what revisions are made of.
    """
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
    return is_known


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
