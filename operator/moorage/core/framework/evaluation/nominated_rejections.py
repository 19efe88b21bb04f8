"""Rejections of rows because of the pods that are nominated there, kept by what was said."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from moorage.core.framework.post_filter_contract import NodeRejection

_Said = tuple[int, int, int]


class NominatedRejections:
    """Rows rejected where pods are nominated, with them or without.

    Most of them hear the same, so what is said is kept once, with its rows.
    """

    def __init__(self) -> None:
        self.rows: dict[int, _Said] = {}
        """What was said of each row that is rejected."""
        self._alike: dict[_Said, tuple[NodeRejection, dict[int, None]]] = {}
        """By filter, code and state; the rows are the keys."""

    def get(self, row: int) -> NodeRejection | None:
        """What was said of this row, None when it is not rejected."""
        said = self.rows.get(row)
        return None if said is None else self._alike[said][0]

    def alike(self) -> Iterator[tuple[NodeRejection, Collection[int]]]:
        """Each distinct answer, with the rows that got it."""
        for rejection, rows in self._alike.values():
            yield rejection, rows.keys()

    def add(self, row: int, rejection: NodeRejection) -> None:
        """A row that was not rejected is."""
        said = rejection.filter_index, rejection.code, id(rejection.state)
        self.rows[row] = said
        self._alike.setdefault(said, (rejection, {}))[1][row] = None

    def discard(self, row: int) -> None:
        """The row is not rejected any more, if it was."""
        said = self.rows.pop(row, None)
        if said is not None:
            rows = self._alike[said][1]
            del rows[row]
            if not rows:
                del self._alike[said]

    def clear(self) -> None:
        """No row is rejected."""
        self.rows.clear()
        self._alike.clear()
