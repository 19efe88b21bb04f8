"""Whether somebody wants it: asked at a terminal, and nowhere else."""

from __future__ import annotations

import io

import pytest

from moorage.apps.commands.consent import confirmed
from moorage.apps.exit_status import WrongUse


class Terminal(io.StringIO):
    """Somebody types this."""

    def isatty(self) -> bool:
        """Yes."""
        return True


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [("y\n", True), ("Yes \n", True), ("\n", False), ("n\n", False), ("", False)],
)
def test_only_a_yes_is_one(
    typed: str, wanted: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The question stands on stderr, so that what is printed stays as it is."""
    monkeypatch.setattr("sys.stdin", Terminal(typed))
    assert confirmed("uninstall") is wanted
    assert capsys.readouterr() == ("", "Go on? [y/N] ")


def test_nobody_is_asked_where_nobody_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said what goes on without."""
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    with pytest.raises(WrongUse, match=r"uninstall: nobody can be asked here: --yes goes on"):
        confirmed("uninstall")
