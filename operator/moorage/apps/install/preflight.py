"""Looking before objects are applied: what would keep them from working, and what to do about it.

Everything is asked of the API server, by dry runs on its side: so rights (those to give rights,
too), quotas, webhooks of others and Pod Security have their say.
"""

from __future__ import annotations

import datetime
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from typing import Final

from moorage.api.operator_config import environment_variable
from moorage.apps.install import findings
from moorage.apps.install.cluster_objects import ClusterObjects, KindNotServed
from moorage.apps.install.findings import Obstacle
from moorage.apps.install.inventories import CRD, DEPLOYMENT, NAMESPACE, labels, of
from moorage.apps.install.object_keys import (
    INSTANCE,
    Document,
    Kind,
    ObjectKey,
    installation_of,
    key_of,
    kinds_of,
)
from moorage.apps.reach.listing import each_item
from moorage.ports.errors import Conflict, EdgeError, Forbidden, NotFound, Refused, Retryable
from moorage.ports.http_calls import HttpSession

_LEASE: Final = "coordination.k8s.io/v1", "Lease"
_LEASE_NAMESPACE: Final = environment_variable("leaderElection.resourceNamespace")
_KUBE_SCHEDULER: Final = ObjectKey(*_LEASE, "kube-scheduler", "kube-system")
_STANDS_IN: Final = "system-scheduler"
"""Who places the operator's pods where it takes the name default-scheduler."""
_PAGE: Final = {"limit": "500"}


async def preflight(
    session: HttpSession,
    version: str,
    documents: Sequence[Document],
    now: datetime.datetime,
    *,
    force: bool = False,
) -> list[Obstacle]:
    """What was found for these documents, at an API server of this version; ``force``: what others
    manage is to be taken over. Raises EdgeError where it does not answer.
    """
    look = Preflight(session, documents, force=force)
    found = [*findings.of_version(version), *[one async for one in look.leases(now)]]
    for document in documents:
        found += [one async for one in look.one(document)]
    found += [one async for one in look.others()]
    found += look.unserved()
    return found


