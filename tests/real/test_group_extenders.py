"""Gangs about which a real extender is asked, over HTTPS: where their members go, who gives way to
them and how they are bound; the audit log says that nobody was bound before enough fitted.
"""

from __future__ import annotations

import base64
import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.real.test_extenders import a_profile
from tests.real.test_group_scenarios import Gangs
from tests.rig import Rig
from tests.rig.certificates import Authority
from tests.rig.clients import Client
from tests.rig.extenders import Extender, binding, letting
from tests.rig.objects import create, delete
from tests.rig.operators import NAMESPACE, Operator, install, until
from tests.rig.pod_groups import check_bindings, member, pod, pod_group, removals

pytestmark = pytest.mark.real_only
PROFILE = "extended-groups"
VERBS = {
    "filterVerb": "filter",
    "prioritizeVerb": "prioritize",
    "preemptVerb": "preempt",
    "bindVerb": "bind",
    "weight": 10,
    "httpTimeout": "2s",
}


class Extended(Gangs):
    """A gang's namespace, and the extender that has a say about its members."""

    extender: Extender

    def named(self, *names: str) -> list[str]:
        """These nodes."""
        return [f"{self.place}-{name}" for name in names]

    def gang(self, least: int, names: str, **spec: Any) -> None:
        """A gang of so many, and its members."""
        rank = {"priorityClassName": spec["priorityClassName"]} if spec else {}
        create(self.rig, pod_group(self.place, least, **spec))
        them = (member(self.place, name, schedulerName=PROFILE, **rank) for name in names)
        create(self.rig, *them)

    def stir(self) -> None:
        """Something happens: groups that were refused are tried again."""
        path = f"/api/v1/nodes/{self.place}-0"
        self.client.merge(path, {"metadata": {"labels": {"anything": "changed"}}})

    def asked(self, verb: str) -> list[str]:
        """The members about which this was asked, in order."""
        key = ("PodNamespace", "PodName")
        about = [one for what, one in list(self.extender.asked) if what == verb]
        if verb == "bind":
            return [one[key[1]] for one in about if one[key[0]] == self.place]
        pods = [one["Pod"]["metadata"] for one in about]
        return [one["name"] for one in pods if one["namespace"] == self.place]


@pytest.fixture(scope="module")
def cluster(
    group_rig: Rig, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Rig, Client, Extender]]:
    """An operator leads, with a profile whose extender may do everything and gets nodes in full."""
    authority = Authority(tmp_path_factory.mktemp("extender"))
    kubeconfig = install(group_rig)
    with contextlib.ExitStack() as stack:
        extender = stack.enter_context(contextlib.closing(Extender(authority.server("extender"))))
        client = stack.enter_context(contextlib.closing(Client(group_rig)))
        ca = base64.b64encode(authority.file.read_bytes()).decode()
        metadata = {"name": "extender", "namespace": NAMESPACE}
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}
        profile = a_profile(PROFILE, extender.url, **VERBS)
        create(group_rig, {**secret, "data": {"ca.crt": ca}}, profile)
        stack.callback(delete, group_rig, secret, profile)
        config = {"extenders": {"allowedHosts": ["127.0.0.1"]}}
        operator = Operator(group_rig, kubeconfig, "moorage-extended-groups", config)
        stack.enter_context(operator).wait_logged("leading")
        yield group_rig, client, extender


@pytest.fixture
def place(cluster: tuple[Rig, Client, Extender]) -> Callable[[str], Extended]:
    """Makes a namespace; the extender prefers nothing, and binds."""
    rig, client, extender = cluster

    def made(name: str) -> Extended:
        create(rig, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        gang = Extended(rig, client, name)
        gang.extender = extender
        extender.says = {
            "filter": letting(*gang.named(*"0123")),
            "prioritize": lambda _: [],
            "preempt": as_proposed,
            "bind": binding(rig),
        }
        return gang

    return made


def as_proposed(question: dict[str, Any]) -> Any:
    """The same victims, by UID."""
    proposed = question["NodeNameToVictims"]
    uids = {
        node: [{"UID": one["metadata"]["uid"]} for one in there["Pods"]]
        for node, there in proposed.items()
    }
    return {"NodeNameToMetaVictims": {node: {"Pods": pods} for node, pods in uids.items()}}


def test_an_extender_places_and_binds_a_gang(place: Callable[[str], Extended]) -> None:
    """While it lets members go to two nodes only nobody is bound; then all are, by itself, to the
    nodes that it likes best, after it was asked where each of them may go.
    """
    gang = place("extended-gang")
    gang.node(*"0123")
    gang.extender.says["filter"] = letting(*gang.named(*"01"))
    gang.gang(3, "abc")
    gang.waits("minCount (3)")
    assert gang.asked("bind") == []
    likes = [{"Host": name, "Score": 10} for name in gang.named(*"123")]
    gang.extender.says["prioritize"] = lambda _: likes
    gang.extender.says["filter"] = letting(*gang.named(*"0123"))
    gang.stir()
    gang.whole(3, *"123")
    bound = check_bindings(gang.rig, gang.place, gang.uids(), 3)
    assert not any(bind.user_agent.startswith("moorage") for bind in bound)
    assert sorted(gang.asked("bind")) == ["a", "b", "c"]
    verbs = [verb for verb, _ in gang.extender.asked]
    assert "filter" not in verbs[verbs.index("bind") :]


def test_an_extender_says_where_room_is_made(place: Callable[[str], Extended]) -> None:
    """Pods go from the nodes that it lets members go to, and no others; it was asked about each
    member, with the pods that would go.
    """
    gang = place("extended-room")
    gang.node(*"012")
    create(gang.rig, *(pod(gang.place, f"low-{i}") for i in range(3)))
    until(lambda: len(gang.bound()) == 3, "three pods of low priority")
    where = {name: item["spec"]["nodeName"] for name, item in gang.pods().items()}
    gang.extender.says["filter"] = letting(*gang.named(*"12"))
    gang.gang(2, "ab", priorityClassName="high")
    gang.whole(2, *"12")
    assert {where[name] for name in removals(gang.rig, gang.place)} == set(gang.named(*"12"))
    assert sorted(set(gang.asked("preempt"))) == ["a", "b"]


def test_an_extender_that_spares_everybody(place: Callable[[str], Extended]) -> None:
    """Nobody goes, and the PodGroup says so; the gang has its room when it thinks better of it."""
    gang = place("extended-spared")
    gang.node("0")
    create(gang.rig, pod(gang.place, "low"))
    until(lambda: gang.bound() == ["low"], "a pod of low priority")
    gang.extender.says["preempt"] = lambda _: {"NodeNameToMetaVictims": {}}
    gang.gang(1, "a", priorityClassName="high")
    gang.waits("extenders let nobody go from node")
    assert removals(gang.rig, gang.place) == []
    gang.extender.says["preempt"] = as_proposed
    gang.stir()
    gang.whole(1, "0")


def test_an_extender_that_hangs_for_a_member(place: Callable[[str], Extended]) -> None:
    """After its time the group is not tried further, says why, and holds nothing; it goes when the
    extender is well.
    """
    gang = place("extended-hang")
    gang.node(*"012")
    well = threading.Event()
    through = letting(*gang.named(*"012"))

    def hangs(question: dict[str, Any]) -> Any:
        if question["Pod"]["metadata"]["name"] == "b":
            well.wait(60)
        return through(question)

    gang.extender.says["filter"] = hangs
    gang.gang(3, "abc")
    gang.waits("no answer within 2 s")
    assert gang.asked("bind") == []
    well.set()
    gang.whole(3, *"012")
