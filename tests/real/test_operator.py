"""The operator on a real API server, with its own ServiceAccount's rights: what a user can do, one
by one, by kubectl.
"""

from __future__ import annotations

import contextlib
import json
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.rig import ControlPlane, Rig, RigError, binds
from tests.rig.clients import Client
from tests.rig.demo import ZONES, node
from tests.rig.objects import apply, create, read
from tests.rig.operators import NAMESPACE, ROOT, Operator, install, until, wait_for

# Failover in seconds instead of a quarter of a minute; shorter, a busy machine would now and then
# cost a leader its lease.
ELECTION = {
    "leaderElection": {"leaseDuration": "6s", "renewDeadline": "5s", "retryPeriod": "500ms"}
}
API = "/apis/moorage.dev/v1alpha1"
PLURALS = {"sprof": "schedulerprofiles", "pcfg": "pluginconfigs"}
ACCOUNT = "system:serviceaccount:moorage-system:moorage"


class Installation:
    """Two replicas on a rig, and what a user types."""

    def __init__(self, rig: ControlPlane, kubeconfig: Path, stack: contextlib.ExitStack) -> None:
        self.rig = rig
        # For looking again and again: a kubectl takes a quarter of a second of CPU.
        self.client = stack.enter_context(contextlib.closing(Client(rig)))
        self._kubeconfig = kubeconfig
        self._stack = stack
        self.replicas: dict[str, Operator] = {}
        self._started = 0
        self._pods = 0

    def start(self, count: int = 1) -> None:
        """Start more replicas, at the same time."""
        for _ in range(count):
            name = f"moorage-{self._started}"
            self._started += 1
            self.replicas[name] = self._stack.enter_context(
                Operator(self.rig, self._kubeconfig, name, ELECTION)
            )
        for replica in self.replicas.values():
            replica.wait_logged("health and metrics are served")

    def remove(self, replica: Operator, number: signal.Signals) -> int:
        """End a replica by a signal; returns its exit status."""
        del self.replicas[replica.name]
        if number is signal.SIGKILL:
            replica.kill()
            return -number
        return replica.terminate()

    @property
    def holder(self) -> str:
        """Who the Lease says leads; "" for nobody."""
        lease = self.client.get(
            f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/moorage"
        )
        return str(lease["spec"].get("holderIdentity", ""))

    @property
    def leader(self) -> Operator:
        """The replica that leads."""
        return until(lambda: self.replicas.get(self.holder.partition("_")[0]), "a leader", 20)  # type: ignore[no-any-return]

    def apply(self, *objects: dict[str, Any]) -> None:
        """Create or change objects. Raises RigError with the API server's words when it refuses
        one.
        """
        apply(self.rig, *objects)

    def get(self, what: str) -> dict[str, Any]:
        """An object, as in sprof/NAME."""
        kind, _, name = what.partition("/")
        return dict(self.client.get(f"{API}/{PLURALS[kind]}/{name}"))

    def status(self, what: str) -> dict[str, Any]:
        """The status of a profile or config."""
        return dict(self.get(what).get("status", {}))

    def condition(self, what: str, kind: str) -> tuple[str, str, str]:
        """Status, reason and message of a condition, for the object's present generation; empty
        before there is one.
        """
        return condition(self.get(what), kind)

    def swapped(self, profile: str, since: str = "") -> str:
        """Wait until a profile's present generation decides; returns its revision, which is another
        one than ``since``.
        """

        def active() -> str | None:
            found = self.get(f"sprof/{profile}")
            revision = found.get("status", {}).get("activeRevision")
            return (
                revision
                if revision not in (None, since) and condition(found, "Active")[0] == "True"
                else None
            )

        return str(until(active, f"a new revision of {profile}", 20))

    def pods(self, profile: str, count: int, cpu: str = "500m") -> list[str]:
        """Make pods, one after another; returns their nodes, "" for one that has none after ten
        seconds.
        """
        names = [f"{profile}-{self._pods + i}" for i in range(count)]
        self._pods += count
        create(self.rig, *(pod(name, profile, cpu) for name in names))
        with contextlib.suppress(TimeoutError):
            until(lambda: all(self.nodes(names)), "pods", 10)
        return self.nodes(names)

    def empty(self) -> None:
        """Delete all pods."""
        path = "/api/v1/namespaces/default/pods"
        self.client.delete(path)
        until(lambda: not self.client.get(path)["items"], "the end of all pods", 10)

    def nodes(self, names: Sequence[str]) -> list[str]:
        """The nodes of pods."""
        items = self.client.get("/api/v1/namespaces/default/pods")["items"]
        found = {item["metadata"]["name"]: item["spec"].get("nodeName", "") for item in items}
        return [found.get(name, "") for name in names]

    def events(self, what: str) -> list[str]:
        """Reasons of the events on an object."""
        items = self.client.get("/apis/events.k8s.io/v1/namespaces/default/events")["items"]
        return [item["reason"] for item in items if item["regarding"]["name"] == what]


