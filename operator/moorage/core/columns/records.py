"""Records: a pod on a node, or nominated to one, as the cache keeps it."""

from __future__ import annotations

import dataclasses
import enum

from moorage.core.columns.requests import Requests
from moorage.core.objects import PartialObject, Pod
from moorage.core.volumes import NOTHING, Carried, carried_by


class State(enum.Enum):
    """Whether the API server has shown the pod on its node."""

    ASSUMED = "assumed"
    OBSERVED = "observed"


@dataclasses.dataclass(slots=True)
class Record:
    """A pod on a node: the object, where it is, what it takes there and how we know; ``volumes`` are those that placement looks at.

    ``leaving``: we had it told to go, which the watch may not show yet. ``stuck``: it was told to go long ago and does not, so nobody
    may count on its room. ``held``: nominated as a member of a gang that room is held for, which pods of its own priority may take.
    """

    pod: Pod | PartialObject
    node: str
    requests: Requests
    state: State
    leaving: bool = False
    stuck: bool = False
    held: bool = False
    volumes: Carried = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        self.volumes = carried_by(self.pod) if isinstance(self.pod, Pod) else NOTHING
