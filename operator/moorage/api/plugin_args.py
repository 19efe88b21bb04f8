"""Plugin arguments: from the document that a user wrote to the plugin's own dataclass, or to
everything that is wrong with it.

The dataclass in the plugin's module is the only description of the arguments. A document may bear
the ``apiVersion`` and ``kind`` that it has in a KubeSchedulerConfiguration.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from moorage.api.decoding import DecodeError, decoder, laid_over, shown
from moorage.core.framework.arguments import FieldErrorType, TimedArguments, TimedTrial, Violation
from moorage.core.framework.guard import ARGUMENTS, Guard, PluginFault, call
from moorage.core.framework.registry import PluginSpec

API_VERSION = "kubescheduler.config.k8s.io/v1"
_TRIES = 5
_HOPELESS = 4


def decode(
    plugin: PluginSpec, document: Mapping[str, Any], base: Any = None, *, trusted: bool = False
) -> Any:
    """The plugin's arguments; None for a plugin that takes none.

    ``base``, arguments too, are what the document is laid over: objects field by field, everything
    else as a whole. What is ``trusted`` was decoded before, and it is not tried again how long it
    takes: it might take a little longer than then. Raises DecodeError with paths relative to the
    document.
    """
    faults = list(_wrong_header(plugin, document))
    own = {name: value for name, value in document.items() if name not in ("apiVersion", "kind")}
    if plugin.args is None:
        text, kind = f"{plugin.name} takes no arguments", FieldErrorType.MALFORMED
        faults += [Violation(name, shown(value), text, kind) for name, value in own.items()]
        if faults:
            raise DecodeError(faults)
        return None
    reader = decoder(plugin.args)
    document = own if base is None else laid_over(reader.encode(base), own)
    try:
        if plugin.guard is None:
            args = reader.decode(document)
        else:
            args = _guarded(plugin.guard, lambda: reader.decode(document))
    except DecodeError as error:
        raise DecodeError([*faults, *error.violations]) from error
    if plugin.guard is None and not trusted and isinstance(args, TimedArguments):
        # one is enough: each holds up everybody
        faults += itertools.islice(filter(None, map(_too_slow, args.trials())), 1)
    if faults:
        raise DecodeError(faults)
    return args


def encode(args: Any) -> dict[str, Any]:
    """The document that means these arguments; what is unset, and empty lists at the top, are left
    out.
    """
    document: dict[str, Any] = _without_unset(decoder(type(args)).encode(args))
    return {name: value for name, value in document.items() if value != []}


def _too_slow(trial: TimedTrial) -> Violation | None:
    """What takes longer than it may, at its fastest, in processor time: another process is nobody's
    fault here.

    The first time does not count, as it may make something ready; and it is tried again only where
    that may help.
    """
    trial.run()
    best = float("inf")
    for _ in range(_TRIES):
        began = time.thread_time()
        trial.run()
        best = min(best, time.thread_time() - began)
        if best <= trial.limit_seconds:
            return None
        if best > _HOPELESS * trial.limit_seconds:
            break
    text = (
        f"one evaluation takes {best * 1e6:.0f} µs here, and it may take "
        f"{trial.limit_seconds * 1e6:.0f} µs, as there is one for each node"
    )
    return Violation(trial.path, shown(trial.value), text)


def _guarded(guard: Guard, read: Callable[[], Any]) -> Any:
    """What is read; a plugin from outside the tree may fail when it looks at its own arguments."""
    try:
        return call(guard, ARGUMENTS, read, passes=(DecodeError,))
    except PluginFault as fault:
        raise DecodeError([Violation("", "{…}", str(fault))]) from fault


def _without_unset(document: Any) -> Any:
    if isinstance(document, Mapping):
        return {
            name: _without_unset(value) for name, value in document.items() if value is not None
        }
    return [_without_unset(item) for item in document] if isinstance(document, list) else document


def _wrong_header(plugin: PluginSpec, document: Mapping[str, Any]) -> Iterator[Violation]:
    for field, wanted in (("apiVersion", API_VERSION), ("kind", f"{plugin.name}Args")):
        value = document.get(field, wanted)
        if value != wanted:
            yield Violation(
                field, shown(value), f'must be "{wanted}" or left out', FieldErrorType.MALFORMED
            )
