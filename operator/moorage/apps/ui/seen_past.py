"""What a page has seen since it was opened: recorded into a ring of its own, and shown like any
recording.
"""

from __future__ import annotations

import asyncio
import secrets
import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from moorage.adapters.recording import Recorder, RecordingRing
from moorage.api.resolution import Resolver
from moorage.apps.exit_status import NoAnswer
from moorage.apps.printing.amounts import moment
from moorage.apps.recordings.saving import recorder_of
from moorage.apps.ui.document_changes import Changes
from moorage.apps.ui.past_questions import OF_PAST, as_past
from moorage.apps.ui.questions import Question
from moorage.apps.ui.recording_source import RecordingSource
from moorage.ports.requesters import Denied

MAX_BYTES: Final = 256 * 1024**2
MAX_SECONDS: Final = 24 * 3600.0
WRITTEN_SECONDS: Final = 2.0
"""After which what has happened is on the disk: it is handed over each second."""
_WAIT_SECONDS: Final = 0.2
_CLOSE_SECONDS: Final = 1.0


class SeenPast:
    """The past of a page that is live. ``recorder`` is the side's that sees the cluster; all else
    belongs to the page's loop. ``changes`` are the page's.
    """

    def __init__(self, resolver: Resolver, changes: Changes) -> None:
        """Raises NoAnswer."""
        self._resolver = resolver
        self._changes = changes
        self._folder = _folder()
        ring = RecordingRing(self._folder, MAX_BYTES, MAX_SECONDS)
        self.recorder: Recorder = recorder_of(ring, resolver)
        self._source: RecordingSource | None = None
        self._failure = "what is seen is not written yet: try again in a moment"

    @property
    def has(self) -> tuple[str, ...]:
        """The documents that only it has; none before the first whole state is written."""
        return OF_PAST if self._source is not None else ()

    async def run(self) -> None:
        """Open it once there is something, and follow it until cancelled. Where it cannot be read
        any more the page goes on without.
        """
        while True:
            await asyncio.sleep(_WAIT_SECONDS)
            if self.recorder.written and not self.recorder.key_frame_waits:
                break
        try:
            await self._follow()
        except NoAnswer as error:
            await self._end_source()
            self._failure = f"what was seen is lost: {error}"
            self._changes.add(("overview",))

    async def _follow(self) -> None:
        """Raises NoAnswer."""
        source = RecordingSource(
            self._folder, self._resolver, changes=self._changes, known=self._known
        )
        await source.open()
        self._source = source
        self._changes.add(("overview", *OF_PAST))
        await source.run()

    async def _end_source(self) -> None:
        source, self._source = self._source, None
        if source is not None:
            await source.close()

    async def close(self) -> None:
        """End it, and throw away what was kept."""
        await self._end_source()
        await asyncio.to_thread(self.recorder.close, _CLOSE_SECONDS)
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)

    async def document(self, question: Question, shown: str) -> Mapping[str, Any]:
        """As ``PageSource``; ``shown`` is what the page is of. Raises Denied."""
        if self._source is None:
            raise Denied(503, self._failure)
        if question.at is not None and question.at < self._source.begin:
            begin = moment(self._source.begin)
            raise Denied(404, f"what was before {begin} was not seen, or is not kept any more")
        return as_past(await self._source.document(question), question, shown)

    def _known(self) -> float:
        """Up to when all is written, as far as that is so."""
        return time.time() - WRITTEN_SECONDS if self.recorder.is_whole else 0.0


def _folder() -> Path:
    """A name for a folder that nobody else has. Raises NoAnswer."""
    try:
        return Path(tempfile.gettempdir()) / f"moorage-ui-{secrets.token_hex(8)}"
    except OSError as error:
        raise NoAnswer(f"no folder for what is seen: {error}; set TMPDIR to one") from error
