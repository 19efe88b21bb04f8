"""Plugin packages: plugins from outside the tree, from the Python packages that the configuration
names.

A package has a function ``plugins()`` that returns ``PluginRegistration``s. Everything that is
wrong with any of the packages is found before anything starts. What they give is put behind guards
(``core.framework.guard``); from then on they are plugins like any.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib
import importlib.metadata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from moorage.api.decoding import decoder
from moorage.apps.run.watchdog import CallMarks, PluginGuard
from moorage.core.columns.nodes.node_table import Aspect
from moorage.core.framework.guard import PluginFault, guarded
from moorage.core.framework.interfaces import ExtensionPoint
from moorage.core.framework.registry import PluginSpec, Registry
from moorage.core.framework.scalar import as_columnar, is_scalar
from moorage.core.objects.meta import HasMetadata
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod
from moorage.engine.binding.actors.contract import ActorFactory
from moorage.engine.binding.actors.guarded import METHODS, guarded_actor
from moorage.engine.binding.actors.registrations import PluginRegistration
from moorage.ports.stored_kinds import StoredKind, kind_of

FUNCTION = "plugins"
FaultListener = Callable[[str, str], None]
"""(plugin, where): the plugin failed there."""


class PackageErrors(ValueError):
    """All that is wrong with the packages."""

    def __init__(self, errors: Iterable[str]) -> None:
        self.errors = tuple(errors)
        super().__init__("; ".join(self.errors))


@dataclasses.dataclass(frozen=True, slots=True)
class LoadedPlugins:
    """The plugins of the tree and of the packages, and their actors."""

    registry: Registry
    actors: Mapping[str, ActorFactory]


def load(
    packages: Sequence[str],
    intree: Registry,
    actors: Mapping[str, ActorFactory],
    marks: CallMarks,
    tell: FaultListener,
) -> LoadedPlugins:
    """Load the packages and join them to what is there. Raises PackageErrors."""
    loading = _Loading(intree, actors, marks, tell)
    errors = [
        f"plugins.packages[{i}]: {package!r}: {fault}"
        for i, package in enumerate(packages)
        for fault in loading.take(package)
    ]
    if errors:
        raise PackageErrors(errors)
    return LoadedPlugins(loading.registry, loading.actors)


class _Loading:
    """What is there, and what packages add to it, one after the other."""

    def __init__(
        self,
        intree: Registry,
        actors: Mapping[str, ActorFactory],
        marks: CallMarks,
        tell: FaultListener,
    ) -> None:
        self.registry = dict(intree)
        self.actors = dict(actors)
        self._marks = marks
        self._tell = tell
        self._owners = dict.fromkeys(intree, "Moorage itself")
        self._kinds: dict[str, StoredKind] = {}

    def take(self, package: str) -> Iterator[str]:
        """Add its plugins; returns what is wrong with those that are not added."""
        try:
            found = _registrations(package)
        except PackageErrors as error:
            yield from error.errors
            return
        version = version_of(package)
        for registration in found:
            name = registration.spec.name
            guard = PluginGuard(name, version, self._marks, self._tell)
            for fault in self._add(package, registration, guard):
                yield f"plugin {name!r}: {fault}"

    def _add(self, package: str, registration: PluginRegistration, guard: PluginGuard) -> list[str]:
        if faults := list(_faults(registration, self._owners)):
            return faults
        spec = _guarded_spec(registration.spec, guard)
        faults = list(_prepared_faults(spec, self._kinds))
        if not faults:
            self._owners[spec.name] = package
            self.registry[spec.name] = spec
            if registration.actor is not None:
                self.actors[spec.name] = guarded_actor(registration.actor, guard)
        return faults


def version_of(package: str) -> str:
    """The version of the distribution that a package comes from; "unknown" for a folder that nobody
    installed.
    """
    top = package.partition(".")[0]
    for name in [*_distributions().get(top, ()), top]:
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return "unknown"


@functools.cache
def _distributions() -> Mapping[str, Sequence[str]]:
    """Which distributions a package comes from: their own lists of files are read for it, all of
    them.
    """
    return importlib.metadata.packages_distributions()


def _registrations(package: str) -> Sequence[PluginRegistration]:
    with _told("cannot be imported"):
        module = importlib.import_module(package)
    function = getattr(module, FUNCTION, None)
    if not callable(function):
        raise PackageErrors([f"has no function {FUNCTION}()"])
    with _told(f"{FUNCTION}() failed"):
        found = tuple(function())
    if strangers := [
        f"{FUNCTION}() gave {type(one).__name__} instead of a PluginRegistration"
        for one in found
        if not isinstance(one, PluginRegistration) or not isinstance(one.spec, PluginSpec)
    ]:
        raise PackageErrors(strangers)
    return found


@contextlib.contextmanager
def _told(what: str) -> Iterator[None]:
    """Whatever a package's own code raises is an error of the package, also SystemExit."""
    try:
        yield
    except (Exception, SystemExit) as error:
        raise PackageErrors([f"{what}: {type(error).__name__}: {error}"]) from error


