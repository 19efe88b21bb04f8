"""A connection to the operator that leads, for what only it knows: its queue, its rates.

The address that was named; else the one that the leader's Lease says, where that is on this
machine; else the port of the leader's pod, forwarded by the API server. By the certificate that the
Lease says, and no other, the leader is known: nothing that proves who asks goes to anybody else.
"""

from __future__ import annotations

import contextlib
import dataclasses
import ipaddress
import os
import socket
import urllib.parse
from collections.abc import AsyncIterator
from typing import Final, TypeAlias, TypeVar

import moorage
from moorage.adapters.answers import decoded
from moorage.adapters.kube_session import KubeconfigError, KubeSession, KubeSource
from moorage.adapters.kube_session.port_forward import forwarded
from moorage.adapters.system_clock import SystemClock
from moorage.apps.exit_status import WrongUse
from moorage.apps.reach.installations import Installation, Replica
from moorage.apps.reach.operator_choice import NOBODY, OperatorChoice
from moorage.apps.worlds.cluster_choice import ClusterChoice
from moorage.apps.worlds.reaching import source_of
from moorage.ports.errors import EdgeError, Forbidden, NotFound
from moorage.ports.http_calls import HttpCall

T = TypeVar("T")
REACH_SECONDS: Final = 3.0
"""For the first answer of an operator that may not be there."""


@dataclasses.dataclass(frozen=True, slots=True)
class ReachedOperator:
    """An operator that answers, and what to call it."""

    session: KubeSession
    name: str

    async def get(self, path: str, kind: type[T], seconds: float = 15.0) -> T:
        """The document there, as this kind. Raises EdgeError."""
        call = HttpCall("GET", path, timeout=seconds)
        return decoded(f"GET {path}", await self.session.call(call), kind)


@dataclasses.dataclass(frozen=True, slots=True)
class UnreachedOperator:
    """None: ``why`` says why not."""

    why: str


Operator: TypeAlias = ReachedOperator | UnreachedOperator


@contextlib.asynccontextmanager
async def reached(
    api: KubeSession,
    cluster: ClusterChoice,
    choice: OperatorChoice,
    installation: Installation | None,
) -> AsyncIterator[Operator]:
    """The operator, once it has answered; where none does, why. Raises WrongUse."""
    async with contextlib.AsyncExitStack() as stack:
        if choice.server == NOBODY:
            yield UnreachedOperator(f"--server {NOBODY}")
        elif choice.server:
            yield await _named(stack, cluster, choice)
        else:
            yield await _leader(stack, api, installation)


@contextlib.asynccontextmanager
async def named(cluster: ClusterChoice, choice: OperatorChoice) -> AsyncIterator[Operator]:
    """The operator at an address, for whom the API server need not answer. Raises WrongUse."""
    async with contextlib.AsyncExitStack() as stack:
        yield await _named(stack, cluster, choice)


def source_at(choice: OperatorChoice, cluster: ClusterChoice) -> KubeSource:
    """How the operator that was named is reached. Raises WrongUse."""
    if urllib.parse.urlsplit(choice.server).scheme != "https":
        raise WrongUse(f"--server {choice.server}: must begin with https://, or be {NOBODY}")
    return dataclasses.replace(
        source_of(cluster),
        master=choice.server.rstrip("/"),
        authority=choice.authority,
        insecure=choice.insecure,
    )


# ---- the ways ------------------------------------------------------------------------------------


async def _named(
    stack: contextlib.AsyncExitStack, cluster: ClusterChoice, choice: OperatorChoice
) -> Operator:
    agent = f"moorage/{moorage.__version__}"
    try:
        session = await KubeSession.open(source_at(choice, cluster), agent, SystemClock())
    except KubeconfigError as error:
        return UnreachedOperator(f"no credentials to show to {choice.server}: {error}")
    stack.push_async_callback(session.close)
    try:
        await _greet(session)
    except EdgeError as error:
        text = f"no answer from {choice.server}: {error}; is its port forwarded?"
        return UnreachedOperator(text)
    return ReachedOperator(session, choice.server)


async def _leader(
    stack: contextlib.AsyncExitStack, api: KubeSession, installation: Installation | None
) -> Operator:
    if installation is None:
        return UnreachedOperator("who leads cannot be seen")
    if not installation.leader:
        return UnreachedOperator("nobody leads")
    leader = installation.leading
    if leader is None or leader.served is None:
        return UnreachedOperator(
            f"{installation.leader} does not say at which https address it answers"
        )
    url = urllib.parse.urlsplit(leader.served.url)  # with a host and a port: it has been parsed
    if not _is_here(url.hostname or ""):
        return await _forwarded(stack, api, installation.namespace, leader, url.port or 443)
    address = url.geturl() if _is_ip(url.hostname) else f"https://localhost:{url.port}"
    try:
        return ReachedOperator(await _beside(stack, api, address, leader), leader.identity)
    except (EdgeError, KubeconfigError) as error:
        why = str(error).strip()
        found = await _forwarded(stack, api, installation.namespace, leader, url.port or 443)
    if isinstance(found, UnreachedOperator):
        text = f"{leader.identity} does not answer at {address}: {why}; and {found.why}"
        return UnreachedOperator(text)
    return found


async def _forwarded(
    stack: contextlib.AsyncExitStack,
    api: KubeSession,
    namespace: str,
    leader: Replica,
    port: int,
) -> Operator:
    if not leader.pod:
        return UnreachedOperator(f"{leader.identity} names no pod whose port could be forwarded")
    forward = await stack.enter_async_context(forwarded(api, namespace, leader.pod, port))
    try:
        session = await _beside(stack, api, f"https://127.0.0.1:{forward.port}", leader)
    except (EdgeError, KubeconfigError) as error:
        why = forward.failure or error
        hint = (
            f"; it takes get and create pods/portforward in namespace {namespace}"
            if isinstance(why, Forbidden)
            else ""
        )
        text = f"port {port} of pod {namespace}/{leader.pod} cannot be reached: {str(why).strip()}"
        return UnreachedOperator(f"{text}{hint}")
    return ReachedOperator(session, leader.identity)


async def _beside(
    stack: contextlib.AsyncExitStack, api: KubeSession, url: str, leader: Replica
) -> KubeSession:
    """Raises EdgeError, KubeconfigError."""
    certificate = leader.served.certificate if leader.served is not None else ""
    session = await api.beside(url, certificate)
    stack.push_async_callback(session.close)
    await _greet(session)
    return session


async def _greet(session: KubeSession) -> None:
    """Ask for what everybody may ask for, and nobody has: what fails is the way. Raises
    EdgeError.
    """
    with contextlib.suppress(NotFound):
        await session.call(HttpCall("GET", "/", timeout=REACH_SECONDS))


def _is_here(host: str) -> bool:
    """Whether a replica that says this host may be on this machine."""
    if _is_ip(host):
        return ipaddress.ip_address(host).is_loopback
    return host in ("localhost", os.environ.get("HOSTNAME"), socket.gethostname())


def _is_ip(host: str | None) -> bool:
    try:
        ipaddress.ip_address(host or "")
    except ValueError:
        return False
    return True
