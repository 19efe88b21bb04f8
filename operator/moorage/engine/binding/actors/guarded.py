"""Actors from outside the tree behind their guard.

An actor's coroutine runs on the event loop in steps, from one await to the next. Each step is a
call that the guard stands around, so that an actor that blocks the loop is found out as a decider
is; one that waits blocks nobody. What the API server's refusals do to a binding is the binder's to
know, so those pass; everything else that an actor raises is its fault.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Coroutine, Generator
from typing import Any

from moorage.core.framework.guard import Guard, PluginFault, call, recorded
from moorage.core.framework.interfaces import ExtensionPoint
from moorage.core.framework.status import REJECTED, Code, Status
from moorage.engine.binding.actors.contract import Actor, ActorFactory, ActorTools, PermitWait
from moorage.ports.errors import EdgeError

METHODS = {
    ExtensionPoint.POST_FILTER: "run_action",
    ExtensionPoint.PERMIT: "permit",
    ExtensionPoint.PRE_BIND: "pre_bind",
    ExtensionPoint.BIND: "bind",
    ExtensionPoint.POST_BIND: "post_bind",
}
_ALLOWED_CODES = {
    ExtensionPoint.PERMIT: frozenset({Code.SUCCESS, Code.ERROR, *REJECTED}),
    ExtensionPoint.BIND: frozenset({Code.SUCCESS, Code.SKIP, Code.ERROR, *REJECTED}),
}
"""The codes that mean something, where an actor answers at all."""


def guarded_actor(factory: ActorFactory, guard: Guard) -> ActorFactory:
    """Makes the actor, and what stands before it. The maker raises PluginFault when the actor
    cannot be made.
    """

    def made(tools: ActorTools) -> Actor:
        return _GuardedActor(call(guard, "actor", lambda: factory(tools)), guard)

    return made


class _GuardedActor:
    """Stands before an actor: has the methods of ``METHODS`` that it has, each behind its guard."""

    def __init__(self, actor: Actor, guard: Guard) -> None:
        for point, name in METHODS.items():
            if hasattr(actor, name):
                setattr(self, name, _method(getattr(actor, name), point, guard))


def _method(act: Any, point: ExtensionPoint, guard: Guard) -> Any:
    async def method(*args: Any) -> Any:
        answer = await _stepwise(call(guard, point, lambda: act(*args)), point, guard)
        if wrong := _invalid_result(point, answer):
            raise recorded(PluginFault(guard, point, f"{METHODS[point]} {wrong}"), guard)
        return answer

    return method


@types.coroutine
def _stepwise(
    running: Coroutine[Any, Any, Any], point: ExtensionPoint, guard: Guard
) -> Generator[Any, Any, Any]:
    """What the coroutine returns, each of its steps between the guard's hands."""
    if not isinstance(running, Coroutine):
        raise recorded(PluginFault(guard, point, f"{METHODS[point]} is no async method"), guard)
    go_on: Callable[[Any], Any] = running.send
    by: Any = None
    while True:
        try:
            step = functools.partial(go_on, by)
            waited_for = call(guard, point, step, passes=(StopIteration, EdgeError))
        except StopIteration as end:
            return end.value
        try:
            go_on, by = running.send, (yield waited_for)
        except BaseException as error:  # noqa: BLE001 - a cancellation is the coroutine's to know
            go_on, by = running.throw, error


def _invalid_result(point: ExtensionPoint, answer: Any) -> str:
    if point not in _ALLOWED_CODES or (
        point is ExtensionPoint.PERMIT and isinstance(answer, PermitWait)
    ):
        return ""
    if not isinstance(answer, Status):
        return f"gave {type(answer).__name__} instead of a Status"
    return (
        ""
        if answer.code in _ALLOWED_CODES[point]
        else f"gave the status {answer.code!s}, which means nothing there"
    )
