"""Candidates: profiles in files that are to decide in the place of those that do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from moorage.api.resolution import Resolver
from moorage.apps.exit_status import WrongUse
from moorage.apps.worlds import deciding, from_files
from moorage.core.framework.revisions import Revision
from moorage.core.structures.likeness import suggest


def read_candidates(given: Sequence[str], resolver: Resolver) -> dict[str, Revision]:
    """Of ``FILE`` or ``NAME=FILE``: the revisions by schedulerName. Raises WrongUse and
    NoAnswer.
    """
    found: dict[str, Revision] = {}
    for one in given:
        name, equals, path = one.partition("=")
        revisions = _revisions_in(Path(path if equals else one), resolver)
        if not equals:
            found |= revisions
            continue
        chosen = revisions.get(name)
        if chosen is None and len(revisions) == 1:
            (chosen,) = revisions.values()
        if chosen is None:
            there = ", ".join(revisions) or "no profile"
            raise WrongUse(f"--profile {one}{suggest(name, revisions)}; the file has {there}")
        found[name] = chosen
    return found


def _revisions_in(file: Path, resolver: Resolver) -> dict[str, Revision]:
    bodies = [one.body for one in from_files.read([file])]
    profiles = [body for body in bodies if body.get("kind") == deciding.PROFILE]
    configs = [body for body in bodies if body.get("kind") == deciding.CONFIG]
    found = deciding.resolved(profiles, configs, resolver)
    faults = [
        f"{file}: SchedulerProfile {name}: {deciding.refusal(one)}"
        for name, one in found.items()
        if one.errors
    ]
    if faults:
        raise WrongUse("\n".join(faults))
    if not found:
        raise WrongUse(f"{file}: there is no SchedulerProfile")
    return {one.scheduler_name: one.revision for one in found.values()}
