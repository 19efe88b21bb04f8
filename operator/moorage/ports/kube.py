"""The API server, as the engine sees it: informers bring objects in, writes go out.

All methods raise only what ``ports.errors`` lists.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from moorage.core.objects.meta import HasMetadata, ObjectMeta, PartialObject
from moorage.core.objects.pods import ContainerExtendedResourceRequest, Pod
from moorage.core.objects.resource_claims import Allocation, Consumer, ResourceClaim
from moorage.core.objects.storage import PersistentVolume, PersistentVolumeClaim
from moorage.ports.access_rights import AccessRight
from moorage.ports.status_writer import StatusWriter

T_contra = TypeVar("T_contra", contravariant=True)
T_co = TypeVar("T_co", covariant=True)

LIVE_PODS = "status.phase!=Succeeded,status.phase!=Failed"
"""Field selector. Pods that have ended take no room; in a cluster with many jobs they are most of
all pods.
"""
FAILED_PODS = "status.phase=Failed"
"""Field selector of those among them that a kubelet may have refused."""
PROFILE_LABEL = "moorage.dev/profile"
"""On ControllerRevisions: the profile, shortened to a label's 63 characters; the annotation of the
same key has it in full.
"""
INSTALLATION_LABEL = "moorage.dev/installation"
"""On the replicas' Leases: the name of the leader's Lease, shortened to a label's 63 characters."""
HOME_LABEL = "moorage.dev/home"
"""On a namespace: installations are at home there, so that its Leases count as theirs."""
CHANGED_BY, CHANGED_AT = "moorage.dev/changed-by", "moorage.dev/changed-at"
"""On ControllerRevisions: the field manager of the change that led to it."""
TRIAL_ANNOTATION = "moorage.dev/trial"
"""On ControllerRevisions: the trial of another revision against this one, as JSON."""
REVISIONS_ANNOTATION = "moorage.dev/revisions"
"""On the replicas' Leases: a JSON map of profile name to the revision that the replica has
ready.
"""


MODE_ANNOTATION = "moorage.dev/mode"
"""On the replicas' Leases: the ``mode`` of their configuration."""


@dataclasses.dataclass(frozen=True, slots=True)
class UnreadableObject:
    """An object that could not be decoded, or not be taken in: what could be read of it, and why
    not the rest.

    ``whole`` is the object itself where it could be decoded.
    """

    partial: PartialObject
    node_name: str
    error: str
    whole: HasMetadata | None = None


class ReflectorSink(Protocol[T_contra]):
    """Where a reflector's objects go. Called on the event loop's thread; must be quick and must not
    raise for what an object holds.

    A reflector (re)lists page by page: ``list_started``, then ``put`` for each object, then
    ``list_ended`` until it gives False: whatever was not put in between is gone, a piece with each
    call. A list that breaks off has no ``list_ended``; the next one begins with ``list_started``
    again. Between lists it puts and deletes as the watch says. After a resume an object may come
    again in a state that was put before.
    """

    def list_started(self, served: bool = True) -> None:
        """A whole list begins. ``served``: else it is empty, as the API server does not have the
        resource.
        """

    def put(self, obj: T_contra) -> None:
        """The object is there, in this state."""

    def delete(self, obj: T_contra) -> None:
        """The object is gone; ``obj`` is its last state."""

    def unreadable(self, obj: UnreadableObject, deleted: bool) -> None:
        """An object that could not be decoded came, or went."""

    def list_ended(self) -> bool:
        """The list is complete. True: there is more to do about it than should be done at once, so
        call again.
        """


class Informer(Protocol):
    """A list/watch of one resource that goes on until cancelled."""

    @property
    def resource(self) -> str:
        """What is watched, as in ``pods``."""

    @property
    def optional(self) -> bool:
        """Whether a replica may decide before this is synced: only some profiles need it."""

    @property
    def has_synced(self) -> bool:
        """Whether a whole list has come in."""

    @property
    def age(self) -> float:
        """Seconds since the API server last said anything (an event, a bookmark, an opened
        stream).
        """

    @property
    def failures(self) -> int:
        """Attempts to list or watch that failed in a row."""

    async def run(self) -> None:
        """List, watch, resume, relist; never ends by itself."""

    async def wait_caught_up(self) -> None:
        """Return once the watch has delivered all that the API server held when this was called."""


