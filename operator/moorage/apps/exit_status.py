"""How commands end that look at clusters, recordings and files.

A pipeline must tell "no" from "could not look", and both from a command that was typed wrong.
"""

from __future__ import annotations

import enum


class ExitStatus(enum.IntEnum):
    """0 it is so, 1 it is not (the answer is complete), 2 wrong use, 3 no answer."""

    YES = 0
    NO = 1
    WRONG_USE = 2
    NO_ANSWER = 3


class CommandError(Exception):
    """Ends a command with ``status``; the text is one line for stderr."""

    status = ExitStatus.NO_ANSWER


class NoAnswer(CommandError):
    """No cluster, no right, or a file that cannot be read: says what failed, where it was looked
    and what to try.
    """


class WrongUse(CommandError):
    """What was typed, or what a file says, means nothing."""

    status = ExitStatus.WRONG_USE
