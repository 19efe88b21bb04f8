"""The health checks that docs/tasks/gitops.md shows for Argo CD and Flux, run on every status that
the operator writes.
"""

from __future__ import annotations

from typing import Any, Final

import lupa.lua51  # type: ignore[import-untyped]
import pytest
import yaml

from kubefacts import cel
from moorage.api.conditions import ConditionReason
from tests.generate import ROOT
from tests.stories.pages import File, steps

FILES: Final = {
    step.name: yaml.safe_load(step.text)
    for step in steps((ROOT / "docs" / "tasks" / "gitops.md").read_text(encoding="utf-8"))
    if isinstance(step, File)
}
TELLING: Final = {"SchedulerProfile": "Ready", "PluginConfig": "Active"}
"""Kind -> the condition that says how it is."""
HEALTH: Final = {
    **dict.fromkeys(("Waiting", "Trial"), "Progressing"),
    **dict.fromkeys(("Suspended", "Paused"), "Suspended"),
    "Unused": "Healthy",
}
"""Of an object whose condition is not True; with every other reason it is Degraded."""
ARGO: Final = {"inProgress": "Progressing", "failed": "Degraded", "current": "Healthy"}
"""Flux' words in Argo CD's; what was asked to rest is current."""


def an_object(kind: str, status: str, reason: str, observed: int = 2) -> dict[str, Any]:
    """An object of generation 2 whose condition says this."""
    conditions = [
        {"type": "Accepted", "status": "True", "reason": "Valid", "message": ""},
        {"type": TELLING[kind], "status": status, "reason": reason, "message": f"for {reason}"},
    ]
    return {
        "kind": kind,
        "metadata": {"name": "x", "generation": 2},
        "status": {"observedGeneration": observed, "conditions": conditions},
    }


def argo(body: dict[str, Any]) -> tuple[str, str]:
    """Status and message, as Argo CD's Lua (5.1) has them."""
    script = FILES["argocd-cm.yaml"]["data"][
        f"resource.customizations.health.moorage.dev_{body['kind']}"
    ]
    lua = lupa.lua51.LuaRuntime(register_eval=False, register_builtins=False)
    lua.globals()["obj"] = lua.table_from(body, recursive=True)
    health = lua.execute(script)
    return health["status"], health["message"]


def flux(body: dict[str, Any]) -> str:
    """What Flux makes of it: the first expression that is true; "" where none is, or one cannot be
    asked: then it waits.
    """
    (checks,) = (
        one
        for one in FILES["kustomization.yaml"]["spec"]["healthCheckExprs"]
        if one["kind"] == body["kind"]
    )
    fields = ("metadata", "status")
    environment = cel.Environment(dict.fromkeys(fields, cel.scalar("dyn")), libraries=())
    values = {name: body[name] for name in fields if name in body}
    for name in ARGO:
        try:
            if environment.compile(checks[name]).test(values):
                return name
        except cel.CELExpressionError:
            return ""
    return ""


CASES: Final = [
    (kind, str(reason))
    for kind in TELLING
    for reason in ConditionReason
    if (kind, reason) != ("SchedulerProfile", "Unused")  # nobody uses a profile but pods
]


@pytest.mark.parametrize(("kind", "reason"), CASES)
@pytest.mark.parametrize("status", ["False", "Unknown"])
def test_what_is_not_true_is_told_by_its_reason(kind: str, reason: str, status: str) -> None:
    """Every reason that there is, the same by both."""
    want, body = HEALTH.get(reason, "Degraded"), an_object(kind, status, reason)
    assert argo(body) == (want, f"for {reason}")
    assert ARGO[flux(body)] == ("Healthy" if want == "Suspended" else want)


@pytest.mark.parametrize("kind", TELLING)
def test_what_is_true_is_healthy_and_old_answers_count_for_nothing(kind: str) -> None:
    """Nor does one that nobody has looked at."""
    good = an_object(kind, "True", "Ready")
    assert (argo(good)[0], flux(good)) == ("Healthy", "current")
    old = an_object(kind, "True", "Ready", observed=1)
    assert (argo(old)[0], flux(old)) == ("Progressing", "inProgress")
    new = {"kind": kind, "metadata": {"name": "x", "generation": 1}}
    assert (argo(new)[0], flux(new)) == ("Progressing", "")
    begun = {**new, "status": {"observedGeneration": 1}}
    assert (argo(begun)[0], flux(begun)) == ("Progressing", "inProgress")
