"""What goes when an installation leaves, in which order, and what others keep."""

from __future__ import annotations

import dataclasses
import datetime
from typing import Any, Final

import pytest

from moorage.api import yaml_documents
from moorage.apps import resources
from moorage.apps.authority.authority_setting import Installed
from moorage.apps.install.departures import ASKING, Departure, departure
from moorage.apps.install.guests import Residents
from moorage.apps.install.inventories import CRD, NAMESPACE, Inventory, controllers, of
from moorage.apps.install.neighbours import leaver
from moorage.apps.install.object_keys import INSTANCE, PART_OF, Document, key_of
from moorage.apps.install.variants import Options, documents

NOW: Final = datetime.datetime(2026, 5, 1, 12, tzinfo=datetime.UTC)
HERE: Final = Installed("moorage-system", "moorage")


def applied(*components: str, variant: str = "default") -> list[Document]:
    """What a cluster has that was installed."""
    texts = [resources.variant(variant), *map(resources.component, components)]
    return [one for text in texts for one in yaml_documents.load_all(text)]


def of_ours(kind: str, name: str, instance: str, *, namespace: str = "", **more: Any) -> Document:
    """An object of an installation."""
    labels = {PART_OF: "moorage", "app.kubernetes.io/name": "moorage", INSTANCE: instance}
    place = {"namespace": namespace} if namespace else {}
    metadata = {"name": name, "labels": labels, **place}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, **more}


def deployment(namespace: str, instance: str) -> Document:
    """Another installation's."""
    spec: Document = {"template": {"spec": {"containers": [{}]}}}
    return of_ours("Deployment", instance, instance, namespace=namespace, spec=spec)


def lease(namespace: str, installation: str, *, seconds: float = 10) -> Document:
    """A replica's Lease, renewed so many seconds ago."""
    renewed = (NOW - datetime.timedelta(seconds=seconds)).isoformat()
    labels = {"moorage.dev/installation": installation}
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": f"{installation}-0a", "namespace": namespace, "labels": labels},
        "spec": {"holderIdentity": "p_1", "renewTime": renewed, "leaseDurationSeconds": 30},
    }


def written(kind: str, namespace: str, name: str, **labels: str) -> Document:
    """What an operator writes."""
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata}


def profile(name: str, claimed: str = "", **spec: Any) -> Document:
    """A SchedulerProfile, and who serves it."""
    body = {"kind": "SchedulerProfile", "apiVersion": "moorage.dev/v1alpha1"}
    return {**body, "metadata": {"name": name}, "spec": spec, "status": {"claimedBy": claimed}}


def config(name: str) -> Document:
    """A PluginConfig."""
    return {"apiVersion": "m", "kind": "PluginConfig", "metadata": {"name": name}, "spec": {}}


def referring(name: str) -> dict[str, Any]:
    """A profile's spec."""
    return {"pluginConfig": [{"name": "NodeResourcesFit", "configRef": {"name": name}}]}


def going(plan: Departure) -> list[str]:
    """All that goes, in order."""
    return [str(key_of(one)) for step in plan.steps for one in step.documents]


ALONE: Final = Inventory(
    applied("admission", "assign", "namespaced-lease"),
    [written("Pod", "moorage-system", "moorage-1")],
    [
        lease("moorage-leases", "moorage"),
        written("Lease", "moorage-leases", "moorage"),
        written("ControllerRevision", "moorage-system", "a-1", **{"moorage.dev/profile": "a"}),
        written("Secret", "moorage-system", "moorage-admission-tls"),
    ],
    [profile("a", "moorage-leases/moorage", **referring("c"))],
    [config("c")],
    ["moorage-system"],
)


def with_others(*objects: Document, **more: Any) -> Inventory:
    """The same cluster, with something of another installation in it."""
    both: dict[str, Any] = {name: [*getattr(ALONE, name), *its] for name, its in more.items()}
    return dataclasses.replace(ALONE, objects=[*ALONE.objects, *objects], **both)


def test_everything_goes_where_nobody_else_is() -> None:
    """What asks the operator first, then the operator, then the kinds; the namespace last."""
    plan = departure(ALONE, HERE, NOW)
    assert not plan.stays
    assert sorted(going(plan)) == sorted(
        str(key_of(one)) for one in (*ALONE.objects, *ALONE.pods, *ALONE.written)
    )
    kinds = [[one["kind"] for one in step.documents] for step in plan.steps]
    assert kinds[0] == [ASKING[0], ASKING[1], ASKING[3]]
    assert kinds[1:4] == [["Deployment"], ["Pod"], ["CustomResourceDefinition"] * 2]
    assert kinds[-1] == ["Namespace"]
    assert [one["metadata"]["name"] for one in plan.profiles] == ["a"]
    assert plan.schedulers == {"a"}


