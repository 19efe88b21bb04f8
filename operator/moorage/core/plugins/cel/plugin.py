"""CEL: filters and scores that the administrator writes as CEL expressions over the pod and a node.

In no preset. A filter is true where the pod may run; where it fails (a key that is missing, say)
the pod may not. A score is a number, cut to 0..100 or, with ``normalize``, stretched so that the
worst feasible node has 0 and the best 100; where it fails it counts as 0. The plugin's score is the
mean of them by weight. docs/cel.md has the variables, and examples.

Cost: 5 to 10 µs for each expression and distinct input: nodes that are alike in all that the
expressions read are looked at once. What takes longer than 25 ms is broken off: the attempt ends
with an error, and the next one goes on from there.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
from annotated_types import Interval, Len

from kubefacts.cel import CELExpressionError
from moorage.core.columns.nodes.node_table import Aspect, Rows
from moorage.core.columns.snapshot import Snapshot
from moorage.core.columns.store import Lister
from moorage.core.expressions import CELProgram, compile_program
from moorage.core.framework.arguments import ARGUMENTS, TimedTrial, Violation
from moorage.core.framework.cluster_events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
)
from moorage.core.framework.interfaces import (
    MAX_NODE_SCORE,
    Codes,
    ExtensionPoint,
    PreFilterResult,
    Scores,
)
from moorage.core.framework.revisions import suggest
from moorage.core.framework.status import SKIP, SUCCESS, Code, Reason, Why
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod
from moorage.core.plugins.cel.variables import (
    NODE,
    POD,
    REQUESTED,
    VARIABLES,
    VariableSelection,
    encode,
    samples,
    select_variables,
)
from moorage.core.structures.remembering import byte_size, memoized, text_size

NAME = "CEL"
FALSE = Reason("ExpressionFalse", "{}", Code.UNSCHEDULABLE_AND_UNRESOLVABLE)
"""The text is the filter's message, or has the expression."""
FALSE_UNTIL_CHANGED = Reason("ExpressionFalseNow", "{}", Code.UNSCHEDULABLE)
"""Of a filter that reads what is requested of the node."""
FAILED = Reason(
    "ExpressionFailed", "node(s) on which the CEL filter {}", Code.UNSCHEDULABLE_AND_UNRESOLVABLE
)
UNFINISHED = Reason(
    "ExpressionsUnfinished",
    "the expressions took long, and {} node(s) are left for the next attempt",
    Code.ERROR,
)

# ---- arguments -----------------------------------------------------------------------------------

MAX_EXPRESSIONS = 32
"""Expressions of one plugin."""
MAX_CHARACTERS, MAX_TOTAL_CHARACTERS = 4096, 8192
"""Characters of one expression, and of all."""
MAX_EVALUATION_SECONDS = 250e-6
"""Seconds that one evaluation may take, in processor time."""
_NUMBERS = ("int", "uint", "double")


@dataclasses.dataclass(frozen=True, slots=True)
class CELFilter:
    """True where the pod may run."""

    __pydantic_config__: ClassVar = ARGUMENTS

    expression: Annotated[str, Len(1, MAX_CHARACTERS)]
    message: Annotated[str, Len(0, 256)] = ""


