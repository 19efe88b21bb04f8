"""PodGroups are there as long as pods use them."""

from __future__ import annotations

import pytest

from towtank_tests.controllers.harness import ControllerHarness

GROUPS = "podgroups.scheduling.k8s.io"


@pytest.fixture
def cluster() -> ControllerHarness:
    """With a group of two."""
    made = ControllerHarness()
    made.create(GROUPS, "g", spec={"schedulingPolicy": {"gang": {"minCount": 2}}})
    return made


def member(
    cluster: ControllerHarness, name: str, group: str = "g", restarts: str = "Never"
) -> None:
    """A pod of the group."""
    cluster.create(
        "pods",
        name,
        spec={
            "schedulingGroup": {"podGroupName": group},
            "restartPolicy": restarts,
            "containers": [{"name": "c", "image": "i"}],
        },
    )


def there(cluster: ControllerHarness) -> bool:
    """Whether the group still is."""
    return cluster.verbs.find(GROUPS, "default", "g") is not None


def test_a_group_without_pods_goes_at_once(cluster: ControllerHarness) -> None:
    """Others' pods do not hold it."""
    member(cluster, "other", "h")
    cluster.run(3)
    cluster.delete(GROUPS, "g")
    cluster.settle()
    assert not there(cluster)


def test_a_group_waits_for_the_last_of_its_pods(cluster: ControllerHarness) -> None:
    """Deleted or ended, whichever way a pod ends."""
    member(cluster, "a")
    member(cluster, "b")
    cluster.run(3)
    cluster.delete(GROUPS, "g")
    cluster.delete("pods", "a")
    cluster.run(60)
    assert there(cluster)
    cluster.change("pods", "b", lambda pod: pod["status"].update(phase="Succeeded"), "status")
    cluster.run(1)
    assert not there(cluster)


def test_a_group_that_is_not_deleted_stays(cluster: ControllerHarness) -> None:
    """Pods come and go."""
    member(cluster, "a")
    cluster.run(3)
    cluster.delete("pods", "a")
    cluster.run(60)
    assert there(cluster)
