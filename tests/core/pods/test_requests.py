"""What pods ask for agrees with plain loops over fractions, is named by its field when unreadable,
and never overflows.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings

from kubefacts.quantities import QuantityError
from moorage.core.columns.nodes.node_table import NodeTable
from moorage.core.objects.nodes import Node
from moorage.core.objects.pods import Pod
from moorage.core.pods.host_ports import HostPort
from moorage.core.pods.requests import (
    FIT,
    MAX_AMOUNT,
    SCORED,
    USED,
    RequestRules,
    Requests,
    allocatable_amounts,
    host_ports,
    pod_amounts,
    pod_requests,
    unreadable_requests,
)
from moorage.core.pods.resource_names import is_extended, is_scalar
from tests.builders import make_node, make_pod
from tests.core.resource_strategies import pods
from tests.oracle import resources as naive


def pod_of(spec: dict[str, Any], status: dict[str, Any] | None = None) -> Pod:
    """A pod from JSON."""
    return msgspec.convert({"metadata": {"name": "p"}, "spec": spec, "status": status or {}}, Pod)


def asking(**requests: str) -> dict[str, Any]:
    """A container."""
    return {"name": "c", "resources": {"requests": requests}}


# ---- agreement with the naive twin ---------------------------------------------------------------


@given(pods())
@settings(deadline=None)
def test_amounts_agree_with_the_naive_ones(pod: Pod) -> None:
    """For each way of counting."""
    for counting in (FIT, USED, SCORED, RequestRules(status=True, pod_level=False)):
        want = naive.asks(
            pod, status=counting.status, pod_level=counting.pod_level, defaults=counting.defaults
        )
        assert pod_amounts(pod, counting) == want


@given(pods())
@settings(deadline=None)
def test_requests_agree_with_the_naive_ones(pod: Pod) -> None:
    """Also with defaults for containers that say nothing."""
    requests = pod_requests(pod)
    want, full = naive.asks(pod, status=True), naive.asks_with_defaults(pod)
    assert (requests.cpu, requests.memory) == (want.pop("cpu", 0), want.pop("memory", 0))
    nonzero = full.get("cpu", 0), full.get("memory", 0)
    assert (requests.nonzero_cpu, requests.nonzero_memory) == nonzero
    assert requests.others == tuple(sorted(want.items()))


# ---- single rules --------------------------------------------------------------------------------

AMOUNTS = {
    "rounded once per pod": (
        pod_of({"containers": [asking(cpu="0.5m"), asking(cpu="0.5m")]}),
        {"cpu": 1},
    ),
    "the largest init container": (
        pod_of(
            {"containers": [asking(cpu="1")], "initContainers": [asking(cpu="3"), asking(cpu="2")]}
        ),
        {"cpu": 3000},
    ),
    "a sidecar beside all that follow": (
        pod_of(
            {
                "containers": [asking(cpu="1")],
                "initContainers": [{**asking(cpu="2"), "restartPolicy": "Always"}, asking(cpu="4")],
            }
        ),
        {"cpu": 6000},
    ),
    "an init container before the sidecar": (
        pod_of(
            {
                "containers": [asking(cpu="1")],
                "initContainers": [asking(cpu="4"), {**asking(cpu="2"), "restartPolicy": "Always"}],
            }
        ),
        {"cpu": 4000},
    ),
    "overhead on top": (
        pod_of({"containers": [asking(cpu="1")], "overhead": {"cpu": "250m", "memory": "1"}}),
        {"cpu": 1250, "memory": 1},
    ),
    "pod level replaces cpu but not gpus": (
        pod_of(
            {
                "containers": [asking(**{"cpu": "1", "example.com/gpu": "2"})],
                "resources": {"requests": {"cpu": "5", "example.com/gpu": "7"}},
            }
        ),
        {"cpu": 5000, "example.com/gpu": 2},
    ),
    "untracked names are left out": (
        pod_of({"containers": [asking(cpu="1", pods="3", storage="5", **{"a/b/c": "1"})]}),
        {"cpu": 1000},
    ),
    "nothing": (pod_of({"containers": [{"name": "c"}]}), {}),
    "null lists": (pod_of({"containers": None, "initContainers": None, "overhead": None}), {}),
}


@pytest.mark.parametrize("case", AMOUNTS)
def test_amounts(case: str) -> None:
    """One rule at a time."""
    pod, want = AMOUNTS[case]
    assert pod_amounts(pod, FIT) == want


def test_a_resize_counts_twice_until_it_is_done() -> None:
    """The larger of what was asked and what the kubelet gave; once the resize is infeasible, only
    what it gave.
    """
    given = {
        "containerStatuses": [
            {
                "name": "c",
                "resources": {"requests": {"cpu": "2"}},
                "allocatedResources": {"cpu": "1"},
            }
        ]
    }
    refused = {**given, "conditions": [{"type": "PodResizePending", "reason": "Infeasible"}]}
    spec = {"containers": [asking(cpu="4")]}
    assert pod_requests(pod_of(spec, given)).cpu == 4000
    assert pod_requests(pod_of(spec, refused)).cpu == 2000
    assert pod_amounts(pod_of(spec, refused), FIT) == {"cpu": 4000}


def test_totals_are_compared_and_not_containers() -> None:
    """What one container asks for more and another runs with more do not add up; what an init
    container was given counts too.
    """
    status = {
        "containerStatuses": [
            {"name": "a", "resources": {"requests": {"cpu": "1"}}},
            {"name": "b", "resources": {"requests": {"cpu": "3"}}},
        ],
        "initContainerStatuses": [{"name": "i", "allocatedResources": {"memory": "5"}}],
    }
    spec = {
        "containers": [{**asking(cpu="3"), "name": "a"}, {**asking(cpu="1"), "name": "b"}],
        "initContainers": [{**asking(memory="1"), "name": "i"}],
    }
    assert pod_amounts(pod_of(spec, status), USED) == {"cpu": 4000, "memory": 5}


def test_what_the_kubelet_says_of_the_pod_goes_before_what_it_says_of_containers() -> None:
    """Also where the pod itself asks for nothing; where it does, for each resource of its own."""
    pod_wide = {"resources": {"requests": {"cpu": "2"}}, "allocatedResources": {"cpu": "3"}}
    status = {**pod_wide, "containerStatuses": [{"name": "c", "allocatedResources": {"cpu": "9"}}]}
    spec = {"containers": [asking(cpu="1")]}
    assert pod_amounts(pod_of(spec, status), USED) == {"cpu": 3000}
    both = {**spec, "resources": {"requests": {"memory": "1"}}}
    assert pod_amounts(pod_of(both, status), USED) == {"cpu": 3000, "memory": 1}


def test_a_pod_of_an_infeasible_resize_has_only_what_it_was_given() -> None:
    """Nothing, where nobody says; then each container counts with the defaults."""
    status = {"conditions": [{"type": "PodResizePending", "reason": "Infeasible"}]}
    requests = pod_requests(pod_of({"containers": [asking(cpu="4")]}, status))
    assert (requests.cpu, requests.nonzero_cpu) == (0, 100)


def test_defaults_are_per_container_and_spare_an_explicit_zero() -> None:
    """100 millicores and 200 MiB for each container that says nothing; a pod-level request leaves
    only what nobody named.
    """
    two = pod_of({"containers": [asking(memory="1Gi"), asking(cpu="0")]})
    assert (pod_requests(two).nonzero_cpu, pod_requests(two).nonzero_memory) == (
        100,
        (1024 + 200) * 2**20,
    )
    level = pod_of({"containers": [asking(), asking()], "resources": {"requests": {"cpu": "1m"}}})
    assert (pod_requests(level).nonzero_cpu, pod_requests(level).nonzero_memory) == (1, 400 * 2**20)
    named = pod_of(
        {"containers": [asking(memory="1Gi"), asking()], "resources": {"requests": {"cpu": "1m"}}}
    )
    assert pod_requests(named).nonzero_memory == 2**30


def test_pods_of_one_template_share_their_requests() -> None:
    """So that many pods cost little memory and time."""
    assert pod_requests(make_pod("a")) is pod_requests(make_pod("b"))


def test_an_unreadable_pod_takes_a_place_and_nothing_else() -> None:
    """The table counts the pod by itself."""
    assert unreadable_requests() == Requests(0, 0, 0, 0)


# ---- names ---------------------------------------------------------------------------------------

SCALAR = [
    "example.com/gpu",
    "hugepages-2Mi",
    "attachable-volumes-csi-x",
    "kubernetes.io/batch-cpu",
    "a.kubernetes.io/b",
]
NOT_SCALAR = [
    "gpu",
    "pods",
    "storage",
    "requests.example.com/gpu",
    "example.com/",
    "a/b/c",
    "x" * 250 + "/gpu",
]


@pytest.mark.parametrize("name", SCALAR + NOT_SCALAR)
def test_which_resources_are_tracked(name: str) -> None:
    """Extended resources, huge pages, volumes and what has kubernetes.io in its name."""
    assert is_scalar(name) == (name in SCALAR)


def test_what_kubernetes_hands_out_is_not_extended() -> None:
    """Only a domain of somebody else's makes a resource extended."""
    assert is_extended("example.com/gpu")
    assert not any(
        map(is_extended, ["cpu", "hugepages-2Mi", "kubernetes.io/x", "requests.example.com/gpu"])
    )


