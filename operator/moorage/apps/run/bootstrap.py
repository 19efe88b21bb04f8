"""Bootstrap: the composition root. Every part of the operator is made and joined here, and nowhere
else.

What a test or another program wants to replace it gives as ``Overrides``; the rest is made as the
configuration says.
"""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import logging
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import moorage
from moorage.adapters.authorization import ApiReviews
from moorage.adapters.http_extenders import HttpExtenderClient
from moorage.adapters.https_server import (
    EndpointHandler,
    HttpEndpoints,
    HttpsServer,
    ItemSource,
    ListenAddress,
    ServerTrust,
)
from moorage.adapters.kube_reads import HttpKubeReader
from moorage.adapters.kube_session import KubeSession, ResponseObserver
from moorage.adapters.leader_election import LeaderElectionTimes, LeaderElector, SingleReplica
from moorage.adapters.lease_store import KubeLeaseStore
from moorage.adapters.prometheus import PrometheusTelemetry
from moorage.adapters.reflector import HttpUncachedReader, ListWatch, Reflector
from moorage.adapters.replica_leases import ReplicaLeases
from moorage.adapters.serving_certificates import ServingCertificates
from moorage.adapters.system_clock import SystemClock
from moorage.api.operator_config import OperatorConfiguration
from moorage.api.resolution import Resolver
from moorage.apps.run import health, review_serving, state_recording
from moorage.apps.run.freed_memory import give_back
from moorage.apps.run.live_explanations import LiveExplanations
from moorage.apps.run.operator_page import OperatorPage
from moorage.apps.run.operator_profiles import OperatorProfiles
from moorage.apps.run.pulse import GRACE_SECONDS, Pulse
from moorage.apps.run.recent_rates import RecentRates
from moorage.apps.run.recorded_past import past_of
from moorage.apps.run.replica_state import ReplicaState
from moorage.apps.run.review_serving import AdmissionEdges
from moorage.apps.run.serving_place import certificates_of, configz, host_name, served_at
from moorage.apps.run.sessions import Sessions, doubting, open_session
from moorage.apps.run.side_loop import OneLoop, Side, Tasks, on_the_side
from moorage.apps.run.state_recording import RecordingParts
from moorage.apps.run.supervisor import SupervisedParts, Supervisor
from moorage.apps.run.ways_out import ways_out
from moorage.apps.ui.page_handler import PageHandler
from moorage.apps.ui.static_files import StaticFiles
from moorage.core.columns.changes import NO_JOURNAL
from moorage.core.framework.presets import Preset
from moorage.core.framework.registry import Registry, build_registry
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod
from moorage.core.plugins.intree import INTREE, PRESETS
from moorage.engine.binding.actors.contract import ActorFactory
from moorage.engine.binding.actors.intree import ACTORS
from moorage.engine.engine import Engine
from moorage.engine.intake.comparison import CacheComparison, Compared
from moorage.engine.intake.object_sink import ObjectSink
from moorage.engine.reports.kubelet_rejections import FailedPod
from moorage.handlers.kopf_operator import EmbeddedKopf, KopfConnection
from moorage.ports.bundle import Ports
from moorage.ports.clock import Clock
from moorage.ports.kube import (
    FAILED_PODS,
    LIVE_PODS,
    Informer,
    KubeReader,
    ReflectorSink,
)
from moorage.ports.leadership import Elector, Fence
from moorage.ports.stored_kinds import NAMESPACES

log = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, slots=True)
class Overrides:
    """Parts that are given instead of made. None: made from the configuration."""

    clock: Clock = dataclasses.field(default_factory=SystemClock)
    telemetry: PrometheusTelemetry = dataclasses.field(default_factory=PrometheusTelemetry)
    registry: Registry = dataclasses.field(default_factory=lambda: build_registry(INTREE))
    presets: Mapping[str, Preset] = dataclasses.field(default_factory=lambda: PRESETS)
    actors: Mapping[str, ActorFactory] = dataclasses.field(default_factory=lambda: ACTORS)
    identity: str = dataclasses.field(
        default_factory=lambda: f"{host_name()}_{secrets.token_hex(4)}"
    )
    abort: Callable[[int], object] = os._exit
    side: Side = dataclasses.field(default_factory=OneLoop)
    session: KubeSession | None = None
    side_session: KubeSession | None = None
    """For what runs on the side: the lease."""
    fence: Fence | None = None
    elector: Elector | None = None
    reads: KubeReader | None = None


