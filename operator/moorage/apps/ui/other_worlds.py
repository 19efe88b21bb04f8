"""Worlds that could have been: the recorded time under other revisions, as ``simulate`` compares
them, made in the background and kept.
"""

from __future__ import annotations

import dataclasses
import datetime
import logging
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from moorage.api.resolution import Resolver
from moorage.apps.exit_status import CommandError
from moorage.apps.printing.amounts import moment
from moorage.apps.simulate.comparison_answers import (
    CANNOT_KNOW,
    measure_texts,
    two_recorded_worlds,
)
from moorage.apps.ui.stop_flags import StopFlag, Stopped
from moorage.apps.worlds import deciding
from moorage.apps.worlds.from_recording import opened
from moorage.apps.worlds.world_frame import WorldFrame, take_frame
from moorage.core.cycle.context import CycleContext
from moorage.core.framework.revisions import Revision
from moorage.core.simulation.intervals import WINDOWS
from moorage.core.simulation.windows import LOOKS
from moorage.core.simulation.world_comparisons import LEAST_LOOKS, WorldComparison, compare
from moorage.ports.requesters import Denied

_log: Final = logging.getLogger(__name__)
CANDIDATES: Final = "candidates"
"""The world of the profiles that the command was given."""
MAX_WORLDS: Final = 8
"""That are kept."""
AGAIN_SECONDS: Final = 120.0
"""How long a recorded time is had again, once both worlds are known."""
_TOLD: Final = 0.05


@dataclasses.dataclass(slots=True)
class _OtherWorld:
    """One that is made, or will be. ``frames``: of the last look in each window, by time."""

    name: str
    candidates: Mapping[str, Revision]
    progress: float = 0.0
    found: WorldComparison | None = None
    failure: str = ""
    frames: dict[float, WorldFrame] = dataclasses.field(default_factory=dict)


class OtherWorlds:
    """Those of one recording; ``tell`` is called with "compare" on any thread."""

    def __init__(
        self,
        path: Path,
        resolver: Resolver,
        candidates: Mapping[str, Revision],
        tell: Callable[[str], None],
        stop: StopFlag,
    ) -> None:
        self.revisions: Mapping[tuple[str, str], Revision] = {}
        """Those that are recorded, by schedulerName and id."""
        self._path = path
        self._resolver = resolver
        self._candidates = candidates
        self._tell = tell
        self._stop = stop
        self._made: dict[str, _OtherWorld] = {}
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="other worlds")

    def names(self) -> list[str]:
        """What may be asked for."""
        recorded = [f"{name}@{revision}" for name, revision in sorted(self.revisions)]
        return [*([CANDIDATES] if self._candidates else ()), *recorded]

    def close(self) -> None:
        """Begin nothing more."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def document(self, name: str) -> dict[str, Any]:
        """What is known of it; it is begun when it is first asked for. Raises Denied."""
        world = self._world(name)
        if world.failure:
            raise Denied(404, world.failure)
        if world.found is None:
            share = f"{100 * world.progress:.0f} %"
            return {
                **_empty(name),
                "answer": f"World B is being made: {share}.",
                "progress": min(world.progress, 0.99),
            }
        return {**_empty(name), **_body(world.found, str(self._path)), "progress": 1.0}

    def frame(self, name: str, at: float | None) -> WorldFrame:
        """World B at the last look before this moment, or at its end. Raises Denied."""
        world = self._world(name)
        if world.found is None or not world.frames:
            raise Denied(503, world.failure or "world B is still being made")
        times = sorted(world.frames)
        before = [time for time in times if at is None or time <= at]
        return world.frames[before[-1] if before else times[0]]

    def _world(self, name: str) -> _OtherWorld:
        if name in self._made:
            return self._made[name]
        profile, _, revision = name.partition("@")
        recorded = self.revisions.get((profile, revision))
        if recorded is not None:
            candidates: Mapping[str, Revision] = {profile: recorded}
        elif name == CANDIDATES and self._candidates:
            candidates = self._candidates
        else:
            known = ", ".join(self.names()) or "none"
            raise Denied(404, f"there is no world {name}; there are: {known}")
        if len(self._made) >= MAX_WORLDS:
            done = [one for one in self._made.values() if one.found is not None or one.failure]
            if not done:
                raise Denied(429, f"{MAX_WORLDS} worlds are being made already")
            del self._made[done[0].name]
        world = self._made[name] = _OtherWorld(name, candidates)
        self._thread.submit(self._make, world)
        return world

    def _make(self, world: _OtherWorld) -> None:
        """On a thread of its own."""
        looks = 0

        def look(which: str, seconds: float, context: CycleContext) -> None:
            nonlocal looks
            self._stop.check()
            looks += 1
            if which == "B" and looks % LOOKS == 0:
                at, when = datetime.datetime.fromtimestamp(seconds, datetime.UTC), moment(seconds)
                origin = f"{self._path}, as it would have been at {when} under {world.name}"
                world.frames[seconds] = take_frame(context, world.candidates, origin, at)
            progress = looks / LEAST_LOOKS
            if progress - world.progress >= _TOLD:
                world.progress = progress
                self._tell("compare")

        try:
            recording = opened(self._path, self._resolver.registry)
            entries, seed = self._stop.until(recording), recording.header.seed
            end = time.monotonic() + AGAIN_SECONDS
            beside = deciding.stand_ins(world.candidates, self._resolver)
            for found in compare(entries, seed, world.candidates, look, beside):
                world.found = found
                self._tell("compare")
                if time.monotonic() > end:
                    return
        except Stopped:
            return
        except (CommandError, ValueError) as error:
            world.failure = f"world {world.name}: {error}"
        except Exception as error:  # noqa: BLE001 - a plugin may raise any, and someone waits
            _log.exception("World %s cannot be made", world.name)
            world.failure = f"world {world.name}: {type(error).__name__}: {error}"
        if world.failure:
            self._tell("compare")


def _empty(name: str) -> dict[str, Any]:
    return {
        "answer": "",
        "a": "as it was",
        "b": name,
        "seconds": 0.0,
        "arrivals": 0,
        "measures": [],
        "placedInBoth": 0,
        "elsewhere": 0,
        "waitingA": 0,
        "waitingB": 0,
        "onlyB": [],
        "notes": [],
        "cannotKnow": CANNOT_KNOW,
        "windowSeconds": 0.0,
        "windows": {},
    }


def _body(found: WorldComparison, source: str) -> dict[str, Any]:
    answer = two_recorded_worlds(found, source)
    left_out = ("question", "source", "replicas", "madeAgain", "cutShort")
    body = {name: value for name, value in answer.body.items() if name not in left_out}
    texts = measure_texts(found)
    return {
        **body,
        "answer": answer.headline,
        "measures": [{**one, "text": texts[one["name"]]} for one in body["measures"]],
        "notes": [one for one in answer.notes if one != CANNOT_KNOW],
        "windowSeconds": found.seconds / WINDOWS,
        "windows": {
            one.name: {"A": list(found.windows_a[one]), "B": list(found.windows_b[one])}
            for one in found.windows_a
            if one in found.windows_b
        },
    }
