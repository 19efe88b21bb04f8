"""Who asks our own server for something, and who says whether he may."""

from __future__ import annotations

import dataclasses
import ssl
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol


@dataclasses.dataclass(frozen=True, slots=True)
class Caller:
    """A user as Kubernetes knows him."""

    name: str
    groups: Sequence[str] = ()
    uid: str = ""
    extra: Mapping[str, Sequence[str]] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True)
class CallerRight:
    """A right as Kubernetes has them: to do this with a ``path`` of ours, or with a ``resource`` of
    an API ``group`` ("" is the core group), in a namespace or ("") anywhere.
    """

    verb: str
    path: str = ""
    resource: str = ""
    namespace: str = ""
    group: str = ""

    def __str__(self) -> str:
        where = f" in namespace {self.namespace}" if self.namespace else ""
        of = f".{self.group}" if self.group else ""
        return f"{self.verb} {self.path or self.resource}{of}{where}"


class Denied(Exception):
    """Not to be answered: ``status`` is the HTTP code, ``text`` what the caller is told."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


def parameters(given: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The parameters of a request, each of them given once: where one is repeated, who judges it
    and who answers it might take different values. Raises Denied.
    """
    found: dict[str, str] = {}
    for name, value in given:
        if name in found:
            raise Denied(400, f"the parameter {name[:40]!r} is given more than once")
        found[name] = value
    return found


class Gatekeeper(Protocol):
    """Says who may see what. Where that cannot be found out, nobody may."""

    async def admit(
        self, token: str, certified: Caller | None, rights: Sequence[CallerRight]
    ) -> None:
        """Return when the caller has all of these rights: by his client certificate, else by his
        bearer token. Raises Denied.
        """

    async def client_authorities(self) -> str:
        """The certificates in PEM whose client certificates the cluster believes; "" for none.
        Raises EdgeError.
        """


class Certificates(Protocol):
    """What our server shows, and whose client certificates it believes."""

    context: ssl.SSLContext
    """For new connections."""

    def refresh(self, authorities: str) -> bool:
        """Take what has changed, with these authorities of clients (PEM, "" for none); whether
        there is another context now.
        """