def test_profiles_are_kept_where_that_is_wanted() -> None:
    """With their kinds and their stored revisions; all else goes."""
    plan = departure(ALONE, HERE, NOW, keep_profiles=True)
    space, *kinds = plan.stays
    assert space.endswith("ControllerRevision moorage-system/a-1 is SchedulerProfile a's")
    assert len(kinds) == 2 and all(why.endswith("--keep-profiles") for why in kinds)
    assert not plan.profiles and "Deployment moorage-system/moorage" in going(plan)
    stay = ("CustomResource", "Profile", "Revision", "Namespace")
    assert not any(one.startswith(stay) for one in going(plan))
    without = dataclasses.replace(ALONE, written=[])
    assert "Namespace moorage-system" in going(departure(without, HERE, NOW, keep_profiles=True))


OTHERS: Final = {
    "a Deployment": with_others(deployment("other", "blue")),
    "a Deployment of this name elsewhere": with_others(deployment("other", "moorage")),
    "a fresh Lease": with_others(written=[lease("other", "blue")], homes=["other"]),
    "a profile of another controllerName": with_others(
        profiles=[profile("z", controllerName="blue")]
    ),
}


@pytest.mark.parametrize("found", OTHERS.values(), ids=OTHERS)
def test_others_keep_the_kinds(found: Inventory) -> None:
    """And their profiles; ours go, with the PluginConfigs that no other profile refers to."""
    plan = departure(found, HERE, NOW)
    assert len([why for why in plan.stays if why.startswith("CustomResourceDefinition ")]) == 2
    assert [one["metadata"]["name"] for one in plan.profiles] == ["a"]
    assert {"SchedulerProfile a", "PluginConfig c", "Namespace moorage-system"} <= {*going(plan)}
    used = dataclasses.replace(
        found, profiles=[*found.profiles, profile("y", controllerName="blue", **referring("c"))]
    )
    assert "PluginConfig c" not in going(departure(used, HERE, NOW))


def test_an_object_elsewhere_is_a_sign_of_another_of_the_name() -> None:
    """Whether or not it is a Deployment; the objects of that one stay."""
    account = of_ours("ServiceAccount", "moorage", "moorage", namespace="other")
    subjects = [{"kind": "ServiceAccount", "name": "moorage", "namespace": "other"}]
    role = {"kind": "ClusterRole", "name": "moorage"}
    theirs = of_ours("ClusterRoleBinding", "theirs", "moorage", roleRef=role, subjects=subjects)
    plan = departure(with_others(account, theirs), HERE, NOW)
    gone = going(plan)
    assert "Deployment moorage-system/moorage" in gone
    assert not {"ServiceAccount other/moorage", "ClusterRoleBinding theirs"} & {*gone}
    assert "ClusterRole moorage" not in gone, "their binding refers to it"
    assert "Role moorage-leases/moorage-lease" in gone, "its own, as a binding says"
    assert "MutatingAdmissionPolicyBinding moorage-assign" not in gone
    why = "it may be of the installation moorage in another namespace"
    assert f"MutatingAdmissionPolicyBinding moorage-assign: {why}" in plan.stays


def test_a_namespace_with_anothers_lease_stays() -> None:
    """With that one's stored revisions, whose profile it serves or would serve."""
    labelled = {"moorage.dev/profile": "b"}
    revision = written("ControllerRevision", "moorage-system", "b-1", **labelled)
    role = of_ours("Role", "blue-leader-election", "blue", namespace="moorage-system")
    for profiles in ([profile("b", "moorage-system/blue")], [profile("b", controllerName="x")]):
        found = with_others(
            deployment("other", "blue"), role, written=[revision], profiles=profiles
        )
        plan = departure(found, HERE, NOW)
        assert not {"ControllerRevision moorage-system/b-1", "Namespace moorage-system"} & {
            *going(plan)
        }
        why = "Role moorage-system/blue-leader-election is installation blue's"
        assert f"Namespace moorage-system: {why}" in plan.stays


