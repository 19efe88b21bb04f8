"""An older release's replica and one of this, side by side as during a rolling update: needs the
repository's history, and an index of packages the first time.
"""

from __future__ import annotations

import itertools
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.load.test_failover import PROFILES, writes
from tests.load.traffic import Traffic, accepted_binds, overcommitted, wait_all_bound
from tests.rig.objects import apply
from tests.rig.operators import Operator, until
from tests.upgrade.clusters import Cluster, condition
from tests.upgrade.releases import PREVIOUS, Release
from tests.upgrade.test_schema import RELEASED, definition, status

RATE, SECONDS = 20, 40


def hand_over(cluster: Cluster, old: Operator, new: Operator) -> None:
    """The leader ends as a Deployment ends its pods; the other takes over."""
    assert cluster.leader == old.name
    transitions = cluster.lease()["leaseTransitions"]
    assert old.terminate() == 0
    cluster.wait_leader(new)
    assert cluster.lease()["leaseTransitions"] == transitions + 1


def test_the_lease_passes_both_ways(cluster: Cluster) -> None:
    """From the older one to the newer and back while pods come, also by running out: nobody is
    bound twice, and nobody is left.
    """
    old = cluster.older("older-0")
    cluster.profile("web")
    cluster.wait_told("web", old, "True")
    with Traffic(cluster.rig, "web", RATE, SECONDS) as traffic:
        cluster.upgrade()
        new = cluster.newer("newer-0")
        hand_over(cluster, old, new)
        cluster.wait_told("web", new, "True")
        back = cluster.older("older-1")
        hand_over(cluster, new, back)
        cluster.wait_told("web", back, "True")
        last = cluster.newer("newer-1")
        back.signal(signal.SIGKILL)
        cluster.wait_leader(last)
        cluster.wait_told("web", last, "True")
        assert traffic.running, "the takeovers took longer than pods came"
    wait_all_bound(cluster.client, set(traffic.made))
    binds = accepted_binds(cluster.rig)
    assert max(binds.values()) == 1
    assert len(binds) == traffic.count
    assert overcommitted(cluster.client) == []
    order = [old, new, back, last]
    for before, after in itertools.pairwise(order):
        first = writes(cluster.rig, after.name)[0].request_received_timestamp
        ended = writes(cluster.rig, before.name)[-1].request_received_timestamp
        assert ended < first, f"{before.name} wrote after {after.name} had begun"


WRONG = {"pluginConfig": [{"name": "NodeResourcesFit", "args": {"nobody": "knows this"}}]}


def test_stored_revisions_are_read_both_ways(cluster: Cluster, release: Release) -> None:
    """While the spec is bad, whoever takes over goes on by what the other one has stored, which the
    earlier one gives another name.
    """
    old = cluster.older("older-0")
    cluster.profile("web", weights={"NodeAffinity": 7})
    cluster.wait_told("web", old, "True")
    cluster.profile("web", weights={"NodeAffinity": 7}, **WRONG)
    cluster.wait_told("web", old, "Unknown")
    cluster.upgrade()
    new = cluster.newer("newer-0")
    hand_over(cluster, old, new)
    status = cluster.wait_told("web", new, "Unknown")
    assert condition(status, "Active")["reason"] == "LastGood"
    assert {"name": "NodeAffinity", "weight": 7} in status["effective"]["score"]
    cluster.bind("web")

    cluster.profile("web", weights={"NodeAffinity": 9})
    cluster.wait_told("web", new, "True")
    cluster.profile("web", weights={"NodeAffinity": 9}, **WRONG)
    stored = cluster.wait_told("web", new, "Unknown")["activeRevision"]
    back = cluster.older("older-1")
    hand_over(cluster, new, back)
    status = cluster.wait_told("web", back, "Unknown")
    assert (status["activeRevision"] == stored) == (release is PREVIOUS)
    assert {"name": "NodeAffinity", "weight": 9} in status["effective"]["score"]
    cluster.bind("web")


