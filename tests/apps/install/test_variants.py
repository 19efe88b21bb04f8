"""Which objects an installation has: every variant, with every component and option."""

from __future__ import annotations

import json
from typing import Any

import pytest

from moorage.api import yaml_documents
from moorage.api.operator_config import load_config
from moorage.apps import resources
from moorage.apps.exit_status import WrongUse
from moorage.apps.install.object_keys import INSTANCE, PART_OF, installation_of, key_of, kinds_of
from moorage.apps.install.variants import MAX_NAME, MAX_SHARDS, Options, documents, every_kind

OTHER = Options("elsewhere", "other", "registry.example/moorage:9")
CONDITION = "object.spec.?controllerName.orValue('moorage') == "


def components_of(variant: str) -> tuple[str, ...]:
    """All that go with it."""
    return tuple(
        name
        for name in resources.components()
        if name != "namespaced-lease"
        and not (
            variant == "observer"
            and name in ("admission", "assign", "assign-webhook", "cert-manager")
        )
    )


CASES = [(variant, components_of(variant)) for variant in resources.variants()]
every = pytest.mark.parametrize(("variant", "components"), CASES, ids=resources.variants())


def only(bodies: list[dict[str, Any]], kind: str, name: str = "") -> dict[str, Any]:
    """The only object of a kind, and name."""
    (body,) = (
        one for one in bodies if one["kind"] == kind and name in ("", one["metadata"]["name"])
    )
    return body


@every
def test_without_options_they_are_the_files(variant: str, components: tuple[str, ...]) -> None:
    """As they are."""
    texts = (resources.variant(variant), *map(resources.component, components))
    files = [body for text in texts for body in yaml_documents.load_all(text)]
    assert documents(variant, components, Options()) == files


@every
def test_only_names_namespace_and_image_differ(variant: str, components: tuple[str, ...]) -> None:
    """Said backwards: with these three put back, the texts are those of the files."""
    usual = documents(variant, components, Options())
    there = documents(variant, components, OTHER)
    for before, after in zip(usual, there, strict=True):
        for old, new in zip(strings(before), strings(after), strict=True):
            back = new.replace("registry.example/moorage:9", "moorage:0.1.0")
            assert back.replace("elsewhere", "moorage-system").replace(
                "other", "moorage"
            ) == old or (new == old)
            assert new == old or "moorage" in old
    text = json.dumps([one for one in there if one["kind"] != "CustomResourceDefinition"])
    assert "moorage-system" not in text


def strings(node: Any) -> list[str]:
    """All texts in it, keys too."""
    if isinstance(node, dict):
        return [one for pair in node.items() for it in pair for one in strings(it)]
    if isinstance(node, list):
        return [one for it in node for one in strings(it)]
    return [node] if isinstance(node, str) else []


@every
@pytest.mark.parametrize("options", [Options(), OTHER, Options(name="a", shards=3)])
def test_an_object_says_whose_it_is(
    variant: str, components: tuple[str, ...], options: Options
) -> None:
    """CRDs are everybody's; nothing comes twice, and nothing that the operator writes is in it."""
    if variant == "default-scheduler" and options.shards:
        return  # refused, as shards would want the same port
    bodies = documents(variant, components, options)
    assert len({key_of(one) for one in bodies}) == len(bodies)
    for body in bodies:
        assert body["metadata"]["labels"][PART_OF] == "moorage"
        crd = body["kind"] == "CustomResourceDefinition"
        assert installation_of(body) == ("" if crd else options.name)
        assert body["kind"] != "Secret"
        assert "status" not in body
        assert "caBundle" not in json.dumps(body)