def test_a_namespace_with_guests_stays() -> None:
    """Guests are looked for beside what is written, the pods, and what was there before."""
    objects = [*ALONE.pods, *ALONE.written]
    for one in objects:
        one["metadata"]["uid"] = str(key_of(one))
    found = dataclasses.replace(ALONE, residents=Residents(objects))
    assert "Namespace moorage-system" in going(departure(found, HERE, NOW))
    request = written("CertificateRequest", "moorage-system", "r")
    request["metadata"]["ownerReferences"] = [{"uid": objects[0]["metadata"]["uid"]}]
    since = dataclasses.replace(ALONE, residents=Residents([request]))
    assert not departure(since, HERE, NOW, who=leaver(found, HERE)).kept
    secret = written("Secret", "moorage-system", "theirs")
    guest = dataclasses.replace(ALONE, residents=Residents([*objects, secret]))
    plan = departure(guest, HERE, NOW)
    assert plan.stays == (
        "Namespace moorage-system: Secret moorage-system/theirs is there, which is not ours",
    )
    assert "Namespace moorage-system" not in going(plan)
    assert "Deployment moorage-system/moorage" in going(plan)


BESIDE: Final = {
    "one that may serve it": (deployment("other", "blue"), "", []),
    "an observer of the same name": (deployment("other", "blue"), "moorage", []),
    "one of another name": (deployment("other", "blue"), "blue", ["a"]),
}


@pytest.mark.parametrize(("other", "controller", "goes"), BESIDE.values(), ids=BESIDE)
def test_whose_a_profile_is_that_nobody_has_claimed(
    other: Document, controller: str, goes: list[str]
) -> None:
    """Ours if no other installation serves that controllerName, too."""
    text = f"kind: OperatorConfiguration\ncontrollerName: {controller}\n"
    data = {"config.yaml": text} if controller else {}
    configured = of_ours("ConfigMap", "blue-config", "blue", namespace="other", data=data)
    found = dataclasses.replace(with_others(other, configured), profiles=[profile("a")])
    plan = departure(found, HERE, NOW)
    assert [one["metadata"]["name"] for one in plan.profiles] == goes


def test_kinds_of_others_stay() -> None:
    """Whatever their labels say."""
    spec = {"group": "example.com"}
    foreign = of_ours(CRD, "a.example.com", "moorage", spec=spec)
    plan = departure(with_others(foreign), HERE, NOW)
    assert of(plan.documents, CRD) == of(ALONE.objects, CRD)


def test_it_can_end_anywhere_and_be_taken_up_again() -> None:
    """What is left then still tells whose all of it is, what was written included, in whatever
    order it was found.
    """
    plan = departure(dataclasses.replace(ALONE, objects=ALONE.objects[::-1]), HERE, NOW)
    for count, _ in enumerate(plan.documents):
        left = plan.documents[count:]
        there = dataclasses.replace(
            ALONE,
            objects=[one for one in ALONE.objects if one in left],
            pods=[one for one in ALONE.pods if one in left],
            written=[one for one in ALONE.written if one in left],
            profiles=ALONE.profiles if len(of(left, CRD)) == 2 else [],
            configs=[],
        )
        assert sorted(going(departure(there, HERE, NOW))) == sorted(str(key_of(o)) for o in left)


NOT_MOORAGE: Final = {
    "two shards": Options(shards=2),
    "a controllerName": Options(controller_name="team-a"),
}


@pytest.mark.parametrize("options", NOT_MOORAGE.values(), ids=NOT_MOORAGE)
def test_what_stays_stays_once_the_installation_is_gone(options: Options) -> None:
    """Whose profiles it served is not known any more from what is left; who saw it before knows."""
    whole = documents("default", [], options)
    found = Inventory(whole, profiles=[profile("theirs", controllerName="moorage"), profile("b")])
    plan = departure(found, HERE, NOW)
    assert [why.split(":")[0] for why in plan.stays] == [str(key_of(one)) for one in of(whole, CRD)]
    assert not plan.profiles
    half = [one for one in whole if one["kind"] != "Deployment"]
    for left in (half, of(whole, CRD)):
        there = dataclasses.replace(found, objects=left)
        for since in (
            departure(there, HERE, NOW, who=leaver(found, HERE)),
            departure(there, HERE, NOW),
        ):
            assert not of(since.documents, CRD) and not since.profiles
            (why, _) = since.stays
            assert why.endswith("if nobody needs it: kubectl delete crd pluginconfigs.moorage.dev")


def test_a_plan_is_only_narrowed() -> None:
    """By those who came since; what they left in place once they are gone is not in it."""
    plan = departure(ALONE, HERE, NOW)
    who = leaver(ALONE, HERE)
    since = departure(with_others(deployment("moorage-system", "blue")), HERE, NOW, who=who)
    (kinds,) = (step for step in plan.steps if of(step.documents, CRD))
    assert [str(key_of(one)) for one in plan.narrowed(kinds, since).documents] == [
        "SchedulerProfile a"
    ]
    assert not plan.narrowed(plan.steps[-1], since).documents
    assert plan.narrowed(kinds, plan) == kinds
    again = plan.written_again(plan)
    assert not of(again.documents, CRD, NAMESPACE)
    assert len(again.documents) == len(plan.documents) - 3
    assert not of(since.written_again(plan).documents, CRD, NAMESPACE)
    assert not Departure(()).written_again(plan).steps