# ---- ports ---------------------------------------------------------------------------------------


def test_host_ports() -> None:
    """App containers' and sidecars' ports that have a host port, with protocol and address filled
    in.
    """
    pod = pod_of(
        {
            "containers": [
                {
                    "name": "a",
                    "ports": [
                        {"hostPort": 80},
                        {"containerPort": 81},
                        {"hostPort": 53, "protocol": "UDP", "hostIP": "10.0.0.1"},
                    ],
                }
            ],
            "initContainers": [
                {"name": "b", "ports": [{"hostPort": 82}]},
                {"name": "c", "ports": [{"hostPort": 83}], "restartPolicy": "Always"},
            ],
        }
    )
    want = (
        HostPort("TCP", 80, "0.0.0.0"),
        HostPort("UDP", 53, "10.0.0.1"),
        HostPort("TCP", 83, "0.0.0.0"),
    )
    assert host_ports(pod) == want
    assert pod_requests(pod).ports == want


# ---- bad and extreme input -----------------------------------------------------------------------

BAD = {"cpu": "1 core"}
PATHS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "spec.containers[1].resources.requests[cpu]": (
        {"containers": [asking(cpu="1"), {"name": "d", "resources": {"requests": BAD}}]},
        {},
    ),
    "spec.initContainers[0].resources.requests[cpu]": (
        {"initContainers": [{"name": "d", "resources": {"requests": BAD}}]},
        {},
    ),
    "spec.overhead[cpu]": ({"overhead": BAD}, {}),
    "spec.resources.requests[cpu]": ({"resources": {"requests": BAD}}, {}),
    "status.containerStatuses[0].resources.requests[cpu]": (
        {"containers": [asking(cpu="1")]},
        {"containerStatuses": [{"name": "c", "resources": {"requests": BAD}}]},
    ),
    "status.containerStatuses[0].allocatedResources[cpu]": (
        {"containers": [asking(cpu="1")]},
        {
            "containerStatuses": [
                {"name": "c", "allocatedResources": BAD, "resources": {"requests": {}}}
            ]
        },
    ),
    "status.resources.requests[cpu]": (
        {"resources": {"requests": {"cpu": "1"}}},
        {"resources": {"requests": BAD}},
    ),
    "status.allocatedResources[cpu]": (
        {"resources": {"requests": {"cpu": "1"}}},
        {"resources": {}, "allocatedResources": BAD},
    ),
}


