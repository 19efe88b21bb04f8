"""Cluster events: what changed in the cluster, as the queue sees it, and which of them can free a
waiting pod.

A plugin registers the events (``ClusterEventWithHint``) that may make a pod fit which it rejected.
Source: kube-scheduler framework ``ClusterEvent`` and ``EventsToRegister`` (v1.37), in words of our
own.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
from collections.abc import Callable, Hashable, Iterable

from kubefacts.labels import Selector
from moorage.core.columns.store import Lister
from moorage.core.objects.meta import HasMetadata
from moorage.core.objects.pods import Pod


class EventResource(enum.Enum):
    """The kind of object that changed; the value is the name that metrics show."""

    POD = "Pod"
    """Registrations only: all of the following three."""
    ASSIGNED_POD = "AssignedPod"
    UNSCHEDULED_POD = "UnscheduledPod"
    """Another pod that waits."""
    TARGET_POD = "TargetPod"
    """The pod that is to be tried again, itself."""
    NODE = "Node"
    NAMESPACE = "Namespace"
    """Ours: which pods an affinity term speaks of may go by the labels of namespaces."""
    PERSISTENT_VOLUME = "PersistentVolume"
    PERSISTENT_VOLUME_CLAIM = "PersistentVolumeClaim"
    STORAGE_CLASS = "StorageClass"
    CSI_NODE = "CSINode"
    CSI_DRIVER = "CSIDriver"
    CSI_STORAGE_CAPACITY = "CSIStorageCapacity"
    VOLUME_ATTACHMENT = "VolumeAttachment"
    RESOURCE_CLAIM = "ResourceClaim"
    RESOURCE_SLICE = "ResourceSlice"
    DEVICE_CLASS = "DeviceClass"
    POD_DISRUPTION_BUDGET = "PodDisruptionBudget"
    """Ours: kube-scheduler waits for no change of a budget."""
    SERVICE = "Service"
    """Ours, as the next three: whether pods spread by default may depend on whose they are."""
    REPLICATION_CONTROLLER = "ReplicationController"
    REPLICA_SET = "ReplicaSet"
    STATEFUL_SET = "StatefulSet"
    PROFILE = "Profile"
    """Ours: a swap changed plugins of the pod's profile."""
    EXTENDER = "Extender"
    """Ours: an extender may have changed its mind, which nobody tells us."""
    ANY = "*"


class ActionType(enum.Flag):
    """How it changed. Each update flag names the aspect; a change that is none of them is UPDATE as
    a whole.
    """

    ADD = enum.auto()
    DELETE = enum.auto()
    UPDATE_NODE_ALLOCATABLE = enum.auto()
    UPDATE_NODE_LABEL = enum.auto()
    UPDATE_NODE_TAINT = enum.auto()
    UPDATE_NODE_CONDITION = enum.auto()
    UPDATE_NODE_ANNOTATION = enum.auto()
    UPDATE_NODE_DECLARED_FEATURE = enum.auto()
    UPDATE_NODE_PREEMPTION_POLICY = enum.auto()
    UPDATE_POD_LABEL = enum.auto()
    UPDATE_POD_SCALE_DOWN = enum.auto()
    UPDATE_POD_SCALE_UP = enum.auto()
    UPDATE_POD_TOLERATION = enum.auto()
    UPDATE_POD_SCHEDULING_GATES_ELIMINATED = enum.auto()
    UPDATE_POD_GENERATED_RESOURCE_CLAIM = enum.auto()
    UPDATE_NODE_IMAGES = enum.auto()
    """Ours: bumps image scores, wakes nobody in the tree."""
    UPDATE = (
        UPDATE_NODE_ALLOCATABLE
        | UPDATE_NODE_LABEL
        | UPDATE_NODE_TAINT
        | UPDATE_NODE_CONDITION
        | UPDATE_NODE_ANNOTATION
        | UPDATE_NODE_DECLARED_FEATURE
        | UPDATE_NODE_PREEMPTION_POLICY
        | UPDATE_POD_LABEL
        | UPDATE_POD_SCALE_DOWN
        | UPDATE_POD_SCALE_UP
        | UPDATE_POD_TOLERATION
        | UPDATE_POD_SCHEDULING_GATES_ELIMINATED
        | UPDATE_POD_GENERATED_RESOURCE_CLAIM
        | UPDATE_NODE_IMAGES
    )
    ALL = ADD | DELETE | UPDATE


