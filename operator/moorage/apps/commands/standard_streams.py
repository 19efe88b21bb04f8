"""Stdin, stdout and stderr, in whatever state the program is given them."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterator
from typing import Final

UNWRITABLE: Final = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""How a disk has no room for the answer, or nobody reads it."""
NO_ANSWER: Final = 3


def open_closed_streams() -> None:
    """Those that are closed: else a connection would have their numbers, which nobody expects of
    one, libuv least of all.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free: this one
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8"))


@contextlib.contextmanager
def written_out() -> Iterator[None]:
    """All that is printed within is written at its end, or the program ends and says why not."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except OSError as error:
        if error.errno not in UNWRITABLE:
            raise
        # Python would try again at its end, and complain in its own words
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if error.errno != errno.EPIPE:
            print(f"moorage: not all could be written: {error.strerror}", file=sys.stderr)
        raise SystemExit(NO_ANSWER) from error