class ListedPage(NamedTuple):
    """A page of a list: of each object its name, namespace, UID and resourceVersion.

    ``version`` is the moment that all pages of the list show; ``token`` leads to the next one, ""
    behind the last.
    """

    version: int
    objects: Sequence[ObjectMeta]
    token: str


class ObjectAtVersion(NamedTuple, Generic[T_co]):
    """What there was of an object in the moment of ``version``; None: it was not there."""

    version: int
    object: T_co | UnreadableObject | None


class UncachedReader(Protocol[T_co]):
    """The API server's objects of one kind, looked at beside the watch and by the same selection.
    For what it fails it raises EdgeError.
    """

    @property
    def resource(self) -> str:
        """What is looked at, as in ``pods``."""

    async def page(self, token: str) -> ListedPage:
        """The first page for ""; ResourceExpired when a list took too long to go on with."""

    async def read(self, namespace: str, name: str) -> ObjectAtVersion[T_co]:
        """Read one object by name."""


@dataclasses.dataclass(frozen=True, slots=True)
class PodRef:
    """A pod, or its PodGroup, as writes name it; the UID guards against a namesake."""

    namespace: str
    name: str
    uid: str


def pod_ref(pod: Pod) -> PodRef:
    """The pod as writes name it."""
    return PodRef(pod.metadata.namespace, pod.metadata.name, pod.metadata.uid)


@dataclasses.dataclass(frozen=True, slots=True)
class StoredRevision:
    """A stored revision of a profile (apps/v1 ControllerRevision); ``data["uid"]`` is the profile's
    UID.
    """

    name: str
    profile: str
    number: int
    data: Mapping[str, Any]
    changed_by: str = ""
    """The field manager of the change that led to it; "" where it is not known."""
    trial: str = ""
    """The trial of another revision against it, as JSON; "" where there is none."""
    changed_at: str = ""
    """The last change of its specs that the API server could tell of, who removes fields alone
    leaving no trace; as the API server writes times.
    """


class VolumeWriter(Protocol):
    """What is written to have volumes bound or made. Objects are given as they are to be.

    Conflict: the object is not in the state any more whose UID and resourceVersion are given;
    NotFound: it may be gone.
    """

    async def bind_volume(self, volume: PersistentVolume) -> None:
        """Patch this volume's claimRef, and whether a controller chose it, into the one that is
        there.
        """

    async def select_node(self, claim: PersistentVolumeClaim) -> None:
        """Patch this claim's selected node into the one that is there."""


class ClaimWriter(Protocol):
    """What is written to have resource claims allocated and reserved. Conflict and NotFound as for
    volumes, where not said else.
    """

    async def protect_claim(self, claim: ResourceClaim) -> ResourceClaim:
        """Give it the finalizer that an allocated claim must have; the claim as it is then."""

    async def reserve_claim(
        self, claim: ResourceClaim, consumer: Consumer, allocation: Allocation | None
    ) -> ResourceClaim:
        """Reserve it and, unless None, allocate it; the claim as it is then."""

    async def release_claim(self, claim: ResourceClaim, consumer: Consumer) -> None:
        """Take back that it is reserved for this one, whatever else changed. Conflict: it is
        another claim of that name.
        """

    async def deallocate_claim(self, claim: ResourceClaim) -> None:
        """Take its devices, and all that it is reserved for."""

    async def create_claim(self, claim: ResourceClaim, prefix: str) -> ResourceClaim:
        """Create this claim, protected, under a new name with this prefix; as it is then."""

    async def delete_claim(self, claim: ResourceClaim) -> None:
        """Delete a claim that is allocated, maybe. Conflict: it is another claim of that name;
        NotFound: it may be gone.
        """

    async def pod_claim(
        self, pod: PodRef, claim: str, mappings: Sequence[ContainerExtendedResourceRequest]
    ) -> None:
        """Patch into a pod's status which claim stands for its extended resources, and which
        request for which container's.
        """


