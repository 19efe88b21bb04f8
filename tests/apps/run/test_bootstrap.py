"""The composition root: everything joined, and the whole process where there is no API server."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from moorage.adapters.prometheus import PrometheusTelemetry
from moorage.adapters.serving_certificates import SelfSignedCertificate, ServingCertificates
from moorage.adapters.system_clock import SystemClock
from moorage.api.operator_config import OperatorConfiguration, load_config
from moorage.api.operator_options import ClientConnectionOptions
from moorage.apps.run import bootstrap, serving_place
from moorage.apps.run.bootstrap import Overrides
from moorage.apps.run.replica_state import ReplicaPhase, ReplicaState
from moorage.apps.ui.questions import parse

NOWHERE = "http://127.0.0.1:9"
"""Nobody listens at the discard port."""
CONFIG = load_config(None, {}, {"clientConnection.master": NOWHERE})


def build(given: Overrides, config: OperatorConfiguration = CONFIG) -> None:
    """Build all parts and close what was opened."""

    async def scenario() -> None:
        supervisor = await bootstrap.build(config, given)
        assert supervisor._parts.state.phase is ReplicaPhase.STARTING
        await supervisor._parts.close()

    asyncio.run(scenario())


def test_building_needs_no_api_server() -> None:
    """Everything is made and joined; nothing runs."""
    telemetry = PrometheusTelemetry()
    build(Overrides(telemetry=telemetry))
    page = telemetry.render().decode()
    assert 'leader_election_master_status{name="moorage"} 0.0' in page
    assert 'moorage_watch_age_seconds{resource="pods"}' in page
    assert "moorage_fenced_writes_total 0.0" in page


def test_the_page_ends_with_the_rest() -> None:
    """Its threads, that of its explanations, and the task that looks for what has changed."""

    async def scenario() -> None:
        before = {*threading.enumerate()}
        supervisor = await bootstrap.build(CONFIG, Overrides())
        answering: Any = supervisor._parts.server._answering
        page = answering._page.__self__._source
        await page.document(parse("overview", {}))
        page.explanations._thread.submit(int).result()
        looking = [task for task in asyncio.all_tasks() if task.get_name() == "page"]
        started = {one.name for one in {*threading.enumerate()} - before}
        assert len(looking) == 1
        assert {"page_0", "explaining_0"} <= started
        await supervisor._parts.close()
        assert looking[0].done()
        for thread in {*threading.enumerate()} - before:
            if thread.name in {"page_0", "explaining_0"}:
                await asyncio.to_thread(thread.join, 5)
                assert not thread.is_alive()

    asyncio.run(scenario())


def test_what_is_to_be_recorded_is_measured(tmp_path: Path) -> None:
    """Where nothing is, nothing is measured. Without a leader nothing is written."""
    telemetry = PrometheusTelemetry()
    build(Overrides(telemetry=telemetry))
    assert "moorage_recording" not in telemetry.render().decode()
    flags = {"clientConnection.master": NOWHERE, "recording.directory": str(tmp_path / "ring")}
    build(Overrides(telemetry=telemetry), load_config(None, {}, flags))
    page = telemetry.render().decode()
    assert 'moorage_recording_state{state="Standby"} 1.0' in page
    assert "moorage_recording_lost_entries_total 0.0" in page
    assert not (tmp_path / "ring").exists()


def test_a_plugin_that_lacks_its_other_half_is_a_start_error() -> None:
    """Plugins that act need somebody who does it."""
    with pytest.raises(ValueError, match="has no actor"):
        build(Overrides(actors={}))


def test_an_actor_without_a_plugin_is_a_start_error() -> None:
    """It would never be called."""
    with pytest.raises(ValueError, match="DefaultBinder"):
        build(Overrides(registry={}))


def test_identities_differ() -> None:
    """Two replicas on one machine are two."""
    assert Overrides().identity != Overrides().identity


@pytest.mark.parametrize(
    ("address", "shown"),
    [("127.0.0.1", "127.0.0.1"), ("::1", "[::1]"), ("0.0.0.0", "here"), ("::", "here")],
)
def test_where_it_answers(address: str, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the port that it has, once it has one; the certificate is the one that is shown then."""
    monkeypatch.setenv("HOSTNAME", "here")
    serving = CONFIG.serving.model_copy(update={"bind_address": address, "secure_port": 0})
    config = CONFIG.model_copy(update={"serving": serving})
    state, clock = ReplicaState(), SystemClock()
    certificates = ServingCertificates(SelfSignedCertificate(["localhost"], clock), clock)
    assert serving_place.served_at(config, state, certificates) is None
    state.port = 4711
    served = serving_place.served_at(config, state, certificates)
    assert served == (f"https://{shown}:4711", certificates.certificate)
    assert "PRIVATE KEY" not in certificates.certificate


def test_configz_is_what_was_given() -> None:
    """As the file would have it."""
    assert serving_place.configz(CONFIG)["clientConnection"] == {
        "kubeconfig": "",
        "master": NOWHERE,
    }


def test_configz_shows_no_password() -> None:
    """Of an address that has one; all else is as it was given."""
    config = OperatorConfiguration().model_copy(
        update={"client_connection": ClientConnectionOptions(master="https://user:S3CRET@host:1")}
    )
    shown = serving_place.configz(config)
    assert "S3CRET" not in str(shown)
    assert "https://host:1" in str(shown)