@dataclasses.dataclass(frozen=True, slots=True)
class ClusterEvent:
    """One change. ``old`` and ``new`` are the object (of the resource's kind) before and after,
    None where there is none.

    A resource that a plugin from outside the tree declared is a string,
    ``<plural>.<version>.<group>``.
    """

    resource: EventResource | str
    action: ActionType
    old: HasMetadata | None = None
    new: HasMetadata | None = None

    @property
    def label(self) -> str:
        """The event's name in metrics, as kube-scheduler spells it: ``NodeAdd``,
        ``AssignedPodDelete``.
        """
        resource = self.resource if isinstance(self.resource, str) else self.resource.value
        return resource + "".join(
            part.title() for part in (self.action.name or "Update").split("_")
        )


HintSignature = Callable[[Pod], Hashable]
"""All that a plugin's hints that are shared by pods see of one."""
QueueingHintFn = Callable[[Pod, ClusterEvent, Lister], bool]
"""Whether this event may make this waiting pod fit, with the store as it is after the event; pure
and cheap.
"""


@dataclasses.dataclass(frozen=True, slots=True)
class ClusterEventWithHint:
    """A registration: these actions on this resource may free a pod, if ``hint`` (None: always)
    says so.

    ``shared_by_signature``: the hint goes by the pod's namespace, labels, spec and resource status
    alone (``signatures.waiting_signature``), or by what its plugin says that its hints see of a pod
    (``interfaces.HintSignaturePlugin.hint_signature``), so that it is asked once for all waiting
    pods that agree in these. It may tell the pod that the event is about from others, as that is
    asked about alone. A hint that looks at anything else of the pod must not be shared, or pods
    would be left waiting.

    ``pod_selectors``, for events about pods: the hint says no unless one of these selectors, of the
    waiting pod's, selects the labels that the event's pod has or had. ``event_selectors``: waiting
    pods that one of these selectors, of the event's, selects are asked about alone, so that the
    plugin's ``hint_signature`` may leave out labels. Both only save questions; the hint decides.
    """

    resource: EventResource | str
    actions: ActionType
    hint: QueueingHintFn | None = None
    shared_by_signature: bool = False
    pod_selectors: Callable[[Pod], Iterable[Selector]] | None = None
    event_selectors: Callable[[ClusterEvent], Iterable[Selector]] | None = None

    @property
    def labels(self) -> list[str]:
        """The labels of the events that are registered for; all updates together are one."""
        update = ActionType.UPDATE
        whole = update in self.actions
        actions = [
            *(self.actions & ~update if whole else self.actions),
            *([update] if whole else ()),
        ]
        return [ClusterEvent(self.resource, action).label for action in actions]

    def matches(self, event: ClusterEvent) -> bool:
        """Whether the event is one that was registered for; the hint is not asked.

        An update that is none of the named aspects (UPDATE) is for those alone who registered for
        every update. An event of any resource is for everybody.
        """
        if event.resource is EventResource.ANY:
            return True
        mine = (
            self.resource == event.resource
            or self.resource is EventResource.ANY
            or (self.resource is EventResource.POD and event.resource in _PODS)
        )
        return mine and event.action in self.actions


_PODS = (EventResource.ASSIGNED_POD, EventResource.UNSCHEDULED_POD, EventResource.TARGET_POD)
shared_hint = functools.partial(ClusterEventWithHint, shared_by_signature=True)
"""A registration whose hint is asked once for all waiting pods of a signature."""
