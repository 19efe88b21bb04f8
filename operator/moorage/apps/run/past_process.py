"""`python -I -m moorage.apps.run.past_process`: reads the operator's recording for its page, in a
process of its own, so that what it costs is not the main loop's.

Lines of JSON come in: first the folder and the configuration, then questions. What goes out is a
line that says how many bytes of an answer follow. It ends with its input, so with the operator. It
runs at the lowest priority, with half of the memory that the container has left.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import logging
import os
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Final

from moorage.api.operator_config import OperatorConfiguration
from moorage.api.resolution import Resolver
from moorage.apps.check import resolver_for
from moorage.apps.exit_status import NoAnswer
from moorage.apps.run.memory_room import hold_memory, memory_room
from moorage.apps.ui.questions import Question, denied
from moorage.apps.ui.recording_source import RecordingSource
from moorage.ports.requesters import Denied

_log: Final = logging.getLogger(__name__)
MAX_MEMORY: Final = 2 * 1024**3
"""Bytes: a moment of a large cluster takes half of it."""
LOWEST: Final = 19
"""The niceness of what nobody waits for but a visitor."""

Write = Callable[[dict[str, Any], bytes], None]
"""Sends a line, and what follows it."""


class PastServer:
    """Answers questions, each in a task of its own. The recording is opened at the first one that
    finds something in it.
    """

    def __init__(self, directory: Path, resolver: Resolver, write: Write, room: int) -> None:
        self._too_large = (
            f"it takes more than the {room >> 20} MiB of memory that the recording may be read "
            "with: half of what the operator's container has left"
        )
        self._directory = directory
        self._resolver = resolver
        self._write = write
        self._turn = asyncio.Lock()
        self._source: RecordingSource | None = None
        self._known = 0.0
        """Up to when all is recorded, as it was said last."""
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self, lines: AsyncIterator[bytes]) -> None:
        """Until there are no more."""
        async for line in lines:
            asked = json.loads(line)
            self._known = asked["known"]
            self._begin(self._answer(asked["id"], Question(**asked["question"])))

    def _begin(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, number: int, question: Question) -> None:
        try:
            source = await self._opened()
            found = await source.document(question)
            status, body = 200, await asyncio.to_thread(lambda: json.dumps(found).encode())
        except Denied as error:
            status, body = error.status, json.dumps(error.text).encode()
        except MemoryError:
            status, body = 503, json.dumps(self._too_large).encode()
        except Exception as error:  # noqa: BLE001 - a plugin may raise any, and someone waits
            _log.exception("A question about the past cannot be answered")
            status, body = 500, json.dumps(f"{type(error).__name__}: {error}").encode()
        self._write({"id": number, "status": status}, body)

    async def _opened(self) -> RecordingSource:
        """Raises Denied."""
        async with self._turn:
            if self._source is None:
                with denied():
                    source = RecordingSource(
                        self._directory, self._resolver, known=lambda: self._known
                    )
                    await source.open()
                self._source = source
                self._begin(self._follow(source))
            return self._source

    async def _follow(self, source: RecordingSource) -> None:
        """Until it cannot be read any more: the next question opens it anew."""
        telling = asyncio.create_task(self._tell(source))
        try:
            await source.run()
            await telling
        except (NoAnswer, MemoryError) as error:
            why = self._too_large if isinstance(error, MemoryError) else error
            _log.warning("The recording is followed no more: %s", why)
            self._source = None
            await source.close()
        finally:
            telling.cancel()

    async def _tell(self, source: RecordingSource) -> None:
        """What has changed, until cancelled."""
        seen = 0
        while True:
            await source.changes.wait(seen)
            names, seen = source.changes.since(seen), source.changes.number
            self._write({"changed": names}, b"")


async def lines_of(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """Until its end."""
    while line := await reader.readline():
        yield line


async def serve(room: int) -> None:
    """Answer what comes in, with so many bytes of memory."""
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    begin = json.loads(await reader.readline())
    config = OperatorConfiguration.model_validate(begin["config"])
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a plugin prints is no answer

    def write(head: dict[str, Any], body: bytes) -> None:
        out.write(json.dumps({**head, "bytes": len(body)}).encode() + b"\n" + body)
        out.flush()

    resolver = dataclasses.replace(resolver_for(config))
    hold_memory(room)
    await PastServer(Path(begin["directory"]), resolver, write, room).run(lines_of(reader))


if __name__ == "__main__":
    os.nice(LOWEST)
    asyncio.run(serve(memory_room(MAX_MEMORY)))
    os._exit(0)  # threads that still read need not come to their end
