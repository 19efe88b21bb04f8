"""The history: which revisions decided for a profile, since when, who made them so, and what each
changed in effect.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from rich.console import Console
from rich.text import Text

from moorage.api import bodies
from moorage.api.resolution import Resolver
from moorage.apps.printing import amounts, terminal
from moorage.apps.printing.terminal import Style
from moorage.apps.revisions.profile_view import KeptRevision, ProfileView, Said
from moorage.apps.revisions.settings import SettingDifference, differences, settings

SHOWN: Final = 2
"""Differences of a revision that its line has room for."""
ACTIVE, TRIAL, PAUSED, LAST_GOOD = "active", "trial", "active, paused", "active, last good"
_STYLES: Final = {ACTIVE: Style.WELL, TRIAL: Style.TRIAL, "rolled back": Style.REFUSED}
_TRIAL_STATES: Final = {"SoFarNoWorse": TRIAL, "Regressed": "rolled back"}


@dataclasses.dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One revision. ``seconds``: for how long it decided, or was tried; None where that is not
    known. ``changes`` are those from what decided before; "first" where nothing did.
    """

    revision: str
    state: str
    since: str
    seconds: float | None
    changed_by: str
    changes: tuple[str, ...]
    number: int = 0

    @property
    def change(self) -> str:
        """The changes in one line."""
        shown = ", ".join(self.changes[:SHOWN])
        more = len(self.changes) - SHOWN
        return f"{shown} and {more} more" if more > 0 else shown


def entries(view: ProfileView, resolver: Resolver, now: datetime.datetime) -> list[HistoryEntry]:
    """The revisions of a profile, the newest first; ``now`` is aware."""
    return [*_trial(view, resolver, now), *_decided(view, resolver, now)]


def _decided(
    view: ProfileView, resolver: Resolver, now: datetime.datetime
) -> Iterator[HistoryEntry]:
    """Those that decide, or decided."""
    ended: datetime.datetime | None = now
    for i, stored in enumerate(view.stored):
        before = view.stored[i + 1].said if i + 1 < len(view.stored) else None
        began = _moment(stored.since)
        yield HistoryEntry(
            stored.revision,
            _state(view, stored),
            stored.since,
            (ended - began).total_seconds() if began and ended else None,
            stored.changed_by,
            _changes(before, stored.said, resolver) if before else ("first that is kept",),
            stored.number,
        )
        ended = began


def _trial(view: ProfileView, resolver: Resolver, now: datetime.datetime) -> Iterator[HistoryEntry]:
    """The revision that is, or was last, on trial, unless it decides by now."""
    trial = view.status.get("trial")
    revision = str(trial.get("revision") or "") if isinstance(trial, Mapping) else ""
    if not isinstance(trial, Mapping) or revision in ("", view.active):
        return
    if trial.get("verdict") == "Passed":
        return  # it has decided since, and has a line of its own
    since = str(trial.get("since") or "")
    began, state = _moment(since), _TRIAL_STATES.get(str(trial.get("verdict", "")), "not taken")
    ended = now if state == TRIAL else _moment(str(trial.get("ended") or ""))
    active = next((one for one in view.stored if one.revision == view.active), None)
    changes: tuple[str, ...] = ()
    if state != TRIAL:
        counts = (trial.get(field, 0) for field in ("regressions", "decided"))
        changes = ("{} regressions in {} decided pods".format(*counts),)
    elif active is not None and revision == view.desired:
        changes = _changes(active.said, view.said, resolver)
    seconds = (ended - began).total_seconds() if began and ended else None
    manager = _manager(view.said, active.changed_at if active is not None else "")
    yield HistoryEntry(revision, state, since, seconds, manager, changes)


def _state(view: ProfileView, stored: KeptRevision) -> str:
    if stored.revision != view.active:
        return "-"
    if view.condition("Active").get("reason") == "LastGood":
        return LAST_GOOD
    return PAUSED if bodies.paused(view.said.profile) else ACTIVE


def _manager(said: Said, before: str) -> str:
    used = [said.configs[name] for name in bodies.references(said.profile) if name in said.configs]
    return bodies.last_change((said.profile, *used), before).manager


def _changes(a: Said, b: Said, resolver: Resolver) -> tuple[str, ...]:
    """What is otherwise in effect, or why that cannot be said here."""
    one, other = (resolver(said.profile, said.configs, trusted=True) for said in (a, b))
    if errors := one.errors or other.errors:
        return (f"cannot be told here: {errors[0]}",)
    found: Sequence[SettingDifference] = differences(
        settings(one, resolver), settings(other, resolver)
    )
    return tuple(one.sentence for one in found) or ("nothing in effect",)


def _moment(text: str) -> datetime.datetime | None:
    try:
        return datetime.datetime.fromisoformat(text)
    except ValueError:
        return None


# ---- printing ------------------------------------------------------------------------------------


def table(found: Sequence[HistoryEntry], console: Console, *, wide: bool = False) -> None:
    """The revisions as a table, with all their changes when ``wide``."""
    table = terminal.new_table("REVISION", "STATE", "SINCE", "FOR", "BY", "CHANGE", wide="CHANGE")
    for entry in found:
        began = _moment(entry.since)
        table.add_row(
            Text(entry.revision, style=Style.NAME),
            Text(entry.state, style=_STYLES.get(entry.state.partition(",")[0], "")),
            f"{began:%d %b %H:%M}" if began else "-",
            "-" if entry.seconds is None else amounts.age(entry.seconds),
            terminal.sentence(entry.changed_by or "-"),
            terminal.sentence(", ".join(entry.changes) if wide else entry.change),
        )
    terminal.write(console, table)


def answer(view: ProfileView) -> str:
    """In a sentence."""
    if view.active:
        return f"{view.name} decides with {view.active}."
    why = view.condition("Accepted").get("message") or "the operator has not looked at it yet"
    return f"{view.name} has no good revision yet: {why}"


def document(view: ProfileView, found: Sequence[HistoryEntry]) -> dict[str, Any]:
    """The revisions for programs."""
    return {
        "answer": answer(view),
        "profile": view.name,
        "revisions": [
            {
                "revision": entry.revision,
                "state": entry.state,
                "since": entry.since or None,
                "seconds": entry.seconds,
                "changedBy": entry.changed_by or None,
                "number": entry.number or None,
                "changes": list(entry.changes),
            }
            for entry in found
        ],
    }
