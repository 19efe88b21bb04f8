"""`moorage status` of a large cluster answers before anybody has asked again."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from tests.apps.outputs.reading import read_output
from tests.rig.embedded import BARE, DevRig
from tests.rig.objects import create
from tests.rig.operators import Operator, install, until
from tests.suites import BUDGET_FACTOR

SECONDS = 1.5
RUNS = 5
NODES = 5_000
PROFILES = 12
FACTOR = float(os.environ.get(BUDGET_FACTOR, "1"))


def asked(rig: DevRig) -> str:
    """What it prints for programs."""
    words = (sys.executable, "-I", "-m", "moorage", "status", "-o", "json")
    command = (*words, "--kubeconfig", str(rig.kubeconfig))
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=60).stdout


def test_status_is_quick(figures: Callable[..., None]) -> None:
    """At the median of several, with the operator's own rates, which it is asked for."""
    with DevRig(options=("--nodes", str(NODES), *BARE)) as rig:
        kubeconfig = install(rig)
        profile = {"apiVersion": "moorage.dev/v1alpha1", "kind": "SchedulerProfile", "spec": {}}
        create(rig, *({**profile, "metadata": {"name": f"p{i}"}} for i in range(PROFILES)))
        with Operator(rig, kubeconfig, "moorage-large") as operator:
            operator.wait_logged("health and metrics are served")
            until(lambda: read_output(asked(rig))["well"], "all profiles are ready")
            found = read_output(asked(rig))
            before, took = _cpu_seconds(), []
            for _ in range(RUNS):
                began = time.perf_counter()
                asked(rig)
                took.append(time.perf_counter() - began)
            worked = (_cpu_seconds() - before) / RUNS
    assert (len(found["profiles"]), found["leftOut"]) == (PROFILES, [])
    median = statistics.median(took)
    figures(seconds=round(median, 3), cpu_seconds=round(worked, 3))
    assert median <= SECONDS * FACTOR


def _cpu_seconds() -> float:
    """Of processes that have ended."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime
