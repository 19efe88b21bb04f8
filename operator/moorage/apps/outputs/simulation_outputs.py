"""Documents of `moorage fit`, `simulate` and `tune`."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from moorage.apps.outputs.explanation_outputs import MemberNodePart, PlacementAnswerPart
from moorage.apps.outputs.fields import AnsweredOutput, NotRequired, TypedDict

# ---- fit -----------------------------------------------------------------------------------------


class FitOutput(AnsweredOutput):
    """How many pods would fit."""

    kind: Literal["Fit"]
    source: str
    """From where the cluster is known; continues a sentence after "from"."""
    at: str
    """The moment."""
    requested: int
    """Pods in all."""
    fits: int
    """Those that find a place."""
    shortGroups: list[ShortGroupPart]
    """Pod groups that would not start."""
    groups: list[GroupFitPart]
    """The pod groups that workloads make up."""
    workloads: list[WorkloadPart]
    """In the order of the files, each after those before it."""


class ShortGroupPart(TypedDict):
    """A pod group that would not start."""

    name: str
    """NAMESPACE/NAME."""
    needed: int
    """Members that it needs together."""
    placed: int
    """Members that find a place."""


class GroupFitPart(TypedDict):
    """A pod group of the files' workloads, tried as a whole."""

    name: str
    """NAMESPACE/NAME."""
    api: str
    """Whose PodGroup it is, as in scheduling.k8s.io/v1beta1."""
    gang: bool
    """Whether members are of use only together."""
    minCount: int
    """Members that it needs together."""
    members: int
    """Members that the files have."""
    starts: bool
    """Whether enough of them find a place."""
    placements: list[MemberNodePart]
    """Where members would go; of a group that does not start, as the best domain has them."""
    room: int
    """How many such groups would start in all."""
    roomIsExact: bool
    """False: there may be room for more."""
    topologyKey: str
    """The label of which all members' nodes have one value, "" for any nodes."""
    domains: list[PlacementAnswerPart]
    """What came of each value of the label; of all nodes where there is none."""
    obstacle: str
    """The first member without a node, NAMESPACE/NAME; where all have one, of the first group too
    many.
    """
    reason: str
    """Why it has none, or the group does not start."""
    moreNodes: MoreNodesPart | None
    """With which it would start; null where it does, or no node like those there are would do."""


class WorkloadPart(TypedDict):
    """Pods of one template."""

    name: str
    """KIND/NAME, as the file has it."""
    schedulerName: str
    """Of the profile that decides for them."""
    revision: str
    """Of that profile."""
    held: str
    """Why nobody tries such pods now, "" where somebody does."""
    notAsked: list[str]
    """Extenders that were not asked."""
    requested: int
    """Pods."""
    fits: int
    """Those that find a place."""
    room: int
    """Pods like these for which there is room."""
    roomIsExact: bool
    """False: there may be room for more."""
    placements: list[NodePodsPart]
    """Where they would go."""
    limitingResource: str
    """What runs out first, "" where that is no resource."""
    limits: list[WeightedReasonPart]
    """What runs out, first what runs out first."""
    refusals: list[WeightedReasonPart]
    """Why nodes take no more of them."""
    notAdmitted: list[WeightedReasonPart] | None
    """Of a DaemonSet: why nodes are to have no pod of it; null for other workloads."""
    moreNodes: MoreNodesPart | None
    """What would do; null where nothing is lacking, or no node like those there are would do."""


class NodePodsPart(TypedDict):
    """Pods that would go to one node."""

    node: str
    """Its name."""
    pods: int
    """How many."""


class WeightedReasonPart(TypedDict):
    """A reason, and for how many nodes it holds."""

    reason: str
    """The plugin's words."""
    nodes: int
    """How many."""


class MoreNodesPart(TypedDict):
    """Nodes with which all pods would fit."""

    needed: int
    """How many."""
    isExact: bool
    """False: it takes more than that."""
    like: str
    """The node that they are like."""


# ---- simulate ------------------------------------------------------------------------------------


