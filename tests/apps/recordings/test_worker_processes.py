"""Worker processes: what they do, and how they end."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable

import pytest

from moorage.apps.exit_status import NoAnswer, WrongUse
from moorage.apps.recordings.worker_processes import Listener, in_processes


def begin() -> Callable[[str, Listener], tuple[str, bool]]:
    """In a process."""
    return act


def act(word: str, tell: Listener) -> tuple[str, bool]:
    """What a word asks for: itself, and whether Ctrl-C is heard."""
    tell(0.5)
    match word:
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "leave":
            os._exit(3)
        case "refuse":
            raise WrongUse("that is none of ours")
        case "hang":
            signal.pause()
    return word, signal.getsignal(signal.SIGINT) is not signal.SIG_IGN


def test_each_is_done_once() -> None:
    """By whoever is free; seconds are told as they come."""
    told: list[float] = []
    words = ["a", "b", "c", "d", "e"]
    done = dict(in_processes(2, begin, words, told.append))
    assert done == {number: (word, False) for number, word in enumerate(words)}
    assert told == [0.5] * len(words)
    assert not multiprocessing.active_children()


def test_what_is_asked_for_next_may_rest_on_what_is_done() -> None:
    """Tasks are taken when somebody is free."""
    done: list[int] = []
    tasks = (f"after {len(done)}" for _ in range(3))
    words = []
    for number, (word, _) in in_processes(1, begin, tasks, lambda seconds: None):
        done.append(number)
        words.append(word)
    assert words == ["after 0", "after 1", "after 2"]


@pytest.mark.parametrize(
    ("word", "end"), [("die", "was ended by signal 9"), ("leave", "ended with status 3")]
)
def test_a_process_that_ends_is_told(word: str, end: str) -> None:
    """As one does that memory ran out for; what the others are about ends too."""
    with pytest.raises(NoAnswer, match=rf"one of 2 processes .* {end}; .*\(--processes\)"):
        list(in_processes(2, begin, ["hang", word], lambda seconds: None))
    assert not multiprocessing.active_children()


def die_at_once() -> Callable[[str, Listener], str]:
    """Before anything is read that was said to it."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def test_a_process_that_ends_before_it_hears_anything_is_told() -> None:
    """Which its pipe tells in another way."""
    with pytest.raises(NoAnswer, match=r"one of 1 processes .* was ended by signal 9"):
        list(in_processes(1, die_at_once, ["a"], lambda seconds: None))


def test_an_error_of_a_command_is_one_here() -> None:
    with pytest.raises(WrongUse, match="none of ours"):
        list(in_processes(1, begin, ["refuse"], lambda seconds: None))


def test_an_interrupt_ends_them() -> None:
    """It is this process that hears it."""

    def interrupt(seconds: float) -> None:
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        list(in_processes(2, begin, ["hang", "hang"], interrupt))
    assert not multiprocessing.active_children()