class Preflight:
    """For the objects that are to be applied."""

    def __init__(
        self, session: HttpSession, documents: Sequence[Document], *, force: bool = False
    ) -> None:
        self._session = session
        self._force = force
        self._objects = ClusterObjects(session)
        self._documents = documents
        self._absent: dict[Kind, list[Document]] = {}
        self._elsewhere: dict[tuple[str, str], list[ObjectKey]] = {}
        """By name and namespace of installations: what is theirs."""
        self._spaces = {one["metadata"]["name"]: one for one in of(documents, NAMESPACE)}
        self._shared: list[tuple[Document, Document]] = []
        """Of these, those that are there, and as they are."""

    async def leases(self, now: datetime.datetime) -> AsyncIterator[Obstacle]:
        """Who else leads by the names that are asked for."""
        for one in of(self._documents, DEPLOYMENT):
            try:
                found = await self._leading(one, now)
            except Forbidden as error:
                found = [_refused(key_of(one), error)]
            for finding in found:
                yield finding

    async def _leading(self, deployment: Document, now: datetime.datetime) -> list[Obstacle]:
        found: list[Obstacle] = []
        if deployment["spec"]["template"]["spec"].get("schedulerName") == _STANDS_IN:
            lease = await self._objects.get(_KUBE_SCHEDULER)
            found += findings.of_kube_scheduler(lease, now)
        name = labels(deployment)[INSTANCE]
        lease = await self._objects.get(ObjectKey(*_LEASE, name, _lease_namespace(deployment)))
        deployed = await self._objects.get(key_of(deployment)) is not None
        return [*found, *findings.of_leader(lease, now, deployed=deployed)]

    async def one(self, document: Document) -> AsyncIterator[Obstacle]:
        """Of one object: what is there by its name, and what the API server would say of it."""
        key = key_of(document)
        try:
            live = await self._objects.get(key)
        except KindNotServed as error:
            self._absent.setdefault(error.kind, []).append(document)
            return
        except Forbidden as error:
            yield _refused(key, error)
            return
        told = [] if live is None else [*findings.of_object(document, live)]
        self._are_in(findings.elsewhere(document, live or document), document)
        if live is not None and key.kind == NAMESPACE:
            self._shared.append((document, live))
        if live is not None and key.kind == CRD:
            told += await self._definition(document, live)
        for one in told or await self._tried(document):
            yield one

    async def _definition(self, document: Document, live: Document) -> list[Obstacle]:
        try:
            stored = [one async for one in self._stored(live)]
        except Forbidden as error:
            return [_refused(key_of(document), error)]
        return [*findings.of_definition(document, live, stored)]

    def _are_in(self, namespaces: Iterable[str], document: Document) -> None:
        for namespace in namespaces:
            place = installation_of(document), namespace
            self._elsewhere.setdefault(place, []).append(key_of(document))

    async def others(self) -> AsyncIterator[Obstacle]:
        """Of other installations: those in the same namespaces, and those of the same name in
        others, by their Deployments and by what was found at these objects.
        """
        deployments = of(self._documents, DEPLOYMENT)
        there: list[Document] = []
        try:
            there = await self._objects.list_ours(kinds_of(deployments))
        except Forbidden as error:
            yield _refused(key_of(deployments[0]), error)
        for document, live in self._shared:
            for finding in findings.of_shared_namespace(document, live, there):
                yield finding
        self._find_same_names(deployments, there)
        for place, keys in sorted(self._elsewhere.items()):
            yield findings.of_same_name(*place, keys)

    def _find_same_names(self, wanted: Sequence[Document], there: Iterable[Document]) -> None:
        """Of the Deployments that are there, those of our name in a namespace that is not ours."""
        places = {installation_of(one): one["metadata"]["namespace"] for one in wanted}
        for one in there:
            if own := places.get(installation_of(one)):
                self._are_in({one["metadata"]["namespace"]} - {own}, one)

    def unserved(self) -> Iterator[Obstacle]:
        """Of kinds that the API server does not have."""
        return (findings.of_absent(kind, them) for kind, them in self._absent.items())

    async def _stored(self, definition: Document) -> AsyncIterator[Document]:
        """The objects of a kind, in each version that is served."""
        spec = definition["spec"]
        for version in spec["versions"]:
            path = f"/apis/{spec['group']}/{version['name']}/{spec['names']['plural']}"
            if version.get("served"):
                async for one in each_item(self._session, path, _PAGE):
                    yield {"kind": spec["names"]["kind"], **one}

    async def _tried(self, document: Document) -> list[Obstacle]:
        """What a dry run is answered; of a Deployment, one of its pods too."""
        tried = [document]
        if document["kind"] == DEPLOYMENT and await self._takes_pods(document):
            tried.append(_pod(document))
        return [found for one in tried for found in await self._answered(one)]

    async def _answered(self, one: Document, *, force: bool = False) -> list[Obstacle]:
        key = key_of(one)
        try:
            await self._objects.apply(one, force=force, dry_run=True)
        except NotFound as error:
            space = key.namespace  # else it refers to what comes with it
            if space not in self._spaces and f'namespaces "{space}"' in error.message:
                return [Obstacle(f"{key}: {error.message}", "make it first")]
        except Conflict as error:
            return await self._conflicting(one, error)
        except Refused as error:
            return [_refused(key, error)]
        except Retryable as error:
            if not error.status:
                raise
            return [Obstacle(f"{key}: {error}", "try again; who is asked there?")]
        return []

    async def _conflicting(self, one: Document, error: Conflict) -> list[Obstacle]:
        """Whose fields these are; where they are to be taken over, what else is said then."""
        key = key_of(one)
        found = [*findings.of_conflicts(key, error.message, forced=self._force)]
        if not found:
            return [_refused(key, error)]
        return [*found, *(await self._answered(one, force=True) if self._force else ())]

    async def _takes_pods(self, document: Document) -> bool:
        """Whether the namespace is there, and judges pods as it will: before that, a pod would be
        judged by others' labels.
        """
        name = document["metadata"]["namespace"]
        there = await self._objects.get(ObjectKey("v1", NAMESPACE, name))
        wanted = self._spaces.get(name)
        if there is None or wanted is None:
            return there is not None
        return labels(there).get(findings.ENFORCED) == labels(wanted).get(findings.ENFORCED)


def _lease_namespace(deployment: Document) -> str:
    """Where its replicas have their Lease: what their environment says, else where they are."""
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    said = {one["name"]: one.get("value") for one in container["env"]}
    return str(said.get(_LEASE_NAMESPACE) or deployment["metadata"]["namespace"])


def _refused(key: ObjectKey, error: EdgeError) -> Obstacle:
    """What the API server says against an object."""
    said = error.message if isinstance(error, Refused) else str(error)
    if isinstance(error, Forbidden) and "violates PodSecurity" in said:
        return Obstacle(f"{key}: {said}", "give its namespace the label that the variant's has")
    if isinstance(error, Forbidden):
        do = "have a cluster's administrator do this: who gives rights needs all of them"
        return Obstacle(f"{key}: {said}", do)
    return Obstacle(
        f"{key}: {said}", "change it in an overlay of manifests/, or mend what refuses it"
    )


def _pod(deployment: Document) -> Document:
    """A pod as the Deployment makes them."""
    template, metadata = deployment["spec"]["template"], deployment["metadata"]
    name, space = f"{metadata['name']}-preflight", metadata["namespace"]
    whole = {**template.get("metadata", {}), "name": name, "namespace": space}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": whole, "spec": template["spec"]}
