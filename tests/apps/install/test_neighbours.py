"""What may be of others than the installation that leaves: profiles, PluginConfigs, bindings."""

from __future__ import annotations

import dataclasses

from moorage.apps.authority.authority_setting import Installed
from moorage.apps.install.departures import departure
from moorage.apps.install.inventories import CRD, Inventory, of
from moorage.apps.install.neighbours import leaver
from moorage.apps.install.object_keys import key_of
from tests.apps.install.test_departures import (
    ALONE,
    HERE,
    NOW,
    applied,
    config,
    deployment,
    going,
    profile,
    referring,
    with_others,
)


def test_a_claim_may_be_older_than_our_name() -> None:
    """A profile is not ours by a claim from when we had its controllerName, unless nobody knows
    which one is ours now.
    """
    moved = profile("a", "moorage-leases/moorage", controllerName="b")
    found = dataclasses.replace(ALONE, profiles=[moved])
    plan = departure(found, HERE, NOW)
    assert not plan.profiles and not of(plan.documents, CRD)
    assert "SchedulerProfile a has controllerName b; if nobody needs it: kube" in plan.stays[1]
    without = [one for one in ALONE.objects if one["kind"] != "Deployment"]
    plan = departure(dataclasses.replace(found, objects=without), HERE, NOW)
    assert plan.profiles == (moved,) and of(plan.documents, CRD)


def test_a_name_that_nobody_has_takes_no_configuration() -> None:
    """As it may be mistyped; what an installation has claimed shows that it was there."""
    found = Inventory(of(ALONE.objects, CRD), configs=[config("precious")])
    plan = departure(found, Installed("moorage-system", "typo"), NOW)
    assert not plan.steps and not plan.configs
    (why, _) = plan.stays
    assert "PluginConfig precious is there, and nothing of moorage-system/typo; if nobody" in why
    assert why.endswith("kubectl delete crd pluginconfigs.moorage.dev")
    claimed = dataclasses.replace(found, profiles=[profile("a", "moorage-system/moorage")])
    plan = departure(claimed, HERE, NOW)
    assert of(plan.documents, CRD) == of(ALONE.objects, CRD)
    assert plan.configs == (config("precious"),)
    last = dataclasses.replace(ALONE, objects=found.objects, profiles=[])
    assert of(departure(last, HERE, NOW, who=leaver(ALONE, HERE)).documents, CRD)


def test_which_configurations_go() -> None:
    """All with the kinds, else those of the profiles that go, unless another uses one by then."""
    more = dataclasses.replace(ALONE, configs=[*ALONE.configs, config("free")])
    assert [one["metadata"]["name"] for one in departure(more, HERE, NOW).configs] == ["c", "free"]
    assert not departure(more, HERE, NOW, keep_profiles=True).configs
    beside = with_others(deployment("other", "blue"), configs=[config("free")])
    plan = departure(beside, HERE, NOW)
    assert [one["metadata"]["name"] for one in plan.configs] == ["c"]
    using = profile("z", controllerName="blue", **referring("c"))
    since = dataclasses.replace(beside, profiles=[*beside.profiles, using])
    (step,) = (step for step in plan.steps if of(step.documents, "PluginConfig"))
    narrowed = plan.narrowed(step, departure(since, HERE, NOW))
    assert [str(key_of(one)) for one in narrowed.documents] == ["SchedulerProfile a"]


def test_a_binding_with_subjects_of_two_namespaces_stays() -> None:
    """Whose it is nobody knows, where one of this name runs in the other namespace."""
    live = applied("namespaced-lease")
    for one in of(live, "ClusterRoleBinding", "RoleBinding"):
        one["subjects"] = [*one["subjects"], {"kind": "Group", "name": "g", "namespace": "tools"}]
    found = Inventory(live)
    tools = departure(found, Installed("tools", "moorage"), NOW)
    assert not tools.steps
    stays = [why.split(":")[0] for why in tools.stays]
    assert {"ClusterRoleBinding moorage", "ClusterRole moorage"} <= {*stays}
    assert len(going(departure(found, HERE, NOW))) == len(live)
