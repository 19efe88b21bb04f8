"""Documents of `moorage replay`."""

from __future__ import annotations

from typing import Any, Literal

from moorage.apps.outputs.fields import AnsweredOutput, TypedDict


class MomentOutput(AnsweredOutput):
    """A recorded cluster at one moment: `replay --at`."""

    kind: Literal["Moment"]
    time: str
    """The moment."""
    nodes: int
    """How many there were."""
    podsOnNodes: int
    """Pods with a node."""
    podsWaiting: int
    """Pods without one."""
    profiles: dict[str, str]
    """The revision that decided, by schedulerName."""
    warnings: list[str]
    """What could not be read."""


class ReplayOutput(AnsweredOutput):
    """What is in a recording, and whether its decisions come out again."""

    kind: Literal["Replay"]
    recordedBy: dict[str, Any]
    """The versions of what recorded."""
    begin: str
    """Of the recording."""
    end: str
    """Of the recording."""
    decisions: int
    """Decisions of ours that were made again; 0 without --verify."""
    same: int
    """Those that came out the same."""
    notMadeAgain: int
    """Those that cannot be made again."""
    gaps: list[GapPart]
    """Times of which nothing is known."""
    revisions: list[str]
    """Revisions that decided."""
    firstDifference: DecisionDifferencePart | None
    """The first decision that differs."""
    differences: list[DecisionDifferencePart]
    """All that differ with --keep-going, else the first."""
    others: list[OtherChoicePart]
    """What other schedulers chose, beside our best nodes."""
    warnings: list[str]
    """What could not be read."""


class GapPart(TypedDict):
    """A time of which nothing is known."""

    begin: str
    """Its begin."""
    end: str | None
    """Its end; null where it goes on."""


class DecisionDifferencePart(TypedDict):
    """A decision that does not come out as it was recorded."""

    decision: int
    """Counts the recorded decisions, from 1."""
    pod: str
    """NAMESPACE/NAME."""
    time: str
    """When it was made."""
    recorded: OutcomePart
    """What came of it then."""
    now: OutcomePart | None
    """What comes of it now; null where extenders would be asked further."""
    plugins: list[PluginDifferencePart]
    """Whose scores differ."""
    verdictsOf: list[str]
    """Plugins that say otherwise whether a node takes the pod."""


class OutcomePart(TypedDict):
    """What came of a decision."""

    node: str
    """The node, "" for none."""
    score: int | None
    """The node's total."""
    feasibleNodes: int
    """Nodes that would have taken the pod."""
    code: str
    """Success, Unschedulable ..., as kube-scheduler has them."""
    message: str
    """Why there is no node."""


class PluginDifferencePart(TypedDict):
    """A plugin's scores of two nodes."""

    name: str
    """The plugin."""
    scoreOfRecordedNode: int
    """For the node of then."""
    scoreOfNodeNow: int
    """For that of now."""


class OtherChoicePart(TypedDict):
    """A node that another scheduler chose."""

    pod: str
    """NAMESPACE/NAME."""
    node: str
    """Where it was bound."""
    schedulerName: str
    """Of the pod."""
    time: str
    """When it was bound."""
    verdict: str
    """best, stale, sampled, other profile, refused or worse."""
    score: int | None
    """Of the node, under our preset."""
    bestScore: int | None
    """Of our best node."""
    betterNodes: int
    """Nodes with a higher score."""
    plugin: str
    """Who refuses the node, "" for nobody."""
    why: str
    """The plugin's words."""
    preset: str
    """The preset by which it is judged."""
    secondsBefore: float
    """How old the state is under which it was among the best."""
