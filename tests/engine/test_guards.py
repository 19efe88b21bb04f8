"""Whatever raises, once, anywhere in the engine or in a plugin: the engine lives, it is told, and
pods are placed.

What may raise is discovered: every method of every class of the engine, of the plugins of the tree
and of the ports, as far as an ordinary day calls it. Each is made to raise in a day of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import importlib
import inspect
import logging
import pkgutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import settings

import moorage.engine
from moorage.core.plugins.intree import INTREE
from tests.builders import make_node, make_pod
from tests.engine.running import STEPS, Running, Steps
from tests.engine.worlds import a_body, a_config, versioned
from tests.fakes.kube import InMemoryKube
from tests.fakes.sinks import CountingTelemetry, FakeEventRecorder

Method = tuple[type[Any], str]

_ITSELF = "the guard stands inside: what is before it only calls what is behind it"
CANNOT_GO_ON = {
    "Engine.run": "the supervisor ends the process when it ends",
    "BackgroundTasks._guarded": _ITSELF,
    "Binder._run": _ITSELF,
    "BindingSlots.release": "the first line of Binder._run",
    "CycleOutcomes.handle": _ITSELF,
    "CycleOutcomes.on_binding_done": _ITSELF,
    "CycleOutcomes.undoing_on_error": _ITSELF,
    "CycleOutcomes._undo": _ITSELF,
    "SchedulingAttempts._handle": _ITSELF,
    "SchedulingLoop.attempt": _ITSELF,
    "SchedulingGates.pre_enqueue": "a gate that fails is told and stays shut until the pod changes",
}
"""Why a pod is not placed when these raise."""


class Bug(Exception):
    """What is raised."""


def methods() -> list[Method]:
    """Every method that may be made to raise."""
    modules = [
        importlib.import_module(found.name)
        for found in pkgutil.walk_packages(moorage.engine.__path__, "moorage.engine.")
    ]
    classes = {
        cls
        for module in modules
        for cls in vars(module).values()
        if inspect.isclass(cls) and cls.__module__ == module.__name__
    }
    classes |= {spec.decider for spec in INTREE if spec.decider is not None}
    classes |= {InMemoryKube, CountingTelemetry, FakeEventRecorder, Steps}
    found = [
        (cls, name)
        for cls in classes
        for name, value in vars(cls).items()
        if inspect.isfunction(value) and not name.startswith("__")
    ]
    return sorted(
        found, key=lambda method: (method[0].__module__, method[0].__qualname__, method[1])
    )


@contextlib.contextmanager
def replaced(method: Method, before: Callable[[], None]) -> Iterator[None]:
    """Each call of the method calls ``before`` first."""
    cls, name = method
    original = vars(cls)[name]

    def first(*args: Any) -> None:
        try:
            before()
        except Bug:
            for coroutine in filter(inspect.iscoroutine, args):
                coroutine.close()  # nobody will await what this call was given
            raise

    @functools.wraps(original)
    def instead(*args: Any, **kwargs: Any) -> Any:
        first(*args)
        return original(*args, **kwargs)

    @functools.wraps(original)
    async def instead_async(*args: Any, **kwargs: Any) -> Any:
        first(*args)
        return await original(*args, **kwargs)

    setattr(cls, name, instead_async if inspect.iscoroutinefunction(original) else instead)
    try:
        yield
    finally:
        setattr(cls, name, original)


class Day:
    """An ordinary day: profiles, nodes and pods come, change and go, one binding fails, and pods
    that came last are placed.
    """

    def __init__(self) -> None:
        self.running = Running()
        self.raised = 0

    def feed(self, *steps: Callable[[], object]) -> None:
        """What informers and handlers do, each behind the guard that it has there; what raised
        comes again with the next list.
        """
        for step in steps:
            try:
                step()
            except Bug:
                self.raised += 1
                with contextlib.suppress(Bug):
                    step()

    async def live(self) -> str:
        """What went wrong; "" for nothing."""
        running, kube, clock = self.running, self.running.kube, self.running.clock
        engine = running.engine
        self.feed(engine.lead)
        task = asyncio.create_task(engine.run())
        profile = a_body(
            "test",
            plugins=STEPS,
            pluginConfig=[{"name": "NodeResourcesFit", "configRef": {"name": "fit"}}],
        )
        self.feed(
            lambda: engine.plugin_config_changed("fit", a_config("fit")),
            lambda: engine.profile_changed("test", profile),
            lambda: engine.profile_changed("bad", a_body("bad", preset="Best")),
            engine.listed,
            kube.relist,
            *(functools.partial(kube.put, make_node(f"n{i}", pods="4")) for i in range(3)),
        )
        await clock.advance(0.5)
        running.steps.script["pre_bind"].append(Bug("the first binding fails"))
        pods = [make_pod(f"p{i}", cpu="10m") for i in range(4)]
        self.feed(*(functools.partial(kube.put, versioned(pod)) for pod in pods))
        await clock.advance(3)
        self.feed(
            lambda: kube.put(versioned(make_pod("huge", cpu="1000"))),
            lambda: kube.put(versioned(make_pod("nobody's", scheduler_name="unknown"))),
            lambda: kube.put(versioned(make_pod("bad", scheduler_name="bad"))),
            lambda: kube.put(versioned(make_pod("running", node="n1"))),
            lambda: kube.put(versioned(make_node("n1", cpu="8", pods="4"))),
        )
        await clock.advance(3)
        self.feed(
            lambda: engine.profile_changed(
                "test", {**profile, "metadata": {**profile["metadata"], "generation": 2}}
            ),
            lambda: kube.put(versioned(make_pod("late", cpu="10m"))),
            kube.relist,
        )
        for _ in range(40):
            await clock.advance(1)
            self.feed(kube.relist)
            if all(running.node(name) for name in ("p0", "p1", "p2", "p3", "late")):
                break
        unbound = [name for name in ("p0", "p1", "p2", "p3", "late") if not running.node(name)]
        ended = (
            f"the engine has ended: {task.exception()!r}"
            if task.done() and not task.cancelled()
            else ""
        )
        task.cancel()
        await asyncio.wait({task})
        return ended or (f"not bound: {', '.join(unbound)}" if unbound else "")


def lived(method: Method | None, caplog: pytest.LogCaptureFixture) -> str:
    """What went wrong on a day on which the method raised at its first call."""
    day, calls = Day(), 0

    def before() -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise Bug(f"a bug in {method}")

    caplog.clear()
    with replaced(method, before) if method is not None else contextlib.nullcontext():
        wrong = asyncio.run(day.live())
    told = day.raised or any(
        record.exc_info or "Bug" in record.getMessage() for record in caplog.records
    )
    return wrong or ("" if told else "nothing was told")


def called() -> list[Method]:
    """The methods that an ordinary day calls."""
    seen: set[Method] = set()
    with contextlib.ExitStack() as stack:
        for method in methods():
            stack.enter_context(replaced(method, functools.partial(seen.add, method)))
        assert asyncio.run(Day().live()) == ""
    return [method for method in methods() if method in seen]


# What a call was given by its caller's caller, as the step of a stage that cannot begin.
@pytest.mark.filterwarnings("ignore:coroutine '.*' was never awaited:RuntimeWarning")
def test_whatever_raises_everything_else_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    """One fault a day; a third of them in an ordinary run, all in a thorough one."""
    caplog.set_level(logging.ERROR)
    found = {}
    for method in called()[:: 1 if settings.get_current_profile_name() == "thorough" else 3]:
        name = f"{method[0].__qualname__}.{method[1]}"
        if name not in CANNOT_GO_ON and (wrong := lived(method, caplog)):
            found[name] = wrong
    assert found == {}
