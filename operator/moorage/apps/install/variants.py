"""The objects of an installation: a variant's and its components', with what options change.

Documents in, documents out. The files of the wheel are changed in names, namespace and image, and
where an option says so; nothing else.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from typing import Final

from kubefacts import names
from moorage.api import yaml_documents
from moorage.api.operator_config import environment_variable
from moorage.apps import resources
from moorage.apps.exit_status import WrongUse
from moorage.apps.install.object_keys import SHARD_OF, Document, Kind, kinds_of
from moorage.apps.install.renaming import NAME, NAMESPACE, Names, renamed
from moorage.core.structures.likeness import suggest

USUAL_CONTROLLER: Final = "moorage"
"""Of profiles that name none."""
MAX_NAME: Final = 40
"""Characters, so that names made of it are short enough for a Service: `NAME-0-admission`."""
MAX_SHARDS: Final = 20
_LEASE_COMPONENT: Final = "namespaced-lease"
_LEASE_NAMESPACE: Final = "moorage-leases"
"""In the files; an installation may well be in a namespace that is called so."""
_NEEDS: Final = {"assign-webhook": "admission", "cert-manager": "admission"}
_OBSERVED: Final = ("admission", "assign", "assign-webhook", "cert-manager")
"""What is of no use to an installation that decides nothing."""
_SHARED: Final = frozenset(
    {
        "ClusterRole",
        "ClusterRoleBinding",
        "CustomResourceDefinition",
        "FlowSchema",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
        "Namespace",
        "PrometheusRule",
        "ResourceQuota",
    }
)
"""Kinds that the shards of an installation have once; where these name accounts, they name all."""
_DASHBOARD: Final = "moorage-dashboard"
"""A ConfigMap that shards have once."""


@dataclasses.dataclass(frozen=True, slots=True)
class Options:
    """What may differ from the files. "", None and 0 leave them as they are."""

    namespace: str = NAMESPACE
    name: str = NAME
    image: str = ""
    replicas: int | None = None
    controller_name: str = ""
    """Whose profiles are served; a shard has its own name, with this for a beginning."""
    lease_namespace: str = ""
    """Where the Lease and the stored revisions are; it is there already, and others own it."""
    shards: int = 0
    """So many installations side by side, called NAME-0 and so on."""

    @property
    def instances(self) -> tuple[str, ...]:
        """The names of the installations."""
        return tuple(f"{self.name}-{i}" for i in range(self.shards)) or (self.name,)

    def controller_of(self, instance: str) -> str:
        """The controllerName that this one of the installations serves."""
        usual = self.controller_name or (self.name if self.shards else USUAL_CONTROLLER)
        return usual + instance.removeprefix(self.name)


def documents(variant: str, components: Sequence[str], options: Options) -> list[Document]:
    """All objects, in the order of the files, each once. Raises WrongUse."""
    chosen = _chosen(variant, components, options)
    _check(options)
    texts = (resources.variant(variant), *map(resources.component, chosen))
    return [one for text in texts for body in _parsed(text) for one in _installed(body, options)]


def every_kind() -> tuple[Kind, ...]:
    """The kinds of all objects that an installation can have, whatever its variant."""
    texts = (
        *map(resources.variant, resources.variants()),
        *map(resources.component, resources.components()),
    )
    return kinds_of(body for text in texts for body in _parsed(text))


@functools.cache
def _parsed(text: str) -> Sequence[Document]:
    """The objects of a file, which nobody changes: ``renamed`` makes others."""
    return yaml_documents.load_all(text)


# ---- what was asked for --------------------------------------------------------------------------


def _chosen(variant: str, components: Sequence[str], options: Options) -> tuple[str, ...]:
    """The components, each once. Raises WrongUse."""
    _known("--variant", variant, resources.variants())
    for name in components:
        _known("--component", name, resources.components())
    lease = (_LEASE_COMPONENT,) if options.lease_namespace else ()
    chosen = tuple(dict.fromkeys((*components, *lease)))
    if _LEASE_COMPONENT in chosen and not options.lease_namespace:
        raise WrongUse(f"--component {_LEASE_COMPONENT}: say where, by --lease-namespace")
    for name in chosen:
        needed = _NEEDS.get(name, name)
        if needed not in chosen:
            raise WrongUse(f"--component {name}: takes --component {needed}, too")
    _check_variant(variant, chosen, options)
    return chosen


def _check_variant(variant: str, components: Sequence[str], options: Options) -> None:
    """Raises WrongUse for what does not go with the variant."""
    for name in components:
        if variant == "observer" and name in _OBSERVED:
            raise WrongUse(f"--component {name}: an observer decides nothing; leave it out")
    if variant == "default-scheduler" and options.shards > 1:
        text = "the shards would want the same port of a node's, and the same name for their pods"
        raise WrongUse(f"--shards {options.shards}: not with --variant default-scheduler: {text}")


def _known(flag: str, name: str, known: Sequence[str]) -> None:
    if name not in known:
        raise WrongUse(f"{flag} {name}: use one of {', '.join(known)}{suggest(name, known)}")


def _check(options: Options) -> None:
    """Raises WrongUse for what the API server would refuse."""
    for flag, value in (
        ("--namespace", options.namespace),
        ("--name", options.name),
        ("--lease-namespace", options.lease_namespace or NAMESPACE),
    ):
        if faults := names.dns_label(value):
            raise WrongUse(f"{flag} {value}: {faults[0]}")
    if len(options.name) > MAX_NAME:
        raise WrongUse(f"--name {options.name}: must be no more than {MAX_NAME} characters")
    if not options.name[0].isalpha():
        raise WrongUse(f"--name {options.name}: must begin with a letter, as a Service's name does")
    _check_shards(options)


def _check_shards(options: Options) -> None:
    """Raises WrongUse for so many, or where one has a name that the operator would refuse."""
    if not 0 <= options.shards <= MAX_SHARDS:
        raise WrongUse(f"--shards {options.shards}: must be from 1 to {MAX_SHARDS}")
    for controller in map(options.controller_of, options.instances):
        if faults := names.qualified_name(controller):
            whose = f" (of a shard: {controller})" if options.shards else ""
            raise WrongUse(f"--controller-name {options.controller_name}{whose}: {faults[0]}")


# ---- what becomes of an object -------------------------------------------------------------------


def _installed(body: Document, options: Options) -> Iterator[Document]:
    """The object for each of the installations, or the one that they share."""
    if body["kind"] in _SHARED or body["metadata"]["name"] == _DASHBOARD:
        yield _shared(body, options)
        return
    for instance in options.instances:
        one = renamed(body, Names(instance, options.namespace))
        if options.shards:
            one["metadata"]["labels"][SHARD_OF] = options.name
        if body["metadata"].get("namespace") == _LEASE_NAMESPACE:
            one["metadata"]["namespace"] = options.lease_namespace
        _set_options(one, options, instance)
        yield one


def _shared(body: Document, options: Options) -> Document:
    """With the account of each installation where that of one stands."""
    shared: Document = renamed(body, Names(options.name, options.namespace))
    for before, after in zip(_having_subjects(body), _having_subjects(shared), strict=True):
        after["subjects"] = [
            subject
            for instance in options.instances
            for subject in renamed(
                before["subjects"], Names(instance, options.namespace), "subjects"
            )
        ]
    if body["kind"] == "FlowSchema" and options.lease_namespace:
        for rule in (one for each in shared["spec"]["rules"] for one in each["resourceRules"]):
            if rule["namespaces"] == [options.namespace]:  # that of the Lease
                rule["namespaces"] = [options.lease_namespace]
    return shared


def _having_subjects(body: Document) -> Iterator[Document]:
    """Where it is said who may do something, or whose requests are meant."""
    if body["kind"] == "FlowSchema":
        yield from body["spec"]["rules"]
    elif "subjects" in body:
        yield body


def _set_options(body: Document, options: Options, instance: str) -> None:
    """Change what the options say of an object that is one installation's own."""
    controller = options.controller_of(instance)
    if body["kind"] == "Deployment":
        _set_pod(body["spec"]["template"]["spec"]["containers"][0], options, controller)
        if options.replicas is not None:
            body["spec"]["replicas"] = options.replicas
    elif body["kind"] == "ValidatingWebhookConfiguration":
        for webhook in body["webhooks"]:
            for condition in webhook["matchConditions"]:
                condition["expression"] = condition["expression"].replace(
                    f"== '{USUAL_CONTROLLER}'", f"== '{controller}'"
                )


def _set_pod(container: Document, options: Options, controller: str) -> None:
    if options.image:
        container["image"] = options.image
    if controller != USUAL_CONTROLLER:
        container["env"].append(
            {"name": environment_variable("controllerName"), "value": controller}
        )
    if options.lease_namespace:
        name = environment_variable("leaderElection.resourceNamespace")
        container["env"] = [
            {"name": name, "value": options.lease_namespace} if one["name"] == name else one
            for one in container["env"]
        ]