async def build(config: OperatorConfiguration, given: Overrides) -> Supervisor:
    """Make and join all parts; nothing runs yet. Raises KubeconfigError, CertificateError,
    ValueError for half a plugin.
    """
    in_doubt, observe = asyncio.Event(), given.telemetry.request
    main = given.session or await _session(config, given, doubting(observe, in_doubt))
    aside = given.side_session
    if aside is None:
        aside = await given.side.run(_session(config, given, observe))
    sessions = Sessions(main, aside, in_doubt)
    try:
        supervisor = _assemble(config, given, sessions)
    except BaseException:
        await sessions.close(given.side)
        raise
    about = {"identity": given.identity, "server": main.server}
    log.info("moorage %s", moorage.__version__, extra=about)
    return supervisor


def _assemble(config: OperatorConfiguration, given: Overrides, sessions: Sessions) -> Supervisor:
    clock, telemetry, side, session = given.clock, given.telemetry, given.side, sessions.main
    home = (config.leader_election.resource_namespace, config.leader_election.resource_name)
    fence, certificates = given.fence or Fence(clock.boottime), certificates_of(config, clock)
    elector = given.elector or _elector(config, sessions.side, fence, given)
    reads = given.reads or HttpKubeReader(session, clock, *home)
    out = ways_out(config, session, fence, clock, telemetry)
    extenders = HttpExtenderClient(reads, clock, f"moorage/{moorage.__version__}")
    resolver = Resolver(given.registry, given.presets, config)
    state, rates = ReplicaState(), RecentRates(telemetry.attempt_durations, clock)
    served = functools.partial(served_at, config, state, certificates)
    recorder = state_recording.recorder_of(config, resolver, clock, given.identity)
    ports = Ports(
        clock=clock,
        writes=out.writes,
        status_writes=out.status_writes,
        reads=reads,
        events=out.events,
        telemetry=telemetry,
        announcer=ReplicaLeases(session, clock, home, served, config.mode),
        extenders=extenders,
        election=elector,
        rights_in_doubt=sessions.rights_in_doubt,
        journal=recorder or NO_JOURNAL,
    )
    engine = out.engine(config, ports, resolver, given.registry, given.actors)
    recording = state_recording.joined(recorder, engine, session.call, telemetry)
    kopf, reviews = _kopf(config, given, engine, fence, sessions)
    feeds, comparison = _reflectors(session, clock, telemetry, engine)
    watches = health.WatchHealth(session, clock, feeds)
    pulse = Pulse(side, clock, config.leader_election.lease_duration + GRACE_SECONDS, given.abort)
    checks = _livez(clock, fence, state, pulse, watches), _readyz(feeds, kopf, elector)
    page = _page(engine, given, sessions.side, rates, resolver)
    endpoints = _endpoints(config, given, checks, _debug_pages(engine, side, rates), page)
    server = _server(config, given, endpoints, certificates, sessions.side)
    _report(telemetry, home[1], feeds, fence)
    parts = SupervisedParts(
        state=state,
        clock=clock,
        side=side,
        elector=elector,
        engine=engine,
        feeds=feeds,
        events=out.events,
        server=server,
        kopf=kopf,
        background={
            "broken watches": watches.run,
            "comparison": comparison.run,
            "freed memory": lambda: give_back(clock),
            **on_the_side(side, **reviews, pulse=pulse.run, serving=server.run, rates=rates.run),
            **recording.tasks,
        },
        prepare=out.prepare,
        warm=sessions.warm,
        sever=session.sever,
        on_leading=lambda: _on_leading(telemetry, comparison, recording, home[1]),
        close=lambda: _close(sessions, extenders, recording, page, side),
    )
    return Supervisor(parts, given.abort)


# ---- parts ---------------------------------------------------------------------------------------


async def _session(
    config: OperatorConfiguration, given: Overrides, observe: ResponseObserver
) -> KubeSession:
    return await open_session(config, given.identity, given.clock, observe)


def _elector(
    config: OperatorConfiguration, session: KubeSession, fence: Fence, given: Overrides
) -> Elector:
    election = config.leader_election
    if not election.leader_elect:
        return SingleReplica(fence, given.identity)
    times = LeaderElectionTimes(
        election.lease_duration, election.renew_deadline, election.retry_period
    )
    store = KubeLeaseStore(
        session, election.resource_namespace, election.resource_name, times.renew_deadline
    )
    return LeaderElector(store, fence, given.clock, given.identity, times)


def _kopf(
    config: OperatorConfiguration,
    given: Overrides,
    engine: Engine,
    fence: Fence,
    sessions: Sessions,
) -> tuple[EmbeddedKopf, Tasks]:
    """Kopf, and what runs on the side so that reviews come to it."""
    session, refused = sessions.main, given.telemetry.connection_refused
    edges = AdmissionEdges(sessions.side, fence, given.side, given.clock, refused)
    judging = review_serving.parts_of(config, engine, edges, engine.assignment_reviews.assign)
    connection = KopfConnection(session.server, session.new_client_session, session, given.clock)
    return EmbeddedKopf(engine, connection, judging.handler), judging.runs