class ScenarioOutput(AnsweredOutput):
    """What nodes, pods or profiles would do at one moment: `simulate` with --drain, --add-nodes,
    --pods, or none of these.
    """

    kind: Literal["Simulation"]
    question: Literal["scenario"]
    """Which of the three documents this is."""
    source: str
    """From where the cluster is known."""
    at: str
    """The moment."""
    worlds: list[WorldPart]
    """What comes of it; with a candidate, without and with it."""
    elsewhere: NotRequired[int]
    """Pods that are on other nodes in the second world."""


class WorldPart(TypedDict):
    """What comes of a scenario."""

    measures: list[BeforeAfterPart]
    """Utilisation, fragmentation, spread ..."""
    placed: int
    """Pods that found a place."""
    preempted: int
    """Pods that had to go for others."""
    waiting: list[PodReasonPart]
    """Pods without a place."""
    drains: list[DrainPart]
    """One a node that was drained."""


class BeforeAfterPart(TypedDict):
    """A measure before and after; null: there is nothing to measure."""

    name: str
    """What is measured."""
    unit: str
    """Of its values."""
    before: float | None
    """As it was."""
    after: float | None
    """As it would be."""


class PodReasonPart(TypedDict):
    """A pod without a place."""

    pod: str
    """NAMESPACE/NAME."""
    reason: str
    """Why."""


class DrainPart(TypedDict):
    """A node that was drained."""

    node: str
    """Its name."""
    done: bool
    """Whether it is empty, and every pod found a place."""
    evicted: int
    """Pods that went."""
    preempted: int
    """Pods of other nodes that had to go for these."""
    withoutController: int
    """Pods that nobody makes again."""
    pending: list[PodReasonPart]
    """Pods that found no place."""
    heldUp: list[HeldPodPart]
    """Pods that budgets keep on it."""


class HeldPodPart(TypedDict):
    """A pod that may not be evicted."""

    pod: str
    """NAMESPACE/NAME."""
    by: str
    """The PodDisruptionBudget."""


class EachDrainedOutput(AnsweredOutput):
    """What draining each node alone comes to: `simulate --each-node-drained`."""

    kind: Literal["Simulation"]
    question: Literal["eachNodeDrained"]
    """Which of the three documents this is."""
    source: str
    """From where the cluster is known."""
    at: str
    """The moment."""
    nodes: int
    """Nodes that were tried."""
    drainable: int
    """Those that become empty while every pod finds a place."""
    waitingBefore: int
    """Pods that had no place before."""
    drains: list[DrainPart]
    """One a node."""


class RecordedOutput(AnsweredOutput):
    """A recorded time under the profiles of then (A) and under candidates (B): `simulate` of a
    recording with --profile.
    """

    kind: Literal["Simulation"]
    question: Literal["recording"]
    """Which of the three documents this is."""
    source: str
    """The recording."""
    seconds: float
    """For how long it goes."""
    arrivals: int
    """Pods that came."""
    replicas: int
    """How often each world was had, with other ties each time: measures are means of these."""
    measures: list[ComparedMeasurePart]
    """In both worlds."""
    placedInBoth: int
    """Pods that found a place in both worlds."""
    elsewhere: int
    """Those of them that went to other nodes."""
    madeAgain: MovedPart
    """The same without the candidate: how far the rerun is from what was recorded."""
    waitingA: int
    """Pods without a place at the end."""
    waitingB: int
    """The same in world B."""
    onlyB: list[PodReasonPart]
    """Pods that found a place in A alone."""
    cutShort: bool
    """Whether a gap in the recording ended it."""
    cannotKnow: str
    """What such a replay cannot say."""


class ComparedMeasurePart(TypedDict):
    """A measure in two worlds."""

    name: str
    """What is measured."""
    unit: str
    """Of its values."""
    a: float | None
    """In world A."""
    b: float | None
    """In world B."""
    difference: float | None
    """B - A; null where there is too little to say."""
    interval: list[float] | None
    """Of the difference, 95 %: low and high."""
    clear: bool
    """Whether the interval leaves out 0."""


