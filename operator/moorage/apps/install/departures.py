"""What goes when an installation leaves, in which order, and what stays, as others share it."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from moorage.api import bodies
from moorage.apps.authority.authority_setting import Installed
from moorage.apps.install.inventories import BINDINGS, CRD, DEPLOYMENT, NAMESPACE, Inventory, of
from moorage.apps.install.neighbours import Leaver, Neighbours, leaver
from moorage.apps.install.object_keys import Document, ObjectKey, key_of

ASKING: Final = (
    "MutatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration",
    "MutatingWebhookConfiguration",
    "MutatingAdmissionPolicy",
)
"""Kinds by which API servers ask the operator, or look at its kinds, in the order in which they
go.
"""
PROFILE: Final = "SchedulerProfile"


@dataclasses.dataclass(frozen=True, slots=True)
class DepartureStep:
    """Objects that go together, and what they are in some words."""

    what: str
    documents: tuple[Document, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Departure:
    """What goes, step by step; what stays, each with why, and which objects that is; the profiles
    and PluginConfigs that go.
    """

    steps: tuple[DepartureStep, ...]
    stays: tuple[str, ...] = ()
    profiles: tuple[Document, ...] = ()
    configs: tuple[Document, ...] = ()
    kept: frozenset[ObjectKey] = frozenset()

    @property
    def schedulers(self) -> frozenset[str]:
        """The names by which pods wait for the profiles."""
        return frozenset(map(bodies.scheduler_name, self.profiles))

    @property
    def documents(self) -> tuple[Document, ...]:
        """All that goes, in order."""
        return tuple(one for step in self.steps for one in step.documents)

    def narrowed(self, step: DepartureStep, since: Departure) -> DepartureStep:
        """A step without what is to stay by what was seen ``since``. Where kinds stay that were to
        go, the profiles go that were to go with them.
        """
        held = any(one["kind"] == CRD and key_of(one) in since.kept for one in step.documents)
        wanted = (*step.documents, *(self.profiles if held else ()))
        left = (one for one in wanted if key_of(one) not in since.kept)
        return dataclasses.replace(step, documents=tuple(left))

    def written_again(self, since: Departure) -> Departure:
        """What was to go and is there once more. Kinds and namespaces are never in it: who has made
        one anew wants it.
        """
        named = {key_of(one) for one in self.documents if one["kind"] not in (CRD, NAMESPACE)}
        steps = (
            DepartureStep(step.what, tuple(one for one in step.documents if key_of(one) in named))
            for step in since.steps
        )
        return Departure(tuple(step for step in steps if step.documents))


def departure(
    found: Inventory,
    place: Installed,
    now: datetime.datetime,
    *,
    keep_profiles: bool = False,
    who: Leaver | None = None,
) -> Departure:
    """What is to be done; ``who`` leaves, where something of it has gone already."""
    ours = found.of(place)
    neighbours = Neighbours(found, who or leaver(found, place), ours, now)
    mine = [] if keep_profiles else [one for one in found.profiles if neighbours.is_mine(one)]
    kept = [one for one in found.profiles if one not in mine]
    kinds = [*_kinds_needed(found, neighbours, keep_profiles)]
    staying = {key_of(one): why for one, why in (*neighbours.shared(kept), *kinds)}
    going = [one for one in ours if key_of(one) not in staying]
    whole = [] if kinds else found.kinds
    configs = [*found.configs] if whole else [*_unused(found.configs, mine, kept)]
    leaving = whole or [*mine, *configs]
    steps = (*_steps(found.pods, going, leaving, [*neighbours.written(kept)]),)
    several = f"it may be of the installation {place.name} in another namespace"
    staying |= {key_of(one): several for one in found.unsure(place)}
    stays = tuple(f"{key}: {why}" for key, why in staying.items())
    used = [one for one in found.configs if one not in configs]
    held = frozenset((*staying, *map(key_of, (*kept, *used))))
    return Departure(steps, stays, tuple(mine), tuple(configs), held)


def _kinds_needed(
    found: Inventory, neighbours: Neighbours, keep_profiles: bool
) -> Iterator[tuple[Document, str]]:
    """The CRDs, with why they stay; none where they go."""
    why = "--keep-profiles" if keep_profiles else neighbours.needing_kinds()
    unknown = not keep_profiles and not neighbours.are_there()
    for one in found.kinds if why else ():
        hand = f"; if nobody needs it: kubectl delete crd {one['metadata']['name']}"
        yield one, why + (hand if unknown else "")


def _steps(
    pods: Sequence[Document],
    going: Sequence[Document],
    kinds: Sequence[Document],
    written: Sequence[Document],
) -> Iterator[DepartureStep]:
    """In order; none that is empty. With the Deployment its pods go: those that are there then are
    orphans. What was written goes before that by which it is found, should this end half-way:
    labels tell the names, Roles the namespaces, and bindings whose the roles are.
    """
    apart = (CRD, DEPLOYMENT, NAMESPACE, *ASKING)
    asking = sorted(of(going, *ASKING), key=lambda one: ASKING.index(one["kind"]))
    rest = [one for one in going if one["kind"] not in apart]
    rest.sort(key=lambda one: (one["kind"] in BINDINGS, one["kind"].endswith("Role")))
    for what, documents in (
        ("what asks the operator", asking),
        ("the operator", of(going, DEPLOYMENT)),
        ("its pods", pods),
        ("profiles", kinds),
        ("what it has written", written),
        ("all else", rest),
        ("the namespace, with all that is in it", of(going, NAMESPACE)),
    ):
        if documents:
            yield DepartureStep(what, tuple(documents))


def _unused(
    configs: Iterable[Document], gone: Iterable[Document], kept: Iterable[Document]
) -> Iterator[Document]:
    """PluginConfigs of profiles that go, and of no other."""
    going = {name for one in gone for name in bodies.references(one)}
    going -= {name for one in kept for name in bodies.references(one)}
    return (one for one in configs if one["metadata"]["name"] in going)