@dataclasses.dataclass(frozen=True, slots=True)
class CELScore:
    """The higher, the better."""

    __pydantic_config__: ClassVar = ARGUMENTS

    expression: Annotated[str, Len(1, MAX_CHARACTERS)]
    weight: Annotated[int, Interval(ge=1, le=100)] = 1
    normalize: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class CELArgs:
    """What must be true, and what is better."""

    __pydantic_config__: ClassVar = ARGUMENTS

    filters: tuple[CELFilter, ...] = ()
    scores: tuple[CELScore, ...] = ()

    def validate(self) -> list[Violation]:
        """Every expression must compile, to the right type; all together must not be too many or
        too long.
        """
        if len(self.filters) + len(self.scores) > MAX_EXPRESSIONS:
            return [
                Violation(
                    "",
                    len(self.filters) + len(self.scores),
                    f"must be at most {MAX_EXPRESSIONS} expressions in all",
                )
            ]
        length = sum(len(text) for _, text, _ in self._expressions())
        if length > MAX_TOTAL_CHARACTERS:
            return [
                Violation(
                    "",
                    length,
                    f"must be at most {MAX_TOTAL_CHARACTERS} characters of expressions in all",
                )
            ]
        return [
            Violation(path, text, wrong)
            for path, text, types in self._expressions()
            if (wrong := _wrong(text, types))
        ]

    def trials(self) -> Iterator[TimedTrial]:
        """One evaluation of each expression, of short values and of long ones."""
        for path, text, _ in self._expressions():
            program = compile_program(text, VARIABLES)
            for values in samples(program.reads):
                yield TimedTrial(
                    path,
                    text,
                    functools.partial(_evaluated, program, values),
                    MAX_EVALUATION_SECONDS,
                )

    def _expressions(self) -> Iterator[tuple[str, str, tuple[str, ...]]]:
        """(path, text, types that it may have) of each."""
        for i, one in enumerate(self.filters):
            yield f"filters[{i}].expression", one.expression, ("bool",)
        for i, other in enumerate(self.scores):
            yield f"scores[{i}].expression", other.expression, _NUMBERS


def _wrong(text: str, types: tuple[str, ...]) -> str:
    """What is wrong with an expression, with line:column, "" for nothing."""
    try:
        program = compile_program(text, VARIABLES)
    except CELExpressionError as error:
        _, unknown, name = str(error).partition("undeclared reference to ")
        likeness = suggest(name.strip("'"), (name for name, _ in VARIABLES)) if unknown else ""
        return f"{error}{likeness}"
    return (
        ""
        if program.result in types
        else f"1:1: must be of type {' or '.join(types)}, not {program.result}"
    )


def _evaluated(program: CELProgram, values: Mapping[str, Any]) -> Any:
    """What the expression says; the error where it fails."""
    try:
        return program.evaluate(values)
    except CELExpressionError as error:
        return error


# ---- arguments compiled --------------------------------------------------------------------------


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
def _compiled(args: CELArgs) -> _Compiled:
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


# ---- answers -------------------------------------------------------------------------------------

_NOT_EVALUATED = -1
"""The code of a node that was not looked at yet."""
SLICE_SECONDS = 0.025
"""Seconds after which no further input is evaluated in one call."""
_MAX_KEPT_RESULTS = 16384
"""Distinct inputs, and distinct answers, that are remembered."""


class _CachedResults:
    """What a group says of nodes for one pod: each distinct input is evaluated once. A code is the
    place of an answer in ``found``.

    ``version`` moves when codes that were given do not hold any more, as nodes were left out or
    ``found`` became too long.
    """

    def __init__(self, group: _Group, pod: Sequence[Any]) -> None:
        self.found: list[Any] = [None]
        self.version = 0
        self.waiting = 0
        """How many nodes the last call left out."""
        self._group = group
        self._pod = dict(zip(group.pod.names, pod, strict=True))
        self._code_of: dict[Any, int] = {None: 0}
        self._known: dict[bytes, int] = {}

    @property
    def full(self) -> bool:
        """Whether there are too many answers to go on with."""
        return len(self.found) > _MAX_KEPT_RESULTS

    def codes(self, snapshot: Snapshot, rows: Rows, point: ExtensionPoint) -> Codes:
        """The code of each row; 0 for rows without a node."""
        nodes = snapshot.nodes
        which = range(*rows.indices(nodes.rows)) if isinstance(rows, slice) else rows.tolist()
        codes, until, learned = np.zeros(len(which), np.int64), snapshot.now() + SLICE_SECONDS, 0
        self.waiting = 0
        for i, row in enumerate(which):
            node = nodes.nodes[row]
            if node is None:
                continue
            values = self._group.node.values(node, nodes, row)
            code = self._known.get(key := encode(values))
            if code is None:
                if learned and snapshot.now() > until:
                    codes[i:] = _NOT_EVALUATED
                    self.waiting = int(np.count_nonzero(nodes.live[rows][i:]))
                    break
                code = self._learn(key, values, lambda: snapshot.count_error(NAME, point))
                learned += 1
            codes[i] = code
        if self.waiting or self.full:
            self.version += 1
        return codes

    def passes(self, node: Node) -> bool:
        """Whether it would do, were it in the table."""
        values = self._group.node.values(node, None, -1)
        code = self._known.get(key := encode(values))
        return (self._learn(key, values, lambda: None) if code is None else code) == 0

    def _learn(self, key: bytes, values: Sequence[Any], failed: Callable[[], None]) -> int:
        answer = self._judge(
            {**self._pod, **dict(zip(self._group.node.names, values, strict=True))}, failed
        )
        code = self._code_of.get(answer)
        if code is None:
            code = self._code_of[answer] = len(self.found)
            self.found.append(answer)
        if len(self._known) >= _MAX_KEPT_RESULTS:
            self._known.clear()
        self._known[key] = code
        return code

    def _judge(self, values: Mapping[str, Any], failed: Callable[[], None]) -> Any:
        """The first filter that is not true: its place, and the error if there was one."""
        for i, program in enumerate(self._group.programs):
            said = _evaluated(program, values)
            if isinstance(said, CELExpressionError):
                failed()
                return i, str(said)
            if not said:
                return i, ""
        return None


