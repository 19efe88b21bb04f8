"""All of manifests/ is made into the chart and the wheel's files, and nothing else is there."""

from __future__ import annotations

import pytest

from moorage import __version__
from tests.generate import KUSTOMIZED, ROOT
from tests.packaging import chart, kustomizing

BY_HAND = {"templates/_helpers.tpl", "templates/admission-secret.yaml", "templates/NOTES.txt"}


@pytest.mark.parametrize(("folder", "files"), KUSTOMIZED, ids=[name for name, _ in KUSTOMIZED])
def test_nothing_else_is_there(folder: str, files: object) -> None:
    """A variant or component that is gone leaves no file behind."""
    assert callable(files)
    there = {path.relative_to(ROOT / folder) for path in (ROOT / folder).rglob("*.*")}
    assert {str(path) for path in there} - BY_HAND == {*files()}


def test_every_folder_of_manifests_is_made_of() -> None:
    """A new variant is in the table, and a component is a part of some or an option."""
    folders = {file.parent.name for file in kustomizing.MANIFESTS.glob("*/kustomization.yaml")}
    assert folders == {*kustomizing.VARIANTS}
    components = {path.name for path in (kustomizing.MANIFESTS / "components").iterdir()}
    assert components == {*kustomizing.PARTS, *kustomizing.options()}


def test_the_version_is_the_projects() -> None:
    """Of the image that the manifests name, too."""
    (deployment,) = (
        body for body in kustomizing.rendered("default") if body["kind"] == "Deployment"
    )
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["image"] == f"moorage:{__version__}"


def test_a_variant_that_values_cannot_give_is_refused() -> None:
    """The error names the object."""
    objects = chart.objects_of("ha")
    objects["Service", "moorage"]["spec"]["clusterIP"] = "None"
    with pytest.raises(RuntimeError, match="manifests/ha: Service/moorage differs"):
        chart.values_for(objects, "ha")
