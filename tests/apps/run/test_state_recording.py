"""The operator's recorder among its other parts."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from moorage.adapters.prometheus import PrometheusTelemetry
from moorage.adapters.recording import OWN_VERSIONS, read_recording
from moorage.api.operator_config import load_config
from moorage.apps.run import state_recording
from moorage.ports.errors import EdgeError, Forbidden
from moorage.ports.http_calls import HttpCall
from tests.engine.running import Running
from tests.fakes.clocks import ManualClock
from tests.fakes.kube import InMemoryKube


@pytest.mark.parametrize(
    ("answer", "want"),
    [
        (b'{"gitVersion": "v1.36.1"}', {"kubernetes": "v1.36.1"}),
        (Forbidden("not for you", 403), {}),
        (b"no JSON", {}),
        (b"[]", {}),
        (b"{}", {}),
    ],
)
def test_the_header_says_which_api_server_it_was(
    tmp_path: Path, answer: bytes | EdgeError, want: dict[str, str]
) -> None:
    """Where it says so; a recording is begun all the same."""
    running = Running(InMemoryKube(), ManualClock())

    async def call(asked: HttpCall) -> bytes:
        assert asked.path == "/version"
        if isinstance(answer, bytes):
            return answer
        raise answer

    async def scenario() -> None:
        config = load_config(None, {}, {"recording.directory": str(tmp_path / "ring")})
        recorder = state_recording.recorder_of(config, running.resolver, running.clock, "me")
        telemetry = PrometheusTelemetry()
        parts = state_recording.joined(recorder, running.engine, call, telemetry)
        task = asyncio.create_task(parts.tasks["recording"]())
        await asyncio.sleep(0)
        parts.lead()
        page = telemetry.render().decode()
        assert 'moorage_recording_state{state="Recording"} 1.0' in page
        assert "moorage_recording_since_timestamp_seconds 0.0" not in page
        task.cancel()
        await asyncio.wait({task})
        await parts.close()

    asyncio.run(scenario())
    header = read_recording(tmp_path / "ring").header
    assert header.versions == {**OWN_VERSIONS, **want}
    assert header.replica == "me"
