"""Each variant and component: applied by kubectl, its pods placed by kube-scheduler and run with
their own ServiceAccount, its story, and deleted by kubectl.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.rig import Rig
from tests.rig.admission_routes import lead_to
from tests.rig.kube_schedulers import kube_scheduler
from tests.rig.objects import create, delete
from tests.rig.operators import NAMESPACE, until
from tests.rig.processes import RigError
from tests.variants.conftest import CONTROL_PLANES, WORKERS
from tests.variants.installations import MANIFESTS, Installation, installed, pod

COMPONENTS: Final = MANIFESTS / "components"
POOL: Final = "moorage.dev/pool"
THEIRS: Final = "default-scheduler"


def profile(name: str, **spec: Any) -> dict[str, Any]:
    """A SchedulerProfile."""
    return {
        "apiVersion": "moorage.dev/v1alpha1",
        "kind": "SchedulerProfile",
        "metadata": {"name": name},
        "spec": spec,
    }


def namespace(name: str, **labels: str) -> dict[str, Any]:
    """A Namespace."""
    metadata = {"name": name, "labels": labels}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


@pytest.fixture
def beside(cluster: Rig) -> Iterator[Rig]:
    """The cluster with kube-scheduler, which is nobody's but the cluster's."""
    with kube_scheduler(cluster, THEIRS):
        yield cluster


# ---- variants ------------------------------------------------------------------------------------


def test_default(beside: Rig) -> None:
    """Two replicas, and the samples."""
    samples = MANIFESTS / "samples"
    with installed(beside, MANIFESTS / "default") as there:
        there.serves(2)
        beside.kubectl("apply", "-f", str(samples))
        for name in ("binpack", "spread"):
            there.ready(name)
        beside.kubectl("wait", "--for=condition=PodScheduled", "pods", "--all", "--timeout=60s")
        beside.kubectl("delete", "-f", str(samples), "--timeout=60s")


def test_ha(beside: Rig) -> None:
    """Three replicas on nodes of their own, in both zones. The leader dies: another one leads."""
    with installed(beside, MANIFESTS / "ha") as there:
        there.serves(3)
        nodes = there.nodes().values()
        assert len(set(nodes)) == 3
        assert {WORKERS[node] for node in nodes} == {"a", "b"}
        create(beside, profile("steady"))
        there.ready("steady")
        there.places(pod("before", schedulerName="steady"), by="steady")
        first = there.leader()
        assert first is not None
        first.kill()
        until(lambda: there.leader() not in (None, first), "another leader", 60)
        there.places(pod("after", schedulerName="steady"), by="steady")
        beside.kubectl("-n", NAMESPACE, "delete", "pod", first.name)
        until(lambda: first not in there.kubelet.running.values(), "its pod is gone")
        there.serves(3)


def test_guest(beside: Rig) -> None:
    """A pool of nodes by label and taint, a profile by namespace. The operator stands elsewhere;
    other pods are kube-scheduler's, and keep off the pool.
    """
    pool, team = ["worker-3", "worker-4"], namespace("team", **{POOL: "yes"})
    beside.kubectl("label", "node", *pool, f"{POOL}=yes")
    beside.kubectl("taint", "node", *pool, f"{POOL}=yes:NoSchedule")
    tolerant = {"tolerations": [{"key": POOL, "operator": "Exists"}]}
    try:
        with installed(beside, MANIFESTS / "guest", COMPONENTS / "assign") as there:
            there.serves(2)
            assert not set(there.nodes().values()) & set(pool)
            beside.kubectl("apply", "-f", str(MANIFESTS / "guest" / "profile.yaml"))
            beside.kubectl("wait", "--for=condition=Assigned", "sprof/guest", "--timeout=60s")
            create(beside, team)
            dry = ("-n", "team", "run", "x", "--image=x", "--dry-run=server")
            named = (*dry, "-o", "jsonpath={.spec.schedulerName}")
            until(lambda: beside.kubectl(*named) == "guest", "the policy is known")
            assert there.places(pod("ours", "team", **tolerant), by="guest") in pool
            assert there.places(pod("other"), by=THEIRS) not in pool
            delete(beside, team)
    finally:
        beside.kubectl("taint", "node", *pool, f"{POOL}-")
        beside.kubectl("label", "node", *pool, f"{POOL}-")


def test_default_scheduler(cluster: Rig) -> None:
    """It takes the name while kube-scheduler has another one, which places the operator; and gives
    it back.
    """
    nameless = profile(THEIRS, preset="Default")
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(contextlib.ExitStack())
        first.enter_context(kube_scheduler(cluster, THEIRS, lease="kube-scheduler"))
        there = stack.enter_context(installed(cluster, MANIFESTS / THEIRS))
        cluster.kubectl("apply", "-f", str(MANIFESTS / THEIRS / "profile.yaml"))
        waiting = until(there.nodes, "the operator's pods")
        assert set(waiting.values()) == {""}
        first.close()
        with kube_scheduler(cluster, "system-scheduler", lease="system-scheduler"):
            there.serves(2)
            assert set(there.nodes().values()) == set(CONTROL_PLANES)
            there.ready(THEIRS)
            there.places(pod("ours"), by=THEIRS)
        with kube_scheduler(cluster, THEIRS, lease="kube-scheduler"):
            reason = "jsonpath={.status.conditions[?(@.type=='Accepted')].reason}"
            told = ("get", f"sprof/{THEIRS}", "-o", reason)
            until(
                lambda: cluster.kubectl(*told) == "DefaultSchedulerActive", "it stops deciding", 60
            )
            there.places(pod("theirs"), by=THEIRS)
            delete(cluster, nameless)


# ---- components ----------------------------------------------------------------------------------


def overlay(folder: Path, *resources: str, **more: Any) -> Path:
    """A kustomization of an administrator's own, beside a checkout's manifests."""
    (folder / "manifests").symlink_to(MANIFESTS)
    (folder / "crds").symlink_to(MANIFESTS.parent / "crds")
    kind = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
    document = {**kind, "resources": [f"manifests/{name}" for name in resources], **more}
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(document))
    return folder


def test_namespaced_lease(beside: Rig, tmp_path: Path) -> None:
    """The Lease and the revisions are in a namespace of others; none is where the operator is."""
    name = "MOORAGE_CFG_LEADER_ELECTION__RESOURCE_NAMESPACE"
    place = "/spec/template/spec/containers/0/env/1"
    change = [
        {"op": "test", "path": f"{place}/name", "value": name},
        {"op": "replace", "path": place, "value": {"name": name, "value": "moorage-leases"}},
    ]
    patch = {"target": {"kind": "Deployment"}, "patch": json.dumps(change)}
    folder = overlay(tmp_path, "default", "components/namespaced-lease", patches=[patch])
    create(beside, namespace("moorage-leases"))
    with installed(beside, folder) as there:
        there.serves(2, "moorage-leases")
        create(beside, profile("elsewhere"))
        there.ready("elsewhere")
        there.places(pod("one", schedulerName="elsewhere"), by="elsewhere")
        leases = "/apis/coordination.k8s.io/v1/namespaces/{}/leases"
        assert there.client.get(leases.format(NAMESPACE))["items"] == []
    delete(beside, namespace("moorage-leases"))


def test_admission(beside: Rig) -> None:
    """A bad profile is refused, by whichever replica is asked, until the component goes."""
    bad = yaml.safe_dump(profile("bad", weights={"NodeAffinityy": 1}))
    dry = ("apply", "--dry-run=server", "-f", "-")
    with installed(beside, MANIFESTS / "default") as there:
        (one, _) = there.serves(2)
        with added(there, COMPONENTS / "admission"):
            lead_to(beside, one.admission_port)
            make_authority(beside)
            until(lambda: takes(beside, profile("good")), "an answer", 60)
            with pytest.raises(RigError, match=r"denied the request: spec\.weights"):
                beside.kubectl(*dry, input=bad)
        assert "created" in beside.kubectl(*dry, input=bad)


def test_monitoring(beside: Rig) -> None:
    """The monitor finds the Service and its port; who has the role may read metrics, others not."""
    kinds = [crd("ServiceMonitor"), crd("PrometheusRule")]
    create(beside, *kinds)
    beside.establish(*(each["metadata"]["name"] for each in kinds))
    try:
        with installed(beside, MANIFESTS / "default") as there:
            (one, _) = there.serves(2)
            with added(there, COMPONENTS / "monitoring"):
                monitor = object_of(beside, "servicemonitor/moorage")["spec"]
                service = object_of(beside, "service/moorage")
                wanted = monitor["selector"]["matchLabels"].items()
                assert wanted <= service["metadata"]["labels"].items()
                ports = {each["name"] for each in service["spec"]["ports"]}
                assert {each["port"] for each in monitor["endpoints"]} <= ports
                beside.kubectl("create", "serviceaccount", "prometheus")
                token = beside.kubectl("create", "token", "prometheus").strip()
                assert status_of(one.port, token) == http.client.FORBIDDEN
                role = (
                    "--clusterrole=moorage-metrics-reader",
                    "--serviceaccount=default:prometheus",
                )
                beside.kubectl("create", "clusterrolebinding", "scrapes", *role)
                until(lambda: status_of(one.port, token) == http.client.OK, "the right", 60)
                beside.kubectl("delete", "clusterrolebinding", "scrapes")
                beside.kubectl("delete", "serviceaccount", "prometheus")
    finally:
        delete(beside, *kinds)


def test_network_policy(beside: Rig) -> None:
    """It is for the operator's pods, and names ports that they have."""
    with installed(beside, MANIFESTS / "default", COMPONENTS / "network-policy") as there:
        there.serves(2)
        policy = object_of(beside, "networkpolicy/moorage")["spec"]
        labels = policy["podSelector"]["matchLabels"]
        selector = ",".join(f"{key}={value}" for key, value in labels.items())
        pods = object_of(beside, "pods", f"--selector={selector}")["items"]
        assert {each["metadata"]["name"] for each in pods} == there.nodes().keys()
        allowed = {port["port"] for rule in policy["ingress"] for port in rule["ports"]}
        (had,) = {
            tuple(sorted(port["name"] for port in each["spec"]["containers"][0]["ports"]))
            for each in pods
        }
        assert allowed == set(had)


