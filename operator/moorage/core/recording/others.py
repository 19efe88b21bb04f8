"""Others' choices: where another scheduler put a pod, and whether a revision of ours would have.

The bindings that a watch shows of pods that waited, and that we have not assumed, are the choices.
The other scheduler decided some time before its binding was seen, and not by the same state; so a
second replay comes along some seconds behind, and a choice that was none of the best when it was
seen is looked at again in the states before that.
"""

from __future__ import annotations

import dataclasses
import enum
import math
from collections import deque
from collections.abc import Mapping

from moorage.core.columns.changes import Entry, PodObserved
from moorage.core.framework.revisions import Revision
from moorage.core.objects.meta import key
from moorage.core.objects.pods import Pod
from moorage.core.recording.replay import DECISIONS, Replay
from moorage.core.recording.standing import Standing, standing

WINDOW_SECONDS = 2.0
_LOOKS = 100
"""States before a choice that it is looked at in, at most."""


class ChoiceVerdict(enum.StrEnum):
    """What is to be said of a choice; the first that holds."""

    BEST = "best"
    """One of the nodes that we think best."""
    STALE = "stale"
    """It was one, in a state of some seconds before."""
    SAMPLED = "sampled"
    """It may have been one of those nodes that a sampling scheduler saw."""
    OTHER_PROFILE = "other profile"
    """It is one under another profile."""
    REFUSED = "refused"
    """We would not have put the pod there at all."""
    WORSE = "worse"
    """None of these explains it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Choice:
    """A pod (``namespace/name``) that another scheduler put on ``node``, seen ``at`` (seconds since
    1970) as the ``number``-th.

    ``standing`` is that in the state in which it was seen; ``seconds``: how long before it was one
    of the best nodes, where STALE; ``profile``: under which it is one, where OTHER_PROFILE.
    """

    pod: str
    scheduler_name: str
    node: str
    at: float
    number: int
    standing: Standing
    verdict: ChoiceVerdict
    seconds: float = 0.0
    profile: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Yardsticks:
    """By what choices are judged: ``default``, but for pods of a profile that is known; and
    ``others`` by name, where that does not explain them.
    """

    default: Revision
    others: Mapping[str, Revision] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(slots=True)
class _OpenChoice:
    """A choice that is not one of the best, while earlier states are looked at."""

    choice: Choice
    pod: Pod
    revision: Revision
    looked: float


class OthersChoices:
    """Judges the choices of a recording. ``behind`` is a replay of its own, which it moves; None
    looks at no earlier states.
    """

    def __init__(
        self, behind: Replay | None, yardsticks: Yardsticks, window: float = WINDOW_SECONDS
    ) -> None:
        self.choices: list[Choice] = []
        """In the order in which it is known what to say of them; after the end in that in which
        they were seen.
        """
        self._seen = 0
        self._behind = behind
        self._yardsticks = yardsticks
        self._window = window
        self._delayed: deque[tuple[float, Entry]] = deque()
        self._open: list[_OpenChoice] = []

    def look(self, at: float, entry: Entry, replay: Replay) -> None:
        """The next entry, before ``replay`` is told of it."""
        self._follow(at - self._window)
        if self._behind is not None and not isinstance(entry, DECISIONS):
            self._delayed.append((at, entry))
        if isinstance(entry, PodObserved):
            self._examine(at, entry.pod, replay)

    def end(self) -> None:
        """No entry comes any more."""
        self._follow(math.inf)
        self.choices.sort(key=lambda choice: choice.number)

    # ---- now -------------------------------------------------------------------------------------

    def _examine(self, at: float, bound: Pod, replay: Replay) -> None:
        cache, uid = replay.context.cache, bound.metadata.uid
        waiting = cache.waiting.get(uid)
        if waiting is None or cache.pod_info(uid) is not None:
            return  # it came with a node, or its place is our own doing
        name, node = waiting.spec.scheduler_name, bound.spec.node_name
        revision = replay.profiles.get(name, self._yardsticks.default)
        now = standing(waiting, node, revision, replay.context)
        self._seen += 1
        choice = Choice(key(waiting), name, node, at, self._seen, now, ChoiceVerdict.BEST)
        if now.is_best:
            self.choices.append(choice)
            return
        explained = self._explained(choice, waiting, replay)
        if self._behind is None:
            self.choices.append(explained)
        else:
            self._open.append(_OpenChoice(explained, waiting, revision, -math.inf))
            self._reconsider(at - self._window, self._behind)

    def _explained(self, choice: Choice, pod: Pod, replay: Replay) -> Choice:
        """What else than a state of before may be the reason."""
        if choice.standing.is_best_of_a_sample:
            return dataclasses.replace(choice, verdict=ChoiceVerdict.SAMPLED)
        for name, revision in self._yardsticks.others.items():
            if standing(pod, choice.node, revision, replay.context).is_best:
                verdict = ChoiceVerdict.OTHER_PROFILE
                return dataclasses.replace(choice, verdict=verdict, profile=name)
        refused = choice.standing.is_refused
        verdict = ChoiceVerdict.REFUSED if refused else ChoiceVerdict.WORSE
        return dataclasses.replace(choice, verdict=verdict)

    # ---- some seconds behind ---------------------------------------------------------------------

    def _follow(self, until: float) -> None:
        """Move the replay behind up to this time."""
        while self._behind is not None and self._delayed and self._delayed[0][0] <= until:
            at, entry = self._delayed.popleft()
            self._close(at)
            self._behind.follow(entry)
            self._reconsider(at, self._behind)

    def _close(self, now: float) -> None:
        """Choices that were seen by now have no more states before them."""
        self.choices += [one.choice for one in self._open if one.choice.at <= now]
        self._open = [one for one in self._open if one.choice.at > now]

    def _reconsider(self, at: float, behind: Replay) -> None:
        """Look at open choices in the state behind, which is that of this time."""
        left = []
        for one in self._open:
            choice, due = one.choice, at - one.looked >= self._window / _LOOKS
            one.looked = at if due else one.looked
            if due and standing(one.pod, choice.node, one.revision, behind.context).is_best:
                ago = min(choice.at - at, self._window)
                self.choices.append(
                    dataclasses.replace(
                        choice, verdict=ChoiceVerdict.STALE, seconds=ago, profile=""
                    )
                )
            else:
                left.append(one)
        self._open = left
