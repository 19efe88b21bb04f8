"""What two profiles, or two revisions, do not share: what is in effect counts, wherever it is
said.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml
from rich.console import Console
from rich.text import Text

from moorage.api.resolution import Resolver
from moorage.api.yaml_documents import DocumentError
from moorage.apps.commands.input_files import STDIN
from moorage.apps.exit_status import NoAnswer, WrongUse
from moorage.apps.object_files import documents_of
from moorage.apps.printing import terminal
from moorage.apps.printing.terminal import Style
from moorage.apps.revisions.profile_view import ProfileView, Said
from moorage.apps.revisions.settings import (
    Setting,
    SettingDifference,
    Settings,
    differences,
    settings,
)

_FILES: Final = (".yaml", ".yml", ".json")


@dataclasses.dataclass(frozen=True, slots=True)
class DiffSide:
    """One of the two: what it is called, and what says it."""

    label: str
    said: Said


@dataclasses.dataclass(frozen=True, slots=True)
class Comparison:
    """What two sides do not share. ``errors`` are those of a spec that is refused, by label: then
    nothing of it is in effect.
    """

    a: DiffSide
    b: DiffSide
    differences: tuple[SettingDifference, ...]
    same: int
    errors: Mapping[str, Sequence[str]]

    @property
    def differ(self) -> bool:
        """Whether the answer is that they differ."""
        return bool(self.differences or self.errors)

    @property
    def sentence(self) -> str:
        """The answer in one line."""
        if self.errors:
            return "; ".join(f"{label} is refused" for label in self.errors)
        if self.differences:
            count = len(self.differences)
            settings = "1 setting differs" if count == 1 else f"{count} settings differ"
            return f"{settings} in effect, {self.same} are the same."
        if list(unified(self.a, self.b)):
            return "No difference in effect. The specs say it otherwise (--yaml)."
        return "No difference."


def is_file(name: str) -> bool:
    """Whether an argument means a file, not a profile."""
    return name == str(STDIN) or name.endswith(_FILES) or "/" in name


def compared(a: DiffSide, b: DiffSide, resolver: Resolver) -> Comparison:
    """Both sides, resolved here."""
    errors: dict[str, Sequence[str]] = {}
    found: list[Settings] = []
    for side in (a, b):
        resolution = resolver(side.said.profile, side.said.configs, trusted=True)
        if resolution.errors:
            errors[side.label] = [str(error) for error in resolution.errors]
        else:
            found.append(settings(resolution, resolver))
    if errors:
        return Comparison(a, b, (), 0, errors)
    differing = differences(*found)
    same = sum(found[1].get(name) is not None for name in found[0]) - len(differing)
    return Comparison(a, b, tuple(differing), max(same, 0), {})


# ---- sides ---------------------------------------------------------------------------------------


def from_cluster(view: ProfileView, revision: str) -> DiffSide:
    """What decides for a profile, or a revision of it. Raises WrongUse, and NoAnswer where none was
    good yet.
    """
    if revision:
        return DiffSide(*view.revision(revision))
    if not view.active:
        why = view.condition("Accepted").get("message") or "the operator has not looked at it yet"
        raise NoAnswer(f"{view.name} has no good revision yet: {why}")
    return DiffSide(*view.revision(view.active))


def from_spec(view: ProfileView) -> DiffSide:
    """A profile's spec as it is, good or bad."""
    return DiffSide("spec", view.said)


def from_file(name: str, wanted: str, configs: Mapping[str, Any]) -> DiffSide:
    """The profile in a file, ``wanted`` where there are more; PluginConfigs that are not in it are
    taken from ``configs``. Raises WrongUse.
    """
    try:
        found = list(documents_of(Path(name)))
    except (OSError, UnicodeDecodeError, DocumentError) as error:
        raise WrongUse(f"{name}: {error}") from error
    profiles = {one.name: one.body for one in found if one.kind == "SchedulerProfile"}
    if len(profiles) != 1 and wanted not in profiles:
        there = ", ".join(profiles) or "none"
        raise WrongUse(f"{name}: one SchedulerProfile is looked for; there are: {there}")
    profile = profiles.get(wanted) or next(iter(profiles.values()))
    own = {one.name: one.body for one in found if one.kind == "PluginConfig"}
    return DiffSide(name, Said(profile, {**configs, **own}))


# ---- printing ------------------------------------------------------------------------------------


def unified(a: DiffSide, b: DiffSide) -> Sequence[str]:
    """The unified diff of what both say, PluginConfigs included."""
    one, other = (_yaml(side.said).splitlines() for side in (a, b))
    return list(difflib.unified_diff(one, other, a.label, b.label, lineterm=""))


def _yaml(said: Said) -> str:
    references = [
        (entry.get("configRef") or {}).get("name") for entry in said.spec.get("pluginConfig") or ()
    ]
    whole: dict[str, Any] = {"spec": dict(said.spec)}
    for name in sorted(filter(None, references)):
        body = said.configs.get(name)
        whole[f"PluginConfig {name}"] = dict(body.get("spec") or {}) if body is not None else None
    return yaml.safe_dump(whole, allow_unicode=True)


def table(found: Comparison, console: Console) -> None:
    """The answer, and the settings that differ."""
    parts: list[Any] = [terminal.sentence(found.sentence)]
    for label, errors in found.errors.items():
        parts += [terminal.sentence(f"  {label}: {error}") for error in errors]
    if found.differences:
        head = (found.a.label, found.b.label, "SAID BY")
        rows = terminal.new_table("", *head, wide=head)
        for one in found.differences:
            a, b = one.values
            rows.add_row(one.setting, a, Text(b, style=Style.NAME), one.said_by)
        parts.append(rows)
    terminal.write(console, *parts)


def document(found: Comparison) -> dict[str, Any]:
    """The same for programs."""
    return {
        "answer": found.sentence,
        "a": found.a.label,
        "b": found.b.label,
        "same": found.same,
        "differences": [
            {
                "setting": one.setting,
                "a": _document(one.a),
                "b": _document(one.b),
            }
            for one in found.differences
        ],
        "errors": {label: list(errors) for label, errors in found.errors.items()},
    }


def _document(setting: Setting | None) -> dict[str, str] | None:
    return None if setting is None else {"value": setting.value, "saidBy": setting.said_by}
