"""Review serving: the way of a review from the API server's request to the judge and back.

The listener and its certificate are on the side loop; Kopf and the judge on the main loop, where
the records are.
"""

from __future__ import annotations

import dataclasses
import functools
import logging
from collections.abc import Callable
from typing import Final, NamedTuple

from moorage.adapters.admission_certificates import SecretCertificate, SecretStore
from moorage.adapters.https_server import HttpsServer, ListenAddress, ReviewHandler, ServerTrust
from moorage.adapters.serving_certificates import SelfSignedCertificate, ServingCertificates
from moorage.api.operator_config import OperatorConfiguration
from moorage.apps.run.side_loop import Side, Tasks
from moorage.engine.engine import Engine
from moorage.handlers.admission_handler import Admission, ReviewDoor
from moorage.ports.clock import Clock
from moorage.ports.http_calls import HttpSession
from moorage.ports.leadership import Fence

log = logging.getLogger(__name__)

ADMISSION_PATH: Final = "/admission"
ASSIGN_PATH: Final = "/assign"

Assign = Callable[[bytes], bytes]
"""Answers an AdmissionReview of a pod (JSON); never raises. Called on the side."""


@dataclasses.dataclass(frozen=True, slots=True)
class AdmissionParts:
    """What Kopf is given, and what runs on the side for ever, by name; nothing where admission is
    not enabled.
    """

    handler: Admission | None = None
    runs: Tasks = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True)
class AdmissionEdges:
    """What the listener needs. ``session`` belongs to the side."""

    session: HttpSession
    fence: Fence
    side: Side
    clock: Clock
    refused: Callable[[str], None]


def parts_of(
    config: OperatorConfiguration,
    engine: Engine,
    edges: AdmissionEdges,
    assign: Assign | None = None,
) -> AdmissionParts:
    """Admission as it is configured. ``assign`` answers for pods; None: nobody does."""
    if not config.admission.enabled:
        return AdmissionParts()
    door = ReviewDoor(edges.side.ask)
    reviews = {ADMISSION_PATH: door.review}
    if assign is not None:
        reviews[ASSIGN_PATH] = functools.partial(_answered, assign)
    certificate = _certificate(config, edges)
    serve = functools.partial(_serve, config, edges, ReviewHandler(reviews), certificate)
    runs: Tasks = {"admission": serve, "certificate of admission": certificate.run}
    return AdmissionParts(Admission(engine.admission_judge.judge, door), runs)


class AdmissionNames(NamedTuple):
    """What admission is called in the cluster: where its Secret is, and the host that API servers
    ask for.
    """

    namespace: str
    secret: str
    host: str


def names_of(config: OperatorConfiguration) -> AdmissionNames:
    """Those that are configured, or what follows from the Lease's."""
    lease, options = config.leader_election, config.admission
    namespace = options.namespace or lease.resource_namespace
    secret = options.secret_name or f"{lease.resource_name}-admission-tls"
    service = options.service_name or f"{lease.resource_name}-admission"
    return AdmissionNames(namespace, secret, f"{service}.{namespace}.svc")


def _certificate(config: OperatorConfiguration, edges: AdmissionEdges) -> SecretCertificate:
    names = names_of(config)
    store = SecretStore(edges.session, names.namespace, names.secret, edges.fence)
    hosts = (names.host,)
    own = SelfSignedCertificate(hosts, edges.clock)
    return SecretCertificate(store, hosts, edges.clock, own.read)


async def _serve(
    config: OperatorConfiguration,
    edges: AdmissionEdges,
    handler: ReviewHandler,
    certificate: SecretCertificate,
) -> None:
    """Listen from the moment that there is a Secret until cancelled. Raises OSError where the port
    cannot be had.
    """
    await certificate.found.wait()
    address = ListenAddress(config.serving.bind_address, config.admission.port, "admission.port")
    trust = ServerTrust(ServingCertificates(certificate, edges.clock))
    server = HttpsServer(handler, address, trust, edges.clock, edges.refused)
    port = await server.start()
    log.info("admission reviews are answered", extra={"port": port})
    try:
        await server.run()
    finally:
        await server.stop()


async def _answered(assign: Assign, body: bytes) -> bytes:
    return assign(body)