def condition(found: dict[str, Any], kind: str) -> tuple[str, str, str]:
    """Status, reason and message of a condition that is about the object's present generation; else
    empty.
    """
    for item in found.get("status", {}).get("conditions", []):
        if item["type"] == kind and item["observedGeneration"] == found["metadata"]["generation"]:
            return item["status"], item["reason"], item["message"]
    return "", "", ""


def scheduled(installed: Installation, name: str) -> dict[str, Any]:
    """A pod's condition PodScheduled, if it has one."""
    conditions = installed.client.get(f"/api/v1/namespaces/default/pods/{name}")["status"].get(
        "conditions", []
    )
    return next((one for one in conditions if one["type"] == "PodScheduled"), {})


def pod(name: str, profile: str, cpu: str) -> dict[str, Any]:
    """A pod."""
    container = {
        "name": "main",
        "image": "registry.example/app:1",
        "resources": {"requests": {"cpu": cpu, "memory": "512Mi"}},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"schedulerName": profile, "containers": [container]},
    }


def profile(name: str, **spec: Any) -> dict[str, Any]:
    """A SchedulerProfile."""
    return {
        "apiVersion": "moorage.dev/v1alpha1",
        "kind": "SchedulerProfile",
        "metadata": {"name": name},
        "spec": spec,
    }


def config(name: str, plugin: str, **args: Any) -> dict[str, Any]:
    """A PluginConfig."""
    spec = {"plugin": plugin, "args": args}
    return {
        "apiVersion": "moorage.dev/v1alpha1",
        "kind": "PluginConfig",
        "metadata": {"name": name},
        "spec": spec,
    }


@pytest.fixture(scope="module")
def installed(new_rig: Callable[[], ControlPlane]) -> Iterator[Installation]:
    """The operator with two replicas, and two nodes in each of three zones."""
    with new_rig() as rig, contextlib.ExitStack() as stack:
        installation = Installation(rig, install(rig), stack)
        create(rig, *(node(f"node-{zone}{number}", zone) for zone in ZONES for number in range(2)))
        installation.start(2)
        yield installation


def test_it_serves_a_cluster_that_has_only_the_crds_and_outlives_the_api_server(
    assets: Path,
) -> None:
    """With an administrator's kubeconfig it makes the namespace of its Lease. A crash of the API
    server ends nothing. The server has no groups of pods, as most clusters.
    """
    with Rig(assets, groups=False) as rig:
        apply(rig, *read(ROOT / "crds"))
        rig.establish("schedulerprofiles.moorage.dev", "pluginconfigs.moorage.dev")
        create(rig, node("only", "a"), profile("plain"))
        # Without this a slow restart of the API server would cost the lease, and so rightly end the
        # process.
        patient = {"leaderElection": {"leaseDuration": "60s", "renewDeadline": "50s"}}
        with Operator(rig, rig.kubeconfig, "moorage-alone", patient) as operator:
            operator.wait_logged("leading")
            create(rig, pod("first", "plain", "100m"))
            wait_for(rig, "PodScheduled", "pod/first")
            assert rig.kubectl(
                "get", "lease", "moorage", "-n", NAMESPACE, "-o", "jsonpath={.spec.holderIdentity}"
            ).startswith("moorage-alone")
            assert (
                rig.kubectl("get", "controllerrevisions", "-n", NAMESPACE, "-o", "name").count(
                    "/plain-"
                )
                == 1
            )
            rig.restart_apiserver(grace=0)
            rig.kubectl(
                "patch",
                "sprof",
                "plain",
                "--type=merge",
                "-p",
                json.dumps({"spec": {"preset": "Spread"}}),
            )
            create(rig, pod("second", "plain", "100m"))
            wait_for(rig, "PodScheduled", "pod/second", seconds=60)
            until(
                lambda: (
                    condition(
                        json.loads(rig.kubectl("get", "sprof", "plain", "-o", "json")), "Active"
                    )[0]
                    == "True"
                ),
                "the edit",
                20,
            )
            assert operator.alive
            assert operator.terminate() == 0


