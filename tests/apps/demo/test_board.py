"""What is on the board, and what goes first where there is no room."""

from __future__ import annotations

import dataclasses
import datetime
import io

import pytest
from rich.console import Console
from rich.screen import Screen
from rich.text import Text

from moorage.apps.demo.board import Board
from moorage.apps.demo.cluster_state import ClusterState, DecisionRow, NodeUse, ProfileRow
from tests.apps.demo.boards import EXPORT, NOW, PROBLEM, ago, harbor

LOCAL = f"{NOW.astimezone():%H:%M:%S}"
HEAD = (
    f"{EXPORT}         ? help   Ctrl-C ends\n"
    f"moorage-1 leads, moorage-0 stands by               22 pods/s   5 wait   {LOCAL}\n\n"
)


def seen(board: Board, width: int = 80, height: int = 24) -> str:
    """What a screen of this size shows, without colours."""
    file = io.StringIO()
    console = Console(file=file, width=width, height=height, force_terminal=True, color_system=None)
    console.print(Screen(board))
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()).rstrip("\n")


def board(state: ClusterState, **more: object) -> Board:
    """A board of this moment."""
    return Board(state, NOW, EXPORT, **more)  # type: ignore[arg-type]


def test_everything() -> None:
    """On a terminal of the usual size."""
    assert seen(board(harbor())) == HEAD + (
        "PROFILE  READY  REVISION  PLACED  WAIT  GATED\n"
        "binpack  no     ae890778       1     3      0\n"
        "  spec.weights[NodeResourcesFitt]: no plugin has this name; did you mean\n"
        '  "NodeResourcesFit"? ae890778 goes on deciding.\n'
        "spread   yes    ec6fb6b9       0     0      2\n"
        "\n"
        "NODE     ZONE  CPU               MEMORY            PODS\n"
        "node-a1  a     █░░░░░░░░░   10%  ░░░░░░░░░░    5%     1\n"
        "node-a2  a     ██░░░░░░░░   20%  ░░░░░░░░░░    5%     2\n"
        "node-b1  b     █░░░░░░░░░   10%  ░░░░░░░░░░    5%     1\n"
        "node-b2  b     ██░░░░░░░░   20%  ░░░░░░░░░░    5%     2\n"
        "node-c1  c     █░░░░░░░░░   10%  ░░░░░░░░░░    5%     1\n"
        "node-c2  c     ██░░░░░░░░   20%  ░░░░░░░░░░    5%     2\n"
        "\n"
        "WHEN  POD                     NODE                         PROFILE\n"
        "1 s   demo/spread-mv78r       node-c1                      spread\n"
        "2 s   demo/large (3 pods)     no node: 6 Insufficient cpu  binpack\n"
        "4 s   demo/web-5c6f (2 pods)  gated: example.com/quota"
    )


@pytest.mark.parametrize("width", [40, 60, 80, 200])
@pytest.mark.parametrize("height", [10, 16, 24, 60])
def test_the_problem_is_always_there_whole(width: int, height: int) -> None:
    """Its lines break; what to type is above it, and no line is wider than the terminal."""
    said = seen(board(harbor()), width, height)
    lines = said.splitlines()
    assert len(lines) <= height
    assert max(map(len, lines)) <= width
    assert lines[0].startswith("export")
    if height > 10 or width > 40:
        assert " ".join(PROBLEM.split()) in " ".join(said.split())


@pytest.mark.parametrize(
    ("height", "there"),
    [(24, "PROFILE NODE WHEN"), (23, "PROFILE NODE"), (13, "PROFILE NODE"), (11, "PROFILE")],
)
def test_what_goes_first(height: int, there: str) -> None:
    """What happened, then nodes; the usual terminal has all three, however many nodes there
    are.
    """
    nodes = tuple(NodeUse(f"node-{each}", "a", 0.5, 0.5, 1) for each in range(100))
    state = dataclasses.replace(harbor(), nodes=nodes)
    lines = seen(board(state), height=height).splitlines()
    heads = [word for line in lines if (word := line.partition(" ")[0]).isupper()]
    assert heads == there.split()
    assert any(line.startswith("and ") for line in lines) is ("NODE" in there)


def test_profiles_that_are_well_go_last() -> None:
    """In one row with their number."""
    well = tuple(ProfileRow(f"p{each}", 1, "r", True, "", 0, 0) for each in range(9))
    state = dataclasses.replace(harbor(), profiles=(*well, harbor().profiles[0]))
    said = seen(board(state), height=11)
    assert "binpack  no" in said
    assert "and 7 more that are well" in said


def test_long_reasons_break_their_lines() -> None:
    """Nothing of them is cut."""
    why = "1 node(s) had untolerated taint(s) {example.com/maintenance: planned}, 5 Too many pods"
    state = ClusterState(
        decisions=(DecisionRow(ago(1), "demo/web-5c6f-x2lqp", "", "spread", "r"),),
        refused={"demo/web-5c6f-x2lqp": why},
    )
    lines = seen(board(state)).splitlines()
    column = next(line.index("NODE") for line in lines if line.startswith("WHEN"))
    start = next(row for row, line in enumerate(lines) if "demo/web" in line)
    told = " ".join(line[column:].split("  ")[0].strip() for line in lines[start:])
    assert told == f"no node: {why}"


def test_a_feed_that_stands() -> None:
    """Takes the place of who leads, as that is old too."""
    said = seen(board(harbor(), silent=12.3)).splitlines()[1]
    assert said.startswith("nothing heard for 12 s; what you see is old")
    assert said.endswith(LOCAL)


def test_a_text_keeps_its_end() -> None:
    """Where it is too long for what is left."""
    text = tuple(Text(f"line {each}") for each in range(40))
    said = seen(board(harbor(), text=text))
    assert "line 39" in said
    assert "line 0\n" not in said
    assert seen(board(harbor(), text=text), height=60).count("line ") == 40
    beside = seen(board(harbor(), text=text[:8]))
    assert beside.count("line ") == 8
    assert "and 6 more" in beside


def test_a_page_stands_alone() -> None:
    """Below the two lines that are always there."""
    said = seen(board(harbor(), page=("one", "two")))
    assert said == HEAD + "one\ntwo"


def test_nothing_yet() -> None:
    """Headings only."""
    moment = datetime.datetime.now(datetime.UTC)
    assert "PROFILE" in seen(Board(ClusterState(), moment, EXPORT))


def test_strangers() -> None:
    """Pods that nobody will ever place."""
    state = dataclasses.replace(harbor(), places={"nobody": {"demo/s": ""}})
    assert "schedulerName is no profile's, which nobody places: 1" in " ".join(
        seen(board(state)).split()
    )