def _livez(
    clock: Clock, fence: Fence, state: ReplicaState, pulse: Pulse, watches: health.WatchHealth
) -> health.HealthChecks:
    return {
        "tasks": health.tasks_check(state),
        "loop": pulse.check,
        "lease": health.lease_check(clock, fence, state),
        "watches": watches.check,
    }


def _readyz(feeds: Sequence[Informer], kopf: EmbeddedKopf, elector: Elector) -> health.HealthChecks:
    return {
        **{feed.resource: health.informer_check(feed) for feed in feeds},
        "profiles": lambda: kopf.problem,
        "apiserver": health.apiserver_check(elector),
    }


def _endpoints(
    config: OperatorConfiguration,
    given: Overrides,
    checks: tuple[health.HealthChecks, health.HealthChecks],
    debug: Mapping[str, ItemSource],
    page: OperatorPage,
) -> HttpEndpoints:
    livez, readyz = checks
    return HttpEndpoints(
        livez,
        livez,
        readyz,
        given.telemetry.render,
        functools.partial(configz, config),
        debug,
        page.explanations.explain,
        PageHandler(page, StaticFiles.of_package()).answer,
    )


def _page(
    engine: Engine, given: Overrides, session: KubeSession, rates: RecentRates, resolver: Resolver
) -> OperatorPage:
    profiles = OperatorProfiles(engine, given.side, session, rates, resolver)
    explanations = LiveExplanations(engine, given.side, given.identity)
    past = past_of(engine, given.identity)
    return OperatorPage(engine, given.side, explanations, profiles, past)


def _server(
    config: OperatorConfiguration,
    given: Overrides,
    endpoints: HttpEndpoints,
    certificates: ServingCertificates,
    session: KubeSession,
) -> HttpsServer:
    reviews = ApiReviews(session.call, given.clock)
    return HttpsServer(
        EndpointHandler(endpoints, reviews),
        ListenAddress(config.serving.bind_address, config.serving.secure_port),
        ServerTrust(certificates, reviews.client_authorities),
        given.clock,
        given.telemetry.connection_refused,
    )


def _debug_pages(engine: Engine, side: Side, rates: RecentRates) -> dict[str, ItemSource]:
    """What is under /debug: asked for on the side, looked at on the main loop but for the rates."""
    looks = engine.inspector.pages.items()
    pages = {name: functools.partial(side.each, items) for name, items in looks}
    return {**pages, "rates": rates.items}


def _on_leading(
    telemetry: PrometheusTelemetry,
    comparison: CacheComparison,
    recording: RecordingParts,
    lease: str,
) -> None:
    recording.lead()
    telemetry.leading(lease, leader=True)
    comparison.lead()


def _reflectors(
    session: KubeSession, clock: Clock, telemetry: PrometheusTelemetry, engine: Engine
) -> tuple[tuple[Informer, ...], CacheComparison]:
    """The watches, and what compares all that they bring."""
    watched = _list_watches(engine)
    looks: list[Compared] = [
        (HttpUncachedReader(session, what), sink)
        for what, sink in watched
        if isinstance(sink, ObjectSink)
    ]
    return tuple(Reflector(session, clock, what, sink) for what, sink in watched), CacheComparison(
        looks, clock, telemetry
    )


def _list_watches(engine: Engine) -> list[tuple[ListWatch[Any], ReflectorSink[Any]]]:
    """What is watched, and where it goes."""
    others = [
        (ListWatch(kind.name, kind.path, kind.struct, optional=kind is not NAMESPACES), sink)
        for kind, sink in engine.stored_object_sinks.items()
    ]
    return [
        (ListWatch("pods", "/api/v1/pods", Pod, LIVE_PODS), engine.pod_sink),
        (
            ListWatch("failedpods", "/api/v1/pods", FailedPod, FAILED_PODS, optional=True),
            engine.kubelet_rejections,
        ),
        (ListWatch("nodes", "/api/v1/nodes", Node), engine.node_sink),
        *others,
    ]


def _report(
    telemetry: PrometheusTelemetry, lease: str, feeds: tuple[Informer, ...], fence: Fence
) -> None:
    telemetry.leading(lease, leader=False)
    telemetry.pull(
        "moorage_watch_age_seconds",
        "Time since the API server last said anything.",
        "resource",
        lambda: {feed.resource: feed.age for feed in feeds},
    )
    text = "Writes that were not sent since the lease may have run out."
    telemetry.pull("moorage_fenced_writes_total", text, "", lambda: {"": fence.stopped_writes})


async def _close(
    sessions: Sessions,
    extenders: HttpExtenderClient,
    recording: RecordingParts,
    page: OperatorPage,
    side: Side,
) -> None:
    await side.run(page.close())
    await recording.close()
    await extenders.close()
    await sessions.close(side)
