"""The command: a world and what is to happen in it, or a recorded time under candidates."""

from __future__ import annotations

import dataclasses
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from moorage.adapters.recording import Recording
from moorage.apps.commands.output_files import told_beside, write_text
from moorage.apps.exit_status import ExitStatus, NoAnswer, WrongUse
from moorage.apps.plugin_resolver import resolver_of
from moorage.apps.pod_templates import Workloads, already_there, pods_of, read_workloads
from moorage.apps.printing.amounts import counted
from moorage.apps.printing.documents import document, is_for_people
from moorage.apps.printing.progress_line import working
from moorage.apps.printing.terminal import open_console, write
from moorage.apps.simulate.candidate_profiles import read_candidates
from moorage.apps.simulate.comparison_answers import two_recorded_worlds
from moorage.apps.simulate.drain_answers import each_drained
from moorage.apps.simulate.page import page
from moorage.apps.simulate.scenario_answers import one_world, two_worlds
from moorage.apps.simulate.simulation_answers import Answer, terminal_parts
from moorage.apps.worlds import deciding
from moorage.apps.worlds.cluster_choice import ClusterChoice
from moorage.apps.worlds.from_recording import is_recording, opened
from moorage.apps.worlds.opening import show_world
from moorage.apps.worlds.world import World
from moorage.core.cycle.context import CycleContext
from moorage.core.framework.registry import Registry
from moorage.core.framework.revisions import Revision
from moorage.core.objects.pods import Pod
from moorage.core.simulation.draining import Drain, drain_each
from moorage.core.simulation.measures import pods_of as cluster_pods
from moorage.core.simulation.scenarios import Scenario, place_waiting, play
from moorage.core.simulation.world_comparisons import ALL_LOOKS, WorldComparison, compare
from moorage.core.structures.likeness import suggest
from moorage.ports.texts import printable

KIND = "Simulation"
MAX_PODS = 200_000
"""That come."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SimulateOptions:
    """What was typed. ``world``: files to look at, none for the cluster; ``seconds``: how long a
    recorded time is had again, None for as often as is of use; ``form`` one of
    ``command_line.FORMATS``, "" for people.
    """

    world: tuple[Path, ...] = ()
    candidates: tuple[str, ...] = ()
    drains: tuple[str, ...] = ()
    each_node_drained: bool = False
    more_nodes: int = 0
    like: str = ""
    pods: tuple[Path, ...] = ()
    at: str | None = None
    report: Path | None = None
    seconds: float | None = None
    cluster: ClusterChoice = dataclasses.field(default_factory=ClusterChoice)
    form: str = ""
    config: Path | None = None

    @property
    def is_of_a_moment(self) -> bool:
        """Whether something is to happen at one moment."""
        happens = self.drains or self.more_nodes or self.pods or self.each_node_drained
        return bool(happens) or self.at is not None


def run(options: SimulateOptions) -> int:
    """Simulate and print; the exit status. Raises CommandError."""
    _check(options)
    answer = _answer(options)
    if options.report is not None:
        _write(options.report, page(answer, "moorage simulate"))
    out = told_beside(options.report)
    if not is_for_people(options.form):
        out.write(document(KIND, {"answer": answer.headline, **answer.body}, options.form))
    else:
        write(open_console(out), *terminal_parts(answer))
    return ExitStatus.YES if answer.yes else ExitStatus.NO


def _check(options: SimulateOptions) -> None:
    """Raises WrongUse."""
    if bool(options.more_nodes) != bool(options.like):
        raise WrongUse("--add-nodes and --like belong together: --add-nodes 3 --like NODE")
    if options.each_node_drained and (options.drains or options.more_nodes or options.pods):
        raise WrongUse("--each-node-drained goes alone: leave out --drain, --add-nodes and --pods")


def _write(path: Path, text: str) -> None:
    try:
        write_text(path, text)
    except OSError as error:
        raise NoAnswer(f"--report {path} cannot be written: {error.strerror}") from error


def _answer(options: SimulateOptions) -> Answer:
    """Of one of the three questions."""
    resolver = resolver_of(options.config)
    candidates = read_candidates(options.candidates, resolver)
    if candidates and not options.is_of_a_moment and _lasts(options.world, resolver.registry):
        (path,) = options.world
        recording = opened(path, resolver.registry)
        beside = deciding.stand_ins(candidates, resolver)
        found = _compared(recording, candidates, beside, options.seconds)
        return two_recorded_worlds(found, str(path))
    world = show_world(
        options.world, resolver, at=options.at, choice=options.cluster, simulated=True
    )
    revisions = deciding.with_default(world.profiles, resolver)
    if options.each_node_drained:
        return _each_drained(world, {**revisions, **candidates})
    return _scenario(world, revisions, candidates, options)


def _lasts(paths: tuple[Path, ...], registry: Registry) -> bool:
    """Whether this is a recording of more than one moment; a snapshot is not."""
    if len(paths) != 1 or not is_recording(paths[0]):
        return False
    recording = opened(paths[0], registry)
    return any(time > recording.key_frames[0] for time, _ in recording)


def _compared(
    recording: Recording,
    candidates: Mapping[str, Revision],
    beside: Mapping[str, Revision],
    seconds: float | None,
) -> WorldComparison:
    """Had again until time ends it; the first comparison takes as long as it takes."""
    begin, looks = time.monotonic(), 0
    with working("Deciding again") as line:

        def look(world: str, at: float, context: CycleContext) -> None:
            nonlocal looks
            looks += 1
            line.tell(looks / ALL_LOOKS)

        found = compare(recording, recording.header.seed, candidates, look, beside)
        last = next(found)
        while seconds is None or time.monotonic() - begin < seconds:
            if (better := next(found, None)) is None:
                break
            last = better
    return last


def _each_drained(world: World, revisions: Mapping[str, Revision]) -> Answer:
    """Each node drained alone, once what waits is placed."""
    nodes, drains = list(world.context.cache.nodes.row_of), list[Drain]()
    with working("Draining each node") as line:
        waiting = place_waiting(world.context, revisions).waits
        for one in drain_each(world.context, revisions, nodes):
            drains.append(one)
            line.say(f"{len(drains):,} of {counted(len(nodes), 'node')}")
    return each_drained(drains, world, waiting)


def _scenario(
    world: World,
    revisions: Mapping[str, Revision],
    candidates: Mapping[str, Revision],
    options: SimulateOptions,
) -> Answer:
    """What happens at once, in one world or two."""
    come = read_workloads(options.pods, world.priorities) if options.pods else Workloads([])
    if (number := sum(one.replicas for one in come.templates)) > MAX_PODS:
        raise WrongUse(f"--pods: {number:,} pods are more than can be simulated ({MAX_PODS:,})")
    there = (one for one in cluster_pods(world.context) if isinstance(one, Pod))
    for warning in (*come.warnings, *already_there(come.templates, there)):
        print(f"moorage: {printable(warning)}", file=sys.stderr)
    for name in filter(None, (options.like, *options.drains)):
        if name not in (nodes := world.context.cache.nodes.row_of):
            raise WrongUse(f"there is no node {name}{suggest(name, nodes)}; from {world.origin}")
    scenario = Scenario(
        more_nodes=options.more_nodes,
        like=options.like,
        objects=(*come.groups, *(one.owner for one in come.templates if one.owner is not None)),
        pods=tuple(pods_of(come.templates)),
        drains=options.drains,
    )
    with working("Simulating"):
        a = play(world.context, revisions, scenario)
        if not candidates:
            return one_world(a, world)
        b = play(world.context, {**revisions, **candidates}, scenario)
    return two_worlds(a, b, world)
