"""Extenders over HTTP: ``ports.extender_calls.ExtenderClient``.

Bodies are those of kube-scheduler's extender API v1: keys are written as Go names, and read in
whatever case, as older extenders write them. Certificates come from Secrets in our own namespace.
Only the URL of the profile is ever called: redirects are answers like any other that is not 200,
and the environment's proxies are not used.
Source: kube-scheduler HTTPExtender (v1.37), in words of our own.
"""

from __future__ import annotations

import asyncio
import dataclasses
import ssl
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import aiohttp
import msgspec

from moorage.adapters.answers import DECODE_ERRORS
from moorage.adapters.certificate_loading import load_certificate
from moorage.core.framework.extenders import Extender, ExtenderFilterResult, MetaVictims
from moorage.ports.clock import Clock
from moorage.ports.errors import EdgeError, Retryable
from moorage.ports.extender_calls import CandidateNodes, NodeVictims
from moorage.ports.kube import KubeReader, PodRef

CERTIFICATES_SECONDS = 60.0
"""How old what was read of a Secret may be."""
MIN_ANSWER_BYTES_ALLOWED = 2**20
"""Bytes that an answer may have beside twice the question's, less the pod: whoever writes pods
decides how long that is.
"""
LONG_ANSWER_BYTES = 2**16
"""Longer answers are read one at a time, and others have their turn in between."""
MIN_ENTRIES_ALLOWED = 1000
"""Entries that an answer may have beside twice what was asked about."""
_LONGEST_TEXT = 1000
_Fields: TypeAlias = dict[str, msgspec.Raw]
"""An object by lower-case key, without nulls; values are not decoded yet."""
T = TypeVar("T")


@dataclasses.dataclass(slots=True)
class _Certificates:
    """A TLS context, and when what it is made of was read."""

    context: ssl.SSLContext
    read_at: float


@dataclasses.dataclass(frozen=True, slots=True)
class _Question:
    """What is sent to an extender, and how many bytes the answer may have."""

    extender: Extender
    verb: str
    body: bytes
    max_answer_bytes: int
    repeatable: bool = True
    """Whether it may be put twice, where a kept connection turns out dead."""

    @property
    def url(self) -> str:
        """Where it goes."""
        return f"{self.extender.url.rstrip('/')}/{self.verb}"