class KubeWriter(VolumeWriter, ClaimWriter, StatusWriter, Protocol):
    """Every write that only the leader may make; each passes the fence.

    That one of them finds nothing is no proof that the object is gone: a proxy may have said so. A
    read by ``KubeReader`` is.
    """

    async def bind(self, pod: PodRef, node: str) -> None:
        """POST the Binding. Conflict: somebody bound it or it is another pod; NotFound: the pod may
        be gone.
        """

    async def pod_condition(
        self, pod: PodRef, condition: Mapping[str, Any], nominated_node: str | None = None
    ) -> None:
        """Patch one condition (and, unless None, nominatedNodeName) into the pod's status."""

    async def pod_nomination(self, pod: PodRef, node: str) -> None:
        """Patch nominatedNodeName into the pod's status; "" takes it away."""

    async def delete_pod(self, pod: PodRef) -> None:
        """Delete it with its usual grace. Conflict: another pod has this name; NotFound: it may be
        gone.
        """

    async def evict_pod(self, pod: PodRef) -> None:
        """As ``delete_pod``, if its disruption budget lets it go; EvictionBlocked: it does not."""

    async def pod_group_condition(self, group: PodRef, condition: Mapping[str, Any]) -> None:
        """Patch one condition into the status of a PodGroup (scheduling.k8s.io)."""

    async def create_revision(self, revision: StoredRevision) -> None:
        """Store a revision; Conflict when it is there already."""

    async def delete_revision(self, name: str) -> None:
        """Delete a stored revision; one that is gone is fine."""

    async def revision_trial(self, name: str, document: str) -> None:
        """Patch into a stored revision how the trial of another one against it stands."""


@dataclasses.dataclass(frozen=True, slots=True)
class ReplicaAnnouncement:
    """What a replica says of itself: identity and profile name -> revision that it has ready."""

    identity: str
    revisions: Mapping[str, str]


class PodNode(NamedTuple):
    """Where a live pod is; ``name`` is ``namespace/name``, ``node`` "" for none, ``terminating``
    whether it is being deleted.
    """

    uid: str
    name: str
    node: str
    terminating: bool


class KubeReader(Protocol):
    """Reads beside the informers; none is fenced."""

    async def node_names(self) -> Sequence[str]:
        """The nodes that there are now."""

    async def pod_places(self) -> Sequence[PodNode]:
        """The pods that there are now and that have not ended."""

    async def pod_node(self, pod: PodRef) -> str | None:
        """The node that the pod is bound to now ("" for none), None when the pod with this UID is
        gone.
        """

    async def pod_json(self, pod: PodRef) -> bytes | None:
        """The whole pod as JSON, less who manages which field; None when the pod with this UID is
        gone.
        """

    async def nodes_json(self) -> Mapping[str, bytes]:
        """All nodes by name, each whole as JSON, less who manages which field. In a large cluster
        that is much.
        """

    async def secret(self, name: str) -> Mapping[str, bytes] | None:
        """The data of a Secret in our own namespace, None when there is none of this name."""

    async def resource_claim(self, namespace: str, name: str) -> ResourceClaim | None:
        """The claim as it is now; None when it is gone."""

    async def revisions(self) -> Sequence[StoredRevision]:
        """All stored revisions of our namespace; of their data no more than ``revision`` and
        ``uid``.
        """

    async def revision(self, name: str) -> StoredRevision | None:
        """The stored revision of this name, whatever it holds; None when there is none."""

    async def replicas(self) -> Sequence[ReplicaAnnouncement]:
        """The replicas of this installation that have announced themselves lately."""

    async def dead_replicas(self) -> Sequence[str]:
        """Identities whose announcement has not changed for long, as ``replicas`` saw it at its
        calls.
        """

    async def lease_renewed(self, namespace: str, name: str) -> bool:
        """Whether somebody holds this Lease and, as far as was seen at earlier calls, goes on
        renewing it.
        """

    async def serves(self, namespace: str, lease: str, profile: str) -> bool:
        """Whether the replica that holds this Lease announces, in one of its own beside it, that it
        serves this profile.
        """

    async def quarantined(self) -> Mapping[str, str]:
        """The plugins that some replica hung in, with the version that did
        (``ports.quarantine_record``).
        """

    async def allowed(self, right: AccessRight) -> bool:
        """Whether our service account holds this right (SelfSubjectAccessReview)."""


class ReplicaAnnouncer(Protocol):
    """Where a replica says what it has ready; everyone writes only their own Lease, so it is not
    fenced.
    """

    async def announce(self, identity: str, revisions: Mapping[str, str]) -> None:
        """Say that ``identity`` is alive and has these revisions (profile name -> revision); repeat
        it every ``REPLICA_PERIOD_SECONDS``.
        """

    async def withdraw(self, identity: str) -> None:
        """Say that it is gone; one that never announced itself is fine."""


REPLICA_PERIOD_SECONDS = 20.0
"""Seconds between two announcements of a replica; after three missed ones it counts as gone."""
