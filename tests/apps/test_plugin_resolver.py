"""The resolver of a command: as the operator with that configuration resolves."""

from __future__ import annotations

from pathlib import Path

import pytest

from moorage.apps.exit_status import WrongUse
from moorage.apps.plugin_resolver import resolver_of
from moorage.apps.worlds.deciding import default_profile

HEAD = "apiVersion: config.moorage.dev/v1alpha1\nkind: OperatorConfiguration\n"


def test_the_operators_values_count(tmp_path: Path) -> None:
    """Its percentage, say; without a file they are the defaults."""
    file = tmp_path / "config.yaml"
    file.write_text(f"{HEAD}percentageOfNodesToScore: 50\n")
    found = [default_profile(resolver_of(one)).revision for one in (None, file)]
    assert [revision.percentage_of_nodes_to_score for revision in found] == [100, 50]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        (f"{HEAD}percentageOfNodesToScore: 500\n", "percentageOfNodesToScore: 500"),
        (f"{HEAD}plugins: {{packages: [nowhere]}}\n", "nowhere"),
        (None, "No such file"),
    ],
)
def test_what_cannot_be_used_is_wrong_use(tmp_path: Path, text: str | None, want: str) -> None:
    """Each fault in a line of its own."""
    file = tmp_path / "config.yaml"
    if text is not None:
        file.write_text(text)
    with pytest.raises(WrongUse, match=want):
        resolver_of(file)
