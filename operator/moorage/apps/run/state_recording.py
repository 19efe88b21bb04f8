"""State recording: the recorder of this replica, where the configuration wants one, and its place
among the other parts.
"""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import json
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from moorage.adapters.prometheus import PrometheusTelemetry
from moorage.adapters.recording import OWN_VERSIONS, Recorder, RecordingHeader, RecordingRing
from moorage.api.operator_config import OperatorConfiguration
from moorage.api.resolution import Resolver
from moorage.apps.run.plugin_packages import version_of
from moorage.core.recording.wire import EntryEncoder
from moorage.engine.engine import Engine
from moorage.engine.recording import LeaseEvents, RecordingState, StateRecording
from moorage.ports.clock import Clock
from moorage.ports.errors import EdgeError
from moorage.ports.guards import guard
from moorage.ports.http_calls import HttpCall
from moorage.ports.state_recorder import StateRecorder

ServerCall: TypeAlias = Callable[[HttpCall], Awaitable[bytes]]
"""Asks the API server; raises EdgeError."""
VERSION_SECONDS = 5.0
"""For the API server to say which it is."""
CLOSE_SECONDS = 2.0
"""For what is still to be written at the end."""


@dataclasses.dataclass(frozen=True, slots=True)
class RecordingParts:
    """What the other parts have to do for a recording; nothing where there is none."""

    tasks: Mapping[str, Callable[[], Coroutine[Any, Any, None]]]
    """That should run for ever."""
    lead: Callable[[], None]
    """This replica leads."""
    close: Callable[[], Awaitable[None]]


def recorder_of(
    config: OperatorConfiguration, resolver: Resolver, clock: Clock, identity: str
) -> Recorder | None:
    """What the configuration wants; None: nothing is recorded."""
    options = config.recording
    if not options.directory:
        return None
    ring = RecordingRing(Path(options.directory), options.max_bytes, options.max_age)
    packages = {name: version_of(name) for name in config.plugins.packages}
    header = RecordingHeader(
        versions={**OWN_VERSIONS, **packages},
        percentage_of_nodes_to_score=config.percentage_of_nodes_to_score,
        replica=identity,
    )
    # a clock that never jumps: entries are in the order of their times
    began = clock.now().timestamp() - clock.boottime()
    return Recorder(ring, header, EntryEncoder(resolver.document), lambda: began + clock.boottime())


def joined(
    recorder: Recorder | None,
    engine: Engine,
    call: ServerCall,
    telemetry: PrometheusTelemetry,
) -> RecordingParts:
    """The recorder, with what puts whole states and tells of it."""
    if recorder is None:
        return RecordingParts({}, lambda: None, _nothing)
    home = engine.config.leader_election
    lease = LeaseEvents(engine.ports.events, home.resource_namespace, home.resource_name)
    recording = StateRecording(recorder, engine.cache, engine.live, engine.ports.clock, lease)
    report(telemetry, recorder, recording)
    return RecordingParts(
        {"recording": functools.partial(_run, recorder, recording, call)},
        recording.lead,
        functools.partial(_close, recorder),
    )


def report(
    telemetry: PrometheusTelemetry, recorder: StateRecorder, recording: StateRecording
) -> None:
    """Have it measured."""
    counters: dict[str, tuple[str, Callable[[], int]]] = {
        "written_bytes": ("Bytes of the recording that were written.", lambda: recorder.written),
        "entries": ("Changes, decisions and whole states' parts in it.", lambda: recorder.entries),
        "lost_entries": (
            "Entries that are missing in it, as the disk was full, slow or gone.",
            lambda: recorder.lost,
        ),
        "gaps": ("Times that something began to be missing.", lambda: recording.gaps),
    }
    for name, (text, read) in counters.items():
        telemetry.pull(f"moorage_recording_{name}_total", text, "", _unlabelled(read))
    telemetry.pull(
        "moorage_recording_since_timestamp_seconds",
        "From when on all is recorded, by Unix time; 0 while something is missing.",
        "",
        _unlabelled(lambda: recording.since),
    )
    telemetry.pull(
        "moorage_recording_state",
        "What becomes of what happens now: 1 for the state that it is in.",
        "state",
        lambda: {state.value: float(state is recording.state) for state in RecordingState},
    )


def _unlabelled(read: Callable[[], float]) -> Callable[[], Mapping[str, float]]:
    return lambda: {"": read()}


async def _nothing() -> None:
    pass


async def _run(recorder: Recorder, recording: StateRecording, call: ServerCall) -> None:
    """Until it is cancelled. What is appended before the API server says its version waits."""
    version = await kubernetes_version(call)
    with guard("recording"):
        recorder.start(version)
    await recording.run()


async def kubernetes_version(call: ServerCall) -> str:
    """What it calls itself, "" where it does not say."""
    try:
        answer = await call(HttpCall("GET", "/version", timeout=VERSION_SECONDS))
        return str(json.loads(answer)["gitVersion"])
    except (EdgeError, ValueError, LookupError, TypeError):
        return ""


async def _close(recorder: Recorder) -> None:
    await asyncio.to_thread(recorder.close, CLOSE_SECONDS)
