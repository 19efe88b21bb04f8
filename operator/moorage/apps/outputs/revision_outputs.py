"""Documents of `moorage history`, `diff`, `rollback`, `trial` and `check`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from moorage.apps.outputs.fields import AnsweredOutput, TypedDict


class HistoryOutput(AnsweredOutput):
    """The revisions of a profile."""

    kind: Literal["History"]
    profile: str
    """Its name."""
    revisions: list[RevisionPart]
    """The newest first."""


class RevisionPart(TypedDict):
    """A revision, and what became of it."""

    revision: str
    """Its name."""
    state: str
    """active, trial, rolled back, stored ..., as the table has it."""
    since: str | None
    """When it was stored or began to decide."""
    seconds: float | None
    """For how long it decided."""
    changedBy: str | None
    """The field manager of the change."""
    number: int | None
    """Counts the profile's revisions."""
    changes: list[str]
    """What was otherwise in effect before."""


class DiffOutput(AnsweredOutput):
    """What two profiles or revisions differ in."""

    kind: Literal["Diff"]
    a: str
    """The first side."""
    b: str
    """The second side."""
    same: int
    """Settings that do not differ."""
    differences: list[DifferencePart]
    """Settings that do."""
    errors: dict[str, list[str]]
    """What is wrong with a side, by its name."""


class DifferencePart(TypedDict):
    """A setting; null on a side that does not have it."""

    setting: str
    """What it is."""
    a: SaidPart | None
    """On the first side."""
    b: SaidPart | None
    """On the second side."""


class SaidPart(TypedDict):
    """A value, and where it is said."""

    value: str
    """As text."""
    saidBy: str
    """A field of the spec, a PluginConfig, or the operator's default."""


class RollbackOutput(AnsweredOutput):
    """What is written so that an older revision decides again."""

    kind: Literal["Rollback"]
    profile: str
    """Its name."""
    from_: Annotated[str | None, Field(alias="from")]
    """The revision that decided before."""
    to: str
    """The revision that is to decide."""
    changes: list[FieldChangePart]
    """Fields of the spec that are written."""
    inlined: list[str]
    """PluginConfigs that have changed since: their old arguments are written inline."""
    owners: list[OwnerPart]
    """Who else writes these fields."""
    activeSince: str | None
    """Since when it decides; null while it does not."""


class FieldChangePart(TypedDict):
    """A field of the spec that becomes another; null: it is not there."""

    field: str
    """Below spec."""
    old: Any
    """What it is."""
    new: Any
    """What it becomes."""


class OwnerPart(TypedDict):
    """Who else writes the fields that change."""

    manager: str
    """The field manager."""
    fields: list[str]
    """What it owns of them."""
    tool: str
    """The GitOps tool that it is, "" for none."""
    advice: str
    """How to keep it from undoing this."""


class PauseOutput(AnsweredOutput):
    """Of `moorage rollback --pause`."""

    kind: Literal["Pause"]
    profile: str
    """Its name."""
    held: str
    """The revision that goes on deciding."""
    activeSince: str | None
    """Since when it decides."""


class TrialOutput(AnsweredOutput):
    """The trial of a profile's new revision."""

    kind: Literal["Trial"]
    profile: str
    """Its name."""
    trial: dict[str, Any] | None
    """status.trial of the profile; null where there is none."""
    pairs: list[dict[str, Any]]
    """Pods for which only the former revision found a node, as in status.trial.regressed."""
    pairsTotal: int
    """How many there are; the status keeps a few."""


class CheckOutput(AnsweredOutput):
    """What the operator would say to the objects of files."""

    kind: Literal["Check"]
    unreadable: list[str]
    """What is wrong with files, a text each."""
    objects: list[CheckedPart]
    """SchedulerProfiles and PluginConfigs, in the order of the files."""


class CheckedPart(TypedDict):
    """An object."""

    file: str
    """Where it stands."""
    kind: str
    """SchedulerProfile or PluginConfig."""
    name: str
    """Of its metadata."""
    errors: list[str]
    """Why it would be refused."""
    warnings: list[str]
    """What has no effect."""
