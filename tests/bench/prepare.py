"""Make what the operator needs of a cluster and a fresh one lacks: ``python tests/bench/prepare.py
KUBECONFIG NAME``.

Its CRDs, the namespace of its lease, and one SchedulerProfile called NAME, preset Default.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import yaml

from moorage.adapters.kube_session import KubeSession, KubeSource
from moorage.adapters.system_clock import SystemClock
from moorage.ports.errors import Conflict, EdgeError
from moorage.ports.http_calls import HttpCall

ROOT = Path(__file__).parents[2]
NAMESPACE = "moorage-system"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PROFILES = "/apis/moorage.dev/v1alpha1/schedulerprofiles"


async def prepare(kubeconfig: str, name: str) -> None:
    """Make namespace, CRDs and profile; each may be there already."""
    session = await KubeSession.open(KubeSource(kubeconfig), "moorage-bench", SystemClock())

    async def make(path: str, body: Any) -> None:
        try:
            await session.call(HttpCall("POST", path, json.dumps(body).encode()))
        except Conflict:
            return

    await make("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    for file in sorted((ROOT / "crds").glob("*.yaml")):
        body = yaml.safe_load(file.read_text())
        if body["kind"] == "CustomResourceDefinition":
            await make(CRDS, body)
    profile = {
        "apiVersion": "moorage.dev/v1alpha1",
        "kind": "SchedulerProfile",
        "metadata": {"name": name},
        "spec": {},
    }
    for attempt in range(100):
        try:
            await make(PROFILES, profile)
            break
        except EdgeError:
            if attempt == 99:
                raise
            await asyncio.sleep(0.1)
    await session.close()


if __name__ == "__main__":
    asyncio.run(prepare(*sys.argv[1:]))
