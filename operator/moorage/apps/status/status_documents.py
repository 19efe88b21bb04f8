"""The Status document: profiles, replicas and problems, from what the API server and, where it is
reached, the operator say.
"""

from __future__ import annotations

import dataclasses
import datetime
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from moorage.api import bodies
from moorage.api.bodies import Body
from moorage.apps.printing.amounts import counted
from moorage.apps.reach.installations import Replica
from moorage.apps.reach.surroundings import Surroundings
from moorage.apps.status.group_lines import groups_document
from moorage.apps.status.profile_problems import (
    OBSERVING,
    ProfileProblem,
    conditions_of,
    problem_of,
    running_trial,
    state_of,
)

KIND: Final = "Status"
Document = dict[str, Any]
WAITING: Final = ("active", "backoff", "unschedulable", "gated")
"""The places of pods that have no node and are not being tried."""
_SUGGESTED: Final = 3


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What is looked at: the cluster's name, the moment, the operator that was reached ("": none),
    and what is left out for want of one, or of a right.
    """

    cluster: str
    at: datetime.datetime
    operator: str = ""
    left_out: tuple[str, ...] = ()
    groups: Sequence[Mapping[str, Any]] | None = None
    """What /debug/groups says; None where nobody was asked."""
    refused: tuple[str, str] = ("", "")
    """Why nobody can change profiles, and the way out of that; "" twice where somebody can."""


def status_document(
    around: Surroundings, rates: Iterable[Mapping[str, Any]], source: Source
) -> Document:
    """The document. ``rates`` are those of /debug/rates, by schedulerName."""
    by_scheduler = {str(one["profile"]): one for one in rates}
    found = [(one, problem_of(one)) for one in around.profiles]
    observes = _observes(around, found)
    problems = [one for _, one in found if one is not None and one.state != OBSERVING]
    profiles = [_profile(one, state_of(problem), by_scheduler) for one, problem in found]
    installation, (refused, way_out) = around.installation, source.refused
    schedulers = frozenset(map(bodies.scheduler_name, around.profiles))
    return {
        "answer": (
            _observed(around, problems, profiles)
            if observes
            else _answer(around, problems, profiles, rated=bool(source.operator))
        ),
        "well": around.led is not False and not refused and all(one.well for one in problems),
        "at": _time(source.at),
        "cluster": source.cluster,
        "operator": source.operator or None,
        "leftOut": [*source.left_out],
        "led": around.led,
        "leader": (installation.leader if installation is not None else "") or None,
        "admission": refused or None,
        "observes": observes,
        "problems": [_problem(one) for one in problems],
        "profiles": profiles,
        "groups": None if source.groups is None else groups_document(source.groups, schedulers),
        "replicas": _replicas(around),
        "notes": [*_notes(around.profiles)],
        "next": [*filter(None, [way_out]), *_next(problems, profiles)],
    }


# ---- the answer ----------------------------------------------------------------------------------


def _answer(
    around: Surroundings,
    problems: Sequence[ProfileProblem],
    profiles: Sequence[Document],
    *,
    rated: bool,
) -> str:
    if around.led is False:
        return _unled(around)
    if not profiles:
        return "No SchedulerProfile yet."
    total = sum(one["podsPerSecond"] or 0.0 for one in profiles)
    found = f"{number(total)} pods/s find a node, " if rated else ""
    verdict = _verdict(len(problems), len(profiles), str(profiles[0]["name"]))
    return f"{verdict} {found}{_waiting(profiles)}."


def _observes(around: Surroundings, found: Iterable[tuple[Body, ProfileProblem | None]]) -> bool:
    """Whether it is an observer that leads: by its Lease or, where that may not be seen, by the
    profiles.
    """
    installation = around.installation
    if installation is not None and installation.leading is not None:
        return installation.leading.observes
    return any(problem is not None and problem.state == OBSERVING for _, problem in found)


def _observed(
    around: Surroundings, problems: Sequence[ProfileProblem], profiles: Sequence[Document]
) -> str:
    if around.led is False:
        return _unled(around)
    if not profiles:
        return "An observer leads: it places no pod. No SchedulerProfile yet."
    by = counted(len(profiles), "profile", "profiles")
    found = f"An observer explains pods by {by}, and places none. {_waiting(profiles)}."
    if not problems:
        return found
    return f"{_verdict(len(problems), len(profiles), str(profiles[0]['name']))} {found}"


def _waiting(profiles: Iterable[Document]) -> str:
    waiting = sum(one["queue"][place] for one in profiles for place in WAITING)
    return counted(waiting, "pod waits", "pods wait")


def _verdict(problems: int, profiles: int, first: str) -> str:
    if not problems:
        if profiles == 1:
            return f"Profile {first} runs what its spec says."
        return f"All {profiles} profiles run what their specs say."
    if profiles == 1:
        return f"Profile {first} needs a look."
    return f"{problems} of {profiles} profiles {'needs' if problems == 1 else 'need'} a look."


def _unled(around: Surroundings) -> str:
    installation = around.installation
    renewed = installation.renewed if installation is not None else None
    if renewed is None:
        return "Nobody leads; no pod is placed."
    return f"Nobody leads since {renewed.astimezone():%H:%M:%S}; no pod is placed."


def number(value: float) -> str:
    """A rate: tenths below a hundred."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _notes(profiles: Iterable[Body]) -> Iterator[str]:
    """That profiles of several installations may use the same nodes: no fault, if it is known."""
    shared = [
        (str(one["metadata"]["name"]), conditions_of(one).get("NodesShared")) for one in profiles
    ]
    by_reason = {
        reason: [name for name, found in shared if found and found.get("reason") == reason]
        for reason in ("PoolsMeet", "AllNodes")
    }
    if names := by_reason["PoolsMeet"]:
        yield (
            f"{_named(names)} may use nodes that profiles of other installations may use, too "
            f"(kubectl describe sprof {names[0]}: NodesShared)."
        )
    if names := by_reason["AllNodes"]:
        yield f"{_named(names)} and profiles of other installations share all nodes."