def test_samples_are_placed_as_their_profiles_say(installed: Installation) -> None:
    """BinPack's pods on one node, Spread's on two, soon after `kubectl apply -f
    manifests/samples`.
    """
    installed.apply(*read(ROOT / "manifests" / "samples"))
    for name in ("binpack", "spread"):
        wait_for(installed.rig, "Ready", f"sprof/{name}")
    packed, spread = (
        ["binpack-sample-1", "binpack-sample-2"],
        ["spread-sample-1", "spread-sample-2"],
    )
    until(lambda: all(installed.nodes(packed + spread)), "the samples' placement")
    assert len(set(installed.nodes(packed))) == 1
    assert len(set(installed.nodes(spread))) == 2
    assert len(set(installed.pods("binpack", 4))) == 1
    assert len(set(installed.pods("spread", 4))) == 4


def test_columns(installed: Installation) -> None:
    """What `kubectl get` prints of both kinds."""

    def row_of_binpack() -> list[str]:
        rows = installed.rig.kubectl("get", "sprof").splitlines()
        return next(row.split() for row in rows if row.startswith("binpack"))

    until(lambda: row_of_binpack()[5:9] == ["0"] * 4, "nobody waits any more")
    header, *rows = installed.rig.kubectl("get", "sprof").splitlines()
    assert header.split() == [
        "NAME",
        "SCHEDULER",
        "READY",
        "REASON",
        "REVISION",
        "ACTIVE",
        "BACKOFF",
        "UNSCHED",
        "GATED",
        "LEADER",
        "AGE",
    ]
    row = next(row.split() for row in rows if row.startswith("binpack"))
    assert row[1:4] == ["binpack", "True", "Ready"]
    assert row[4] == installed.status("sprof/binpack")["activeRevision"]
    assert row[9] == installed.holder
    assert installed.rig.kubectl("get", "sprof", "-o", "wide").splitlines()[0].split()[-3:] == [
        "PRESET",
        "DESIRED",
        "MESSAGE",
    ]
    until(
        lambda: installed.status("pcfg/mostly-cpu").get("profileCount") == 1,
        "the count of profiles",
    )
    header, *rows = installed.rig.kubectl("get", "pcfg").splitlines()
    columns = ["NAME", "PLUGIN", "ACCEPTED", "ACTIVE", "REASON", "PROFILES", "AGE"]
    assert header.split() == columns
    row = next(row.split() for row in rows if row.startswith("mostly-cpu"))
    assert row[1:6] == ["NodeResourcesFit", "True", "True", "Running", "1"]
    wide = installed.rig.kubectl("get", "pcfg", "-o", "wide").splitlines()
    assert wide[0].split()[-1] == "MESSAGE"
    assert any("is run by 1 profile" in line for line in wide[1:])
    assert "binpack" in installed.rig.kubectl("get", "moorage")


def test_status_tells_leader_queue_plugins_and_replicas(installed: Installation) -> None:
    """What `-o yaml` shows."""
    both = {replica.name for replica in installed.replicas.values()}

    def announced() -> dict[str, Any] | None:
        status = installed.status("sprof/binpack")
        replicas = status.get("replicas", [])
        names = {replica["identity"].partition("_")[0] for replica in replicas}
        ready = all(replica["revision"] == status["activeRevision"] for replica in replicas)
        return status if names == both and ready else None

    status = until(announced, "both replicas in status", 60)
    assert status["leader"]["identity"] == installed.holder
    assert Counter(replica["role"] for replica in status["replicas"]) == {"Leader": 1, "Standby": 1}
    assert set(status["queue"]) >= {"active", "backoff", "unschedulable", "gated", "inFlight"}
    assert {"name": "NodeResourcesFit", "weight": 20} in status["effective"]["score"]
    assert "NodeResourcesBalancedAllocation" not in [
        plugin["name"] for plugin in status["effective"]["score"]
    ]
    assert status["claimedBy"] == "moorage-system/moorage"
    assert status["pluginConfigs"] == [
        {"name": "mostly-cpu", "observedGeneration": 1, "activeGeneration": 1}
    ]
    assert installed.status("pcfg/mostly-cpu")["profiles"] == ["binpack"]


