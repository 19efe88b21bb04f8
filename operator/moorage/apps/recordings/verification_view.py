"""What `moorage replay` prints: one sentence that is the answer, then what it rests on."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from rich.console import RenderableType

import moorage
from moorage.adapters.recording import RULES
from moorage.apps.exit_status import ExitStatus
from moorage.apps.printing.amounts import age, counted, moment
from moorage.apps.printing.terminal import Style, new_table, sentence
from moorage.apps.recordings.stretches import ExplainedDifference, ReplayOptions, UnknownTime
from moorage.apps.recordings.verification import Verification
from moorage.apps.worlds.world import World
from moorage.core.recording.others import Choice, ChoiceVerdict
from moorage.core.recording.recorded_decisions import RecordedOutcome

FEW: Final = 20
"""Rows of a list that is not asked for as a whole."""
_REASONS: Final[Mapping[ChoiceVerdict, str]] = {
    ChoiceVerdict.STALE: "it was one of the best shortly before",
    ChoiceVerdict.SAMPLED: "maybe the best of the nodes that a sampling scheduler saw",
    ChoiceVerdict.OTHER_PROFILE: "it is one of the best under another preset",
    ChoiceVerdict.REFUSED: "a plugin refuses it",
    ChoiceVerdict.WORSE: "nothing of these explains it",
}


def exit_status_of(found: Verification, options: ReplayOptions) -> ExitStatus:
    """No where a decision came out otherwise, no answer where none could be made again that was to
    be verified: a pipeline must not take that for a yes.
    """
    if found.differences:
        return ExitStatus.NO
    return ExitStatus.NO_ANSWER if options.verify and not found.decisions else ExitStatus.YES


# ---- verification --------------------------------------------------------------------------------


def verification(found: Verification, everything: bool) -> Iterator[RenderableType]:
    """What verifying led to."""
    if found.differences:
        shown = found.differences if everything else found.differences[:FEW]
        for one in shown:
            yield from _difference(one, found)
        yield from _more(len(found.differences) - len(shown))
        yield sentence(f"  {_versions(found)} The other {found.same:,} are the same.")
    elif found.decisions:
        rate = found.decisions / max(found.seconds, 1e-9)
        yield sentence(f"{_verdict(found)} {age(found.seconds)} ({rate:,.0f}/s)", Style.WELL)
    else:
        yield sentence(_verdict(found), Style.WAITS)
    if found.not_made_again:
        reasons = ", ".join(f"{number:,} {why}" for why, number in found.not_made.items())
        yield sentence(f"  {found.not_made_again:,} could not be made again: {reasons}")
    yield from about(found)


def _verdict(found: Verification) -> str:
    if found.differences:
        return _where(found.differences[0], found)
    if found.decisions:
        return f"All {found.decisions:,} decisions of ours are the same, bit for bit."
    if found.recorded_decisions:
        recorded = counted(found.recorded_decisions, "decision")
        return f"Nothing was verified: none of the {recorded} of ours could be made again."
    return "Nothing was verified: no decision of ours is in it, as an operator records them."


def _where(one: ExplainedDifference, found: Verification) -> str:
    place = f"decision {one.number:,} of {found.recorded_decisions:,}"
    return f"Differs at {place}: {one.pod} at {moment(one.at)}"


def about(found: Verification) -> Iterator[RenderableType]:
    """What is in the recording."""
    if found.revisions:
        yield sentence(f"  revisions {', '.join(found.revisions)}")
    for line in _others_in_short(found.choices):
        yield sentence(f"  {line}")
    for text in _gaps(found.gaps):
        yield sentence(f"  {text}", Style.WAITS)
    for warning in found.warnings:
        yield sentence(f"  {warning}", Style.WAITS)


def _gaps(gaps: Sequence[UnknownTime]) -> Iterator[str]:
    if not gaps:
        return
    yield f"{counted(len(gaps), 'gap')}, of which nothing is known:"
    for gap in gaps[:FEW]:
        until = f"to {moment(gap.end)}" if gap.end < math.inf else "on"
        yield f"  from {moment(gap.begin)} {until}"
    if len(gaps) > FEW:
        yield f"  and {len(gaps) - FEW:,} more (-o json)"


def contents(found: Verification, path: object) -> Iterator[RenderableType]:
    """A recording that nothing was asked of."""
    decided = counted(found.recorded_decisions, "decision")
    yield sentence(_span(found, path))
    entries = counted(sum(found.entries.values()), "entry", "entries")
    yield sentence(f"  {entries}, {decided} of ours")
    yield from about(found)
    look = "--verify" if found.recorded_decisions else "--others"
    yield sentence(f"Next: moorage replay {path} {look}   moorage replay {path} --at TIME")


def _span(found: Verification, path: object) -> str:
    began, ended = moment(found.begin), moment(found.end)
    return f"{path} holds {age(found.end - found.begin)}, {began} to {ended}."


def _difference(one: ExplainedDifference, found: Verification) -> Iterator[RenderableType]:
    yield sentence(_where(one, found), Style.REFUSED)
    recorded = f"recorded  {_outcome(one.then)}"
    yield sentence(f"  {recorded}    now  {_outcome(one.now)}")
    for name in one.verdicts:
        yield sentence(f"  {name}: says otherwise whether a node takes the pod")
    then = one.then_node
    if then is not None and then.score not in (None, one.then.score):
        text = f"  {one.then.node} had {one.then.score} then and has {then.score} now"
        yield sentence(text)
    for name, mine, other in one.plugins[:3]:
        yield sentence(f"  {name}: {mine} for the node of then, {other} for that of now")


def _outcome(outcome: RecordedOutcome | None) -> str:
    if outcome is None:
        return "extenders would be asked further"
    if not outcome.node:
        return f"no node ({outcome.code}: {outcome.message})"
    score = "" if outcome.score is None else f"  {outcome.score}"
    return f"{outcome.node}{score}  of {counted(outcome.feasible_nodes, 'node')}"


def _versions(found: Verification) -> str:
    built = found.recorded_by.get("moorage", "an unknown version")
    text = f"Recorded with moorage {built}, replayed with {moorage.__version__}."
    rules = found.recorded_by.get(RULES, "1.36")
    if rules == moorage.FOLLOWED:
        return text
    return f"{text} The rules were those of kube-scheduler {rules}, now of {moorage.FOLLOWED}."


# ---- others --------------------------------------------------------------------------------------


def _others_in_short(choices: list[Choice]) -> Iterator[str]:
    bound = Counter(choice.scheduler_name for choice in choices)
    for name, count in bound.items():
        best = sum(
            choice.verdict is ChoiceVerdict.BEST
            for choice in choices
            if choice.scheduler_name == name
        )
        left = f", {count - best:,} not (--others)" if count > best else ""
        text = f"not ours  {counted(count, 'pod')} bound by {name}"
        yield f"{text}: {best:,} on one of our best nodes{left}"


def others(found: Verification, everything: bool) -> Iterator[RenderableType]:
    """Why choices of others are not ours."""
    yield sentence(_agreement(found))
    missed = [choice for choice in found.choices if choice.verdict is not ChoiceVerdict.BEST]
    if not missed:
        return
    yield ""
    yield _reasons(missed)
    yield ""
    shown = missed if everything else missed[:FEW]
    yield _choices(shown)
    yield from _more(len(missed) - len(shown))


def _agreement(found: Verification) -> str:
    if not found.choices:
        return "Nobody else bound a pod in it."
    best = sum(choice.verdict is ChoiceVerdict.BEST for choice in found.choices)
    text = f"{best:,} of {len(found.choices):,} pods that others bound are on one of our best nodes"
    return f"{text} ({best / len(found.choices):.1%})."


def _reasons(missed: list[Choice]) -> RenderableType:
    table = new_table("PODS", "VERDICT", "MEANS", numbers=["PODS"], wide="MEANS")
    for verdict, count in Counter(choice.verdict for choice in missed).most_common():
        table.add_row(f"{count:,}", verdict.value, _REASONS[verdict])
    return table


def _choices(shown: list[Choice]) -> RenderableType:
    numbers = ["SCORE", "BEST"]
    table = new_table(
        "POD", "NODE", "SCHEDULER", "SCORE", "BEST", "WHY", numbers=numbers, wide="WHY"
    )
    for choice in shown:
        ours = choice.standing
        table.add_row(
            sentence(choice.pod),
            sentence(choice.node),
            sentence(choice.scheduler_name),
            "-" if ours.score is None else f"{ours.score:,}",
            "-" if ours.best_score is None else f"{ours.best_score:,}",
            sentence(_why(choice)),
        )
    return table


def _why(choice: Choice) -> str:
    match choice.verdict:
        case ChoiceVerdict.STALE:
            return f"stale: best {choice.seconds:.1f} s before"
        case ChoiceVerdict.SAMPLED:
            return f"sampled: {choice.standing.better_nodes:,} better ones may not have been seen"
        case ChoiceVerdict.OTHER_PROFILE:
            return f"best under {choice.profile}"
        case ChoiceVerdict.REFUSED:
            return f"refused: {choice.standing.refused_by or '-'}: {choice.standing.why}"
        case _:
            return f"worse: {choice.standing.better_nodes:,} nodes are better"


# ---- a moment ------------------------------------------------------------------------------------


def at_moment(world: World) -> Iterator[RenderableType]:
    """The cluster as it was."""
    cache = world.context.cache
    waiting = Counter(pod.spec.scheduler_name for pod in cache.waiting.values())
    yield sentence(_there_were(world))
    table = new_table("PROFILE", "REVISION", "WAITING", numbers=["WAITING"])
    for name in sorted(world.profiles.keys() | waiting.keys()):
        revision = world.profiles.get(name)
        shown = revision.id if revision is not None else "- (not ours)"
        table.add_row(sentence(name), shown, f"{waiting[name]:,}")
    yield table
    for warning in world.warnings:
        yield sentence(f"  {warning}", Style.WAITS)


def _there_were(world: World) -> str:
    cache = world.context.cache
    nodes, pods = counted(len(cache.nodes), "node"), counted(len(cache), "pod")
    text = f"{nodes}, {pods} on nodes, {len(cache.waiting):,} that wait"
    return f"At {moment(world.at.timestamp())} there were {text}."


# ---- for programs --------------------------------------------------------------------------------


def replay_document(found: Verification, path: object, options: ReplayOptions) -> dict[str, Any]:
    """What ``-o json`` has."""
    answer = _span(found, path)
    if options.others:
        answer = _agreement(found)
    elif options.verify:
        answer = _verdict(found)
    differences = [_difference_document(one) for one in found.differences]
    return {
        "answer": answer,
        "recordedBy": found.recorded_by,
        "begin": moment(found.begin),
        "end": moment(found.end),
        "decisions": found.decisions,
        "same": found.same,
        "notMadeAgain": found.not_made_again,
        "gaps": [
            {"begin": moment(gap.begin), "end": moment(gap.end) if gap.end < math.inf else None}
            for gap in found.gaps
        ],
        "revisions": list(found.revisions),
        "firstDifference": differences[0] if differences else None,
        "differences": differences,
        "others": [_choice_document(choice) for choice in found.choices],
        "warnings": found.warnings,
    }


def moment_document(world: World) -> dict[str, Any]:
    """The same of a moment."""
    cache = world.context.cache
    return {
        "answer": _there_were(world),
        "time": moment(world.at.timestamp()),
        "nodes": len(cache.nodes),
        "podsOnNodes": len(cache),
        "podsWaiting": len(cache.waiting),
        "profiles": {name: revision.id for name, revision in world.profiles.items()},
        "warnings": list(world.warnings),
    }


def _difference_document(one: ExplainedDifference) -> dict[str, Any]:
    return {
        "decision": one.number,
        "pod": one.pod,
        "time": moment(one.at),
        "recorded": _outcome_document(one.then),
        "now": None if one.now is None else _outcome_document(one.now),
        "plugins": [
            {"name": name, "scoreOfRecordedNode": mine, "scoreOfNodeNow": other}
            for name, mine, other in one.plugins
        ],
        "verdictsOf": list(one.verdicts),
    }


def _outcome_document(outcome: RecordedOutcome) -> dict[str, Any]:
    return {
        "node": outcome.node,
        "score": outcome.score,
        "feasibleNodes": outcome.feasible_nodes,
        "code": outcome.code,
        "message": outcome.message,
    }


def _choice_document(choice: Choice) -> dict[str, Any]:
    ours = choice.standing
    return {
        "pod": choice.pod,
        "node": choice.node,
        "schedulerName": choice.scheduler_name,
        "time": moment(choice.at),
        "verdict": choice.verdict.value,
        "score": ours.score,
        "bestScore": ours.best_score,
        "betterNodes": ours.better_nodes,
        "plugin": ours.refused_by,
        "why": ours.why,
        "preset": choice.profile,
        "secondsBefore": round(choice.seconds, 3),
    }


def _more(left: int) -> Iterator[RenderableType]:
    if left > 0:
        yield sentence(f"  and {left:,} more (--all)", Style.DIM)
