"""Feature gates: which of kube-scheduler's are told to be otherwise here."""

from __future__ import annotations

from pathlib import Path

import pytest

from moorage.apps.convert.convert import ConversionOptions, convert
from moorage.apps.convert.feature_gates import GATES, FeatureGate, read_gates
from tests.apps.convert.test_convert import CONFIG, names, of

DOCS = Path(__file__).parents[3] / "docs" / "converting.md"


@pytest.mark.parametrize(
    ("flag", "gates"),
    [
        ("", {}),
        ("GenericWorkload=true", {"GenericWorkload": True}),
        (" kube:A=F , B = 1,,A=T", {"A": True, "B": True}),
    ],
)
def test_the_flag_is_read_as_kube_scheduler_reads_it(flag: str, gates: dict[str, bool]) -> None:
    """Go's booleans, and the component before a gate."""
    assert read_gates(flag) == gates


@pytest.mark.parametrize("flag", ["GenericWorkload", "A=true,B=yes", "=true", "A=true;B=true"])
def test_what_it_does_not_read_is_wrong_use(flag: str) -> None:
    """Nothing is converted."""
    report = of(CONFIG, feature_gates=flag)
    assert (report.output, report.status) == ("", 2)
    assert report.lines[0].endswith("write GATE=true or GATE=false, with commas between them")


@pytest.mark.parametrize("gate", GATES, ids=lambda gate: gate.name)
@pytest.mark.parametrize("on", [True, False])
def test_a_gate_is_told_where_it_is_otherwise_here(gate: FeatureGate, on: bool) -> None:
    """In the words of its row; one that is gone is told in any case."""
    setting = f"{gate.name}={str(on).lower()}"
    report = of(CONFIG, feature_gates=setting)
    told = gate.ours is not None and (gate.ours is not on or gate.stage == "gone")
    assert report.lines == (f"--feature-gates: warning: {setting}: {gate.otherwise}",) * told
    assert names(report) == ["SchedulerProfile a"]
    assert bool(gate.otherwise) is (gate.ours is not None)


@pytest.mark.parametrize(
    ("flag", "told"),
    [
        ("AllAlpha=true", "CompositePodGroup=true"),
        ("AllBeta=false", "StorageCapacityScoring=false"),
        ("AllAlpha=true,CompositePodGroup=false", None),
    ],
)
def test_all_of_a_stage(flag: str, told: str | None) -> None:
    """A gate that is set by itself goes first."""
    lines = of(CONFIG, feature_gates=flag).lines
    stages = {gate.name: gate.stage for gate in GATES}
    set_gates = [line.split(": ")[2].partition("=")[0] for line in lines]
    assert {stages[name] for name in set_gates} == {"Alpha" if "Alpha" in flag else "Beta"}
    named = [line for line in lines if "CompositePodGroup" in line or "StorageCapacity" in line]
    assert len(named) == (told is not None)
    assert all(told is not None and told in line for line in named)


def test_a_gate_that_nobody_knows() -> None:
    """It may be another program's, or misspelt."""
    (line,) = of(CONFIG, feature_gates="GenericWorkloads=true").lines
    assert line.startswith("--feature-gates: warning: GenericWorkloads: is left out: ")
    assert line.endswith('did you mean "GenericWorkload"?')


def test_gates_alone_are_nothing_to_convert() -> None:
    """They say what differs in a configuration."""
    assert convert([], ConversionOptions(feature_gates="GenericWorkload=true")).status == 2


def test_the_page_has_all_of_them() -> None:
    """A row says on, off, or that no decision goes by it."""
    rows = [row.split("|")[1:3] for row in DOCS.read_text().splitlines() if row.startswith("|")]
    for gate in GATES:
        (row,) = [row for row in rows if gate.name in row[0].replace(",", "").split()] or [
            row for row in rows if gate.name in row[1]
        ]
        if gate.stage != "gone":
            word = {True: "on", False: "off", None: "no decision"}[gate.ours]
            assert row[1].strip().startswith(word), gate.name
