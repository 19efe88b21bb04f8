"""How much of the source a pod and an edit pass: ``python -m tests.tools.passed [--list]``.

Counted are the modules and functions of ``moorage`` that run, on an engine in virtual time with an
API server in memory: for a pod of a known template from its watch event to the request that binds
it, and for an edit of a profile from its event to the swap. The fewer there are, the sooner
somebody who follows either through the source has seen all of it.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import moorage
from moorage.api.operator_config import OperatorConfiguration
from moorage.ports.kube import PodRef
from tests.builders import make_pod
from tests.engine.running import STEPS, Running
from tests.engine.worlds import a_body
from tests.fakes.kube import InMemoryKube
from tests.fakes.sinks import CountingTelemetry

PACKAGE = f"{Path(moorage.__file__).parent}/"


class KubeUntilBinding(InMemoryKube):
    """An API server at whose binding request the noting ends."""

    async def bind(self, pod: PodRef, node: str) -> None:
        """Bind it."""
        sys.setprofile(None)
        await super().bind(pod, node)


class TelemetryUntilSwap(CountingTelemetry):
    """Telemetry at whose report of a swap the noting ends."""

    def swap(self, profile: str, result: str, seconds: float) -> None:
        """Count it."""
        sys.setprofile(None)
        super().swap(profile, result, seconds)


class Passed:
    """The functions that ran, as (module's path, qualified name); comprehensions and lambdas count
    for what they stand in.
    """

    def __init__(self) -> None:
        self.functions: set[tuple[str, str]] = set()

    @property
    def modules(self) -> set[str]:
        """The modules that these are of."""
        return {module for module, _ in self.functions}

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Note what runs in this block, on this thread."""
        sys.setprofile(self._called)
        try:
            yield
        finally:
            sys.setprofile(None)

    def _called(self, frame: FrameType, event: str, arg: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE) and code.co_name != "<module>":
            name = code.co_qualname.split(".<locals>")[0].split(".<")[0]
            self.functions.add((code.co_filename.removeprefix(PACKAGE), name))


async def pod_of_a_known_template() -> Passed:
    """From its watch event to its binding request."""
    async with Running(kube=KubeUntilBinding()).leading(a_body("test"), nodes=3) as world:
        for name in ("first", "second"):
            world.kube.put(make_pod(name, scheduler_name="test", cpu="1m"))
            await world.clock.advance(1)
        assert world.node("second")
        passed = Passed()
        with passed.noted():
            world.kube.put(make_pod("third", scheduler_name="test", cpu="1m"))
            await world.clock.advance(0)
        assert world.node("third")
        return passed


async def edit_of_a_profile() -> Passed:
    """From its event to the swap. Without a debounce no time passes until then, so that nothing
    runs meanwhile which is due by the clock and none of the edit's doing.
    """
    config = OperatorConfiguration.model_validate({"swapDebounce": "0s"})
    async with Running(telemetry=TelemetryUntilSwap(), config=config).leading(nodes=3) as world:
        before = world.engine.live["test"]
        passed = Passed()
        with passed.noted():
            world.engine.profile_changed(
                "test", a_body("test", plugins=STEPS, generation=2, percentageOfNodesToScore=50)
            )
            await world.clock.advance(0)
        assert world.engine.live["test"] is not before
        return passed


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.tools.passed", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--list", action="store_true", help="name them, too")
    listed = parser.parse_args().list
    assert threading.current_thread() is threading.main_thread()
    for what, scenario in (
        ("a pod of a known template", pod_of_a_known_template),
        ("an edit of a profile", edit_of_a_profile),
    ):
        passed = asyncio.run(scenario())
        print(f"{what}: {len(passed.modules)} modules, {len(passed.functions)} functions")
        for module, name in sorted(passed.functions) if listed else ():
            print(f"  {module} {name}")


if __name__ == "__main__":
    main()
