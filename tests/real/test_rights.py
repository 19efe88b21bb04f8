"""Rights: what the shipped roles give, what docs/security.md tells, and what the operator asked of
all API servers of this run are the same. This module's tests run last.
"""

from __future__ import annotations

from typing import Any, Final

import pytest

from tests.real.completeness import why_incomplete
from tests.rig import rights
from tests.rig.objects import read
from tests.rig.operators import ROOT
from tests.rig.rights import Right

# That of the component admission is given by name; one that every cluster has is not shipped.
SHIPPED: Final = ("rbac", "rbac-deciding", "admission")
EVERY_CLUSTERS: Final = Right(
    "get", "", "configmaps", "kube-system", "extension-apiserver-authentication"
)
# Read by the plugins of test_plugin_packages.py, with a role of their own.
OF_PLUGINS: Final = {Right(verb, "example.com", "racks") for verb in ("list", "watch")}
# No request names it: API servers from 1.36 on ask for it where the other changes whose a claim is.
IMPLIED: Final = {
    Right("patch", "resource.k8s.io", "resourceclaims/binding"): Right(
        "patch", "resource.k8s.io", "resourceclaims/status"
    )
}


def shipped(component: str) -> set[Right]:
    """What a component of the manifests gives."""
    objects: list[dict[str, Any]] = list(read(ROOT / "manifests" / "components" / component))
    return rights.given_by(each for each in objects if each["metadata"]["name"] != READER)


READER: Final = "moorage-metrics-reader"
"""A ClusterRole for others."""


def test_the_page_tells_of_the_roles() -> None:
    """By component, all of them and no other."""
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    told = rights.told_in(page.partition("## Rights\n")[2].partition("\n## ")[0])
    assert told.pop("every-cluster") == {EVERY_CLUSTERS}
    assert told == {component: shipped(component) for component in SHIPPED}


def test_nothing_outside_the_roles_was_asked_for() -> None:
    """Whether it was refused or not; and nothing was refused but what a test took away."""
    given = {EVERY_CLUSTERS, *OF_PLUGINS}.union(*map(shipped, SHIPPED))
    asked = rights.asked_so_far()
    outside = {
        f"{one.agent}: {one.right}"
        for one in asked
        if not any(right.covers(one.right) for right in given)
    }
    assert not outside
    refused = {
        f"{one.agent}: {one.right}"
        for one in asked
        if one.refused and f" {rights.REFUSED}" not in one.agent
    }
    assert not refused


def test_each_right_was_used(request: pytest.FixtureRequest) -> None:
    """By the operator's own code, and with success. After a part of the suite nobody can tell."""
    if why := why_incomplete(request.session):
        pytest.skip(f"NOT JUDGED: {why}")
    used = {one.right for one in rights.asked_so_far() if not one.refused}
    unused = [
        str(right)
        for component in SHIPPED
        for right in sorted(shipped(component))
        if not any(IMPLIED.get(right, right).covers(one) for one in used)
    ]
    assert not unused
