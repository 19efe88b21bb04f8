"""Tables, colours, quantities and documents."""

from __future__ import annotations

import io
import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kubefacts.quantities import milli_value, value
from moorage.apps.printing import amounts, documents
from moorage.apps.printing.progress_line import ProgressLine, keep_going, working
from moorage.apps.printing.terminal import Style, new_table, open_console, sentence, write


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def printed(stream: io.StringIO) -> list[str]:
    """What stands in it."""
    console = open_console(stream)
    rows = new_table("NODES", "REASON", numbers=("NODES",), wide="REASON")
    rows.add_row("3", "Insufficient memory " * 6)
    rows.add_row("12", "cordoned")
    write(console, sentence("No node\x1b[2J fits.", Style.REFUSED), rows)
    return stream.getvalue().split("\n")


def test_elsewhere_each_row_is_a_line() -> None:
    """No colour, no wrapping, no blanks at the end; and no control characters of others."""
    assert printed(io.StringIO()) == [
        "No node\\x1b[2J fits.",
        "NODES  REASON",
        "    3  " + " ".join(["Insufficient memory"] * 6),
        "   12  cordoned",
        "",
    ]


def test_a_dumb_terminal_has_lines_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No colour, and no line that is wiped; nor without one's knowledge anywhere else."""
    monkeypatch.setenv("TERM", "dumb")
    assert "\x1b" not in "".join(printed(Terminal()))
    stream = Terminal()
    with ProgressLine("Simulating", stream, iter(range(0, 100, 5)).__next__) as line:
        line.say("3 of 4 nodes")
    assert stream.getvalue() == ""


def test_on_a_terminal_lines_break_and_have_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long reason goes on under its column."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("NO_COLOR", raising=False)
    lines = printed(Terminal())
    assert lines[0].startswith("\x1b[31m")
    assert lines[3].startswith("       memory Insufficient")
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[31m" not in "".join(printed(Terminal()))


@pytest.mark.parametrize(
    ("resource", "amount", "exact", "up", "down"),
    [
        ("cpu", 12000, "12", "12", "12"),
        ("cpu", 1500, "1500m", "1500m", "1500m"),
        ("nvidia.com/gpu", 4, "4", "4", "4"),
        ("memory", 96 * 2**30, "96Gi", "96Gi", "96Gi"),
        ("memory", 0, "0", "0", "0"),
        ("memory", 68 * 2**30 + 1, f"{68 * 2**30 + 1}", "69Gi", "68Gi"),
        ("hugepages-2Mi", 2**21, "2Mi", "2Mi", "2Mi"),
    ],
)
def test_quantities(resource: str, amount: int, exact: str, up: str, down: str) -> None:
    """To the last unit, and to a unit that is read at a glance."""
    assert amounts.exact_quantity(resource, amount) == exact
    assert amounts.rounded_quantity(resource, amount, "up") == up
    assert amounts.rounded_quantity(resource, amount, "down") == down


@given(st.sampled_from(["cpu", "memory", "example.com/x"]), st.integers(0, 2**53))
def test_quantities_read_as_they_were(resource: str, amount: int) -> None:
    """What is written can be read; rounding goes by less than a step, in the right direction."""
    read = milli_value if resource == "cpu" else value
    assert read(amounts.exact_quantity(resource, amount)) == amount
    step = amounts.granularity(resource, amount)
    assert 0 <= read(amounts.rounded_quantity(resource, amount, "up")) - amount < step
    assert 0 <= amount - read(amounts.rounded_quantity(resource, amount, "down")) < step


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.1, "0.1s"), (10, "10s"), (2820, "47m"), (7860, "2h11m"), (277_200, "3d5h"), (86_400, "1d")],
)
def test_ages(seconds: float, text: str) -> None:
    """Two units at most."""
    assert amounts.age(seconds) == text


def test_moments() -> None:
    """RFC 3339."""
    assert amounts.moment(0.4) == "1970-01-01T00:00:00.400Z"


def test_documents() -> None:
    """Both forms say the same."""
    body = {"verdict": "Pending", "changes": []}
    wanted = {"apiVersion": "output.moorage.dev/v1alpha1", "kind": "Explanation", **body}
    assert json.loads(documents.document("Explanation", body, "json")) == wanted
    assert yaml.safe_load(documents.document("Explanation", body, "yaml")) == wanted


def test_a_progress_line_comes_late_and_goes() -> None:
    """What is quick says nothing, and nothing is left of it."""
    clock, stream = [0.0], Terminal()
    with ProgressLine("Working", stream, lambda: clock[0]) as line:
        for clock[0], share in ((0.9, 0.1), (1.0, 0.25), (1.1, 0.26), (1.3, 2.0)):
            line.tell(share)
    assert stream.getvalue() == "\r\x1b[KWorking 25%\r\x1b[KWorking 100%\r\x1b[K"
    quick = Terminal()
    with ProgressLine("Working", quick, lambda: 0.0) as line:
        line.tell(0.5)
    assert quick.getvalue() == ""


def test_what_says_nothing_is_said_to_go_on() -> None:
    """How long it has been going on, until it says something itself."""
    clock, stream = [0.0], Terminal()

    class Ending:
        """Ends after some seconds, each of which is one wait."""

        def wait(self, timeout: float) -> bool:
            """Let a second pass."""
            clock[0] += 1.0
            if clock[0] == 3.0:
                line.say("7 of 9 nodes")
            return clock[0] > 3.0

    with ProgressLine("Fitting", stream, lambda: clock[0]) as line:
        keep_going(line, Ending())
    shown = ["Fitting 1 s", "Fitting 2 s", "Fitting 7 of 9 nodes", ""]
    assert stream.getvalue().split("\r\x1b[K")[1:] == shown


def test_work_goes_on_while_its_line_does() -> None:
    """What is quick says nothing; an error ends the line too."""
    with working("Fitting", quick := Terminal()) as line:
        line.tell(0.5)
    assert quick.getvalue() == ""
    with pytest.raises(ValueError, match="no"), working("Fitting", Terminal()):
        raise ValueError("no")


def test_elsewhere_there_is_no_progress_line() -> None:
    """A log is not renewed."""
    clock, stream = [0.0], io.StringIO()
    with ProgressLine("Working", stream, lambda: clock[0]) as line:
        clock[0] = 9.0
        line.tell(0.5)
    assert stream.getvalue() == ""


@pytest.mark.parametrize(
    ("amount", "want"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1_000, "1.0 KB"),
        (41_234, "41 KB"),
        (3_141_592, "3.1 MB"),
        (151_000_000, "151 MB"),
        (4_200_000_000_000, "4200 GB"),
    ],
)
def test_sizes_of_files(amount: int, want: str) -> None:
    """By thousands, as disks have them."""
    assert amounts.size(amount) == want
