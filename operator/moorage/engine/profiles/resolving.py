"""Resolving: what the engine knows of the resolver, and what it keeps of its answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from moorage.api import bodies
from moorage.api.bodies import Body
from moorage.api.resolved_profile import Resolution
from moorage.core.framework.revisions import FieldError


class ProfileResolver(Protocol):
    """Turns a profile's object and the PluginConfigs into a revision or a list of errors; pure."""

    def __call__(
        self, profile: Body, configs: dict[str, Body], *, trusted: bool = False
    ) -> Resolution:
        """Never raises for what the objects hold. ``trusted``: all of it was good before."""

    def from_document(self, document: Mapping[str, Any]) -> Resolution | None:
        """Resolve what a resolution's ``document`` was; None where it is no such thing."""

    def config_errors(self, body: Body) -> tuple[FieldError, ...]:
        """What is wrong with a PluginConfig by itself."""

    def quarantine(self, plugins: Mapping[str, str]) -> None:
        """From now on these plugins must not be called, for these reasons, and no others."""


class PluginConfigResults:
    """What PluginConfigs are found to be, each checked once for each of its generations."""

    def __init__(self, resolver: ProfileResolver) -> None:
        self._resolver = resolver
        self._known: dict[str, tuple[object, tuple[FieldError, ...], str]] = {}

    def of(self, name: str, body: Body) -> tuple[tuple[FieldError, ...], str]:
        """What is wrong with it by itself, and its hash."""
        version = bodies.spec_version(body)
        known = self._known.get(name)
        if known is None or known[0] != version:
            known = self._known[name] = (
                version,
                self._resolver.config_errors(body),
                bodies.config_hash(body),
            )
        return known[1:]

    def forget(self, *names: str) -> None:
        """These are gone; without names all are to be checked anew."""
        for name in names or tuple(self._known):
            self._known.pop(name, None)