def test_commands_find_who_leads(cluster: Cluster, release: Release) -> None:
    """By the annotations of the replicas' Leases, whichever release wrote them."""
    old = cluster.older("older-0")
    cluster.upgrade()
    new = cluster.newer("newer-0")
    cluster.profile("web")
    cluster.wait_told("web", old, "True")
    revisions = {one["revision"] for one in until(lambda: both(cluster), "two replicas")}
    assert (len(revisions) == 1) == (release is PREVIOUS)
    asked = [sys.executable, *([str(release.python)] if release is PREVIOUS else [])]
    for leader in (old, new):
        cluster.wait_leader(leader)
        for python in asked:
            answer = cluster.command(python, "status")
            assert answer["leader"].startswith(f"{leader.name}_")
            # The earlier one does not say where it answers.
            assert answer["operator"] or (leader is old and release is not PREVIOUS)
        if leader is old:
            hand_over(cluster, old, new)
            cluster.older("older-1")


def both(cluster: Cluster) -> list[dict[str, Any]]:
    """What the leader says of the replicas, once these are two, each with its revision."""
    found = list(cluster.status("web").get("replicas", ()))
    return found if len(found) == 2 and all(one["revision"] for one in found) else []


def test_a_field_that_the_older_one_does_not_know(cluster: Cluster) -> None:
    """It refuses the profile and says where, and all others go on; the newer one takes it up as if
    nothing had been.
    """
    cluster.upgrade()
    old = cluster.older("older-0")
    everything: dict[str, Any] = {"namespaceSelector": {}, "podSelector": {}}
    cluster.profile("web")
    cluster.profile("assigned", assign=everything)
    cluster.wait_told("web", old, "True")
    status = cluster.wait_told("assigned", old, "False")
    assert "assign" in condition(status, "Accepted")["message"]
    cluster.bind("web")
    new = cluster.newer("newer-0")
    hand_over(cluster, old, new)
    assert condition(cluster.wait_told("assigned", new, "True"), "Assigned")
    cluster.bind("assigned")
    back = cluster.older("older-1")
    hand_over(cluster, new, back)
    cluster.wait_told("assigned", back, "False")
    cluster.wait_told("web", back, "True")
    cluster.bind("web")


def test_what_a_later_release_writes_stays(cluster: Cluster, release: Release) -> None:
    """Fields and conditions of a status that this release has no word for, on an API server whose
    definitions have them.
    """
    if release is not PREVIOUS:
        pytest.skip("no older release takes part in it")
    cluster.upgrade()
    body = definition("schedulerprofiles")
    status(body)["properties"]["later"] = {"type": "string"}
    apply(cluster.rig, body)
    first = cluster.newer("newer-0")
    cluster.profile("web")
    found = cluster.wait_told("web", first, "True")
    later = {**condition(found, "Ready"), "type": "Later", "reason": "New"}
    written = {"later": "x", "conditions": [*found["conditions"], later]}
    cluster.client.merge(f"{PROFILES}/web/status", {"status": written})
    second = cluster.newer("newer-1")
    hand_over(cluster, first, second)
    cluster.profile("web", weights={"NodeAffinity": 7})
    found = cluster.wait_told("web", second, "True")
    assert (found["later"], condition(found, "Later")) == ("x", later)


def test_recordings_are_read(cluster: Cluster, release: Release, tmp_path: Path) -> None:
    """Every decision that an older release has recorded is made again by this one."""
    if release is not PREVIOUS:
        pytest.skip("it records nothing yet")
    old = cluster.older("older-0", recording={"directory": str(tmp_path)})
    cluster.profile("web")
    cluster.wait_told("web", old, "True")
    for _ in range(20):
        cluster.bind("web")
    assert old.terminate() == 0
    answer = cluster.command(sys.executable, "replay", str(tmp_path), "--verify")
    assert (answer["decisions"], answer["same"], answer["differences"]) == (20, 20, [])


def test_the_copies_of_definitions(release: Release) -> None:
    """What test_schema.py compares with is what the release before had."""
    if release is not PREVIOUS:
        pytest.skip("only of the release before there are copies")
    for copy in RELEASED.glob("*.yaml"):
        assert copy.read_text() == (release.source / "crds" / copy.name).read_text()
