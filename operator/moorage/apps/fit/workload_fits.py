"""The command: pods of files, fitted into a world."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from moorage.api.resolution import Resolver
from moorage.apps.exit_status import ExitStatus, WrongUse
from moorage.apps.fit.fit_texts import Fitted, FittedTemplate, document_of, parts
from moorage.apps.fit.fitted_groups import GroupFits, fit_of_members
from moorage.apps.plugin_resolver import resolver_of
from moorage.apps.pod_templates import PodTemplate, Workloads, read_workloads
from moorage.apps.printing.documents import document, is_for_people
from moorage.apps.printing.progress_line import working
from moorage.apps.printing.terminal import open_console, write
from moorage.apps.worlds import deciding
from moorage.apps.worlds.cluster_choice import ClusterChoice
from moorage.apps.worlds.opening import show_world
from moorage.apps.worlds.world import World
from moorage.core.framework.revisions import Revision
from moorage.core.objects.pods import priority
from moorage.core.simulation.daemon_pods import fit_on_each_node
from moorage.core.simulation.fitting import fit
from moorage.core.simulation.measures import unplaced
from moorage.core.simulation.simulator import Simulator
from moorage.core.structures.likeness import suggest
from moorage.ports.texts import printable


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FitOptions:
    """What was typed. ``world``: files to look at, none for the cluster; ``form`` one of
    ``command_line.FORMATS``, "" for people.
    """

    files: tuple[Path, ...]
    replicas: int | None = None
    empty_queue: bool = False
    world: tuple[Path, ...] = ()
    at: str | None = None
    cluster: ClusterChoice = dataclasses.field(default_factory=ClusterChoice)
    form: str = ""
    config: Path | None = None


def run(options: FitOptions) -> int:
    """Fit and print; the exit status. Raises CommandError."""
    resolver = resolver_of(options.config)
    world = show_world(
        options.world, resolver, at=options.at, choice=options.cluster, simulated=True
    )
    workloads = read_workloads(options.files, world.priorities, daemons=True)
    for warning in workloads.warnings:
        print(f"moorage: {printable(warning)}", file=sys.stderr)
    if options.replicas is not None:
        several = [
            dataclasses.replace(one, replicas=options.replicas) for one in workloads.templates
        ]
        workloads = workloads._replace(templates=several)
    with working("Fitting"):
        fitted = fitted_into(world, workloads, resolver, empty_queue=options.empty_queue)
    if not is_for_people(options.form):
        print(document("Fit", document_of(fitted, world), options.form), end="")
    else:
        write(open_console(sys.stdout), *parts(fitted, world, wide=options.form == "wide"))
    return ExitStatus.YES if fitted.fits else ExitStatus.NO


def fitted_into(
    world: World, workloads: Workloads, resolver: Resolver, *, empty_queue: bool
) -> Fitted:
    """What comes of each template, after those before it. Pods that wait already go first, unless
    their priority is lower than everybody's. Raises WrongUse.
    """
    templates = workloads.templates
    revisions = who_decides(world, templates, resolver)
    simulator = Simulator(world.context, revisions)
    least = min(priority(template.pod) for template in templates)
    waiting = [] if empty_queue else list(unplaced(world.context))
    for pod in waiting:
        if priority(pod) >= least and pod.metadata.deletion_timestamp is None:
            simulator.arrive(pod)
    simulator.run()
    for group in workloads.groups:
        simulator.put_object(group)
    for template in templates:
        if template.owner is not None:
            simulator.put_object(template.owner)
    groups, fitted = GroupFits(simulator, templates, world.unserved), list[FittedTemplate]()
    for template in templates:
        name = template.pod.spec.scheduler_name
        of_group = groups.of(template)
        if template.on_each_node:
            found = fit_on_each_node(simulator, template.pod)
        elif of_group is not None:
            found = fit_of_members(template, of_group)
        else:
            found = fit(simulator, template.pod, template.replicas)
        unknown = groups.why_none(template)
        held = _held(world, name) or unknown
        fitted.append(
            FittedTemplate(template.name, revisions[name], found, held, of_group, bool(unknown))
        )
    return Fitted(fitted, tuple(groups.found))


def _held(world: World, name: str) -> str:
    hold = world.holds.get(name)
    return "" if hold is None else f"the SchedulerProfile that decides for {name!r} {hold.why}"


def who_decides(
    world: World, templates: Sequence[PodTemplate], resolver: Resolver
) -> Mapping[str, Revision]:
    """The world's revisions, and preset Default for kube-scheduler's pods where nobody decides for
    these. Raises WrongUse where nobody decides for a template's pods.
    """
    revisions = deciding.with_default(world.profiles, resolver)
    for template in templates:
        name = template.pod.spec.scheduler_name
        if name not in revisions:
            close = suggest(name, revisions)
            raise WrongUse(
                f"{template.name}: spec.schedulerName: {name!r}: no profile decides for it{close}"
            )
    return revisions
