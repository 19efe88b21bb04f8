"""Worker processes: each does one thing after another and says what came of it, until nothing is
left. They end with the process that started them, however that ends.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Final, TypeAlias, TypeVar

from moorage.apps.exit_status import CommandError, NoAnswer

_T = TypeVar("_T")
_R = TypeVar("_R")
Listener: TypeAlias = Callable[[float], object]
_SPAWN: Final = multiprocessing.get_context("spawn")
"""Not by forking: another thread may hold a lock, which nobody would release there."""


def in_processes(
    count: int,
    begin: Callable[[], Callable[[_T, Listener], _R]],
    todo: Iterable[_T],
    tell: Listener,
) -> Iterator[tuple[int, _R]]:
    """The number of each, from 0, and what comes of it, as soon as it is done; so many processes
    are asked for the next one when they are free. ``begin`` is sent to each of them and gives what
    does the work, which may tell of seconds. For the main thread. Raises NoAnswer where a process
    is ended from outside.
    """
    waiting = enumerate(todo)
    with _started(count, begin) as workers:
        for pipe in workers:
            pipe.send(next(waiting, None))
        while workers:
            for pipe in [pipe for pipe in wait(workers) if isinstance(pipe, Connection)]:
                said = _said(pipe, workers[pipe], count)
                if isinstance(said, float):
                    tell(said)
                elif said is None:
                    del workers[pipe]
                else:
                    yield said
                    pipe.send(next(waiting, None))


@contextlib.contextmanager
def _started(count: int, begin: Callable[[], Any]) -> Iterator[dict[Connection, BaseProcess]]:
    """Processes, by the pipes to them; at the end there are none, whatever they are about."""
    with contextlib.ExitStack() as stack:
        with _deaf_to_interrupts():
            workers = dict(stack.enter_context(_worker(begin)) for _ in range(count))
        yield workers


@contextlib.contextmanager
def _worker(begin: Callable[[], Any]) -> Iterator[tuple[Connection, BaseProcess]]:
    pipe, theirs = _SPAWN.Pipe()
    process = _SPAWN.Process(target=_work, args=(theirs, begin))
    with pipe:
        with theirs:  # nobody else has it, so that the pipe ends with the process
            process.start()
        try:
            yield pipe, process
        finally:
            process.terminate()
            process.join()


@contextlib.contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Ctrl-C goes to all processes of a terminal; those that begin meanwhile do not hear it, as
    this one ends them.
    """
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _said(pipe: Connection, process: BaseProcess, count: int) -> Any:
    """Seconds, (number, result), or None where there is nothing left to do."""
    try:
        said = pipe.recv()
    except EOFError:
        process.join()
        raise NoAnswer(
            f"one of {count} processes that work beside each other {_end(process.exitcode)}; each "
            f"needs memory for the whole cluster: try fewer (--processes)"
        ) from None
    if isinstance(said, CommandError):
        raise said
    return said


def _end(status: int | None) -> str:
    """How it ended, in words that follow its name."""
    if status is None or status >= 0:
        return f"ended with status {status}"
    return f"was ended by {signal.Signals(-status).name}"


def _work(pipe: Connection, begin: Callable[[], Callable[[Any, Listener], Any]]) -> None:
    """In a process: until nobody is there any more who listens."""
    with contextlib.suppress(EOFError, ConnectionError):
        try:
            work = begin()
            while (task := pipe.recv()) is not None:
                number, one = task
                pipe.send((number, work(one, pipe.send)))
            pipe.send(None)
        except CommandError as error:
            pipe.send(error)
