"""None of the faults is there any more. About 25 minutes, one after another: they measure."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SHARED = {"__init__", "stage", "load", "proxies", "test_faults"}
FAULTS = sorted(file.stem for file in HERE.glob("*.py") if file.stem not in SHARED)
SECONDS = 150
NOT_TRIED = 2


@pytest.fixture(scope="session")
def environment() -> dict[str, str]:
    """The environment of a program, with the folder of kube-apiserver where there is one."""
    if "KUBEBUILDER_ASSETS" in os.environ:
        return dict(os.environ)
    found = subprocess.run(
        [sys.executable, "tests/tools/assets.py"], capture_output=True, text=True, check=False
    )
    return {
        **os.environ,
        **({"KUBEBUILDER_ASSETS": found.stdout.split()[-1]} if found.returncode == 0 else {}),
    }


@pytest.mark.parametrize("fault", FAULTS)
def test_gone(fault: str, environment: dict[str, str]) -> None:
    """The program says that the fault is gone."""
    done = subprocess.run(
        [sys.executable, "-m", f"tests.faults.{fault}"],
        capture_output=True,
        text=True,
        env=environment,
        timeout=SECONDS,
        check=False,
    )
    if done.returncode == NOT_TRIED and "not tried" in done.stdout:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-3000:]}"