def _named(names: Sequence[str]) -> str:
    more = len(names) - _SUGGESTED
    return ", ".join(names[:_SUGGESTED]) + (f" and {more} more" if more > 0 else "")


# ---- rows ----------------------------------------------------------------------------------------


def _problem(problem: ProfileProblem) -> Document:
    return {
        "profile": problem.profile,
        "message": problem.text,
        "state": problem.state,
        "next": problem.command,
    }


def _profile(profile: Body, state: str, rates: Mapping[str, Mapping[str, Any]]) -> Document:
    status, metadata = bodies.status(profile), profile["metadata"]
    ready = conditions_of(profile).get("Ready", {})
    trial, queue = running_trial(profile), status.get("queue") or {}
    rate = rates.get(bodies.scheduler_name(profile), {})
    return {
        "name": metadata["name"],
        "schedulerName": bodies.scheduler_name(profile),
        "preset": (profile.get("spec") or {}).get("preset") or "Default",
        "created": metadata.get("creationTimestamp"),
        "state": state,
        "ready": ready.get("status", "Unknown"),
        "reason": ready.get("reason", "Waiting"),
        "revision": status.get("activeRevision"),
        "desiredRevision": status.get("desiredRevision"),
        "activeSince": status.get("activeSince"),
        "trial": None if trial is None else dict(trial),
        "podsPerSecond": rate.get("podsPerSecond"),
        "p99Seconds": rate.get("p99Seconds"),
        "queue": {place: int(queue.get(place) or 0) for place in (*WAITING, "inFlight")},
        "oldestPendingSince": queue.get("oldestPendingSince"),
        "groups": int(queue.get("groups") or 0),
        "roomHeldFor": queue.get("roomHeldFor"),
        "roomHeldUntil": queue.get("roomHeldUntil"),
    }


def _replicas(around: Surroundings) -> list[Document]:
    if around.installation is None:
        return _replicas_by_status(around.profiles)
    installation, served = around.installation, _active_revisions(around.profiles)
    return [
        {
            "identity": one.identity,
            "role": _role(one, installation.leader),
            "revisionsReady": _ready(one, served),
            "revisions": len(served),
            "seen": _time(one.seen),
            "since": _time(installation.since) if one.identity == installation.leader else None,
        }
        for one in sorted(
            installation.replicas, key=lambda one: one.identity != installation.leader
        )
    ]


def _role(replica: Replica, leader: str) -> str:
    if replica.identity != leader:
        return "Standby"
    return "Observer" if replica.observes else "Leader"


def _active_revisions(profiles: Iterable[Body]) -> Mapping[str, str]:
    """By profile."""
    pairs = ((str(one["metadata"]["name"]), bodies.status(one)) for one in profiles)
    return {name: str(it["activeRevision"]) for name, it in pairs if it.get("activeRevision")}


def _ready(replica: Replica, served: Mapping[str, str]) -> int:
    return sum(replica.revisions.get(name) == revision for name, revision in served.items())


def _replicas_by_status(profiles: Iterable[Body]) -> list[Document]:
    """As the leader wrote them last; its own Lease may not be seen."""
    found: dict[str, Document] = {}
    served = _active_revisions(profiles)
    for profile in profiles:
        active = served.get(str(profile["metadata"]["name"]))
        leader = bodies.status(profile).get("leader") or {}
        for one in bodies.status(profile).get("replicas") or ():
            leads = one.get("role") == "Leader"
            row = found.setdefault(
                one["identity"],
                {
                    "identity": one["identity"],
                    "role": one.get("role"),
                    "revisionsReady": 0,
                    "revisions": len(served),
                    "seen": leader.get("renewTime") if leads else None,
                    "since": leader.get("since") if leads else None,
                },
            )
            row["revisionsReady"] += one.get("revision") == active
    return sorted(found.values(), key=lambda one: one["role"] != "Leader")


def _next(problems: Iterable[ProfileProblem], profiles: Iterable[Document]) -> list[str]:
    """Commands that show more, a few."""
    stuck = (one for one in profiles if one["queue"]["unschedulable"] or one["queue"]["gated"])
    commands = itertools.chain(
        (one.command for one in problems), (f"moorage queue {one['name']}" for one in stuck)
    )
    return list(itertools.islice(dict.fromkeys(commands), _SUGGESTED))


def _time(moment: datetime.datetime | None) -> str | None:
    return None if moment is None else moment.astimezone(datetime.UTC).isoformat(timespec="seconds")
