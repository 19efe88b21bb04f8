"""What tests of commands have in common."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the terminal of somebody who runs the tests can do is his."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.fixture
def files(tmp_path: Path) -> Any:
    """Writes objects into a file, and says where."""

    def write(*bodies: dict[str, Any]) -> Path:
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.yaml"
        path.write_text(yaml.safe_dump_all(bodies))
        return path

    return write