@every
def test_references_lead_to_objects(variant: str, components: tuple[str, ...]) -> None:
    """Whatever the installation is called, and of each shard."""
    for options in (OTHER, Options(name="a", shards=2)):
        if variant == "default-scheduler" and options.shards:
            continue
        bodies = documents(variant, components, options)
        there = {(one["kind"], one["metadata"]["name"]) for one in bodies}
        for body in bodies:
            if "roleRef" in body and body["roleRef"]["name"].startswith(options.name):
                assert (body["roleRef"]["kind"], body["roleRef"]["name"]) in there
            for subject in body.get("subjects", ()):
                assert (subject["kind"], subject["name"]) in there
            if body["kind"] == "Deployment":
                spec = body["spec"]["template"]["spec"]
                assert ("ServiceAccount", spec["serviceAccountName"]) in there
                assert ("ConfigMap", spec["volumes"][0]["configMap"]["name"]) in there
            for webhook in body.get("webhooks", ()):
                assert ("Service", webhook["clientConfig"]["service"]["name"]) in there


NAMESPACES = ("moorage-system", "moorage-leases", "moorage", "default", "moorage-leases-2")


@every
@pytest.mark.parametrize("lease_namespace", ["", "team", "moorage-leases"])
@pytest.mark.parametrize("namespace", NAMESPACES)
def test_each_is_in_its_namespace(
    variant: str, components: tuple[str, ...], namespace: str, lease_namespace: str
) -> None:
    """Where the Deployment is, whatever that is called: but for rights on kube-system's objects,
    and for those on the Lease where that is elsewhere.
    """
    options = Options(namespace, "moorage", lease_namespace=lease_namespace)
    bodies = documents(variant, components, options)
    assert len({key_of(one) for one in bodies}) == len(bodies)
    leases = [("Role", "moorage-lease"), ("RoleBinding", "moorage-lease")]
    files = documents(variant, components, Options())
    scoped = {key_of(one)[:2] for one in files if "namespace" in one["metadata"]}
    for key in map(key_of, bodies):
        if key[1:3] in leases:
            assert key.namespace == lease_namespace
        elif key[:2] in scoped:
            rights = key.namespace == "kube-system" and key.kind == "RoleBinding"
            assert key.namespace == namespace or rights, key
        else:
            assert not key.namespace
    assert ("Role", "moorage-lease") in {key_of(one)[1:3] for one in bodies} or not lease_namespace
    account = only(bodies, "Deployment")["spec"]["template"]["spec"]["serviceAccountName"]
    assert only(bodies, "ServiceAccount", account)["metadata"]["namespace"] == namespace


def test_options_stand_where_they_count() -> None:
    """The operator's configuration takes them from the pod's environment."""
    options = Options(replicas=5, controller_name="mine", lease_namespace="theirs")
    bodies = documents("default", ["admission"], options)
    deployment = only(bodies, "Deployment")
    assert deployment["spec"]["replicas"] == 5
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    environ = {one["name"]: one.get("value", "field") for one in container["env"]}
    config = only(bodies, "ConfigMap", "moorage-config")["data"]["config.yaml"]
    loaded = load_config(config, environ, {})
    assert (loaded.controller_name, loaded.leader_election.resource_namespace) == ("mine", "theirs")
    webhook = only(bodies, "ValidatingWebhookConfiguration")["webhooks"][0]
    assert CONDITION + "'mine'" in [one["expression"] for one in webhook["matchConditions"]]
    for kind in ("Role", "RoleBinding"):
        assert only(bodies, kind, "moorage-lease")["metadata"]["namespace"] == "theirs"
    schema = only(bodies, "FlowSchema", "moorage-leader-election")
    assert schema["spec"]["rules"][0]["resourceRules"][0]["namespaces"] == ["theirs"]
    other = only(bodies, "FlowSchema", "moorage")
    assert other["spec"]["rules"][0]["resourceRules"][0]["namespaces"] == ["*"]


