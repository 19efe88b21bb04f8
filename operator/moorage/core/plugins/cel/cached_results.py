"""What expressions say of nodes, evaluated once for each distinct input."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kubefacts.cel import CELExpressionError
from moorage.core.columns.nodes.node_table import Aspect, Rows
from moorage.core.columns.snapshot import Snapshot
from moorage.core.framework.interfaces import Codes, ExtensionPoint
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod
from moorage.core.plugins.cel.arguments import NAME, CELArgs, evaluated
from moorage.core.plugins.cel.program import CELProgram, compile_program
from moorage.core.plugins.cel.variables import (
    NODE,
    POD,
    REQUESTED,
    VARIABLES,
    VariableSelection,
    encode,
    select_variables,
)
from moorage.core.structures.remembering import byte_size, memoized, text_size


class _Group(NamedTuple):
    """All filters, or all scores: the programs, and what they read together."""

    programs: tuple[CELProgram, ...]
    pod: VariableSelection
    node: VariableSelection
    aspects: frozenset[Aspect]
    moving: bool
    """Whether they read what is requested of a node."""


class _Compiled(NamedTuple):
    """``identity``: what both groups read of a pod beside its template."""

    filters: _Group
    scores: _Group
    identity: VariableSelection


@memoized(text_size, most=256)
def compiled_args(args: CELArgs) -> _Compiled:
    filters, scores = (
        _group(one.expression for one in args.filters),
        _group(one.expression for one in args.scores),
    )
    own = {name: variable for name, variable in POD.items() if not variable.template}
    return _Compiled(
        filters, scores, select_variables(_all_reads((*filters.programs, *scores.programs)), own)
    )


def _group(texts: Iterable[str]) -> _Group:
    programs = tuple(compile_program(text, VARIABLES) for text in texts)
    reads = _all_reads(programs)
    aspects = frozenset(NODE[name].aspect for name in reads if name in NODE)
    return _Group(
        programs,
        select_variables(reads, POD),
        select_variables(reads, NODE),
        aspects,
        REQUESTED in reads,
    )


def _all_reads(programs: Iterable[CELProgram]) -> dict[str, frozenset[str] | None]:
    """What any of them reads."""
    reads: dict[str, frozenset[str] | None] = {}
    for name, keys in (read for program in programs for read in program.reads.items()):
        before = reads.get(name, frozenset())
        reads[name] = None if keys is None or before is None else before | keys
    return reads


_MAX_KEPT_RESULTS = 16384
"""Distinct inputs, and distinct answers, that are remembered beside one for each node."""


class CachedResults:
    """What a group says of nodes for one pod: each distinct input is evaluated once. A code is the
    place of an answer in ``found``.

    ``version`` moves when codes that were given do not hold any more, as ``found`` became too long.
    """

    def __init__(self, group: _Group, pod: Sequence[Any]) -> None:
        self.found: list[Any] = [None]
        self.version = 0
        self.full = False
        """Whether there are too many answers to go on with."""
        self._group = group
        self._pod = dict(zip(group.pod.names, pod, strict=True))
        self._code_of: dict[Any, int] = {None: 0}
        self._known: dict[bytes, int] = {}

    def codes(self, snapshot: Snapshot, rows: Rows, point: ExtensionPoint) -> Codes:
        """The code of each row; 0 for rows without a node. Raises OutOfTime."""
        nodes = snapshot.nodes
        which = range(*rows.indices(nodes.rows)) if isinstance(rows, slice) else rows.tolist()
        codes = np.zeros(len(which), np.int64)
        for i, row in enumerate(which):
            node = nodes.nodes[row]
            if node is None:
                continue
            values = self._group.node.values(node, nodes, row)
            code = self._known.get(key := encode(values))
            if code is None:
                code = self._learn(key, values, lambda: snapshot.expression_failed(NAME, point))
                snapshot.budget.check()
            codes[i] = code
        # only now, and never for one look at all nodes: an attempt that is broken off and begun
        # again must find what it has learned
        most = nodes.rows + _MAX_KEPT_RESULTS
        if len(self._known) > most:
            self._known.clear()
        if len(self.found) > most:
            self.full = True
            self.version += 1
        return codes

    def passes(self, node: Node) -> bool:
        """Whether it would do, were it in the table."""
        values = self._group.node.values(node, None, -1)
        code = self._known.get(encode(values))
        return (
            (self._judge(self._given(values), lambda: None) is None) if code is None else not code
        )

    def _learn(self, key: bytes, values: Sequence[Any], failed: Callable[[], None]) -> int:
        answer = self._judge(self._given(values), failed)
        code = self._code_of.get(answer)
        if code is None:
            code = self._code_of[answer] = len(self.found)
            self.found.append(answer)
        self._known[key] = code
        return code

    def _given(self, values: Sequence[Any]) -> dict[str, Any]:
        """The variables: the pod's, and these of a node."""
        return {**self._pod, **dict(zip(self._group.node.names, values, strict=True))}

    def _judge(self, values: Mapping[str, Any], failed: Callable[[], None]) -> Any:
        """The first filter that is not true: its place, and the error if there was one."""
        for i, program in enumerate(self._group.programs):
            said = evaluated(program, values)
            if isinstance(said, CELExpressionError):
                failed()
                return i, str(said)
            if not said:
                return i, ""
        return None


class CachedScores(CachedResults):
    """The same of scores: a tuple of floats, one for each, nan where it failed; also as rows of
    ``table``.
    """

    def __init__(self, group: _Group, pod: Sequence[Any]) -> None:
        super().__init__(group, pod)
        self.table: npt.NDArray[np.float64] = np.zeros((64, len(group.programs)))

    def _learn(self, key: bytes, values: Sequence[Any], failed: Callable[[], None]) -> int:
        code = super()._learn(key, values, failed)
        if code >= len(self.table):
            self.table = np.concatenate([self.table, np.zeros_like(self.table)])
        self.table[code] = self.found[code]
        return code

    def _judge(self, values: Mapping[str, Any], failed: Callable[[], None]) -> tuple[float, ...]:
        numbers = []
        for program in self._group.programs:
            said = evaluated(program, values)
            good = not isinstance(said, CELExpressionError) and math.isfinite(said)
            if not good:
                failed()
            numbers.append(float(said) if good else math.nan)
        return tuple(numbers)


@memoized(byte_size, most=32)
def _results_of(_texts: tuple[str, ...], _scoring: bool, _pod: bytes) -> list[CachedResults]:
    """Where the answers for such pods are kept; empty when it is new."""
    return []


def cached_results(args: CELArgs, kind: type[CachedResults], pod: Pod) -> CachedResults:
    """The answers of the filters (or scores) for a pod: what was found for pods that are alike to
    them, as far as it is kept.
    """
    compiled = compiled_args(args)
    group = compiled.scores if kind is CachedScores else compiled.filters
    seen = group.pod.values(pod)
    kept = _results_of(
        tuple(program.text for program in group.programs), kind is CachedScores, encode(seen)
    )
    if not kept or kept[0].full:
        kept[:] = [kind(group, seen)]
    return kept[0]
