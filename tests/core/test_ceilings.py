"""Ceilings: what is above one is refused by name, and nothing that is looked at is above one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from moorage.core.ceilings import CEILINGS, SMALL, too_large
from moorage.core.columns.cache import Cache
from moorage.core.columns.templates import template_key
from moorage.core.cycle import decide
from moorage.core.framework.profiles import ProfileSpec, resolve
from moorage.core.framework.registry import build_registry
from moorage.core.objects import Pod, PodSpec
from moorage.core.plugins.intree import INTREE, PRESETS
from moorage.core.scheduler import Diagnosis, Scheduler
from moorage.core.verdicts import Code
from tests.builders import make_node, make_pod

REVISION = resolve(ProfileSpec("test"), build_registry(INTREE), PRESETS)
REQUIRED, PREFERRED = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
TERM = {"topologyKey": "a"}
SPREAD = {"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule"}


def specs(n: int) -> dict[str, dict[str, Any]]:
    """By a word of the field: a spec with n of the things that have a ceiling there, each as short as the API server lets it be."""
    names = [f"{i:x}" for i in range(n)]
    one_of_each = [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}] * (n // 2)
    values = {"labelSelector": {"matchExpressions": [{"key": "a", "operator": "In", "values": names[1:]}]}}
    return {
        "containers": {"containers": [{"name": name} for name in names]},
        "resources": {"containers": [{"name": "a", "resources": {"requests": dict.fromkeys(names, "1")}}]},
        "ports": {"containers": [{"name": "a", "ports": [{"hostPort": i} for i in range(n)]}]},
        "nodeSelector": {"nodeSelector": dict.fromkeys(names, "")},
        "nodeAffinity": {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": one_of_each + [{}] * (n % 2)}}}},
        "podAffinity": {"affinity": {"podAffinity": {REQUIRED: [TERM] * (n - 1), PREFERRED: [{"podAffinityTerm": TERM}]}}},
        "topologySpread": {"topologySpreadConstraints": [SPREAD] * n},
        "selectors": {"affinity": {"podAntiAffinity": {REQUIRED: [{**TERM, **values}]}}},
        "tolerations": {"tolerations": [{"operator": "Exists"}] * n},
        "volumes": {"volumes": [{"name": name, "persistentVolumeClaim": {"claimName": "a"}} for name in names]},
        "resourceClaims": {"resourceClaims": [{"name": name, "resourceClaimName": "a"} for name in names]},
    }


def a_pod(spec: dict[str, Any]) -> Pod:
    """A pod with this in its spec."""
    return msgspec.structs.replace(make_pod("p"), spec=msgspec.convert(spec, PodSpec))


@pytest.mark.parametrize("ceiling", CEILINGS, ids=lambda ceiling: ceiling.field)
def test_each_ceiling(ceiling: Any) -> None:
    """So many are looked at, one more is refused, and none of these pods is so small that it would not be counted through."""
    (word,) = [word for word in specs(2) if word in ceiling.field and (word != "containers" or "and initContainers" in ceiling.field)]
    fits, exceeds = a_pod(specs(ceiling.most)[word]), a_pod(specs(ceiling.most + 1)[word])
    assert too_large(fits) == ""
    assert too_large(exceeds).startswith(f"{ceiling.field} has {ceiling.most + 1} {ceiling.things}, and more than {ceiling.most}")
    assert len(template_key(exceeds)) > SMALL


def test_a_pod_that_is_too_large_fails_before_plugins_see_it() -> None:
    """By the name of the field."""
    scheduler = Scheduler(Cache())
    scheduler.cache.put_node(make_node("n"))
    outcome = decide(a_pod(specs(201)["podAffinity"]), REVISION, scheduler)
    assert isinstance(outcome, Diagnosis)
    assert (outcome.code, outcome.message.split(" has ")[0]) == (Code.ERROR, "spec.affinity.podAffinity and podAntiAffinity")
    assert not len(scheduler.runner)


def test_plain_volumes_do_not_count() -> None:
    """Placement does not depend on them."""
    assert too_large(a_pod({"volumes": [{"name": str(i)} for i in range(2000)]})) == ""


def test_the_page_lists_them_all() -> None:
    """With these words."""
    page = (Path(__file__).parents[2] / "docs" / "limits.md").read_text(encoding="utf-8")
    missing = [row for field, things, most, _ in CEILINGS if (row := f"| {field} | {most:,} {things} |") not in page]
    assert not missing
