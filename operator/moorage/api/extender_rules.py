"""Extenders as people describe them: what is wrong with them, and what core is told of them.

The first rules are kube-scheduler's, in its words, and hold for its own documents too. The others
are ours: where an extender may be is for whoever configures the operator to say, as it is sent pods
and nodes, and asked from inside the cluster's network.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol
from urllib.parse import SplitResult, urlsplit

from kubefacts.names import qualified_name
from moorage.api.v1alpha1 import profile_extender as model
from moorage.core.framework.arguments import Violation
from moorage.core.framework.extenders import DEFAULT_TIMEOUT_SECONDS, Extender
from moorage.core.pods.resource_names import is_extended

ANY_HOST = "*"


class ManagedResourceFields(Protocol):
    """A resource that an extender looks after."""

    @property
    def name(self) -> str: ...

    @property
    def ignored_by_scheduler(self) -> bool:
        """Whether NodeResourcesFit is to ignore it."""


class ExtenderFields(Protocol):
    """An extender, in a profile or in one of kube-scheduler's documents."""

    @property
    def prioritize_verb(self) -> str:
        """What it scores by."""

    @property
    def bind_verb(self) -> str:
        """What it binds by."""

    @property
    def weight(self) -> int:
        """The factor of its scores."""

    @property
    def managed_resources(self) -> Sequence[ManagedResourceFields]:
        """What it looks after."""


def violations(extenders: Sequence[ExtenderFields]) -> Iterator[Violation]:
    """What kube-scheduler refuses: its paths, its words."""
    managed: set[str] = set()
    for i, extender in enumerate(extenders):
        if extender.prioritize_verb and extender.weight <= 0:
            text = "must have a positive weight applied to it"
            yield Violation(f"extenders[{i}].weight", extender.weight, text)
        for j, resource in enumerate(extender.managed_resources):
            path = f"extenders[{i}].managedResources[{j}].name"
            yield from _of_resource_name(path, resource.name)
            if resource.name in managed:
                yield Violation(path, resource.name, "duplicate extender managed resource name")
            managed.add(resource.name)
    binders = sum(1 for extender in extenders if extender.bind_verb)
    if binders > 1:
        found = f"found {binders} extenders implementing bind"
        yield Violation("extenders", found, "only one extender can implement bind")


def _of_resource_name(path: str, name: str) -> Iterator[Violation]:
    if found := qualified_name(name):
        yield from (Violation(path, name, problem) for problem in found)
    elif not is_extended(name):
        yield Violation(path, name, "is an invalid extended resource name")


def ignored_resources(extenders: Iterable[ExtenderFields]) -> list[str]:
    """The resources that extenders want NodeResourcesFit to ignore; where there are any, they
    replace its own ignoredResources.
    """
    return [
        one.name
        for extender in extenders
        for one in extender.managed_resources
        if one.ignored_by_scheduler
    ]


# ---- of profiles ---------------------------------------------------------------------------------


def unsafe(
    extenders: Sequence[model.ProfileExtender], allowed_hosts: Sequence[str]
) -> Iterator[Violation]:
    """What we refuse besides."""
    for i, extender in enumerate(extenders):
        refused = functools.partial(Violation, f"extenders[{i}].urlPrefix", extender.url_prefix)
        url = _split(extender.url_prefix)
        if url is None or url.scheme not in ("http", "https") or not url.hostname:
            yield refused("must be a URL that begins with http:// or https:// and a host")
            continue
        if url.username is not None or url.query or url.fragment:
            yield refused("must not have a user, a query or a fragment")
        yield from _of_trust(f"extenders[{i}]", extender, secure=url.scheme == "https")
        if not any(_allows(allowed, url.hostname) for allowed in allowed_hosts):
            setting = f"extenders: {{allowedHosts: [{url.hostname}]}}"
            yield refused(f"the host is not allowed: set {setting} in the OperatorConfiguration")


def _of_trust(path: str, extender: model.ProfileExtender, *, secure: bool) -> Iterator[Violation]:
    if extender.enable_https and not secure:
        yield Violation(f"{path}.enableHTTPS", True, "urlPrefix has to begin with https:// then")
    tls = extender.tls_config
    if tls is not None and tls.insecure:
        return
    if not secure:
        yield Violation(
            f"{path}.urlPrefix",
            extender.url_prefix,
            "nobody knows who answers HTTP: use https, or set tlsConfig.insecure",
        )
    elif tls is None or tls.secret_ref is None:
        text = (
            "a Secret in the operator's namespace with the CA as ca.crt has to be named, or "
            "tlsConfig.insecure to be set"
        )
        yield Violation(f"{path}.tlsConfig.secretRef", None, text)


def _split(prefix: str) -> SplitResult | None:
    try:
        url = urlsplit(prefix)
        _ = url.port  # raises for what is no port
    except ValueError:
        return None
    return url


def _allows(allowed: str, host: str) -> bool:
    """Hosts are allowed by name, below a name (``*.extenders.svc``), or all of them."""
    allowed = allowed.lower()
    return allowed in (ANY_HOST, host) or (allowed.startswith("*.") and host.endswith(allowed[1:]))


def made(extender: model.ProfileExtender) -> Extender:
    """What core is told."""
    tls = extender.tls_config or model.ExtenderTLS()
    return Extender(
        url=extender.url_prefix,
        filter_verb=extender.filter_verb,
        prioritize_verb=extender.prioritize_verb,
        preempt_verb=extender.preempt_verb,
        bind_verb=extender.bind_verb,
        weight=extender.weight,
        node_cache_capable=extender.node_cache_capable,
        managed_resources=frozenset(resource.name for resource in extender.managed_resources),
        ignorable=extender.ignorable,
        timeout=extender.http_timeout or DEFAULT_TIMEOUT_SECONDS,
        insecure=tls.insecure,
        server_name=tls.server_name or "",
        secret=tls.secret_ref.name if tls.secret_ref is not None else "",
    )