def test_shards_are_installations() -> None:
    """Each has its account, its pods and its profiles; rights, priorities and CRDs are there once,
    for all of them.
    """
    bodies = documents("default", ["admission", "monitoring"], Options(shards=3))
    shards = ["moorage-0", "moorage-1", "moorage-2"]
    for kind in ("ServiceAccount", "Deployment", "PodDisruptionBudget", "ServiceMonitor"):
        assert [one["metadata"]["name"] for one in bodies if one["kind"] == kind] == shards
    pods = [one["spec"]["template"] for one in bodies if one["kind"] == "Deployment"]
    assert [one["metadata"]["labels"][INSTANCE] for one in pods] == shards
    served = [one["spec"]["containers"][0]["env"][-1]["value"] for one in pods]
    assert served == shards
    webhooks = [one for one in bodies if one["kind"] == "ValidatingWebhookConfiguration"]
    for webhook, shard in zip(webhooks, shards, strict=True):
        own = webhook["webhooks"][0]["matchConditions"][1]["expression"]
        assert own == f"{CONDITION}'{shard}'"
    assert only(bodies, "ClusterRole", "moorage")
    binding = only(bodies, "ClusterRoleBinding", "moorage")
    assert [one["name"] for one in binding["subjects"]] == shards
    (rule,) = only(bodies, "FlowSchema", "moorage")["spec"]["rules"]
    assert [one["serviceAccount"]["name"] for one in rule["subjects"]] == shards
    for kind in ("Namespace", "ResourceQuota", "PrometheusRule"):
        assert installation_of(only(bodies, kind)) == "moorage"


def test_shards_of_a_controller_name() -> None:
    """They begin with it."""
    options = Options(name="a", controller_name="example.com/b", shards=2)
    assert [options.controller_of(one) for one in options.instances] == [
        "example.com/b-0",
        "example.com/b-1",
    ]
    assert Options(name="a").controller_of("a") == "moorage"


def test_every_kind() -> None:
    """Of any variant and component."""
    found = {*every_kind()}
    for variant, components in CASES:
        assert found.issuperset(kinds_of(documents(variant, components, Options())))
    assert len(found) == len(every_kind())


@pytest.mark.parametrize(
    ("variant", "components", "options", "said"),
    [
        ("hq", (), {}, "--variant hq: use one of default, default-scheduler, guest, ha, observer"),
        ("default", ("admision",), {}, 'did you mean "admission"'),
        ("default", ("cert-manager",), {}, "takes --component admission, too"),
        ("default", ("namespaced-lease",), {}, "say where, by --lease-namespace"),
        ("observer", ("admission",), {}, "an observer decides nothing"),
        ("default-scheduler", (), {"shards": 2}, "not with --variant default-scheduler"),
        ("default", (), {"namespace": "A"}, "--namespace A: a lowercase RFC 1123 label"),
        ("default", (), {"name": "a.b"}, "--name a.b: must not contain dots"),
        ("default", (), {"name": "1a"}, "must begin with a letter"),
        ("default", (), {"name": "a" * 41}, "no more than 40 characters"),
        ("default", (), {"lease_namespace": "-"}, "--lease-namespace -: "),
        ("default", (), {"controller_name": "a/b/c"}, "--controller-name a/b/c: "),
        (
            "default",
            (),
            {"controller_name": "a" * 62, "shards": 2},
            f"(of a shard: {'a' * 62}-0): name part must be no more than 63 ",
        ),
        ("default", (), {"controller_name": "a" * 61, "shards": 11}, "a-10): name part must be"),
        ("default", (), {"shards": -1}, "--shards -1: must be from 1 to 20"),
        ("default", (), {"shards": 21}, "--shards 21: must be from 1 to 20"),
    ],
)
def test_what_cannot_be(
    variant: str, components: tuple[str, ...], options: dict[str, Any], said: str
) -> None:
    """Says the option, and what to do."""
    with pytest.raises(WrongUse) as refused:
        documents(variant, components, Options(**options))
    assert said in str(refused.value)


def test_names_are_short_enough() -> None:
    """A Service's has 63 characters at most."""
    options = Options(name="a" * MAX_NAME, shards=MAX_SHARDS)
    for body in documents("ha", ["admission"], options):
        if body["kind"] == "Service":
            assert len(body["metadata"]["name"]) <= 63
    assert documents("ha", [], Options(controller_name="a" * 61, shards=10))


def test_nothing_is_shared_with_the_next_call() -> None:
    """Who changes an object changes it for himself."""
    first = documents("default", [], Options())
    for body in first:
        body["metadata"]["labels"].clear()
    assert all(one["metadata"]["labels"] for one in documents("default", [], Options()))
