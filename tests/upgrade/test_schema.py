"""The custom resources' definitions beside those of the release before, of which crds/ here is a
copy: whoever writes, reads or stores by those goes on.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
import yaml

from tests.rig.operators import ROOT
from tests.upgrade.schema_changes import Change, changes

RELEASED: Final = ROOT / "tests" / "upgrade" / "crds"
KINDS: Final = ("schedulerprofiles", "pluginconfigs")

ALLOWED: Final = {
    "v1alpha1.spec.paused: default was False, is None": (
        "Unset means false as before. With a default every object has the field, and replicas of a "
        "release that does not know it refuse all of them."
    ),
}
"""What breaks somebody of the release before all the same, and why that is right."""


def definition(kind: str, folder: str = "crds") -> Any:
    """One of ours."""
    return yaml.safe_load((ROOT / folder / f"{kind}.yaml").read_text(encoding="utf-8"))


def all_changes() -> Iterator[Change]:
    """Since the release before."""
    for kind in KINDS:
        yield from changes(definition(kind, "tests/upgrade/crds"), definition(kind))


def test_nothing_breaks(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing goes, nothing is held tighter, but for what is allowed; what was added is printed."""
    found = list(all_changes())
    breaking = {f"{one.path}: {one.what}" for one in found if one.breaks}
    with capsys.disabled():
        for one in found:
            if not one.breaks:
                print(f"\n    {one.path} {one.what}", end="")  # noqa: T201 - see above
    assert breaking == ALLOWED.keys()


Edit = Callable[[dict[str, Any]], object]
"""Changes a definition in place."""


def spec(body: Any) -> Any:
    """The schema of spec."""
    return body["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]


def status(body: Any) -> Any:
    """The schema of status."""
    return body["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]


def field(body: Any, name: str) -> Any:
    """The schema of a field of spec."""
    return spec(body)["properties"][name]


BREAKING: Final[dict[str, Edit]] = {
    "v1alpha1.spec.weights: is gone": lambda body: spec(body)["properties"].pop("weights"),
    "v1alpha1.status.queue: is gone": lambda body: status(body)["properties"].pop("queue"),
    "v1alpha1.spec.suspend: type was boolean, is string": (
        lambda body: field(body, "suspend").update(type="string")
    ),
    "v1alpha1.spec.schedulerName: is required now": (
        lambda body: spec(body).update(required=["schedulerName"])
    ),
    "v1alpha1.spec.schedulerName: maxLength was 63, is 62": (
        lambda body: field(body, "schedulerName").update(maxLength=62)
    ),
    "v1alpha1.spec.percentageOfNodesToScore: minimum was 0, is 1": (
        lambda body: field(body, "percentageOfNodesToScore").update(minimum=1)
    ),
    "v1alpha1.spec.preset: default was Default, is Spread": (
        lambda body: field(body, "preset").update(default="Spread")
    ),
    "v1alpha1.spec.suspend: new rule: self": (
        lambda body: field(body, "suspend").update({"x-kubernetes-validations": [{"rule": "self"}]})
    ),
    "v1alpha1.spec.new: is new, and every object gets it by its default": (
        lambda body: spec(body)["properties"].update(new={"type": "integer", "default": 1})
    ),
    "v1alpha1.status.trial.pods: is not required any more": (
        lambda body: status(body)["properties"]["trial"]["required"].remove("pods")
    ),
    "v1alpha1: served: was True, is False": (
        lambda body: body["spec"]["versions"][0].update(served=False)
    ),
    "v1alpha1: is gone": lambda body: body["spec"]["versions"][0].update(name="v1"),
    "v1alpha1: selectableFields: .spec.schedulerName is gone": (
        lambda body: body["spec"]["versions"][0].update(
            selectableFields=[{"jsonPath": ".spec.controllerName"}]
        )
    ),
    "scope: was Cluster, is Namespaced": lambda body: body["spec"].update(scope="Namespaced"),
}
GENTLE: Final[dict[str, Edit]] = {
    "v1alpha1.spec.new: is new": (
        lambda body: spec(body)["properties"].update(new={"type": "integer"})
    ),
    "v1alpha1.status.new: is new": (
        lambda body: status(body)["properties"].update(new={"type": "integer", "default": 1})
    ),
    "v1alpha1.spec.schedulerName: maxLength was 63, is 64": (
        lambda body: field(body, "schedulerName").update(maxLength=64)
    ),
    "v1beta1: is new": (
        lambda body: body["spec"]["versions"].append(
            {**copy.deepcopy(body["spec"]["versions"][0]), "name": "v1beta1", "storage": False}
        )
    ),
}


@pytest.mark.parametrize("said", [*BREAKING, *GENTLE])
def test_what_breaks(said: str) -> None:
    """One edit, one change, and whether it breaks somebody."""
    before = definition("schedulerprofiles")
    after = copy.deepcopy(before)
    (BREAKING | GENTLE)[said](after)
    (found,) = (one for one in changes(before, after) if f"{one.path}: {one.what}" == said)
    assert found.breaks == (said in BREAKING)


def test_an_enum_with_less() -> None:
    """A value that was good is none any more; one more is no matter."""
    before = definition("schedulerprofiles")
    after = copy.deepcopy(before)
    field(after, "preset")["enum"].remove("Spread")
    assert [one.breaks for one in changes(before, after)] == [True]
    assert [one.breaks for one in changes(after, before)] == [False]


def test_a_keyword_that_nobody_has_thought_of() -> None:
    """It is a question, not a yes."""
    before = definition("schedulerprofiles")
    after = copy.deepcopy(before)
    field(after, "suspend")["oneOf"] = []
    with pytest.raises(ValueError, match=r"v1alpha1\.spec\.suspend: .*oneOf"):
        list(changes(before, after))