# ---- what they need ------------------------------------------------------------------------------


@contextlib.contextmanager
def added(there: Installation, component: Path) -> Iterator[None]:
    """A component that comes and goes while the operator runs."""
    there.rig.kubectl("apply", "-k", str(component))
    yield
    there.rig.kubectl("delete", "-k", str(component))


def make_authority(rig: Rig) -> None:
    """`moorage admission-ca`."""
    command = [sys.executable, "-I", "-m", "moorage", "admission-ca"]
    access = f"--kubeconfig={rig.kubeconfig}"
    subprocess.run([*command, access], env=rig.environment, check=True, capture_output=True)


def takes(rig: Rig, body: dict[str, Any]) -> bool:
    """Whether the API server would create this."""
    with contextlib.suppress(RigError):
        rig.kubectl("create", "--dry-run=server", "-f", "-", input=yaml.safe_dump(body))
        return True
    return False


def status_of(port: int, token: str) -> int:
    """What the bearer of a token gets who asks for the metrics."""
    context = ssl._create_unverified_context()  # the replica signs its certificate itself
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=10, context=context)
    with contextlib.closing(connection):
        connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {token}"})
        return connection.getresponse().status


def object_of(rig: Rig, *what: str) -> dict[str, Any]:
    """An object, or a list, of the operator's namespace."""
    found: dict[str, Any] = json.loads(rig.kubectl("-n", NAMESPACE, "get", *what, "-o", "json"))
    return found


def crd(kind: str) -> dict[str, Any]:
    """A CustomResourceDefinition of the Prometheus operator's, without its schema."""
    plural = f"{kind.lower()}s"
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.monitoring.coreos.com"},
        "spec": {
            "group": "monitoring.coreos.com",
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural},
            "versions": [version],
        },
    }