class MovedPart(TypedDict):
    """Pods of two runs."""

    placed: int
    """Those that found a place in both."""
    elsewhere: int
    """Those of them that went to other nodes."""


SimulationOutput: TypeAlias = Annotated[
    ScenarioOutput | EachDrainedOutput | RecordedOutput, Field(discriminator="question")
]
"""Of the three questions."""

# ---- tune ----------------------------------------------------------------------------------------


class TuningOutput(AnsweredOutput):
    """What a search for a better profile found."""

    kind: Literal["Tuning"]
    source: str
    """The recording."""
    profile: TunedProfilePart
    """The profile as it is."""
    goals: list[GoalPart]
    """Measures to gain, the most important one first."""
    notWorse: list[GoalPart]
    """Measures that must not get worse."""
    searched: RecordedTimePart
    """The time that was searched."""
    judged: RecordedTimePart
    """The time that judged."""
    confidence: float
    """Of the intervals."""
    trials: list[TriedPart]
    """All profiles that were tried."""
    front: list[JudgedPart]
    """Those that were judged: none of them is better than another in all goals."""
    recommendation: RecommendationPart | None
    """The one to take; null for none."""
    madeAgain: MovedPart
    """The same under the present profile: how far the rerun is from what was recorded."""
    cutShort: bool
    """Whether a gap in the recording ended it."""
    cannotKnow: str
    """What such a replay cannot say."""


class TunedProfilePart(TypedDict):
    """The profile that a better one is searched for."""

    name: str
    """Of the SchedulerProfile."""
    schedulerName: str
    """Of its pods."""
    revision: str
    """The revision that decided at the cut."""


class GoalPart(TypedDict):
    """A measure, and which way it should go."""

    name: str
    """What is measured."""
    unit: str
    """Of its values."""
    better: Literal["more", "less"]
    """Which way is better."""


class RecordedTimePart(TypedDict):
    """A part of the recording."""

    from_: Annotated[str, Field(alias="from")]
    """Its begin."""
    to: str
    """Its end."""
    arrivals: int
    """Pods that came in it."""


class TriedPart(TypedDict):
    """A profile that was tried in the search."""

    number: int
    """Counts the trials, from 0."""
    revision: str
    """The name that it would have."""
    changes: list[str]
    """What is otherwise than in the present profile."""
    gains: dict[str, float]
    """By goal, in its unit."""
    losses: dict[str, float]
    """By measure that must not get worse."""


class JudgedPart(TypedDict):
    """A profile on the time that the search has not seen."""

    number: Annotated[int, Field(description="Of the trial.")]
    revision: Annotated[str, Field(description="The name that it would have.")]
    changes: Annotated[
        list[str], Field(description="What is otherwise than in the present profile.")
    ]
    measures: Annotated[list[JudgedMeasurePart], Field(description="Beside the present profile.")]
    gained: Annotated[list[str], Field(description="Goals that are clearly gained.")]
    worse: Annotated[list[str], Field(description="Measures that may be worse.")]
    placedInBoth: Annotated[int, Field(description="Pods that found a place under both profiles.")]
    elsewhere: Annotated[int, Field(description="Those of them that went to other nodes.")]
    waiting: Annotated[int, Field(description="Pods without a place at the end.")]


class RecommendationPart(JudgedPart):
    """The profile to take: as in front, with where it stands."""

    file: str | None
    """Where it was written; null where it was not."""
    document: dict[str, Any]
    """The SchedulerProfile."""


class JudgedMeasurePart(TypedDict):
    """A measure under the present profile and under another."""

    name: str
    """What is measured."""
    unit: str
    """Of its values."""
    present: float | None
    """Under the present profile."""
    candidate: float | None
    """Under the other."""
    difference: float | None
    """candidate - present; null where there is too little to say."""
    interval: list[float] | None
    """Of the difference: low and high."""
    clear: bool
    """Whether the interval leaves out 0."""
