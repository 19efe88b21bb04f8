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
        for pipe, process in workers.items():
            with _told_of_its_end(process, count):
                pipe.send(next(waiting, None))
        while workers:
            for pipe in [pipe for pipe in wait(workers) if isinstance(pipe, Connection)]:
                with _told_of_its_end(workers[pipe], count):
                    said = pipe.recv()
                if isinstance(said, CommandError):
                    raise said
                if isinstance(said, float):
                    tell(said)
                elif said is None:
                    del workers[pipe]
                else:
                    yield said
                    with _told_of_its_end(workers[pipe], count):
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


@contextlib.contextmanager
def _told_of_its_end(process: BaseProcess, count: int) -> Iterator[None]:
    """While it is spoken with."""
    try:
        yield
    except (EOFError, ConnectionError):
        process.join()
        status = process.exitcode or 0
        how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
        raise NoAnswer(
            f"one of {count} processes that work beside each other {how}; each needs memory for "
            f"the whole cluster: try fewer (--processes)"
        ) from None


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