def test_an_edited_config_places_the_next_pods(installed: Installation) -> None:
    """With no restart: the same processes, another revision."""
    pids = {replica.child.pid for replica in installed.replicas.values()}
    installed.apply(
        config("edited", "NodeResourcesFit", scoringStrategy={"type": "MostAllocated"}),
        profile(
            "edited",
            preset="BinPack",
            pluginConfig=[{"name": "NodeResourcesFit", "configRef": {"name": "edited"}}],
        ),
    )
    first = installed.swapped("edited")
    assert len(set(installed.pods("edited", 4))) == 1
    installed.apply(
        config("edited", "NodeResourcesFit", scoringStrategy={"type": "LeastAllocated"})
    )
    second = installed.swapped("edited", since=first)
    assert len(set(installed.pods("edited", 4))) == 4
    installed.apply(profile("edited", preset="BinPack"))
    installed.swapped("edited", since=second)
    assert len(set(installed.pods("edited", 4))) == 1
    assert {replica.child.pid for replica in installed.replicas.values()} == pids
    assert "Activated" in installed.events("edited")


def test_an_edited_expression_places_the_next_pods(installed: Installation) -> None:
    """With no restart; one that is broken is refused with its place, and the last good one goes
    on.
    """

    def in_zone(field: str, zone: str) -> dict[str, Any]:
        expression = f'node.metadata.{field}["topology.kubernetes.io/zone"] == "{zone}"'
        return config(
            "rules",
            "CEL",
            filters=[{"expression": expression, "message": f"node(s) outside {zone}"}],
        )

    pids = {replica.child.pid for replica in installed.replicas.values()}
    reference = [{"name": "CEL", "configRef": {"name": "rules"}}]
    installed.apply(
        in_zone("labels", "zone-a"),
        profile(
            "ruled", plugins={"multiPoint": {"enabled": [{"name": "CEL"}]}}, pluginConfig=reference
        ),
    )
    first = installed.swapped("ruled")
    assert set(installed.pods("ruled", 2, "10m")) <= {"node-a0", "node-a1"}
    installed.apply(in_zone("labels", "zone-b"))
    second = installed.swapped("ruled", since=first)
    assert set(installed.pods("ruled", 2, "10m")) <= {"node-b0", "node-b1"}
    installed.apply(in_zone("lables", "zone-c"))
    until(lambda: installed.condition("pcfg/rules", "Accepted")[0] == "False", "the verdict", 20)
    message = installed.condition("pcfg/rules", "Accepted")[2]
    assert "args.filters[0].expression" in message
    assert "1:14: undeclared reference to 'node.metadata.lables'" in message
    assert installed.status("sprof/ruled")["activeRevision"] == second
    assert set(installed.pods("ruled", 1, "10m")) <= {"node-b0", "node-b1"}
    assert {replica.child.pid for replica in installed.replicas.values()} == pids