class HttpExtenderClient:
    """Calls extenders over HTTP."""

    def __init__(self, reads: KubeReader, clock: Clock, user_agent: str) -> None:
        self._reads = reads
        self._clock = clock
        self._certificates: dict[tuple[str, bool], _Certificates] = {}
        self._user_agent = user_agent
        self._session: aiohttp.ClientSession | None = None
        self._reading = asyncio.Lock()

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    # ---- questions -------------------------------------------------------------------------------

    async def filter(
        self, extender: Extender, pod: bytes, nodes: CandidateNodes
    ) -> ExtenderFilterResult:
        """Which of the nodes pass; an extender that names none lets none pass."""
        question = _question(extender, extender.filter_verb, _arguments(extender, pod, nodes))
        return await self._ask(
            question, lambda text: _filter_result(_fields(text), extender, nodes)
        )

    async def prioritize(
        self, extender: Extender, pod: bytes, nodes: CandidateNodes
    ) -> Sequence[tuple[str, int]]:
        """Pairs of a node's name and its priority."""
        question = _question(extender, extender.prioritize_verb, _arguments(extender, pod, nodes))
        return await self._ask(question, lambda text: _pairs(text, len(nodes.names)))

    async def preempt(
        self, extender: Extender, pod: bytes, victims: Mapping[str, NodeVictims]
    ) -> Mapping[str, MetaVictims]:
        """What it makes of the victims; the answer always names pods by UID."""
        body = _preemption_arguments(extender, pod, victims)
        asked = len(victims) + sum(len(proposal.pods) for proposal in victims.values())
        question = _question(extender, extender.preempt_verb, body)
        return await self._ask(question, lambda text: _meta_victims_by_node(text, asked))

    async def bind(self, extender: Extender, pod: PodRef, node: str) -> None:
        """Have it bind the pod; whatever it answers but a plain yes, it may have done so."""
        body = {"PodName": pod.name, "PodNamespace": pod.namespace, "PodUID": pod.uid, "Node": node}
        question = _question(extender, extender.bind_verb, body, repeatable=False)
        await self._ask(question, lambda text: _no_error(_fields(text)))

    # ---- asking ----------------------------------------------------------------------------------

    async def _ask(self, question: _Question, read: Callable[[bytes], T]) -> T:
        """The answer as ``read`` understands it."""
        text = await self._answer(question)
        try:
            if len(text) <= LONG_ANSWER_BYTES:
                return read(text)
            async with self._reading:
                await asyncio.sleep(0)
                return read(text)
        except DECODE_ERRORS as error:
            whose = f"the answer of {question.verb} by extender at URL {question.url}"
            raise _error(f"{whose} cannot be read: {error}") from error

    async def _answer(self, question: _Question) -> bytes:
        """The body of a 200, within the extender's time."""
        request, timeout = f'Post "{question.url}"', question.extender.timeout
        try:
            async with asyncio.timeout(timeout):
                return await self._send(question)
        except TimeoutError as error:
            raise _error(f"{request}: no answer within {timeout:g} s") from error
        except aiohttp.ClientError as error:
            sent = not isinstance(error, aiohttp.ClientConnectorError | aiohttp.InvalidURL)
            text = f"{request}: {str(error) or type(error).__name__}"
            raise _error(text, sent=sent) from error

    async def _send(self, question: _Question) -> bytes:
        """A handshake that fails is tried again with the certificates as they are now."""
        try:
            return await self._post(question)
        except aiohttp.ClientSSLError:
            if self._certificates.pop(_identity(question.extender), None) is None:
                raise
        except aiohttp.ServerDisconnectedError:
            if not question.repeatable:
                raise
        return await self._post(question)

    async def _post(self, question: _Question) -> bytes:
        extender, verb, url = question.extender, question.verb, question.url
        options: dict[str, Any] = {"data": question.body, "allow_redirects": False}
        if url.lower().startswith("https:"):
            options["ssl"] = await self._context(extender)
            options["server_hostname"] = extender.server_name or None
        async with self._http().post(url, **options) as response:
            if response.status != 200:
                raise _error(f"failed {verb} with extender at URL {url}, code {response.status}")
            answer = bytearray()
            async for part in response.content.iter_any():
                answer += part
                if len(answer) > question.max_answer_bytes:
                    response.close()
                    raise _error(f"the answer of {verb} by extender at URL {url} is too long")
            return bytes(answer)

    def _http(self) -> aiohttp.ClientSession:
        """The session, made when it is needed: most installations have no extenders."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),
                # Nothing is compressed: what a small answer unpacks to has no bound.
                headers={
                    "User-Agent": self._user_agent,
                    "Content-Type": "application/json",
                    "Accept-Encoding": "identity",
                },
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
            )
        return self._session

    # ---- certificates ----------------------------------------------------------------------------

    async def _context(self, extender: Extender) -> ssl.SSLContext:
        identity, now = _identity(extender), self._clock.boottime()
        known = self._certificates.get(identity)
        if known is None or now - known.read_at >= CERTIFICATES_SECONDS:
            secret = await self._reads.secret(extender.secret) if extender.secret else {}
            if secret is None:
                raise _error(
                    (
                        f"extender {extender.url}: there is no Secret {extender.secret!r} in the "
                        f"operator's namespace"
                    ),
                    sent=False,
                )
            known = self._certificates[identity] = _Certificates(_context_of(extender, secret), now)
        return known.context


def _context_of(extender: Extender, secret: Mapping[str, bytes]) -> ssl.SSLContext:
    """The context that a Secret gives: ca.crt, and for a client certificate tls.crt and tls.key."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    what = f"extender {extender.url}: Secret {extender.secret!r}"
    try:
        if extender.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        elif "ca.crt" in secret:
            context.load_verify_locations(cadata=secret["ca.crt"].decode("ascii"))
        else:
            raise _error(f"{what} has no ca.crt", sent=False)
        if "tls.crt" in secret or "tls.key" in secret:
            pem = secret.get("tls.crt", b"") + b"\n" + secret.get("tls.key", b"")
            load_certificate(context, pem)
    except (OSError, ValueError) as error:
        raise _error(f"{what} cannot be used: {error}", sent=False) from error
    return context


def _identity(extender: Extender) -> tuple[str, bool]:
    return extender.secret, extender.insecure


# ---- bodies --------------------------------------------------------------------------------------


def _error(text: str, sent: bool = True) -> EdgeError:
    return Retryable(text, outcome_unknown=sent)


def _question(
    extender: Extender, verb: str, body: Mapping[str, Any], *, repeatable: bool = True
) -> _Question:
    text = msgspec.json.encode(body)
    room = MIN_ANSWER_BYTES_ALLOWED + 2 * (len(text) - len(bytes(body.get("Pod", b""))))
    return _Question(extender, verb, text, room, repeatable)


