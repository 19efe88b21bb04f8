"""Opening a world, from whatever a command was given. What reads the one source is not loaded for
another: the Kubernetes client alone takes half a second.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from moorage.api.resolution import Resolver
from moorage.apps.exit_status import WrongUse
from moorage.apps.printing.progress_line import working
from moorage.apps.recordings.moments import parse_moment
from moorage.apps.worlds.cluster_choice import ClusterChoice
from moorage.apps.worlds.from_recording import from_recording, is_recording, opened
from moorage.apps.worlds.world import ProgressListener, World, unheard
from moorage.ports.texts import printable


def show_world(
    paths: Sequence[Path],
    resolver: Resolver,
    *,
    at: str | None,
    choice: ClusterChoice,
    simulated: bool = False,
) -> World:
    """The same for somebody at a terminal: progress and warnings go to stderr. ``simulated``:
    profiles that hold their pods will decide, too.
    """
    with working("Reading the cluster" if not paths else "Reading") as line:
        world = open_world(paths, resolver, at=at, choice=choice, listener=line.say)
    for warning in world.warnings:
        print(f"moorage: {printable(warning)}", file=sys.stderr)
    for name, hold in sorted(world.holds.items()) if simulated else ():
        text = f"the SchedulerProfile that decides for {name!r} {hold.why}; here it decides"
        print(f"moorage: {printable(text)}", file=sys.stderr)
    return world


def open_world(
    paths: Sequence[Path],
    resolver: Resolver,
    *,
    at: str | None = None,
    choice: ClusterChoice | None = None,
    listener: ProgressListener = unheard,
) -> World:
    """The world of a recording or snapshot, of YAML files, or, where none is named, of the cluster.
    ``at``: a moment of a recording, as a person types it. ``listener`` hears how far that has come.
    Raises NoAnswer and WrongUse.
    """
    recordings = [path for path in paths if is_recording(path)]
    if at is not None and len(recordings) != 1:
        raise WrongUse("--at names a moment of a recording, and none is given")
    if recordings:
        if len(paths) > 1:
            raise WrongUse(f"{recordings[0]} is a recording: it cannot be joined with other files")
        path, registry = recordings[0], resolver.registry
        begin = opened(path, registry).key_frames[0]
        moment = None if at is None else parse_moment(at, "--at", begin)
        return from_recording(path, registry, moment)
    if paths:
        from moorage.apps.worlds.from_files import from_files

        return from_files(paths, resolver)
    from moorage.apps.worlds.from_cluster import from_cluster

    return from_cluster(choice or ClusterChoice(), resolver, listener)