@pytest.mark.parametrize("path", PATHS)
def test_the_unreadable_field_is_named(path: str) -> None:
    """With its path and its text."""
    with pytest.raises(QuantityError) as caught:
        pod_requests(pod_of(*PATHS[path]))
    assert str(caught.value).startswith(f"{path}: '1 core' is not a quantity")


def test_the_unreadable_field_of_a_node_is_named() -> None:
    """Nothing is put into the table then."""
    table = NodeTable()
    with pytest.raises(QuantityError, match=r"^status\.allocatable\[memory\]: 'lots' is not"):
        table.put(make_node("n", memory="lots"))
    assert len(table) == 0


def test_amounts_are_kept_in_range() -> None:
    """An absurd request fits on no node, not even an absurd one, and a node full of them does not
    overflow.
    """
    requests = pod_requests(make_pod("a", cpu="1e30", memory="9Ei"))
    assert (requests.cpu, requests.memory) == (MAX_AMOUNT, MAX_AMOUNT)
    assert allocatable_amounts(make_node("n", cpu="1e31", memory="-1")) == {
        "cpu": MAX_AMOUNT - 1,
        "memory": 0,
        "pods": 110,
    }
    assert int(np.array(MAX_AMOUNT) * np.array(1023)) == MAX_AMOUNT * 1023 < 2**63
    assert pod_requests(make_pod("b", cpu="-5")).cpu == 0


def test_allocatable_amounts() -> None:
    """Cpu in millicores, the rest in whole units, unknown names ignored, null the same as
    nothing.
    """
    allocatable = {
        "cpu": "3920m",
        "memory": "1.5Ki",
        "pods": 110,
        "example.com/gpu": "2",
        "devices": "7",
        "ephemeral-storage": "0.1",
    }
    node = msgspec.convert(
        {"metadata": {"name": "n"}, "status": {"allocatable": allocatable}}, Node
    )
    want = {"cpu": 3920, "memory": 1536, "pods": 110, "example.com/gpu": 2, "ephemeral-storage": 1}
    assert allocatable_amounts(node) == want
    assert (
        allocatable_amounts(
            msgspec.convert({"metadata": {"name": "n"}, "status": {"allocatable": None}}, Node)
        )
        == {}
    )
