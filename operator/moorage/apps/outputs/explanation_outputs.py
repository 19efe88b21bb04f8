"""The documents of `moorage explain`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from moorage.apps.outputs.fields import AnsweredOutput, NotRequired, TypedDict


class ExplanationOutput(AnsweredOutput):
    """What the explanations of a pod and of a pod group have in common."""

    message: Annotated[str, Field(description="The verdict in a few words.")]
    created: Annotated[
        str | None, Field(description="When the pod, or the group's first member, was created.")
    ]
    schedulerName: Annotated[
        str, Field(description='Of its spec, or its members; "" where there are none.')
    ]
    revision: Annotated[
        str, Field(description='The revision by which it is explained, "" where none is.')
    ]
    source: Annotated[
        str, Field(description='From where this is known; continues a sentence after "from".')
    ]
    at: Annotated[str, Field(description="The moment.")]
    wait: Annotated[
        WaitPart | None,
        Field(
            description="Where the pod, or the group's first member, waits; null where no queue "
            "is known, or none waits."
        ),
    ]
    notAsked: NotRequired[
        Annotated[list[str], Field(description="Extenders, and plugins of packages, not asked.")]
    ]
    foreign: NotRequired[
        Annotated[
            bool,
            Field(
                description="Whether it is another scheduler's, and explained under preset Default."
            ),
        ]
    ]
    searchedSeconds: NotRequired[
        Annotated[
            float | None,
            Field(
                description="After which the search for changes ended; null where it was complete."
            ),
        ]
    ]


class PodExplanationOutput(ExplanationOutput):
    """Why a pod is pending, or where it is. Which fields it has depends on ``verdict``."""

    kind: Literal["PodExplanation"]
    verdict: Literal[
        "Pending",
        "Gated",
        "WouldBePlaced",
        "Bound",
        "StillPending",
        "WouldLoseItsPlace",
        "Error",
        "NoProfile",
        "BeingDeleted",
        "Suspended",
        "ProfileWaiting",
        "NotResolved",
    ]
    """The answer in a word."""
    pod: str
    """NAMESPACE/NAME."""
    uid: str
    """Its metadata.uid."""
    asks: NotRequired[dict[str, str]]
    """What it asks for."""
    nodes: NotRequired[int]
    """How many nodes there are."""
    passed: NotRequired[int]
    """How many of them would take it; of a pod that is on a node."""
    placement: NotRequired[PlacementPart | None]
    """Where it would go now, or under the candidate; null for nowhere."""
    placedTogether: NotRequired[int]
    """How many members of its pod group must be placed at once; 0 where it goes alone."""
    placementNow: NotRequired[PlacementPart | None]
    """Where it would go now, beside a candidate."""
    refusals: NotRequired[list[RefusalPart | CandidateRefusalPart]]
    """Nodes that do not take it, by the reason; with a candidate, before and then."""
    changes: NotRequired[list[SuggestionPart]]
    """The smallest changes that would let it run, each tried by deciding again."""
    changesNotTried: NotRequired[int]
    """How many changes there was no time for."""
    preemption: NotRequired[PreemptionPart]
    """Whether evicting others would help."""
    wakesOn: NotRequired[list[WakePart]]
    """Events after which it is tried again."""
    node: NotRequired[str]
    """The node that it is on, "" for none."""
    weights: NotRequired[dict[str, int]]
    """By plugin, of those that have a say."""
    scores: NotRequired[list[NodeScorePart]]
    """Its own node first, where that would take it, then the best others."""
    best: NotRequired[list[str]]
    """All nodes with the highest total."""
    choice: NotRequired[str]
    """The node that would be taken now, "" for none."""
    refusal: NotRequired[OwnRefusalPart | None]
    """Why its own node would not take it now; null where it would."""
    candidate: NotRequired[CandidatePart]
    """The profile that was tried in its own profile's place."""
    candidateFile: NotRequired[str]
    """Where that stands."""
    differs: NotRequired[list[str]]
    """What decides otherwise under the candidate."""
    group: NotRequired[GroupPart]
    """Of a member of a PodGroup: its group, by which it is judged, under a candidate if one is
    tried."""
    groupNow: NotRequired[GroupPart]
    """Its group under its own profile, beside a candidate."""
    judgedAlone: NotRequired[str]
    """Of a member of a PodGroup that has a node: why its group is not judged with it."""


class PodGroupExplanationOutput(ExplanationOutput):
    """Why a pod group waits, or that it does not."""

    kind: Literal["PodGroupExplanation"]
    verdict: Literal[
        "Pending",
        "Gated",
        "WouldBePlaced",
        "Placed",
        "NoMembers",
        "Error",
        "NoProfile",
        "BeingDeleted",
        "Suspended",
        "ProfileWaiting",
        "NotResolved",
    ]
    """The answer in a word."""
    podGroup: str
    """NAMESPACE/NAME."""
    group: GroupPart | None
    """What there is to say of it; null where no node is asked."""


