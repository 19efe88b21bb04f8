"""`make demo`: a control plane on loopback, the operator with two replicas, nodes in three zones, sample profiles and pods.

Everything lives in one temporary folder and ends with this process, however that ends. A replica that is killed is started again
after a moment, as a Deployment would do.
"""

import collections
import json
import shlex
import signal
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, Final

from tests.rig import Kwok, Rig, RigError
from tests.rig.kwok import NODE_ANNOTATION
from tests.rig.operators import ROOT, Operator, install, wait_for
from tests.tools import assets

PROFILES: Final = ("binpack", "spread")
ZONES: Final = ("a", "b", "c")
NODES_A_ZONE: Final = 2
PODS_A_PROFILE: Final = 6
NAMESPACE: Final = "demo"
RESTART_SECONDS: Final = 5.0


def main() -> int:
    """Run until Ctrl-C; 1 when something could not be started."""
    for number in (signal.SIGINT, signal.SIGTERM):  # a shell's background processes are started with SIGINT ignored
        signal.signal(number, signal.default_int_handler)
    try:
        with ExitStack() as stack:
            show(*start(stack))
    except KeyboardInterrupt:
        print("\nThe demo has ended; nothing of it is left.")
        return 0
    except (RigError, assets.AssetsError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    return 0


def start(stack: ExitStack) -> tuple[Rig, list[Operator]]:
    """Start everything; ``stack`` ends it."""
    say("the control plane's binaries (a first time takes some minutes)")
    binaries = assets.ensure()
    say("etcd, kube-apiserver and kwok")
    rig = stack.enter_context(Rig(binaries))
    stack.enter_context(Kwok(rig))
    say("CRDs, ServiceAccount and rights, as `kubectl apply -k manifests/default` brings them")
    kubeconfig = install(rig)
    say("the operator, two replicas")
    operators = [stack.enter_context(Operator(rig, kubeconfig, f"moorage-{number}")) for number in range(2)]
    say("nodes, the profiles of manifests/samples, pods")
    create(rig, *(node(f"node-{zone}{number}", zone) for zone in ZONES for number in range(NODES_A_ZONE)))
    create(rig, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    rig.kubectl("apply", "-f", str(ROOT / "manifests" / "samples"))
    for profile in PROFILES:
        wait_for(rig, "condition=Ready", f"sprof/{profile}", seconds=60)
    create(rig, *(pod(profile, number) for profile in PROFILES for number in range(PODS_A_PROFILE)))
    rig.kubectl("wait", "--for=condition=PodScheduled", "pods", "--all", f"--namespace={NAMESPACE}", "--timeout=60s")
    return rig, operators


def show(rig: Rig, operators: list[Operator]) -> None:
    """Say where the pods landed and what to type, then keep the replicas alive until Ctrl-C."""
    print(f"\n{rig.kubectl('get', 'sprof')}\n{rig.kubectl('get', 'pcfg')}")
    for profile, places in sorted(placements(rig).items()):
        print(f"pods of {profile:<8} " + ", ".join(f"{count} on {name}" for name, count in sorted(places.items())))
    print(instructions(rig, operators))
    while True:
        time.sleep(0.5)
        for operator in operators:
            if not operator.alive:
                print(f"{operator.name} has ended; it is started again in {RESTART_SECONDS:.0f} s", flush=True)
                time.sleep(RESTART_SECONDS)
                operator.start()


def instructions(rig: Rig, operators: list[Operator]) -> str:
    """What to type in another terminal."""
    pids = ", ".join(f"{operator.name} is process {operator.child.pid}" for operator in operators)
    ports = ", ".join(f"http://127.0.0.1:{operator.port} of {operator.name}" for operator in operators)
    return f"""
In another terminal:

  export KUBECONFIG={shlex.quote(str(rig.kubeconfig))}
  export PATH={shlex.quote(str(rig.assets))}:$PATH

  kubectl get sprof -o wide                      # profiles; `kubectl get pcfg`: the configurations that they reference
  kubectl get sprof binpack -o yaml              # effective plugins, revisions, queue, leader, replicas

  # Change a configuration: pods are placed by it with no restart, once edits have been gathered for 0.2 s.
  kubectl patch pcfg mostly-cpu --type=merge -p '{{"spec":{{"args":{{"scoringStrategy":{{"type":"LeastAllocated"}}}}}}}}'
  sleep 1
  kubectl -n {NAMESPACE} run more --image=none --overrides='{{"spec":{{"schedulerName":"binpack"}}}}'
  kubectl -n {NAMESPACE} get pods -o wide

  # Break a profile: it is refused, and the last good revision goes on.
  kubectl patch sprof binpack --type=merge -p '{{"spec":{{"weights":{{"NodeResourcesFitt":3}}}}}}'

  kubectl get events -A --sort-by=.lastTimestamp
  kubectl get sprof binpack -o jsonpath='{{.status.leader.identity}}'   # who leads; {pids}
  kill -9 PID                                    # kill the leader: the other one takes over

Logs: {rig.folder}/moorage-*.log
/metrics and /debug: {ports}
Ctrl-C ends all and leaves nothing."""


def placements(rig: Rig) -> Mapping[str, collections.Counter[str]]:
    """Profile -> node -> pods."""
    found: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for item in json.loads(rig.kubectl("get", "pods", "-n", NAMESPACE, "-o", "json"))["items"]:
        found[item["spec"]["schedulerName"]][item["spec"].get("nodeName", "no node yet")] += 1
    return found


def node(name: str, zone: str) -> dict[str, Any]:
    """A node of kwok's."""
    room = {"cpu": "8", "memory": "16Gi", "pods": "110"}
    labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": f"zone-{zone}"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": dict(NODE_ANNOTATION)},
        "status": {"allocatable": room, "capacity": room},
    }


def pod(profile: str, number: int) -> dict[str, Any]:
    """A pod of a profile."""
    container = {"name": "main", "image": "registry.example/app:1", "resources": {"requests": {"cpu": "500m", "memory": "512Mi"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"{profile}-{number}", "namespace": NAMESPACE},
        "spec": {"schedulerName": profile, "containers": [container]},
    }


def create(rig: Rig, *objects: Mapping[str, Any]) -> None:
    """Create objects as the administrator."""
    rig.kubectl("create", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))


def say(text: str) -> None:
    """One line of progress."""
    print(f"... {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
