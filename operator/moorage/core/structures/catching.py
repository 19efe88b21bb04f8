"""Catching: what is raised inside a block is handed to somebody and ends there.

A class, not a generator with ``contextlib.contextmanager``: such blocks stand around every step of
every pod, and this is the cheaper one by far.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

ExceptionTypes: TypeAlias = type[BaseException] | tuple[type[BaseException], ...]


class Catching:
    """Stands around a block in a ``with``: if one of these kinds is raised, calls ``handler`` with
    it and these arguments.
    """

    __slots__ = ("_arguments", "_handler", "_kinds")

    def __init__(
        self, kinds: ExceptionTypes, handler: Callable[..., None], *arguments: Any
    ) -> None:
        self._kinds = kinds
        self._handler = handler
        self._arguments = arguments

    def __enter__(self) -> None:
        """Nothing has to be done before."""

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> bool:
        """Whether it ends here."""
        if error is None or not isinstance(error, self._kinds):
            return False
        self._handler(error, *self._arguments)
        return True
