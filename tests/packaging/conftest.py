"""Fixtures: the programs that render."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools.required_assets import required_assets


@pytest.fixture(scope="session", autouse=True)
def kubectl() -> Path:
    """It makes objects of manifests/ (kustomizing.py)."""
    return required_assets() / "kubectl"


@pytest.fixture(scope="session")
def helm() -> Path:
    """It makes objects of manifests/chart."""
    return required_assets("helm") / "helm"
