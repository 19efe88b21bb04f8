"""What differs, wherever the two are from."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
import yaml

from moorage.apps.exit_status import NoAnswer, WrongUse
from moorage.apps.printing import terminal
from moorage.apps.revisions import running
from moorage.apps.revisions.diff import (
    DiffSide,
    compared,
    document,
    from_cluster,
    from_file,
    table,
    unified,
)
from moorage.apps.revisions.profile_view import KeptRevision, ProfileView, Said
from tests.api.profiles import RESOLVER, a_config, a_profile
from tests.apps.outputs.reading import written

FIT = "NodeResourcesFit"
REFERENCE = {"pluginConfig": [{"name": FIT, "configRef": {"name": "c"}}]}
ARGS = {"ignoredResources": ["example.com/a"]}
FLAGS = {
    "kubeconfig": "/nowhere",
    "context": "",
    "config": None,
    "output": "",
    "spec": False,
    "yaml": False,
}


def side(label: str, spec: dict[str, Any], **configs: dict[str, Any]) -> DiffSide:
    """A side with this spec."""
    return DiffSide(label, Said(a_profile(spec), configs))


def printed(a: DiffSide, b: DiffSide) -> list[str]:
    """What people read."""
    text = io.StringIO()
    table(compared(a, b, RESOLVER), terminal.open_console(text))
    return text.getvalue().splitlines()


def test_a_table_of_what_differs() -> None:
    """After the answer in a sentence."""
    first, head, row = printed(side("aa", {}), side("bb", {"weights": {FIT: 3}}))
    assert first.startswith("1 setting differs in effect, ")
    assert head.split() == ["aa", "bb", "SAID", "BY"]
    assert row.split("  ")[0] == f"weight of {FIT}"
    assert row.endswith("preset Default -> spec.weights")


def test_the_same_said_otherwise() -> None:
    """Is no difference in effect; the specs are another question."""
    inline = {"pluginConfig": [{"name": FIT, "args": ARGS}]}
    a, b = side("aa", inline), side("bb", REFERENCE, c=a_config("c", FIT, ARGS))
    assert printed(a, b) == ["No difference in effect. The specs say it otherwise (--yaml)."]
    assert printed(a, a) == ["No difference."]
    assert "+PluginConfig c:" in unified(a, b)


def test_a_spec_that_is_refused() -> None:
    """Is another answer than no difference."""
    found = compared(side("aa", {}), side("spec", {"weights": {"Fit": 1}}), RESOLVER)
    assert found.differ
    assert found.sentence == "spec is refused"
    assert list(written("Diff", document(found))["errors"]) == ["spec"]


def test_for_programs() -> None:
    """Values, and who says them."""
    compared_here = compared(side("aa", {}), side("bb", {"weights": {FIT: 3}}), RESOLVER)
    found = written("Diff", document(compared_here))
    assert found["differences"] == [
        {
            "setting": f"weight of {FIT}",
            "a": {"value": "1", "saidBy": "preset Default"},
            "b": {"value": "3", "saidBy": "spec.weights"},
        }
    ]


# ---- sides ---------------------------------------------------------------------------------------


def test_a_profile_is_what_decides() -> None:
    """Which is its spec where that is good, else what is stored."""
    live, old = a_profile({"preset": "Spread"}), Said(a_profile({}), {})
    stored = (KeptRevision("aa11", 1, "", "", old),)
    good = ProfileView(
        Said({**live, "status": {"activeRevision": "bb", "desiredRevision": "bb"}}, {}), stored
    )
    assert from_cluster(good, "").said is good.said
    assert from_cluster(good, "aa").label == "aa11"
    bad = ProfileView(Said({**live, "status": {"activeRevision": "aa11"}}, {}), stored)
    assert from_cluster(bad, "").said is old
    message = {"type": "Accepted", "status": "False", "message": "spec.preset: 'X'"}
    never = ProfileView(Said({**live, "status": {"conditions": [message]}}, {}), ())
    with pytest.raises(NoAnswer, match="has no good revision yet: spec"):
        from_cluster(never, "")


def test_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """0 the same, 1 different; no cluster is asked about files."""
    files = {}
    for name, spec in (("a", {}), ("b", {"preset": "Spread"})):
        files[name] = str(tmp_path / f"{name}.yaml")
        Path(files[name]).write_text(yaml.safe_dump(a_profile(spec)))
    assert running.diff([files["a"], files["a"]], FLAGS) == 0
    assert running.diff([files["a"], files["b"]], FLAGS) == 1
    assert running.diff([files["a"], files["b"]], {**FLAGS, "yaml": True}) == 1
    assert "+  preset: Spread" in capsys.readouterr().out
    for wrong, more in (
        ([files["a"]], {}),
        ([files["a"], f"{tmp_path}/gone.yaml"], {}),
        ([files["a"], files["b"]], {"config": tmp_path / "gone.yaml"}),
    ):
        with pytest.raises(WrongUse):
            running.diff(wrong, {**FLAGS, **more})
    with pytest.raises(NoAnswer, match="/nowhere"):
        running.diff([files["a"], "profile"], FLAGS)


def test_a_file_of_several(tmp_path: Path) -> None:
    """The one of the wanted name; PluginConfigs that it lacks come from elsewhere."""
    file = tmp_path / "all.yaml"
    both = [a_profile(REFERENCE, "one"), a_profile({}, "two")]
    file.write_text(yaml.safe_dump_all(both))
    found = from_file(str(file), "one", {"c": a_config("c", FIT, ARGS)})
    assert found.said.profile["metadata"]["name"] == "one"
    assert "c" in found.said.configs
    with pytest.raises(WrongUse, match="there are: one, two"):
        from_file(str(file), "three", {})
