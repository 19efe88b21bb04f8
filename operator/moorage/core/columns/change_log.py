"""Version counters and change logs: that something changed, and which rows of the node table did,
for whoever wants to catch up.

Each aspect has a log of row numbers. A reader keeps the position up to which it has read and asks
for what came after; when the log was cut meanwhile, or so much changed that catching up costs more
than starting over, the answer is "everything".
"""

from __future__ import annotations

import enum
from collections.abc import Collection
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt


class Aspect(enum.IntEnum):
    """What about a node may change; an index into the logs."""

    RESOURCES = 0
    """Allocatable, requested, the number of pods."""
    LABELS = 1
    TAINTS = 2
    """Taints and spec.unschedulable."""
    PORTS = 3
    IMAGES = 4
    MEMBERSHIP = 5
    """A row was filled or emptied. Such a row changes in every other aspect as well."""
    ALLOCATABLE = 6
    """What the node has, whatever is requested of it: a part of RESOURCES that changes seldom."""
    FEATURES = 7
    """What the node's kubelet says that it can do."""
    VOLUMES = 8
    """The volumes that its pods use or that are attached, and how many it can hold."""
    PODS = 9
    """Since when a pod runs there, its phase, whether it is ready; that pods come and go is in
    RESOURCES.
    """
    DEVICES = 10
    """The devices that can be reached from the node, or who has them."""
    OBJECT = 11
    """Anything of the node's own object that a plugin can see, annotations and conditions
    included.
    """
    NOMINATIONS = 12
    """Which waiting pods are nominated there. The framework follows it; plugins need not read
    it.
    """


class Versioned(Protocol):
    """Something that answers may depend on."""

    @property
    def version(self) -> int:
        """A number that is never the same after a change as before it."""


@runtime_checkable
class RowVersioned(Versioned, Protocol):
    """One on which answers about single rows depend."""

    def rows_since(self, version: int) -> Collection[int]:
        """The rows of which answers may be others than at this version."""


class VersionCounter:
    """The simplest such thing."""

    __slots__ = ("version",)

    def __init__(self) -> None:
        self.version = 0

    def increment(self) -> None:
        """Count a change."""
        self.version += 1


ChangedRows = npt.NDArray[np.intp] | None
"""Distinct row numbers in ascending order, or None for all rows."""

_MIN_KEPT_CHANGES = 4096


class ChangeLog:
    """One aspect's log: row numbers in the order of change, of which the first ``_base`` were cut
    off.
    """

    __slots__ = ("_base", "_rows", "version")

    def __init__(self) -> None:
        self._rows: list[int] = []
        self._base = 0
        self.version = 0
        """The position behind the newest entry."""

    def add(self, row: int) -> None:
        """Note that a row changed."""
        if len(self._rows) >= 2 * _MIN_KEPT_CHANGES:
            del self._rows[:_MIN_KEPT_CHANGES]
            self._base += _MIN_KEPT_CHANGES
        self._rows.append(row)
        self.version += 1

    def since(self, position: int) -> list[int] | None:
        """Rows noted from ``position`` on, repeated as often as they changed; None when that part
        of the log was cut off.
        """
        if position < self._base:
            return None
        return self._rows[position - self._base :]


class ChangeReader:
    """A reader's place in the logs of the aspects that it reads; starts before everything."""

    __slots__ = ("_aspects", "_logs", "_positions")

    def __init__(self, logs: tuple[ChangeLog, ...], aspects: frozenset[Aspect]) -> None:
        # A row that is filled or emptied is in every log.
        self._aspects = sorted(aspects - {Aspect.MEMBERSHIP} or {Aspect.MEMBERSHIP})
        self._logs = [logs[aspect] for aspect in self._aspects]
        self._positions = [-1] * len(self._logs)

    def moved(self) -> list[Aspect]:
        """The aspects in which a row changed since the last ``catch_up``; beside any of them
        MEMBERSHIP may be one.
        """
        found = [
            aspect
            for aspect, log, position in zip(
                self._aspects, self._logs, self._positions, strict=True
            )
            if position != log.version
        ]
        return [*found, Aspect.MEMBERSHIP] if found else found

    def catch_up(self, rows: int) -> ChangedRows:
        """The rows that changed since the last call; of a table of ``rows``, half are as all."""
        found: list[int] = []
        everything = False
        for i, log in enumerate(self._logs):
            if (position := self._positions[i]) != log.version:
                part = log.since(position)
                self._positions[i] = log.version
                if part is None:
                    everything = True
                else:
                    found += part
        if not found and not everything:
            return NO_ROWS
        if everything or 2 * len(found) > rows:
            return None
        return np.array(found if len(found) == 1 else sorted(set(found)), dtype=np.intp)


NO_ROWS: npt.NDArray[np.intp] = np.empty(0, dtype=np.intp)
NO_ROWS.flags.writeable = False
"""No rows."""
