"""Families: how the cases of each are turned into what we decide."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Callable
from typing import Any

import msgspec

from kubefacts import quantities
from moorage.core.columns.store import Store
from moorage.core.framework.interfaces import ExtensionPoint
from moorage.core.objects.pods import Pod
from moorage.core.pods.requests import pod_requests
from tests.vectors.configurations import configuration
from tests.vectors.files import Case
from tests.vectors.hints import events, hint, registrations
from tests.vectors.pod_groups import pod_groups
from tests.vectors.profiles import revision_of
from tests.vectors.scheduling import scheduling
from tests.vectors.sequences import sequence

Adapter = Callable[[Case], dict[str, Any]]
"""What we decide of a case, in the form of its ``expect``."""

_LARGEST_GIVEN = 9 * 10**15
"""Values are given for quantities from 0 to below this."""


def quantity(case: Case) -> dict[str, Any]:
    """Each text read, or refused."""
    return {"results": [_read(text) for text in case["quantities"]]}


def _read(text: str) -> dict[str, Any]:
    try:
        nanos = quantities.nanos(text)
    except quantities.QuantityError:
        return {"error": True}
    found: dict[str, Any] = {
        "canonical": quantities.canonical(text),
        "sign": (nanos > 0) - (nanos < 0),
    }
    if 0 <= nanos < _LARGEST_GIVEN * quantities.NANO:
        found |= {"value": quantities.value(text), "milliValue": quantities.milli_value(text)}
    return found


def requests(case: Case) -> dict[str, Any]:
    """What a running pod adds to its node."""
    found = pod_requests(msgspec.convert(case["pod"], Pod))
    others = dict(found.others)
    storage = others.pop("ephemeral-storage", 0)
    return {
        "requested": {
            "milliCPU": found.cpu,
            "memory": found.memory,
            "ephemeralStorage": storage,
            "scalar": others,
        },
        "nonZeroRequested": {"milliCPU": found.nonzero_cpu, "memory": found.nonzero_memory},
    }


def gates(case: Case) -> dict[str, Any]:
    """The first preEnqueue plugin that holds the pod back."""
    pod = msgspec.convert(case["pod"], Pod)
    for name, plugin in revision_of(case["profile"]).at(ExtensionPoint.PRE_ENQUEUE):
        status = plugin.pre_enqueue(pod, Store())
        if status.reasons:
            return {
                "preEnqueue": {
                    "code": status.code.value,
                    "plugin": name,
                    "reasons": list(status.reasons),
                }
            }
    return {"preEnqueue": {"code": "Success"}}


def queue(case: Case) -> dict[str, Any]:
    """Names of pods in queue order, equals together."""
    ((_, plugin),) = revision_of(case["profile"]).at(ExtensionPoint.QUEUE_SORT)
    keyed = []
    for entry in case["queue"]:
        pod = msgspec.convert(entry["pod"], Pod)
        queued_at = datetime.datetime.fromisoformat(entry["timestamp"]).timestamp()
        keyed.append((plugin.sort_key(pod, queued_at), pod.metadata.name))
    return {
        "order": [
            [name for _, name in group]
            for _, group in itertools.groupby(sorted(keyed), key=lambda pair: pair[0])
        ]
    }


BUILT: dict[str, Adapter] = {
    "Config": configuration,
    "ConfigOdd": configuration,
    "Quantity": quantity,
    "PodRequests": requests,
    "SchedulingGates": gates,
    "Queue": queue,
    "Hints": hint,
    "Events": events,
    "EventRegistrations": registrations,
    "Sequence": sequence,
    "DefaultPreemption": scheduling,
    "PodGroups": pod_groups,
    **dict.fromkeys(
        (
            "NodeName",
            "NodeUnschedulable",
            "TaintToleration",
            "NodePorts",
            "NodeAffinity",
            "NodeResourcesFit",
            "NodeResourcesFitScore",
            "NodeResourcesBalancedAllocation",
            "ImageLocality",
            "DynamicResources",
            "DynamicResourcesMore",
            "InterPodAffinity",
            "NodeDeclaredFeatures",
            "PodTopologySpread",
            "PodTopologySpreadDefaults",
            "VolumeRestrictions",
            "NodeVolumeLimits",
            "VolumeBinding",
            "VolumeZone",
            "Profiles",
            "DefaultProfile",
        ),
        scheduling,
    ),
}
"""Families that must pass in full."""