def _faults(registration: PluginRegistration, owners: Mapping[str, str]) -> Iterator[str]:
    """What is wrong before anything of the plugin is called."""
    spec = registration.spec
    if spec.name in owners:
        yield f"{owners[spec.name]} has a plugin of this name already"
    if spec.decider is None and not spec.acts_at:
        yield "it neither decides nor acts"
    if spec.decider is not None:
        yield from _decider_faults(spec.decider, spec.name)
    yield from _actor_faults(registration)
    if spec.args is not None and not dataclasses.is_dataclass(spec.args):
        yield f"its arguments, {spec.args.__qualname__}, are no dataclass"


def _actor_faults(registration: PluginRegistration) -> Iterator[str]:
    """What does not go together with where it says that it acts."""
    spec, actor = registration.spec, registration.actor
    if spec.acts_at and actor is None:
        yield f"it acts at {', '.join(sorted(spec.acts_at))} but has no actor"
    if actor is not None and not spec.acts_at:
        yield "it has an actor but acts nowhere"
    if strange := sorted(spec.acts_at - METHODS.keys()):
        yield f"an actor cannot act at {', '.join(strange)}"
    if ExtensionPoint.POST_FILTER in spec.acts_at and not hasattr(spec.decider, "post_filter"):
        yield "it acts at postFilter, so it needs post_filter"


def _decider_faults(decider: type[Any], name: str) -> Iterator[str]:
    """What its class lacks; without these it would be passed over in silence."""
    if (own := getattr(decider, "name", None)) != name:
        yield f"{decider.__qualname__}.name is {own!r}"
    reads: Any = getattr(decider, "reads", None)
    columns = [method for method in ("filter", "score") if hasattr(decider, method)]
    if columns and not _is_set_of(Aspect, reads):
        yield f"it has {columns[0]}, so it needs reads, a frozenset of Aspect"
    if hasattr(decider, "filter") and not hasattr(decider, "explain"):
        yield "it has filter, so it needs explain"
    if hasattr(decider, "sort_key"):
        yield "sort_key: one plugin of the tree orders the queue for all profiles"
    yield from _required_kinds_faults(getattr(decider, "required_kinds", frozenset()))


def _required_kinds_faults(kinds: Any) -> Iterator[str]:
    if not _is_set_of(type, kinds):
        yield "required_kinds is no frozenset of structs"
    elif unfit := sorted(
        kind.__qualname__
        for kind in kinds
        if "metadata" not in getattr(kind, "__struct_fields__", ())
    ):
        yield f"among its required_kinds are no structs with metadata: {', '.join(unfit)}"


def _is_set_of(kind: type[Any], value: Any) -> bool:
    return isinstance(value, frozenset) and all(isinstance(one, kind) for one in value)


def _guarded_spec(spec: PluginSpec, guard: PluginGuard) -> PluginSpec:
    """The plugin behind its guard."""
    decider: Any = spec.decider
    if decider is not None:
        decider = guarded(as_columnar(decider, guard) if is_scalar(decider) else decider, guard)
    return dataclasses.replace(spec, decider=decider, guard=guard)


def _prepared_faults(spec: PluginSpec, kinds: dict[str, StoredKind]) -> Iterator[str]:
    """What is wrong with the plugin as it would be used, its arguments left out; adds to the kinds
    that are declared.
    """
    if spec.decider is not None and not spec.points:
        yield "it has no method of any extension point"
    for struct in getattr(spec.decider, "required_kinds", ()):
        yield from _kind_faults(struct, kinds)
    try:
        if spec.args is not None:
            decoder(spec.args).encode(spec.args())
        spec.make(None if spec.args is None else spec.args())
    except PluginFault as fault:
        yield f"it cannot be made without arguments: {fault}"
    except Exception as error:  # noqa: BLE001 - whatever a stranger's dataclass does, it is told
        yield (
            f"its arguments cannot be used; every field needs a default and a type of JSON's: "
            f"{type(error).__name__}: {error}"
        )


def _kind_faults(struct: type[HasMetadata], kinds: dict[str, StoredKind]) -> Iterator[str]:
    if struct in (Pod, Node):
        yield (
            f"{struct.__name__} need not be among its required_kinds: everybody sees pods and nodes"
        )
        return
    try:
        kind = kind_of(struct)
    except ValueError as error:
        yield str(error)
        return
    if kinds.setdefault(kind.name, kind) != kind:
        other = kinds[kind.name].struct
        yield (
            f"{kind.name} is declared by two structs, {other.__module__}.{other.__qualname__} "
            f"too: let them share one"
        )
