"""The way back: the spec that a profile gets so that an older revision decides again, and what
there is to say about it before it is written.

What a revision is made of is written back whole. What is no part of its content (its names,
whether it is suspended, how changes are rolled out) stays as it is, but for what would keep the
older revision from deciding: a pause, and a rollout that would put it on trial.
"""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from moorage.api.bodies import Body
from moorage.apps.exit_status import CommandError, ExitStatus
from moorage.apps.revisions.owners import Owner, owners
from moorage.apps.revisions.profile_view import KeptRevision, ProfileView, Said

KEPT: Final = ("controllerName", "schedulerName", "suspend", "assign", "rollout")
"""Fields of the spec that are no part of a revision's content."""
ABSENT: Final = "-"


class NotReached(CommandError):
    """It is not to be, or was not reached."""

    status = ExitStatus.NO


@dataclasses.dataclass(frozen=True, slots=True)
class Change:
    """A field that is to be another; None: it is not there."""

    field: str
    old: Any
    new: Any

    @property
    def sentence(self) -> str:
        """As it is shown."""
        return f"spec.{self.field}  {_shown(self.old)} -> {_shown(self.new)}"


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """What is to be written. ``inlined`` names the PluginConfigs whose arguments have changed since
    and are written into the spec.
    """

    profile: str
    active: str
    target: str
    desired: str
    body: Body
    changes: tuple[Change, ...]
    inlined: tuple[str, ...]
    owners: tuple[Owner, ...]

    @property
    def sentence(self) -> str:
        """What will be, in one line."""
        if not self.changes:
            return f"{self.profile} decides with {self.target}, and its spec says so."
        if self.target == self.active:
            waiting = self.desired or "its spec, which is refused,"
            return f"{self.profile} stays with {self.target}; {waiting} is given up."
        start = f" from {self.active}" if self.active else ""
        waits = self.desired not in ("", self.active)
        gone = f"; {self.desired} is given up" if waits else ""
        return f"{self.profile} goes back{start} to {self.target}{gone}."


def planned(view: ProfileView, to: str) -> Plan:
    """The way to the revision whose name begins with ``to``; "" for the one that decides, where the
    spec says another, else for the one before. Raises WrongUse and NotReached.
    """
    target, said = _target(view, to)
    spec, inlined = _spec(view, said, stays=target == view.active)
    changes = tuple(_changes("", view.said.spec, spec))
    fields = {change.field.partition(".")[0].partition("[")[0] for change in changes}
    found = owners(view.said.profile, fields) if changes else []
    return Plan(
        view.name,
        view.active,
        target,
        view.desired,
        {**view.said.profile, "spec": spec},
        changes,
        inlined,
        tuple(found),
    )


def _target(view: ProfileView, to: str) -> tuple[str, Said]:
    if to:
        stored = view.find(to)
    elif view.active and view.active != view.desired:
        stored = view.find(view.active)
    else:
        stored = _before(view)
    return stored.revision, stored.said


def _before(view: ProfileView) -> KeptRevision:
    """What decided before. One whose spec is the present one is none: it may have had another
    name then.
    """
    for one in view.stored:
        if one.revision != view.active and _spec(view, one.said, stays=True)[0] != view.said.spec:
            return one
    raise NotReached(f"{view.name} has no revision before {view.active or 'its spec'}")


def _spec(view: ProfileView, said: Said, *, stays: bool) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The spec to write, and the PluginConfigs that are written into it."""
    live = view.said.spec
    spec = {name: copy.deepcopy(value) for name, value in said.spec.items() if name not in KEPT}
    spec |= {name: live[name] for name in KEPT if name in live}
    spec.pop("paused", None)
    if "paused" in live:
        spec["paused"] = False
    rollout = live.get("rollout")
    if isinstance(rollout, Mapping) and not stays and rollout.get("strategy", "") != "Immediate":
        kept = {name: value for name, value in rollout.items() if name not in ("canary", "shadow")}
        spec["rollout"] = {**kept, "strategy": "Immediate"}
    inlined = []
    for entry in spec.get("pluginConfig") or ():
        name = str((entry.get("configRef") or {}).get("name") or "")
        then = _config_spec(said.configs.get(name))
        if name and then != _config_spec(view.said.configs.get(name)):
            entry.pop("configRef")
            entry["args"] = then.get("args") or {}
            inlined.append(name)
    return spec, tuple(inlined)


def _config_spec(body: Body | None) -> Mapping[str, Any]:
    return (body.get("spec") or {}) if body is not None else {}


def _changes(path: str, old: Any, new: Any) -> Iterator[Change]:
    """The fields that differ, as deep as both have objects; items of lists by their name."""
    if isinstance(old, list) and isinstance(new, list):
        old, new = _by_name(old), _by_name(new)
    if not isinstance(old, Mapping) or not isinstance(new, Mapping):
        if old != new:
            yield Change(path, old, new)
        return
    for name in dict.fromkeys((*old, *new)):
        below = name if name.startswith("[") or not path else f".{name}"
        yield from _changes(f"{path}{below}", old.get(name), new.get(name))


def _by_name(items: list[Any]) -> Any:
    """A list of named items as an object; another list as it is."""
    names = [item.get("name") for item in items if isinstance(item, Mapping)]
    if len(names) < len(items) or None in names or len(set(names)) < len(names):
        return items
    return {f"[{name}]": item for name, item in zip(names, items, strict=True)}


def _shown(value: Any) -> str:
    if value is None:
        return ABSENT
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def document(plan: Plan, active_since: str | None) -> dict[str, Any]:
    """The plan for programs; ``active_since`` None while it does not decide."""
    return {
        "answer": plan.sentence,
        "profile": plan.profile,
        "from": plan.active or None,
        "to": plan.target,
        "changes": [dataclasses.asdict(change) for change in plan.changes],
        "inlined": list(plan.inlined),
        "owners": [dataclasses.asdict(owner) for owner in plan.owners],
        "activeSince": active_since,
    }
