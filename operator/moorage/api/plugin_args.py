"""Plugin arguments: from the document that a user wrote to the plugin's own dataclass, or to
everything that is wrong with it.

The dataclass in the plugin's module is the only description of the arguments. A document may bear
the ``apiVersion`` and ``kind`` that it has in a KubeSchedulerConfiguration.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

from moorage.api.decoding import DecodeError, decoder, laid_over, shown
from moorage.core.framework.arguments import FieldErrorType, TimedArguments, TimedTrial, Violation
from moorage.core.framework.guard import ARGUMENTS, PluginFault, call
from moorage.core.framework.registry import PluginSpec

API_VERSION = "kubescheduler.config.k8s.io/v1"
_TRIES = 5
_HOPELESS = 4


def decode(
    plugin: PluginSpec, document: Mapping[str, Any], base: Any = None, *, trusted: bool = False
) -> Any:
    """The plugin's arguments, None where it takes none. Raises DecodeError, paths in the document.

    ``base``, arguments too, are what the document is laid over: objects field by field, everything
    else as a whole. ``trusted``: it was decoded before, and might take a little longer this time.
    """
    faults = [*_misplaced(plugin, document)]
    try:
        args = _read(plugin, document, base)
        if not trusted:
            _try_speed(plugin, args)
    except DecodeError as error:
        raise DecodeError([*faults, *error.violations]) from error
    if faults:
        raise DecodeError(faults)
    return args


def encode(args: Any) -> dict[str, Any]:
    """The document that means these arguments; what is unset, and empty lists at the top, are left
    out.
    """
    return _without_empty(decoder(type(args)).encode(args))


def encode_set(plugin: PluginSpec, args: Any) -> dict[str, Any]:
    """The same less what has its default, at every level: what a later version may add to the
    plugin's arguments does not show. Raises DecodeError for a plugin from outside the tree that
    fails.
    """
    if plugin.args is None or args is None:
        return {}
    reader = decoder(plugin.args)

    def encoded() -> dict[str, Any]:
        return _without_empty(reader.encode_set(args))

    if plugin.guard is None:
        return encoded()
    try:
        return call(plugin.guard, ARGUMENTS, encoded)
    except PluginFault as fault:
        raise DecodeError([Violation("", "{…}", str(fault))]) from fault


def _without_empty(document: Any) -> dict[str, Any]:
    found: dict[str, Any] = _without_unset(document)
    return {name: value for name, value in found.items() if value != []}


def _read(plugin: PluginSpec, document: Mapping[str, Any], base: Any) -> Any:
    """A plugin from outside the tree may fail when it looks at its own arguments."""
    if plugin.args is None:
        return None
    reader = decoder(plugin.args)
    own = {name: value for name, value in document.items() if name not in ("apiVersion", "kind")}
    merged = own if base is None else laid_over(reader.encode(base), own)
    if plugin.guard is None:
        return reader.decode(merged)
    try:
        return call(plugin.guard, ARGUMENTS, lambda: reader.decode(merged), passes=(DecodeError,))
    except PluginFault as fault:
        raise DecodeError([Violation("", "{…}", str(fault))]) from fault


def _misplaced(plugin: PluginSpec, document: Mapping[str, Any]) -> Iterator[Violation]:
    """What is not for this plugin: another's header, arguments where it takes none."""
    header = {"apiVersion": API_VERSION, "kind": f"{plugin.name}Args"}
    for field, wanted in header.items():
        value = document.get(field, wanted)
        if value != wanted:
            text = f'must be "{wanted}" or left out'
            yield Violation(field, shown(value), text, FieldErrorType.MALFORMED)
    if plugin.args is None:
        text = f"{plugin.name} takes no arguments"
        for field in (name for name in document if name not in header):
            yield Violation(field, shown(document[field]), text, FieldErrorType.MALFORMED)


def _try_speed(plugin: PluginSpec, args: Any) -> None:
    """Raise DecodeError where one of its trials takes too long. The first such is enough: each
    holds up everybody.
    """
    if plugin.guard is not None or not isinstance(args, TimedArguments):
        return
    for trial in args.trials():
        if (taken := _fastest(trial)) > trial.limit_seconds:
            text = (
                f"one evaluation takes {taken * 1e6:.0f} µs here, and it may take "
                f"{trial.limit_seconds * 1e6:.0f} µs, as there is one for each node"
            )
            raise DecodeError([Violation(trial.path, shown(trial.value), text)])


def _fastest(trial: TimedTrial) -> float:
    """Seconds that it takes in processor time: another process is nobody's fault here.

    The first time does not count, as it may make something ready; and it is tried again only where
    that may help.
    """
    trial.run()
    best, limit = float("inf"), trial.limit_seconds
    for _ in range(_TRIES):
        began = time.thread_time()
        trial.run()
        best = min(best, time.thread_time() - began)
        if not limit < best <= _HOPELESS * limit:
            break
    return best


def _without_unset(document: Any) -> Any:
    if isinstance(document, Mapping):
        return {
            name: _without_unset(value) for name, value in document.items() if value is not None
        }
    if isinstance(document, list | tuple):
        return [_without_unset(item) for item in document]
    return document