NOBODY: Final = {
    "a Lease that ran out": with_others(
        written=[lease("other", "blue", seconds=60)], homes=["other"]
    ),
    "a tenant's Lease": with_others(written=[lease("other", "blue")]),
}


@pytest.mark.parametrize("found", NOBODY.values(), ids=NOBODY)
def test_what_keeps_nothing(found: Inventory) -> None:
    """Installations that are gone, and Leases where nobody is at home."""
    plan = departure(found, HERE, NOW)
    assert not plan.stays
    assert not any("blue" in one for one in going(plan))


def test_a_namespace_of_two_stays() -> None:
    """With what the other one has written there."""
    blue = deployment("moorage-system", "blue")
    revisions = [
        written(
            "ControllerRevision", "moorage-system", f"{name}-1", **{"moorage.dev/profile": name}
        )
        for name in ("a", "b")
    ]
    found = with_others(
        blue,
        written=[lease("moorage-system", "blue"), *revisions],
        profiles=[profile("b", "moorage-system/blue")],
    )
    plan = departure(found, HERE, NOW)
    assert any(why.startswith("Namespace moorage-system: installation") for why in plan.stays)
    gone = going(plan)
    assert "ControllerRevision moorage-system/a-1" in gone
    for stays in ("Lease moorage-system/blue-0a", "ControllerRevision moorage-system/b-1"):
        assert stays not in gone
    assert [one["metadata"]["name"] for one in plan.profiles] == ["a"]


def test_a_role_that_anothers_binding_names_stays() -> None:
    """As an overlay leaves names as they are."""
    role = {"kind": "ClusterRole", "name": "moorage"}
    subjects = [{"kind": "ServiceAccount", "name": "blue", "namespace": "other"}]
    binding = of_ours("ClusterRoleBinding", "blue", "blue", roleRef=role, subjects=subjects)
    plan = departure(with_others(deployment("other", "blue"), binding), HERE, NOW)
    assert "ClusterRole moorage: ClusterRoleBinding blue refers to it" in plan.stays
    assert "ClusterRole moorage" not in going(plan)
    assert "ClusterRole moorage-deciding" in going(plan)


def test_shards_go_together_or_alone() -> None:
    """Those of an installation go with it; one by its own name leaves what they share, and the
    others' own.
    """
    objects = documents("default", ["admission"], Options(shards=2))
    found = Inventory(objects)
    together = departure(found, HERE, NOW)
    assert sorted(going(together)) == sorted(str(key_of(one)) for one in objects)
    alone = departure(found, Installed("moorage-system", "moorage-1"), NOW)
    gone = [one for step in alone.steps for one in step.documents]
    assert {one["metadata"]["labels"][INSTANCE] for one in gone} == {"moorage-1"}
    assert {"Deployment", "ServiceAccount", "Role"} <= {one["kind"] for one in gone}
    assert not {"Namespace", "ClusterRole", "FlowSchema"} & {one["kind"] for one in gone}
    assert all(
        why.endswith("installation moorage-system/moorage-0 is there") for why in alone.stays
    )


def test_nothing_goes_where_nothing_is() -> None:
    """Not of an installation by a name that nobody has, either."""
    assert departure(Inventory(), HERE, NOW) == Departure(())
    found = dataclasses.replace(ALONE, pods=[])
    assert not departure(found, Installed("elsewhere", "moorage"), NOW).steps
    plan = departure(found, Installed("moorage-system", "blue"), NOW)
    assert not plan.steps and len(plan.stays) == 2


def test_whose_profiles_an_installation_serves() -> None:
    """As its environment says, else its configuration."""
    assert controllers(ALONE.objects) == {"moorage"}
    text = "kind: OperatorConfiguration\ncontrollerName: blue\n"
    configured = [of_ours("ConfigMap", "c", "m", data={"config.yaml": text, "a.json": "{"})]
    assert controllers(configured) == set(), "a Deployment that is gone may have said otherwise"
    told = deployment("n", "m")
    assert controllers([*configured, told]) == {"blue"}
    variable = {"name": "MOORAGE_CFG_CONTROLLER_NAME", "value": "green"}
    told["spec"]["template"]["spec"]["containers"][0]["env"] = [variable]
    assert controllers([*configured, told]) == {"green"}
    assert controllers([]) == set()
