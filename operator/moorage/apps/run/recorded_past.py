"""The past of this replica, from its recording: another process reads it (``past_process``), which
is started when somebody first looks back, and ends a while after nobody does.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import itertools
import json
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

from moorage.adapters.recording import Recorder
from moorage.api.operator_config import OperatorConfiguration
from moorage.apps.ui.document_changes import Changes
from moorage.apps.ui.past_questions import as_past
from moorage.apps.ui.questions import Question
from moorage.engine.engine import Engine
from moorage.ports.requesters import Denied

ANSWER_SECONDS: Final = 45.0
"""For an answer: to open a moment of a large cluster takes seconds, at the lowest priority more."""
WRITTEN_SECONDS: Final = 3.0
"""After which what has happened is on the disk."""
IDLE_SECONDS: Final = 600.0
END_SECONDS: Final = 1.0
_NEEDED: Final = {"plugins", "percentage_of_nodes_to_score"}
"""Of the configuration, to make revisions: no more is told."""
_LATE: Final = f"the recording was not read within {ANSWER_SECONDS:.0f} s"
_ENDED: Final = "the process that reads the recording has ended; try again"


def past_of(engine: Engine, shown: str) -> RecordedPast | None:
    """None: nothing is recorded."""
    recorder = engine.ports.journal
    if not isinstance(recorder, Recorder):
        return None

    def known() -> float:
        whole = engine.live.answering and recorder.is_whole
        return engine.ports.clock.now().timestamp() - WRITTEN_SECONDS if whole else 0.0

    return RecordedPast(engine.config, shown, known)


class RecordedPast:
    """Answers what only the recording can. ``shown``: this replica's name; ``known``: up to when
    all is recorded, in seconds since 1970, 0 where that is not so. Everything is called on one
    loop.
    """

    def __init__(
        self, config: OperatorConfiguration, shown: str, known: Callable[[], float]
    ) -> None:
        self.changes = Changes()
        self._config = config
        self._shown = shown
        self._known = known
        self._turn = asyncio.Lock()
        self._reading: _Reading | None = None
        self._idle: asyncio.TimerHandle | None = None

    async def document(self, question: Question) -> Mapping[str, Any]:
        """As ``PageSource``."""
        async with self._turn:
            if self._reading is None or self._reading.over:
                self._reading = await _Reading.begun(self._config, self.changes)
            reading = self._reading
        if self._idle is not None:
            self._idle.cancel()
        self._idle = asyncio.get_running_loop().call_later(IDLE_SECONDS, reading.let_go)
        status, body = await reading.ask(question, self._known())
        found = await asyncio.to_thread(json.loads, body)
        if status != 200:
            raise Denied(status, found)
        return as_past(found, question, self._shown)

    async def close(self) -> None:
        """End the process."""
        if self._idle is not None:
            self._idle.cancel()
        if self._reading is not None:
            await self._reading.end()


class _Reading:
    """The process, and what is asked of it."""

    def __init__(self, process: asyncio.subprocess.Process, changes: Changes) -> None:
        assert process.stdin is not None and process.stdout is not None  # noqa: S101 - pipes
        self._process = process
        self._in, self._out = process.stdin, process.stdout
        self._changes = changes
        self._numbers = itertools.count()
        self._asked: dict[int, asyncio.Future[tuple[int, bytes]]] = {}
        self._hearing = asyncio.create_task(self._hear(), name="recorded past")

    @classmethod
    async def begun(cls, config: OperatorConfiguration, changes: Changes) -> _Reading:
        """One that was started just now. Raises Denied."""
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", "-m", "moorage.apps.run.past_process"),
                stdin=pipe,
                stdout=pipe,
                start_new_session=True,  # a terminal's Ctrl-C is for the operator
            )
        except OSError as error:
            raise Denied(503, f"no process can be started: {error.strerror}") from error
        reading = cls(process, changes)
        needed = config.model_dump(mode="json", by_alias=True, include=_NEEDED)
        reading._send({"directory": config.recording.directory, "config": needed})
        return reading

    @property
    def over(self) -> bool:
        """Whether it answers no more."""
        return self._hearing.done() or self._in.is_closing()

    async def ask(self, question: Question, known: float) -> tuple[int, bytes]:
        """Status and body of the answer. Raises Denied."""
        number = next(self._numbers)
        answer = self._asked[number] = asyncio.get_running_loop().create_future()
        asked = {"id": number, "question": dataclasses.asdict(question), "known": known}
        self._send(asked)
        try:
            return await asyncio.wait_for(answer, ANSWER_SECONDS)
        except TimeoutError as error:
            raise Denied(503, _LATE) from error
        finally:
            del self._asked[number]

    def let_go(self) -> None:
        """It ends with its input."""
        self._in.close()

    async def end(self) -> None:
        """Now."""
        self.let_go()
        await asyncio.wait([self._hearing], timeout=END_SECONDS)
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()

    def _send(self, line: Mapping[str, Any]) -> None:
        self._in.write(json.dumps(line).encode() + b"\n")

    async def _hear(self) -> None:
        """Answers and changes, until it ends."""
        try:
            while line := await self._out.readline():
                head = json.loads(line)
                body = await self._out.readexactly(head["bytes"])
                if "changed" in head:
                    self._changes.add(head["changed"])
                elif (answer := self._asked.get(head["id"])) is not None and not answer.done():
                    answer.set_result((head["status"], body))
        except asyncio.IncompleteReadError:
            pass  # it was ended in the middle
        finally:
            for answer in self._asked.values():
                if not answer.done():
                    answer.set_exception(Denied(503, _ENDED))
