"""Documents of `moorage status` and `moorage queue`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from moorage.apps.outputs.fields import AnsweredOutput, TypedDict

Place = Literal["inFlight", "active", "backoff", "unschedulable", "gated", "unserved"]


class LookedAtOutput(AnsweredOutput):
    """What was looked at."""

    at: Annotated[str, Field(description="The moment.")]
    cluster: Annotated[str, Field(description="The API server's address, and the context.")]
    operator: Annotated[
        str | None, Field(description="The replica that was asked; null where none was.")
    ]
    leftOut: Annotated[list[str], Field(description="What could not be had, and why.")]


# ---- status --------------------------------------------------------------------------------------


class StatusOutput(LookedAtOutput):
    """Whether all is well."""

    kind: Literal["Status"]
    well: bool
    """The exit status: somebody leads, profiles can be changed, and each runs what its spec says or
    is as somebody wanted it.
    """
    led: bool | None
    """Whether somebody leads; null where the Leases may not be seen."""
    leader: str | None
    """Who holds the Lease."""
    admission: str | None
    """Why nobody can change profiles, as nobody answers the webhook of admission; null where that
    is not so, or cannot be seen.
    """
    observes: bool
    """Whether that is an observer, which decides nothing."""
    problems: list[ProblemPart]
    """What needs a look."""
    profiles: list[ProfilePart]
    """In the order of their names."""
    groups: list[WaitingGroupPart] | None
    """Pod groups of which members wait, the first first; null where no operator was asked."""
    replicas: list[ReplicaPart]
    """The leader first."""
    notes: list[str]
    """What is no fault and good to know, such as nodes that two installations share."""
    next: list[str]
    """Commands that show more."""


class ProblemPart(TypedDict):
    """Why a profile needs a look."""

    profile: str
    """Its name."""
    message: str
    """The whole reason."""
    state: str
    """As in profiles[].state."""
    next: str
    """The command that shows more."""


class ProfilePart(TypedDict):
    """A SchedulerProfile."""

    name: str
    """Its name."""
    schedulerName: str
    """What pods name in spec.schedulerName."""
    preset: str
    """The preset that its spec begins with."""
    created: str | None
    """When it was created."""
    state: str
    """Ready, Pending, Refused, Unresolved, Forbidden, Trial, RolledBack, LastGood, Paused,
    Suspended, or Observing: nobody decides by it.
    """
    ready: str
    """Of the condition Ready: True, False or Unknown."""
    reason: str
    """Of the condition Ready."""
    revision: str | None
    """The revision that decides, or by which an observer explains."""
    desiredRevision: str | None
    """The revision that the spec means."""
    activeSince: str | None
    """Since when the revision decides."""
    trial: dict[str, Any] | None
    """status.trial of the profile; null where none runs."""
    podsPerSecond: float | None
    """Pods that found a node, a second; null where no operator was asked."""
    p99Seconds: float | None
    """From created to bound, of 99 in 100 pods at most."""
    queue: dict[str, int]
    """Pods by where they wait: active, backoff, unschedulable, gated, inFlight."""
    oldestPendingSince: str | None
    """Since when the pod waits that waits the longest."""
    groups: int
    """Pod groups of which members wait."""
    roomHeldFor: str | None
    """The pod group for which room is held, NAMESPACE/NAME."""
    roomHeldUntil: str | None
    """Until when at the latest."""


class WaitingGroupPart(TypedDict):
    """A pod group that waits."""

    group: str
    """NAMESPACE/NAME."""
    api: str
    """Whose PodGroup it is, as in scheduling.k8s.io/v1beta1."""
    schedulerName: str
    """Of its members."""
    waiting: int
    """How many of its members wait."""
    placed: int
    """How many are on nodes."""
    minCount: int | None
    """How many must be placed together; null where nothing says so."""
    since: str
    """Since when the first of them waits."""
    why: str
    """What it waits for."""
    roomHeldUntil: str | None
    """Until when room is held for it, at the latest; null where none is."""


class ReplicaPart(TypedDict):
    """A process of the operator."""

    identity: str
    """As its Lease has it."""
    role: str | None
    """Leader or Standby; Observer: it has the Lease, and decides nothing."""
    revisionsReady: int
    """Profiles whose active revision it has ready."""
    revisions: int
    """Profiles that have an active revision."""
    seen: str | None
    """When it last said so."""
    since: str | None
    """When the leader took the lead."""


# ---- queue ---------------------------------------------------------------------------------------


class QueueOutput(LookedAtOutput):
    """Who waits."""

    kind: Literal["Queue"]
    profile: str | None
    """The profile that was named."""
    counts: dict[Place, int]
    """Pods by where they wait."""
    pods: list[WaitingPodPart]
    """Every pod, in the order of the queue."""


class WaitingPodPart(TypedDict):
    """A pod that waits."""

    pod: str
    """NAMESPACE/NAME."""
    uid: str | None
    """Its metadata.uid."""
    owner: str | None
    """Its controller, KIND/NAME."""
    schedulerName: str
    """Of its spec."""
    queue: Place
    """Where it waits; inFlight: its attempt runs."""
    position: int | None
    """Its place in the queue, from 1; null where it has no turn, or it is not known."""
    priority: int
    """Of its spec."""
    attempts: int | None
    """How often it was tried."""
    since: str | None
    """Since when it waits."""
    until: str | None
    """When it is tried at the latest."""
    gate: str | None
    """The scheduling gate, or the plugin, that holds it."""
    group: str | None
    """Its pod group, NAMESPACE/NAME."""
    groupMessage: str | None
    """What the group waits for."""
    groupMinCount: int | None
    """How many of its members must be placed together; null where that is not known."""
    groupPlaced: int
    """How many of them are placed."""
    groupRoomHeldUntil: str | None
    """Until when room is held for the group, at the latest; null where none is."""
    nominatedNode: str | None
    """The node that others were evicted from for it."""
    reasons: list[ReasonPart]
    """Why it found no node."""
    wakesOn: list[str]
    """Events that let it be tried again."""


class ReasonPart(TypedDict):
    """Why nodes did not take a pod."""

    nodes: int | None
    """How many; null where it is not about nodes."""
    reason: str
    """The plugin's words."""
