"""The way back, planned: what the spec is to be, and what there is to say about it."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from moorage.apps.exit_status import WrongUse
from moorage.apps.revisions.owners import owners
from moorage.apps.revisions.profile_view import KeptRevision, ProfileView, Said
from moorage.apps.revisions.rollback import NotReached, document, planned
from tests.apps.outputs.reading import written

REFERENCE = {"name": "NodeResourcesFit", "configRef": {"name": "c"}}


def config(**args: Any) -> dict[str, Any]:
    """The PluginConfig ``c``."""
    return {"metadata": {"name": "c"}, "spec": {"plugin": "NodeResourcesFit", "args": args}}


def stored(revision: str, number: int, spec: dict[str, Any], **args: Any) -> KeptRevision:
    """A stored revision, with the PluginConfig ``c`` as it was."""
    said = Said({"metadata": {"name": "p"}, "spec": spec}, {"c": config(**args)})
    return KeptRevision(revision, number, "2026-01-01T00:00:00Z", "kubectl", said)


def viewed(
    spec: dict[str, Any],
    *found: KeptRevision,
    desired: str = "bb",
    active: str = "bb",
    **metadata: Any,
) -> ProfileView:
    """The profile ``p`` with this spec; its PluginConfig has no arguments."""
    profile = {
        "metadata": {"name": "p", "resourceVersion": "7", **metadata},
        "spec": spec,
        "status": {"desiredRevision": desired, "activeRevision": active},
    }
    return ProfileView(Said(profile, {"c": config()}), found)


OLD = {"preset": "BinPack", "weights": {"A": 1}}
NOW = {"preset": "Spread", "weights": {"A": 2, "B": 3}}
BOTH = (stored("bb", 2, NOW), stored("aa", 1, OLD))


def test_what_is_written_is_the_old_spec_whole() -> None:
    """At the version that was looked at; what was added since goes."""
    plan = planned(viewed(NOW, *BOTH), "")
    assert (plan.target, plan.body["spec"]) == ("aa", OLD)
    assert plan.body["metadata"]["resourceVersion"] == "7"
    assert [change.sentence for change in plan.changes] == [
        "spec.preset  Spread -> BinPack",
        "spec.weights.A  2 -> 1",
        "spec.weights.B  3 -> -",
    ]
    assert plan.sentence == "p goes back from bb to aa."


def test_what_is_no_content_stays() -> None:
    """Names and whether it is suspended; a pause and a trial end, as the old one is to decide."""
    kept = {"controllerName": "x", "schedulerName": "s", "suspend": True}
    rollout = {"strategy": "Canary", "canary": {"percent": 10}, "maxRegressions": 3}
    plan = planned(viewed({**NOW, **kept, "rollout": rollout, "paused": True}, *BOTH), "aa")
    immediate = {"strategy": "Immediate", "maxRegressions": 3}  # canary is for Canary alone
    assert plan.body["spec"] == {**OLD, **kept, "rollout": immediate, "paused": False}


def test_giving_up_a_trial_leaves_its_strategy() -> None:
    """The spec becomes what decides; nothing is left to try."""
    live = {**NOW, "rollout": {"strategy": "Canary"}}
    plan = planned(viewed(live, *BOTH, desired="cc", active="aa"), "")
    assert (plan.target, plan.body["spec"]["rollout"]) == ("aa", {"strategy": "Canary"})
    assert plan.sentence == "p stays with aa; cc is given up."


@pytest.mark.parametrize("then", [{}, {"ignoredResources": ["x"]}])
def test_arguments_that_have_changed_are_written_inline(then: dict[str, Any]) -> None:
    """Others stay references."""
    spec = {**OLD, "pluginConfig": [REFERENCE]}
    plan = planned(viewed(NOW, BOTH[0], stored("aa", 1, spec, **then)), "aa")
    inline = {"name": "NodeResourcesFit", "args": then}
    assert plan.body["spec"]["pluginConfig"] == [inline if then else REFERENCE]
    assert plan.inlined == (("c",) if then else ())
    assert spec["pluginConfig"] == [REFERENCE]


def test_the_one_before_is_another_one() -> None:
    """Not the present one under a name that it had once."""
    found = (BOTH[0], stored("b0", 1, NOW), stored("aa", 0, OLD))
    assert planned(viewed(NOW, *found), "").target == "aa"


def test_going_back_further_gives_up_what_waits() -> None:
    """As a trial."""
    live = {**NOW, "preset": "Default"}
    plan = planned(viewed(live, *BOTH, desired="cc"), "aa")
    assert plan.sentence == "p goes back from bb to aa; cc is given up."


def test_without_anything_before_it_is_refused() -> None:
    """And so is a name that none, or more than one, begins with."""
    with pytest.raises(NotReached, match="no revision before bb"):
        planned(viewed(NOW, BOTH[0]), "")
    for name in ("x", ""):
        with pytest.raises(WrongUse, match="there are: bb, aa"):
            viewed(NOW, *BOTH).find(name)
    with pytest.raises(WrongUse, match='no revision cafef001; did you mean "cafef00d"'):
        viewed(NOW, dataclasses.replace(BOTH[0], revision="cafef00d")).find("cafef001")


def test_a_plan_for_programs() -> None:
    """Everything that people are told."""
    plan = planned(viewed(NOW, *BOTH), "")
    found = written("Rollback", document(plan, "2026-01-01T00:00:00Z"))
    assert (found["from"], found["to"], len(found["changes"])) == ("bb", "aa", 3)
    assert (found["inlined"], found["owners"]) == ([], [])


# ---- owners --------------------------------------------------------------------------------------


def managed(manager: str, *fields: str, **metadata: Any) -> dict[str, Any]:
    """A profile of which this manager owns these fields."""
    owned: dict[str, dict[str, Any]] = {f"f:{field}": {} for field in fields}
    entry = {"manager": manager, "fieldsV1": {"f:spec": owned}}
    return {"metadata": {"name": "p", "managedFields": [entry], **metadata}}


OWNERS = {
    "argocd": (
        managed("argocd-controller", "weights", "preset"),
        (
            "argocd-controller owns spec.weights and will undo this at its next sync; change its "
            "source, or pause it"
        ),
    ),
    "flux, with what it is called": (
        managed(
            "kustomize-controller",
            "weights",
            labels={
                "kustomize.toolkit.fluxcd.io/name": "apps",
                "kustomize.toolkit.fluxcd.io/namespace": "flux",
            },
        ),
        (
            "kustomize-controller owns spec.weights and will undo this at its next sync; change "
            "its source, or pause it: flux suspend kustomization apps -n flux"
        ),
    ),
    "by a mark alone": (
        managed("someone", annotations={"argocd.argoproj.io/tracking-id": "shop:moorage.dev/x"}),
        (
            "Argo CD keeps this profile and will undo this at its next sync; change its source, or "
            "pause it: argocd app set shop --sync-policy none"
        ),
    ),
    "who writes once": (managed("kubectl-edit", "weights"), ""),
    "a tool, of other fields": (
        managed("argocd-controller", "preset"),
        (
            "argocd-controller keeps this profile and will undo this at its next sync; change its "
            "source, or pause it"
        ),
    ),
    "somebody, of other fields": (managed("kubectl-edit", "preset"), None),
}


@pytest.mark.parametrize("case", OWNERS)
def test_who_will_undo_it(case: str) -> None:
    """Tools that write again and again what their source says."""
    profile, sentence = OWNERS[case]
    found = [owner.sentence for owner in owners(profile, ["weights"])]
    assert found == ([] if sentence is None else [sentence])