class GroupPart(TypedDict):
    """A pod group, judged as a whole."""

    name: str
    """NAMESPACE/NAME."""
    api: str
    """Whose PodGroup it is, as in scheduling.k8s.io/v1beta1."""
    gang: bool
    """Whether members are of use only together; a basic group goes as far as it fits."""
    minCount: int | None
    """How many members have to be placed together; null while nothing says so."""
    priority: int | None
    """The group's."""
    topologyKey: str
    """The label of which all members' nodes have one value, "" for any nodes."""
    present: int
    """How many members are there."""
    begun: bool
    """Whether its minimum was met once: then those that follow wait for nobody."""
    members: list[MemberPart]
    """Those that have a node first."""
    placements: list[PlacementAnswerPart]
    """The sets of nodes that were looked at: one for each value of the topology key, else one."""
    refused: str
    """The member that found no node, which ``refusals`` and ``changes`` are about; else ""."""
    refusals: list[RefusalPart]
    """Nodes that do not take it, with the members before it on theirs; none with a topology key."""
    changes: list[SuggestionPart]
    """The smallest changes that let the group fit; of all members that ask for the same."""
    changesNotTried: int
    """How many changes there was no time for."""
    preemption: GroupPreemptionPart
    """Whether evicting others would help."""
    roomHeldOn: list[MemberNodePart]
    """Where room is held for members, against pods that would take it."""


class MemberPart(TypedDict):
    """A member of a group."""

    pod: str
    """NAMESPACE/NAME."""
    node: str
    """Where it is, or where it would go; "" for nowhere."""
    placed: bool
    """Whether it is there."""
    message: str
    """Why it goes nowhere."""


class PlacementAnswerPart(TypedDict):
    """A set of nodes that was looked at."""

    name: str
    """The topology key's value, "" for all nodes."""
    members: int
    """How many members found a node there, or may at most where they were not tried there."""
    reason: str
    """Why the first of the others did not; "" where enough did."""
    tried: bool
    """Whether members were tried there: not where the room for requests is too small anyway."""


class GroupPreemptionPart(TypedDict):
    """What evicting pods of lower priority would do for a group."""

    helps: bool
    """Whether the group would run."""
    victims: list[str]
    """Who would go."""
    nodes: list[MemberNodePart]
    """Where the members would go."""
    message: str
    """In the scheduler's words."""


class MemberNodePart(TypedDict):
    """A member and its node."""

    pod: str
    """NAMESPACE/NAME."""
    node: str
    """Its node."""


class WaitPart(TypedDict):
    """What the operator's queue knows."""

    queue: str
    """active, backoff, unschedulable, gated or inFlight."""
    attempts: int
    """How often it was tried."""
    since: str
    """Since when it waits."""
    until: str | None
    """When it is tried at the latest."""
    gatingPlugin: str
    """The plugin that holds it, "" for none."""
    roomHeldUntil: str | None
    """Until when room is held for its pod group, at the latest; null where none is."""


class PlacementPart(TypedDict):
    """A node that would take the pod."""

    node: str
    """The best one."""
    nodes: int
    """How many would."""
    score: int | None
    """The total of the best; null where only one would."""


class RefusalPart(TypedDict):
    """Nodes that refuse the pod for one reason."""

    plugin: str
    """Who refuses; several, joined by spaces, left nodes out together."""
    reasons: list[str]
    """The plugin's words."""
    nodes: int
    """How many."""
    resolvable: bool
    """Whether evicting pods could help."""
    nearest: list[NearNodePart]
    """Those that lack the least."""


class NearNodePart(TypedDict):
    """A node that refuses the pod."""

    node: str
    """Its name."""
    lacks: dict[str, str]
    """By resource."""
    details: list[str]
    """What it lacks else."""
    heldFor: list[str]
    """Pods for which room is kept there."""


class CandidateRefusalPart(TypedDict):
    """Nodes that refuse the pod for one reason, now and under the candidate."""

    plugin: str
    """Who refuses."""
    reasons: list[str]
    """The plugin's words."""
    nodesNow: int
    """How many do now."""
    nodesThen: int
    """How many would."""


class SuggestionPart(TypedDict):
    """One change, or two together, with which the pod would run."""

    changes: list[ChangePart]
    """What they are."""
    patch: list[dict[str, Any]]
    """The pod's changes as a JSON patch."""
    fits: int
    """How many nodes would take it then."""
    nodes: list[str]
    """A hundred of them at most."""
    node: str
    """Where it would go."""
    verified: bool
    """That it was tried by deciding again."""


class ChangePart(TypedDict):
    """A change in words."""

    kind: str
    """request, toleration, requirement, minCount, move a pod or add nodes."""
    text: str
    """What it is."""
    effect: str
    """What comes of it beside."""


class PreemptionPart(TypedDict):
    """What evicting pods of lower priority would do."""

    helps: bool
    """Whether the pod would run."""
    node: str
    """Where, "" for nowhere."""
    victims: list[str]
    """Who would go."""
    message: str
    """Why it does not help."""


class WakePart(TypedDict):
    """An event that lets the pod be tried again."""

    plugin: str
    """Who waits for it."""
    resource: str
    """Of what kind of object."""
    actions: list[str]
    """Add, Delete, Update, or UpdateNodeLabel and the like."""


class NodeScorePart(TypedDict):
    """A node's weighted scores."""

    node: str
    """Its name."""
    scores: dict[str, int]
    """By plugin."""
    total: int
    """Their sum."""


class OwnRefusalPart(TypedDict):
    """Why the pod's own node would not take it now."""

    plugin: str
    """Who refuses."""
    reasons: list[str]
    """The plugin's words."""


class CandidatePart(TypedDict):
    """A profile that does not decide."""

    schedulerName: str
    """Of its pods."""
    revision: str
    """The name that it would have."""
