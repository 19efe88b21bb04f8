"""What goes when an installation leaves, in which order, and what stays, as others share it."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from moorage.api import bodies
from moorage.apps.authority.authority_setting import Installed
from moorage.apps.install.inventories import CRD, DEPLOYMENT, NAMESPACE, Inventory, of
from moorage.apps.install.neighbours import Neighbours
from moorage.apps.install.object_keys import Document, key_of

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
    """What goes, step by step; what stays, each with why; the profiles that go."""

    steps: tuple[DepartureStep, ...]
    stays: tuple[str, ...] = ()
    profiles: tuple[Document, ...] = ()

    @property
    def schedulers(self) -> frozenset[str]:
        """The names by which pods wait for the profiles."""
        return frozenset(map(bodies.scheduler_name, self.profiles))


def departure(
    found: Inventory, place: Installed, now: datetime.datetime, *, keep_profiles: bool = False
) -> Departure:
    """What is to be done."""
    ours = found.of(place)
    neighbours = Neighbours(found, place, ours, now)
    shared = [*neighbours.shared()]
    going = [one for one in ours if one not in [document for document, _ in shared]]
    stays = [f"{key_of(one)}: {why}" for one, why in shared]
    kinds = of(found.objects, CRD)
    why = "--keep-profiles" if keep_profiles else neighbours.needing_kinds()
    if why:
        stays += [f"{key_of(one)}: {why}" for one in kinds]
    mine = [] if keep_profiles else [one for one in found.profiles if neighbours.is_mine(one)]
    kept = [one for one in found.profiles if one not in mine]
    leaving = (*mine, *_unused(found.configs, mine, kept)) if why else kinds
    steps = (*_steps(found.pods, going, leaving, [*neighbours.written(kept)]),)
    return Departure(steps, tuple(stays), tuple(mine))


def _steps(
    pods: Sequence[Document],
    going: Sequence[Document],
    kinds: Sequence[Document],
    written: Sequence[Document],
) -> Iterator[DepartureStep]:
    """In order; none that is empty. With the Deployment its pods go: those that are there then are
    orphans.
    """
    apart = (DEPLOYMENT, NAMESPACE, *ASKING)
    asking = sorted(of(going, *ASKING), key=lambda one: ASKING.index(one["kind"]))
    rest = [one for one in going if one["kind"] not in apart]
    for what, documents in (
        ("what asks the operator", asking),
        ("the operator", of(going, DEPLOYMENT)),
        ("its pods", pods),
        ("profiles", kinds),
        ("all else", [*rest, *written]),
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
