"""What the reproductions of held loops share: expensive objects of one profile beside ordinary pods
of another.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from typing import Any

from tests.faults.stage import DRA, PODS, Stage, Stream, pod_body, verdict
from tests.rig.clients import Client, many

LIMIT = 1.0
"""Seconds that an ordinary pod of another profile may wait longer."""


def disturbed(
    bodies: Sequence[Callable[[], Any]],
    seconds: float,
    nodes: int,
    real: bool = True,
    config: dict[str, Any] | None = None,
) -> None:
    """Create what these give in profile ``test``; pods of profile ``other`` come meanwhile. Ends
    the program with the verdict.

    A body is a pod's, or (path, object) for something else.
    """
    with (
        Stage(nodes=nodes, profiles=("test", "other"), real=real, config=config) as stage,
        Stream(stage, "other") as stream,
    ):
        time.sleep(3)
        quiet, before = stream.worst(), len(stream.waits)
        cpu = stage.cpu()

        def create(make: Callable[[], Any], client: Client) -> None:
            made = make()
            path, body = made if isinstance(made, tuple) else (PODS, made)
            client.post(path, body)

        ordered = [functools.partial(create, make) for make in bodies]
        for job in ordered[:10]:
            job(stage.client)
        many(stage.rig, ordered[10:], 4)
        end = time.monotonic() + seconds
        while time.monotonic() < end and stage.operator.alive:
            time.sleep(0.2)
        alive, worst = stage.operator.alive, stream.worst(before)
        used = f"{stage.cpu() - cpu:.0f} s of CPU" if alive else "no CPU figure"
        verdict(
            not alive or worst > quiet + LIMIT,
            (
                f"pods of another profile waited {worst:.2f} s at most ({quiet:.2f} s before), "
                f"{used}, process lives: {alive}"
            ),
        )


def node_affinity(count: int, operator: str, offset: int = 0) -> dict[str, Any]:
    """So many expressions, which every node is asked for, and one that no node meets."""
    found = [
        {"key": "kubernetes.io/hostname", "operator": operator, "values": [str(k + offset * 7)]}
        for k in range(count)
    ]
    term = {"matchExpressions": [*found, {"key": "absent", "operator": "Exists"}]}
    return {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}
        }
    }


def cel_claims(
    expressions: dict[str, str], devices: int = 128, slices: int = 30
) -> list[Callable[[], Any]]:
    """Slices of devices, a class, and for each expression a claim with that selector and a pod that
    uses it.
    """
    found: list[Callable[[], Any]] = []
    kind = {"apiVersion": "resource.k8s.io/v1"}
    selectors = [{"cel": {"expression": "device.driver == 'drv.example'"}}]
    found.append(
        lambda: (
            f"{DRA}/deviceclasses",
            {
                **kind,
                "kind": "DeviceClass",
                "metadata": {"name": "dc"},
                "spec": {"selectors": selectors},
            },
        )
    )

    def a_slice(i: int) -> Any:
        listed = [
            {"name": f"d{k}", "attributes": {"b": {"int": k}, "s": {"string": "x" * 60}}}
            for k in range(devices)
        ]
        pool = {"name": f"n{i}", "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": "drv.example", "nodeName": f"n{i}", "pool": pool, "devices": listed}
        return f"{DRA}/resourceslices", {
            **kind,
            "kind": "ResourceSlice",
            "metadata": {"name": f"s{i}"},
            "spec": spec,
        }

    found += [functools.partial(a_slice, i) for i in range(slices)]
    for name, expression in expressions.items():
        request = {
            "name": "r",
            "exactly": {
                "deviceClassName": "dc",
                "count": 1,
                "selectors": [{"cel": {"expression": expression}}],
            },
        }
        claim = {
            **kind,
            "kind": "ResourceClaim",
            "metadata": {"name": name},
            "spec": {"devices": {"requests": [request]}},
        }
        found.append(functools.partial(tuple, (f"{DRA}/namespaces/default/resourceclaims", claim)))
        found.append(
            functools.partial(
                pod_body, f"u-{name}", resourceClaims=[{"name": "c", "resourceClaimName": name}]
            )
        )
    return found
