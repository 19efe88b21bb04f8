"""What of ours is in a cluster, and which of it belongs to one installation.

Whose an object is its labels say. Two installations of one name in two namespaces are told apart by
the namespaces that objects are in or name: those of a binding's subjects, say.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from moorage.api import yaml_documents
from moorage.api.operator_config import environment_variable
from moorage.api.v1alpha1.common import GROUP
from moorage.api.yaml_documents import DocumentError
from moorage.apps.authority.authority_setting import Installed
from moorage.apps.install.guests import Residents
from moorage.apps.install.object_keys import INSTANCE, PART_OF, SHARD_OF, Document
from moorage.apps.install.variants import USUAL_CONTROLLER

DEPLOYMENT: Final = "Deployment"
CRD: Final = "CustomResourceDefinition"
NAMESPACE: Final = "Namespace"
BINDINGS: Final = ("ClusterRoleBinding", "RoleBinding")
_CONTROLLER: Final = environment_variable("controllerName")


@dataclasses.dataclass(frozen=True, slots=True)
class Inventory:
    """What of ours is in a cluster, of all installations: the objects that were applied, what
    operators wrote (Leases, ControllerRevisions, a Secret), and what users wrote.
    """

    objects: Sequence[Document] = ()
    pods: Sequence[Document] = ()
    """Of the installation that is looked at, with their ReplicaSets."""
    written: Sequence[Document] = ()
    profiles: Sequence[Document] = ()
    configs: Sequence[Document] = ()
    homes: Collection[str] = ()
    """The namespaces whose Leases are believed."""
    residents: Residents = dataclasses.field(default_factory=Residents)
    """Of the installation's namespace, if that is to go with it."""

    def names(self, place: Installed) -> frozenset[str]:
        """The name of an installation, and those of its shards."""
        return frozenset({place.name, *(labels(one).get(INSTANCE, "") for one in self.of(place))})

    def of(self, place: Installed) -> list[Document]:
        """The objects of one installation, those of its shards included. Where any object of the
        same name is in a namespace that it has nothing to do with, there is, or was, another
        installation: then those alone that are in its namespace or name that, and their roles.
        What is elsewhere and names another Deployment's namespace, too, may be that one's.
        """
        named = [one for one in self.objects if _is_named(one, place.name)]
        deployed = {one["metadata"]["namespace"] for one in of(named, DEPLOYMENT)}
        mine = [one for one in named if _is_at(one, place.namespace, deployed)]
        bound = of(mine, *BINDINGS)
        sure = [one for one in named if one in mine or any(refers(it, one) for it in bound)]
        alone = all("namespace" not in one["metadata"] or one in sure for one in named)
        return named if alone else sure

    def unsure(self, place: Installed) -> list[Document]:
        """Objects by whose names and namespaces nobody knows to which of several installations of
        this name they belong.
        """
        ours, space = self.of(place), place.namespace
        bound = [one for one in of(self.objects, *BINDINGS) if space not in _homes(one)]
        return [
            one
            for one in self.objects
            if _is_named(one, place.name) and one not in ours
            if space in (_homes(one) or {space})
            if not any(refers(it, one) for it in bound)
        ]

    @property
    def kinds(self) -> list[Document]:
        """The CRDs, which all installations share."""
        return [one for one in of(self.objects, CRD) if one["spec"]["group"] == GROUP]


def of(documents: Iterable[Document], *kinds: str) -> list[Document]:
    """Those of these kinds."""
    return [one for one in documents if one["kind"] in kinds]


def labels(document: Document) -> Mapping[str, str]:
    """Its labels."""
    return document["metadata"].get("labels") or {}


def refers(binding: Document, role: Document) -> bool:
    """Whether a binding gives what this role has; nothing but a role is one."""
    wanted, at = binding["roleRef"], role["metadata"].get("namespace")
    same = (wanted["kind"], wanted["name"]) == (role["kind"], role["metadata"]["name"])
    return same and at in (None, binding["metadata"].get("namespace"))


def controllers(ours: Sequence[Document]) -> set[str]:
    """The names that a profile may give as ``controllerName`` to be served by these: of the
    Deployments' environment, else of their configuration. None where no Deployment is there: what
    its environment said is not known then.
    """
    if not of(ours, DEPLOYMENT):
        return set()
    return {*_of_environments(ours)} or {*_of_configurations(ours)}


def _of_environments(ours: Iterable[Document]) -> Iterator[str]:
    for one in of(ours, DEPLOYMENT):
        for container in one["spec"]["template"]["spec"]["containers"]:
            for variable in container.get("env") or ():
                if variable["name"] == _CONTROLLER and variable.get("value"):
                    yield variable["value"]


def _of_configurations(ours: Iterable[Document]) -> Iterator[str]:
    for one in of(ours, "ConfigMap"):
        for text in (one.get("data") or {}).values():
            try:
                documents = yaml_documents.load_all(text)
            except DocumentError:
                continue  # another one, or one that no operator could read either
            for document in documents:
                if (
                    isinstance(document, Mapping)
                    and document.get("kind") == "OperatorConfiguration"
                ):
                    yield str(document.get("controllerName", USUAL_CONTROLLER))


def _is_named(document: Document, name: str) -> bool:
    found = labels(document)
    return found.get(PART_OF) == "moorage" and name in (found.get(INSTANCE), found.get(SHARD_OF))


def _is_at(document: Document, namespace: str, deployed: Collection[str]) -> bool:
    """Whether it is in, is or names the namespace, and none of the others that are ``deployed``
    to, unless it is in this one.
    """
    homes = _homes(document)
    inside = document["metadata"].get("namespace") == namespace
    return inside or (namespace in homes and homes.isdisjoint({*deployed} - {namespace}))


def _homes(document: Document) -> set[str]:
    """The namespaces that it is in, is, or names."""
    found = set(_named_in(document))
    if document["kind"] == NAMESPACE:
        found.add(document["metadata"]["name"])
    return found


def _named_in(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key == "namespace" and isinstance(inner, str):
                yield inner
            else:
                yield from _named_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _named_in(inner)