def _arguments(extender: Extender, pod: bytes, nodes: CandidateNodes) -> dict[str, Any]:
    capable = extender.node_cache_capable
    return {
        "Pod": msgspec.Raw(pod),
        "Nodes": None if capable else msgspec.Raw(nodes.node_list),
        "NodeNames": nodes.names if capable else None,
    }


def _preemption_arguments(
    extender: Extender, pod: bytes, victims: Mapping[str, NodeVictims]
) -> dict[str, Any]:
    capable = extender.node_cache_capable
    proposed = {node: _victims(proposal, capable) for node, proposal in victims.items()}
    return {
        "Pod": msgspec.Raw(pod),
        "NodeNameToVictims": None if capable else proposed,
        "NodeNameToMetaVictims": proposed if capable else None,
    }


def _victims(proposal: NodeVictims, capable: bool) -> dict[str, Any]:
    """As Victims, or as MetaVictims for an extender that knows the pods."""
    pods = proposal.pods.items()
    return {
        "Pods": [{"UID": uid} if capable else msgspec.Raw(text) for uid, text in pods],
        "NumPDBViolations": proposal.num_pdb_violations,
    }


def _read(text: bytes | msgspec.Raw, kind: type[T]) -> T:
    return msgspec.json.decode(text, type=kind)


def _fields(text: bytes | msgspec.Raw) -> _Fields:
    found = msgspec.json.decode(text, type=dict[str, msgspec.Raw] | None) or {}
    return {key.lower(): value for key, value in found.items() if bytes(value) != b"null"}


def _list(text: bytes | msgspec.Raw) -> list[msgspec.Raw]:
    return msgspec.json.decode(text, type=list[msgspec.Raw] | None) or []


def _optional(fields: _Fields, key: str, kind: type[T], unset: T) -> T:
    return _read(fields[key], kind) if key in fields else unset


def _items(fields: _Fields) -> list[msgspec.Raw]:
    return _list(fields["items"]) if "items" in fields else []


def _name(node: msgspec.Raw) -> str:
    fields = _fields(node)
    return _optional(_fields(fields["metadata"]), "name", str, "") if "metadata" in fields else ""


def _texts(fields: _Fields, key: str, nodes: CandidateNodes) -> dict[str, str]:
    found = _read(fields[key], dict[str, str]) if key in fields else {}
    return {node: found[node][:_LONGEST_TEXT] for node in nodes.names if node in found}


def _filter_result(
    fields: _Fields, extender: Extender, nodes: CandidateNodes
) -> ExtenderFilterResult:
    _no_error(fields)
    passed: Sequence[str] = ()
    if extender.node_cache_capable and "nodenames" in fields:
        passed = _read(fields["nodenames"], list[str])
    elif "nodes" in fields:
        passed = [
            _name(item)
            for item in _bounded_entries(_items(_fields(fields["nodes"])), len(nodes.names))
        ]
    return ExtenderFilterResult(
        tuple(passed),
        _texts(fields, "failednodes", nodes),
        _texts(fields, "failedandunresolvablenodes", nodes),
    )


def _pairs(text: bytes, asked: int) -> list[tuple[str, int]]:
    pairs = [_fields(item) for item in _bounded_entries(_list(text), asked)]
    return [(_optional(pair, "host", str, ""), _optional(pair, "score", int, 0)) for pair in pairs]


def _meta_victims_by_node(text: bytes, asked: int) -> dict[str, MetaVictims]:
    by_node = _optional(_fields(text), "nodenametometavictims", dict[str, msgspec.Raw], {})
    nodes = {node: _fields(by_node[node]) for node in _bounded_entries(list(by_node), asked)}
    pods = {
        node: _list(fields["pods"]) if "pods" in fields else [] for node, fields in nodes.items()
    }
    _bounded_entries([pod for some in pods.values() for pod in some], asked)
    return {node: _meta_victims(fields, pods[node]) for node, fields in nodes.items()}


def _meta_victims(fields: _Fields, pods: list[msgspec.Raw]) -> MetaVictims:
    return MetaVictims(
        tuple(_optional(_fields(pod), "uid", str, "") for pod in pods),
        _optional(fields, "numpdbviolations", int, 0),
    )


def _bounded_entries(entries: list[T], asked: int) -> list[T]:
    """The entries of an answer; more than can be about what was asked would only hold the loop.
    Raises ValidationError.
    """
    if len(entries) > MIN_ENTRIES_ALLOWED + 2 * asked:
        raise msgspec.ValidationError(f"it has {len(entries)} entries, and was asked about {asked}")
    return entries


def _no_error(fields: _Fields) -> None:
    if text := _optional(fields, "error", str, ""):
        raise _error(text[:_LONGEST_TEXT])
