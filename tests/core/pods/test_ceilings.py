"""Ceilings: what is above one is refused by name, and nothing that is looked at is above one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from moorage.core.columns.cache import Cache
from moorage.core.cycle.context import CycleContext, Diagnosis
from moorage.core.cycle.cycle import decide
from moorage.core.framework.registry import build_registry
from moorage.core.framework.revisions import RequestedProfile, resolve
from moorage.core.framework.status import Code
from moorage.core.objects.meta import ObjectMeta
from moorage.core.objects.nodes import NodeStatus
from moorage.core.objects.pods import Pod, PodSpec
from moorage.core.objects.selector_terms import LabelSelector
from moorage.core.objects.storage import (
    AnnotatedMeta,
    CSINode,
    CSINodeDriver,
    CSINodeSpec,
    CSIStorageCapacity,
)
from moorage.core.objects.workloads import Service, ServiceSpec
from moorage.core.plugins.intree import INTREE, PRESETS
from moorage.core.pods.affinity_terms import pod_terms
from moorage.core.pods.ceilings import (
    CEILINGS,
    MAX_UNCHECKED_BYTES,
    OF_OTHERS,
    TooLarge,
    _pod_terms,
    check,
    too_large,
    uncounted,
)
from moorage.core.pods.signatures import pod_signature
from moorage.core.volumes.pod_volumes import volumes_of
from tests.builders import make_node, make_pod

REVISION = resolve(RequestedProfile("test"), build_registry(INTREE), PRESETS)
REQUIRED, PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)
TERM = {"topologyKey": "a"}
SPREAD = {"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule"}


def specs(n: int) -> dict[str, dict[str, Any]]:
    """By a word of the field: a spec with n of the things that have a ceiling there, each as short
    as the API server lets it be.
    """
    names = [f"{i:x}" for i in range(n)]
    one_of_each = [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}] * (n // 2)
    values = {
        "labelSelector": {"matchExpressions": [{"key": "a", "operator": "In", "values": names[1:]}]}
    }
    return {
        "containers": {"containers": [{"name": name} for name in names]},
        "resources": {
            "containers": [{"name": "a", "resources": {"requests": dict.fromkeys(names, "1")}}]
        },
        "ports": {"containers": [{"name": "a", "ports": [{"hostPort": i} for i in range(n)]}]},
        "nodeSelector": {"nodeSelector": dict.fromkeys(names, "")},
        "nodeAffinity": {
            "affinity": {
                "nodeAffinity": {REQUIRED: {"nodeSelectorTerms": one_of_each + [{}] * (n % 2)}}
            }
        },
        "podAffinity": {
            "affinity": {
                "podAffinity": {REQUIRED: [TERM] * (n - 1), PREFERRED: [{"podAffinityTerm": TERM}]}
            }
        },
        "topologySpread": {"topologySpreadConstraints": [SPREAD] * n},
        "selectors": {"affinity": {"podAntiAffinity": {REQUIRED: [{**TERM, **values}]}}},
        "tolerations": {"tolerations": [{"operator": "Exists"}] * n},
        "volumes": {
            "volumes": [
                {"name": name, "persistentVolumeClaim": {"claimName": "a"}} for name in names
            ]
        },
        "resourceClaims": {
            "resourceClaims": [{"name": name, "resourceClaimName": "a"} for name in names]
        },
    }


def a_pod(spec: dict[str, Any]) -> Pod:
    """A pod with this in its spec."""
    return msgspec.structs.replace(make_pod("p"), spec=msgspec.convert(spec, PodSpec))


@pytest.mark.parametrize("ceiling", CEILINGS, ids=lambda ceiling: ceiling.field)
def test_each_ceiling(ceiling: Any) -> None:
    """So many are looked at, one more is refused, and none of these pods is so small that it would
    not be counted through.
    """
    (word,) = [
        word
        for word in specs(2)
        if word in ceiling.field and (word != "containers" or "and initContainers" in ceiling.field)
    ]
    fits, exceeds = a_pod(specs(ceiling.most)[word]), a_pod(specs(ceiling.most + 1)[word])
    assert too_large(fits) == ""
    assert too_large(exceeds).startswith(
        f"{ceiling.field} has {ceiling.most + 1} {ceiling.things}, and more than {ceiling.most}"
    )
    assert len(pod_signature(exceeds)) > MAX_UNCHECKED_BYTES


def test_a_pod_that_is_too_large_fails_before_plugins_see_it() -> None:
    """By the name of the field."""
    context = CycleContext(Cache())
    context.cache.put_node(make_node("n"))
    outcome = decide(a_pod(specs(201)["podAffinity"]), REVISION, context)
    assert isinstance(outcome, Diagnosis)
    assert (outcome.code, outcome.message.split(" has ")[0]) == (
        Code.ERROR,
        "spec.affinity.podAffinity and podAntiAffinity",
    )
    assert not len(context.evaluator)


def test_plain_volumes_do_not_count() -> None:
    """Placement does not depend on them."""
    assert too_large(a_pod({"volumes": [{"name": str(i)} for i in range(2000)]})) == ""


def test_the_page_lists_them_all() -> None:
    """With these words."""
    page = (Path(__file__).parents[3] / "docs" / "limits.md").read_text(encoding="utf-8")
    missing = [
        row
        for field, things, most, _ in (*CEILINGS, *OF_OTHERS.values())
        if (row := f"| {field} | {most:,} {things} |") not in page
    ]
    assert not missing


def test_of_other_objects_more_is_refused() -> None:
    """By the name of the field."""
    for n, refused in ((1000, False), (1001, True)):
        amounts: dict[str, str | int] = {f"example.com/r{i}": "1" for i in range(n)}
        node = msgspec.structs.replace(make_node("n"), status=NodeStatus(amounts))
        drivers = CSINode(
            AnnotatedMeta(name="n"), CSINodeSpec(tuple(CSINodeDriver(f"d{i}") for i in range(n)))
        )
        labels = {f"l{i}": "" for i in range(n)}
        capacity = CSIStorageCapacity(ObjectMeta("c"), "big", node_topology=LabelSelector(labels))
        service = Service(ObjectMeta("s"), ServiceSpec(labels))
        cases = (
            (node, "status.allocatable of a Node has 1001"),
            (drivers, "spec.drivers of a CSINode has 1001"),
            (capacity, "nodeTopology of a CSIStorageCapacity has 1001"),
            (service, "spec.selector of a Service has 1001"),
        )
        for obj, field in cases:
            if refused:
                with pytest.raises(TooLarge, match=field):
                    check(obj)
            else:
                check(obj)


def on_a_node(labels: list[str], values: int = 1, wished: int = 0) -> Pod:
    """A pod on a node that wants none with these labels beside it, and would like many others
    (``wished``).
    """

    def term(label: str) -> dict[str, Any]:
        words = [str(i) for i in range(values)]
        return {
            "topologyKey": "a",
            "labelSelector": {
                "matchExpressions": [{"key": label, "operator": "In", "values": words}]
            },
        }

    liked = [{"weight": 1, "podAffinityTerm": term(f"w{i}")} for i in range(wished)]
    affinity = {
        "podAntiAffinity": {REQUIRED: [term(label) for label in labels]},
        "podAffinity": {PREFERRED: liked},
    }
    return a_pod({"nodeName": "n", "affinity": affinity})


@pytest.mark.parametrize(
    ("pod", "counted"),
    [
        (on_a_node(["a"] * 200), (200, 0)),
        (on_a_node(["a"] * 201), (200, 0)),
        (on_a_node(["a"] * 150, wished=100), (150, 50)),
        (on_a_node(["a"], values=4999), (1, 0)),
        (on_a_node(["a"], values=5000), (0, 0)),
        (on_a_node(["a", "b"], values=3000, wished=1), (1, 0)),
    ],
)
def test_what_a_pod_on_a_node_says_of_others_counts_up_to_the_ceiling(
    pod: Pod, counted: tuple[int, int]
) -> None:
    """First what it forbids; and it is said where that is not all."""
    terms = pod_terms(pod)
    assert (len(terms.anti_affinity), len(terms.preferred)) == counted
    assert bool(uncounted(pod)) == (sum(counted) < len(_pod_terms(pod)))


def test_volumes_of_a_pod_on_a_node_count_up_to_the_ceiling() -> None:
    """Plain ones do not count against it."""
    plain = [{"name": f"plain{i}"} for i in range(500)]
    for n in (1000, 1001):
        pod = a_pod({"nodeName": "n", "volumes": [*plain, *specs(n)["volumes"]["volumes"]]})
        assert len(volumes_of(pod).claims) == 1000
        assert bool(uncounted(pod)) == (n > 1000)
