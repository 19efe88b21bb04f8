"""What a recorded time comes to beside the same time under candidates."""

from __future__ import annotations

from typing import Any

from moorage.apps.printing.amounts import age
from moorage.apps.simulate.simulation_answers import (
    Answer,
    AnswerTable,
    Chart,
    amount,
    waiting_documents,
    waiting_table,
)
from moorage.core.simulation.compared_measures import REPLICAS, ComparedMeasure
from moorage.core.simulation.intervals import WINDOWS
from moorage.core.simulation.measures import EMPTY_NODES, WAITING
from moorage.core.simulation.world_comparisons import WorldComparison

CANNOT_KNOW = (
    "Cannot know: how users and controllers react (autoscalers too), what extenders and admission "
    "would say, and retries at other times."
)
_SHORT_SECONDS = WINDOWS * 60.0
"""Windows of less than a minute depend on each other."""
_VERDICTS = {True: "clear", False: "no clear difference"}


def two_recorded_worlds(found: WorldComparison, source: str) -> Answer:
    """World A as it was, world B under the candidates."""
    rows = tuple(_row(one) for one in found.measures)
    columns = ("", "A", "B", "B - A", "95 % INTERVAL", "VERDICT")
    tables = [AnswerTable(columns, rows, columns[1:5])]
    if found.only_b:
        tables.append(waiting_table(found.only_b))
    return Answer(
        _headline(found),
        len(found.waiting_b) <= found.waiting_a,
        tuple(tables),
        (*_notes(found), f"From {source}.", CANNOT_KNOW),
        _document(found, source),
        tuple(
            Chart(one.name, {"A": found.windows_a[one], "B": found.windows_b[one]})
            for one in found.windows_a
            if one in found.windows_b
        ),
    )


def _headline(found: WorldComparison) -> str:
    arrivals = f"{found.arrivals:,} arrivals over {age(found.seconds)}."
    clear = [one for one in found.measures if one.interval is not None and one.interval.clear]
    if not clear:
        return f"No clear difference. {arrivals}"
    largest = max(clear, key=lambda one: (one.measure == EMPTY_NODES, _ratio(one)))
    feared = next((one for one in found.measures if one.measure == WAITING), None)
    said = [_said(largest), *([_said(feared)] if feared and feared is not largest else [])]
    return f"In B {'; '.join(said)}. {arrivals}"


def _said(one: ComparedMeasure) -> str:
    if one.interval is None or not one.interval.clear:
        return f"{one.measure.name}: no clear difference"
    return f"{one.measure.name} {amount(one.interval.difference, one.measure.unit, signed=True)}"


def _ratio(one: ComparedMeasure) -> float:
    """How many times its uncertainty a difference is."""
    if one.interval is None:
        return 0.0
    reach = one.interval.high - one.interval.difference
    return abs(one.interval.difference) / reach if reach else float("inf")


def _row(one: ComparedMeasure) -> tuple[str, ...]:
    name, unit = one.measure
    values = name, amount(one.a, unit), amount(one.b, unit)
    if one.interval is None:
        return (*values, "-", "-", "too little to say")
    low, high = (amount(end, unit, signed=True) for end in one.interval[1:])
    difference = amount(one.interval.difference, unit, signed=True)
    return (*values, difference, f"{low} .. {high}", _VERDICTS[one.interval.clear])


def measure_texts(found: WorldComparison) -> dict[str, dict[str, str]]:
    """By measure: what each column of its row says."""
    names = ("a", "b", "difference", "interval")
    rows = (_row(one) for one in found.measures)
    return {row[0]: dict(zip(names, row[1:5], strict=True)) for row in rows}


def _notes(found: WorldComparison) -> list[str]:
    placed, elsewhere = found.moved
    share = round(100 * elsewhere / placed) if placed else 0
    notes = [
        _replicas_note(found),
        f"Elsewhere: {elsewhere:,} pods ({share} %). No node only in B: {len(found.only_b)}.",
    ]
    again, moved = found.moved_again
    if again:
        kept = 100 * (again - moved) / again
        notes.append(
            f"Made again without the candidate, {kept:.0f} % of pods go where they went; waits are "
            f"of that rerun."
        )
    if found.seconds < _SHORT_SECONDS:
        notes.append(f"The recording is short ({age(found.seconds)}): intervals are too narrow.")
    if found.cut_short:
        notes.append("There is a gap in the recording: what comes after it is left out.")
    return notes


def _replicas_note(found: WorldComparison) -> str:
    note = f"Means of {found.replicas} times, whose ties end otherwise"
    if found.replicas < REPLICAS:
        return f"{note}: no time was left for {REPLICAS}, so intervals are wide."
    return f"{note}; A as it was is one of them."


def _document(found: WorldComparison, source: str) -> dict[str, Any]:
    return {
        "question": "recording",
        "source": source,
        "seconds": found.seconds,
        "arrivals": found.arrivals,
        "replicas": found.replicas,
        "measures": [
            {
                "name": one.measure.name,
                "unit": one.measure.unit,
                "a": one.a,
                "b": one.b,
                "difference": None if one.interval is None else one.interval.difference,
                "interval": None if one.interval is None else list(one.interval[1:]),
                "clear": one.interval is not None and one.interval.clear,
            }
            for one in found.measures
        ],
        "placedInBoth": found.moved.placed,
        "elsewhere": found.moved.elsewhere,
        "madeAgain": {"placed": found.moved_again.placed, "elsewhere": found.moved_again.elsewhere},
        "waitingA": found.waiting_a,
        "waitingB": len(found.waiting_b),
        "onlyB": waiting_documents(found.only_b),
        "cutShort": found.cut_short,
        "cannotKnow": CANNOT_KNOW,
    }