class _CachedScores(_CachedResults):
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
            said = _evaluated(program, values)
            good = not isinstance(said, CELExpressionError) and math.isfinite(said)
            if not good:
                failed()
            numbers.append(float(said) if good else math.nan)
        return tuple(numbers)


@memoized(byte_size, most=32)
def _results_of(_texts: tuple[str, ...], _scoring: bool, _pod: bytes) -> list[_CachedResults]:
    """Where the answers for such pods are kept; empty when it is new."""
    return []


def _cached_results(args: CELArgs, kind: type[_CachedResults], pod: Pod) -> _CachedResults:
    """The answers of the filters (or scores) for a pod: what was found for pods that are alike to
    them, as far as it is kept.
    """
    compiled = _compiled(args)
    group = compiled.scores if kind is _CachedScores else compiled.filters
    seen = group.pod.values(pod)
    kept = _results_of(
        tuple(program.text for program in group.programs), kind is _CachedScores, encode(seen)
    )
    if not kept or kept[0].full:
        kept[:] = [kind(group, seen)]
    return kept[0]


# ---- the plugin ----------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, slots=True)
class CEL:
    """Passes nodes of which all filters are true; scores by the weighted mean of the scores."""

    name: ClassVar[str] = NAME
    reasons: ClassVar[tuple[Reason, ...]] = (FALSE, FALSE_UNTIL_CHANGED, FAILED, UNFINISHED)
    may_fail: ClassVar[bool] = True

    args: CELArgs = CELArgs()

    @property
    def reads(self) -> frozenset[Aspect]:
        """The aspects that the expressions read."""
        compiled = _compiled(self.args)
        return compiled.filters.aspects | compiled.scores.aspects | {Aspect.MEMBERSHIP}

    @property
    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        """Nodes that come or change, pods that leave, the pod itself; the hints need the
        arguments.
        """
        aspects = (
            ActionType.UPDATE_NODE_ALLOCATABLE
            | ActionType.UPDATE_NODE_LABEL
            | ActionType.UPDATE_NODE_TAINT
            | ActionType.UPDATE_NODE_ANNOTATION
        )
        return (
            ClusterEventWithHint(
                EventResource.NODE,
                ActionType.ADD | aspects,
                self._is_true_now,
                shared_by_signature=True,
            ),
            ClusterEventWithHint(
                EventResource.POD,
                ActionType.UPDATE,
                self._is_seen_otherwise,
                shared_by_signature=True,
            ),
            ClusterEventWithHint(
                EventResource.ASSIGNED_POD,
                ActionType.DELETE | ActionType.UPDATE_POD_SCALE_DOWN,
                self._frees_room,
                shared_by_signature=True,
            ),
        )

    def hint_signature(self, pod: Pod) -> Hashable:
        """What filters read of it."""
        return encode(_compiled(self.args).filters.pod.values(pod))

    def sign_pod(self, pod: Pod, snapshot: Snapshot) -> bytes:
        """What is read of its name and labels."""
        identity = _compiled(self.args).identity
        return encode(identity.values(pod)) if identity.names else b""

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult:
        """Nothing to ask without filters."""
        return self._prepared(pod, _CachedResults) if self.args.filters else PreFilterResult(SKIP)

    def filter(self, state: _CachedResults, snapshot: Snapshot, rows: Rows) -> Codes:
        """Which filter is not true first."""
        return state.codes(snapshot, rows, ExtensionPoint.FILTER)

    def explain(self, state: _CachedResults, code: int) -> Why:
        """That filter's message, or the error."""
        if code == _NOT_EVALUATED:
            return ((UNFINISHED, str(state.waiting)),)
        place, error = state.found[code]
        one = self.args.filters[place]
        if error:
            return ((FAILED, f"{_shown(one.expression)} fails: {_shown(error)}"),)
        text = (
            " ".join(one.message.split())
            or f"node(s) didn't satisfy the CEL filter {_shown(one.expression)}"
        )
        return ((FALSE_UNTIL_CHANGED if _compiled(self.args).filters.moving else FALSE, text),)

    def pre_score(self, pod: Pod, snapshot: Snapshot) -> PreFilterResult:
        """Nothing to ask without scores."""
        return self._prepared(pod, _CachedScores) if self.args.scores else PreFilterResult(SKIP)

    def score(self, state: _CachedScores, snapshot: Snapshot, rows: Rows) -> Scores:
        """Not scores yet, but rows of the state's table."""
        return state.codes(snapshot, rows, ExtensionPoint.SCORE)

    def unfinished(self, state: _CachedScores) -> str:
        """Why there are nodes without a score."""
        return UNFINISHED.text.replace("{}", str(state.waiting)) if state.waiting else ""

    def normalize_score(self, state: _CachedScores, raw: Scores) -> Scores:
        """Each expression's numbers within 0..100, and their weighted mean, rounded down."""
        weights = np.array([one.weight for one in self.args.scores], np.float64)
        table = state.table[raw]
        for i, one in enumerate(self.args.scores):
            table[:, i] = (
                _scaled(table[:, i]) if one.normalize else np.clip(table[:, i], 0, MAX_NODE_SCORE)
            )
        means = np.nan_to_num(table, nan=0.0) @ weights / weights.sum()
        return np.asarray(np.floor(np.round(means, 6)), np.int64)

    def _prepared(self, pod: Pod, kind: type[_CachedResults]) -> PreFilterResult:
        answers = _cached_results(self.args, kind, pod)
        return PreFilterResult(SUCCESS, answers, depends_on=(answers,))

    def _is_true_now(self, pod: Pod, event: ClusterEvent, _store: Lister) -> bool:
        """Whether the filters are true of the node now and, if it was there before, were not, or
        depend on what pods request there.
        """
        old, new = event.old, event.new
        if not isinstance(new, Node) or _compiled(self.args).filters.moving:
            return isinstance(new, Node)
        answers = _cached_results(self.args, _CachedResults, pod)
        return answers.passes(new) and not (isinstance(old, Node) and answers.passes(old))

    def _is_seen_otherwise(self, pod: Pod, event: ClusterEvent, _store: Lister) -> bool:
        """Whether it is this pod, and something else than before that filters read."""
        old, new = event.old, event.new
        if (
            not isinstance(old, Pod)
            or not isinstance(new, Pod)
            or new.metadata.uid != pod.metadata.uid
        ):
            return False
        seen = _compiled(self.args).filters.pod
        return seen.values(old) != seen.values(new)

    def _frees_room(self, _pod: Pod, _event: ClusterEvent, _store: Lister) -> bool:
        """Whether filters read what pods request of a node."""
        return _compiled(self.args).filters.moving


def _scaled(numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The lowest becomes 0, the highest 100; all 0 where they are alike."""
    low = np.min(numbers, initial=math.inf, where=~np.isnan(numbers))
    high = np.max(numbers, initial=-math.inf, where=~np.isnan(numbers))
    return (
        (numbers - low) * (MAX_NODE_SCORE / (high - low)) if high > low else np.zeros_like(numbers)
    )


def _shown(text: str) -> str:
    """On one line, and not the whole of a long one."""
    line = " ".join(text.split())
    return line if len(line) <= _MAX_SHOWN_CHARACTERS else f"{line[:_MAX_SHOWN_CHARACTERS]}…"


_MAX_SHOWN_CHARACTERS = 100
