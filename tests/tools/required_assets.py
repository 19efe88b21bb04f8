"""Binaries that a test needs: without them it fails, or is skipped where Go is absent."""

import os
import shutil
from pathlib import Path

import pytest

from tests.tools import assets


def required_assets(which: str = "") -> Path:
    """Their folder; ``which`` is as in assets.py."""
    where = assets.folder(which)
    if lacking := [binary.name for binary in assets.missing(where, which)]:
        message = f"{where} lacks {', '.join(lacking)}"
        if shutil.which("go") or os.environ.get("CI") or os.environ.get("KUBEBUILDER_ASSETS"):
            pytest.fail(f"{message}: run `make assets`")
        pytest.skip(f"NOT TESTED: {message}, and there is no Go to build them with")
    return where