def test_pods_that_a_changed_plugin_refused_are_tried_again(installed: Installation) -> None:
    """At once, not after a flush of five minutes."""

    def in_zone(zone: str) -> dict[str, Any]:
        term = {
            "matchExpressions": [
                {"key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone]}
            ]
        }
        affinity = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
        return profile(
            "zonal", pluginConfig=[{"name": "NodeAffinity", "args": {"addedAffinity": affinity}}]
        )

    installed.apply(in_zone("nowhere"))
    first = installed.swapped("zonal")
    create(installed.rig, pod("zonal", "zonal", "100m"))
    until(lambda: scheduled(installed, "zonal").get("reason") == "Unschedulable", "a refusal")
    installed.apply(in_zone("zone-b"))
    installed.swapped("zonal", since=first)
    assert until(lambda: installed.nodes(["zonal"])[0], "the retry", 5) in ("node-b0", "node-b1")


def test_a_change_that_the_schema_forbids_is_refused_by_the_api_server(
    installed: Installation,
) -> None:
    """It never reaches the operator."""
    for bad, want in (
        (profile("refused", weights={"NodeResourcesFit": -1}), "spec.weights"),
        (profile("refused", preset="BinPak"), "spec.preset"),
        (profile("refused", percentageOfNodesToScore=101), "spec.percentageOfNodesToScore"),
        (profile("refused", suspend="yes"), "spec.suspend"),
    ):
        with pytest.raises(RigError, match=want.replace(".", r"\.")):
            installed.apply(bad)
    with pytest.raises(RigError, match="unknown field"):
        create(installed.rig, profile("refused", wieghts={}))


@pytest.mark.parametrize(
    ("bad", "kind", "reason", "told"),
    [
        pytest.param(
            {"weights": {"NodeResourcesFitt": 3}},
            "Accepted",
            "UnknownPlugin",
            'did you mean "NodeResourcesFit"?',
            id="misspelt plugin",
        ),
        pytest.param(
            {
                "pluginConfig": [
                    {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": 5}}}
                ]
            },
            "Accepted",
            "InvalidPluginArgs",
            "spec.pluginConfig[0].args.scoringStrategy.type: 5",
            id="wrong type in arguments",
        ),
        pytest.param(
            {"pluginConfig": [{"name": "NodeResourcesFit", "configRef": {"name": "nobody"}}]},
            "ResolvedRefs",
            "PluginConfigNotFound",
            "spec.pluginConfig[0].configRef.name: 'nobody'",
            id="missing reference",
        ),
        pytest.param(
            {"plugins": {"multiPoint": {"enabled": [{"name": "DeferredPodScheduling"}]}}},
            "Accepted",
            "NotYetSupported",
            "spec.plugins.multiPoint.enabled[0].name: 'DeferredPodScheduling'",
            id="not built yet",
        ),
    ],
)
def test_a_bad_profile_is_told_and_the_last_good_revision_goes_on(
    installed: Installation, bad: dict[str, Any], kind: str, reason: str, told: str
) -> None:
    """With field path, value and a hint; pods are placed as before."""
    name = f"bad-{reason.lower()}"
    installed.apply(profile(name, preset="BinPack"))
    good = installed.swapped(name)
    installed.apply(profile(name, preset="BinPack", **bad))
    status, why, message = until(
        lambda: (found := installed.condition(f"sprof/{name}", kind))[0] == "False" and found,
        f"{kind}=False",
    )
    assert (status, why) == ("False", reason)
    assert told in message
    assert installed.condition(f"sprof/{name}", "Active")[1] == "LastGood"
    assert installed.condition(f"sprof/{name}", "Ready")[:2] == ("Unknown", "LastGood")
    assert installed.status(f"sprof/{name}")["activeRevision"] == good
    assert all(installed.pods(name, 2))
    assert "Rejected" in installed.events(name)
    installed.apply(profile(name, preset="BinPack"))
    installed.swapped(name)


def test_of_two_profiles_with_one_name_the_older_keeps_it(installed: Installation) -> None:
    """The younger one is told whose name it is."""
    installed.apply(profile("older", schedulerName="shared-name"))
    installed.swapped("older")
    time.sleep(1.1)  # creationTimestamp has whole seconds
    installed.apply(profile("younger", schedulerName="shared-name"))
    status, reason, message = until(
        lambda: (found := installed.condition("sprof/younger", "Accepted"))[0] == "False" and found,
        "Accepted=False",
    )
    assert (status, reason) == ("False", "NameConflict")
    assert "'older'" in message
    assert installed.condition("sprof/older", "Ready")[0] == "True"
    installed.client.delete(f"{API}/schedulerprofiles/older")
    installed.swapped("younger")


def test_a_profile_that_was_never_good_answers_its_pods(installed: Installation) -> None:
    """They are told which profile it is and what is wrong with it."""
    installed.apply(profile("never", weights={"NoSuchPlugin": 1}))
    create(installed.rig, pod("never", "never", "100m"))
    told = until(lambda: scheduled(installed, "never").get("message"), "the pod's condition", 20)
    assert "never" in told
    assert "NoSuchPlugin" in told


def test_a_deleted_profile_is_gone_at_once(installed: Installation) -> None:
    """No finalizer blocks it; made again, its waiting pods go on."""
    installed.apply(profile("deleted"))
    installed.swapped("deleted")
    installed.client.delete(f"{API}/schedulerprofiles/deleted")
    with pytest.raises(RigError, match="not found"):
        installed.get("sprof/deleted")
    decides = 'moorage_profile_revision_info{profile="deleted"'
    until(lambda: decides not in installed.leader.fetched("/metrics"), "the news")
    create(installed.rig, pod("orphan", "deleted", "100m"))
    assert all(installed.pods("binpack", 1, "10m"))  # made later, and decided
    assert installed.nodes(["orphan"]) == [""]
    installed.apply(profile("deleted"))
    assert until(lambda: installed.nodes(["orphan"])[0], "the orphan's node", 10)


def test_the_last_good_revision_survives_the_death_of_all_replicas(installed: Installation) -> None:
    """All replicas are killed while a spec is bad; new ones place pods by what was good."""
    installed.apply(profile("survivor", preset="BinPack"))
    good = installed.swapped("survivor")
    installed.apply(profile("survivor", preset="Spread", weights={"NodeResourcesFitt": 3}))
    until(lambda: installed.condition("sprof/survivor", "Accepted")[0] == "False", "Accepted=False")
    for replica in list(installed.replicas.values()):
        installed.remove(replica, signal.SIGKILL)
    installed.start(2)
    new = installed.leader
    until(
        lambda: installed.status("sprof/survivor")["leader"]["identity"].startswith(new.name),
        "the new leader's status",
    )
    assert installed.status("sprof/survivor")["activeRevision"] == good
    assert installed.condition("sprof/survivor", "Active")[1] == "LastGood"
    assert len(set(installed.pods("survivor", 3))) == 1
    installed.apply(profile("survivor", preset="Spread"))
    installed.swapped("survivor", since=good)
    installed.empty()  # else two nodes that others have left emptier than the rest may take all
    assert len(set(installed.pods("survivor", 3))) == 3


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_standby_takes_over(installed: Installation, number: signal.Signals) -> None:
    """Status and events say so, pods that were made in between are placed, and none is bound
    twice.
    """
    installed.apply(profile("ha", preset="Spread"))
    installed.swapped("ha")
    old = installed.leader
    started = time.monotonic()
    create(installed.rig, *(pod(f"ha-{number.name.lower()}-{i}", "ha", "10m") for i in range(10)))
    status = installed.remove(old, number)
    create(
        installed.rig, *(pod(f"ha-{number.name.lower()}-{i}", "ha", "10m") for i in range(10, 20))
    )
    until(
        lambda: installed.holder and not installed.holder.startswith(old.name), "the takeover", 20
    )
    seconds = time.monotonic() - started
    names = [f"ha-{number.name.lower()}-{i}" for i in range(20)]
    until(lambda: all(installed.nodes(names)), "the pods' placement", 20)
    until(
        lambda: installed.status("sprof/ha")["leader"]["identity"] == installed.holder,
        "the new leader's status",
        20,
    )
    until(lambda: "LeaderChanged" in installed.events("ha"), "an event", 10)
    if installed.rig.audited:
        bound = Counter(bind.uid for bind in binds(installed.rig.audit()) if bind.code == 201)
        assert max(bound.values()) == 1
    if number is signal.SIGTERM:
        assert status == 0
        assert seconds < 4, "the lease was not given back"
    installed.start()


@pytest.mark.real_only  # it reads the audit log
def test_its_rights_were_enough_and_it_wrote_nothing_else(installed: Installation) -> None:
    """Over all the tests above: no request was forbidden, and of the two kinds only the status was
    written.
    """
    ours = [
        event
        for event in installed.rig.audit()
        if event.user.username == ACCOUNT and event.object_ref is not None
    ]
    refused = [
        (event.verb, event.request_uri)
        for event in ours
        if event.response_status is not None and event.response_status.code == 403
    ]
    assert refused == []
    kinds = ("schedulerprofiles", "pluginconfigs")
    written = {
        (event.object_ref.resource, event.object_ref.subresource)
        for event in ours
        if event.object_ref is not None
        and event.object_ref.resource in kinds
        and event.verb not in ("get", "list", "watch")
    }
    assert written == {("schedulerprofiles", "status"), ("pluginconfigs", "status")}
