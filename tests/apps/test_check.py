"""`moorage check`: what the operator would say, told from files."""

from __future__ import annotations

from pathlib import Path

import pytest

from moorage.apps.check import CheckReport, check
from tests.apps.outputs.reading import written
from tests.rig.operators import ROOT

GOOD_PROFILE = """
apiVersion: moorage.dev/v1alpha1
kind: SchedulerProfile
metadata: {name: good}
spec:
  preset: BinPack
  pluginConfig: [{name: NodeResourcesFit, configRef: {name: fit}}]
"""
GOOD_CONFIG = """
apiVersion: moorage.dev/v1alpha1
kind: PluginConfig
metadata: {name: fit}
spec: {plugin: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated}}}
"""
POD = "{apiVersion: v1, kind: Pod, metadata: {name: p}}"


def write(folder: Path, text: str, name: str = "file.yaml") -> Path:
    """A file with this text."""
    path = folder / name
    path.write_text(text)
    return path


def test_what_the_api_server_refuses_is_told(tmp_path: Path) -> None:
    """A name that no object may have, and an object without spec."""
    profile = GOOD_PROFILE.replace("name: good", "name: Not_Good").partition("  pluginConfig")[0]
    report = check([write(tmp_path, f"{profile}---\n{profile.partition('spec')[0]}")])
    *found, summary = report.lines
    assert "metadata.name: 'Not_Good': a lowercase RFC 1123 subdomain must" in found[0]
    assert found[-1].endswith("spec: Required value")
    assert report.status == 1 and summary.startswith("2 objects checked: ")


def test_arguments_without_their_plugin_are_a_warning(tmp_path: Path) -> None:
    """The operator takes them, too: as kube-scheduler, it has no use for them."""
    entry = "pluginConfig: [{name: NodeResourcesFit, args: {}}]"
    plugins = "plugins: {multiPoint: {disabled: [{name: NodeResourcesFit}]}}"
    text = f"{GOOD_PROFILE.partition('  pluginConfig')[0]}  {entry}\n  {plugins}\n"
    report = check([write(tmp_path, text)])
    assert (report.status, len(report.lines)) == (0, 2)
    assert report.lines[0].endswith(
        "warning: spec.pluginConfig[0].name: NodeResourcesFit is not enabled: this has no effect"
    )
    assert report.lines[1] == "1 object checked: no errors, 1 warning"
    (found,) = written("Check", report.document)["objects"]
    assert (found["name"], found["errors"], len(found["warnings"])) == ("good", [], 1)


def test_a_weight_that_nothing_goes_by_is_a_warning(tmp_path: Path) -> None:
    """What is enabled at multiPoint does not score where the preset scores nothing."""
    enabled = "plugins: {multiPoint: {enabled: [{name: NodeAffinity, weight: 5}]}}"
    text = f"{GOOD_PROFILE.partition('  pluginConfig')[0]}  {enabled}\n"
    assert len(check([write(tmp_path, text)]).lines) == 1
    report = check([write(tmp_path, text.replace("BinPack", "NoScoring"))])
    assert (report.status, len(report.lines)) == (0, 2)
    assert report.lines[0].endswith(
        "warning: spec.plugins.multiPoint.enabled[0].weight: 5: NodeAffinity does not score here: "
        "this has no effect"
    )


def test_the_samples_are_right() -> None:
    """A folder is read as a whole; what is not ours is passed over."""
    report = check([ROOT / "manifests" / "samples"])
    assert (report.status, report.lines[-1].endswith("no errors")) == (0, True)


def test_the_example_of_expressions_is_right(tmp_path: Path) -> None:
    """What docs/cel.md shows can be applied as it is."""
    _, _, rest = (ROOT / "docs" / "cel.md").read_text(encoding="utf-8").partition("```yaml\n")
    report = check([write(tmp_path, rest.partition("```")[0])])
    assert report == CheckReport(("2 objects checked: no errors",), 0)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(
            "spec: {preset: BinPak}", "spec.preset: 'BinPak': supported values", id="unknown preset"
        ),
        pytest.param("spec: {preset: BinPak}", 'did you mean "BinPack"?', id="did you mean"),
        pytest.param(
            "spec: {weights: {NodeResourcesFitt: 3}}", "spec.weights", id="misspelt plugin"
        ),
        pytest.param(
            "spec: {weights: {NodeResourcesFit: -1}}",
            "spec.weights[NodeResourcesFit]: -1",
            id="weight out of range",
        ),
        pytest.param("spec: {wieghts: {}}", "spec.wieghts: ", id="unknown field"),
        pytest.param(
            "spec: {assign: {podSelector: {}}}",
            "spec.assign.namespaceSelector: None: Required value",
            id="assign",
        ),
        pytest.param(
            "spec: {rollout: {strategy: Sometimes}}",
            "spec.rollout.strategy: 'Sometimes': supported values",
            id="rollout",
        ),
        pytest.param(
            "spec: {suspend: 'yes'}", "spec.suspend: 'yes': must be true or false", id="wrong type"
        ),
        pytest.param(
            "spec: {pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: 5}}}]}",
            "spec.pluginConfig[0].args.scoringStrategy.type: 5",
            id="wrong type in arguments",
        ),
        pytest.param(
            "spec: {pluginConfig: [{name: CEL, args: {scores: [{expression: node.name}]}}]}",
            (
                "spec.pluginConfig[0].args.scores[0].expression: 'node.name': 1:5: undeclared "
                "reference to 'node.name'"
            ),
            id="expression",
        ),
        pytest.param(
            "spec: {pluginConfig: [{name: NodeResourcesFit, configRef: {name: none}}]}",
            "spec.pluginConfig[0].configRef.name: 'none': there is no PluginConfig of this name",
            id="missing reference",
        ),
        pytest.param(
            "spec: {extenders: [{urlPrefix: 'https://x', tlsConfig: {insecure: true}}]}",
            "spec.extenders[0].urlPrefix: 'https://x': the host is not allowed",
            id="host",
        ),
    ],
)
def test_faults_are_told_with_file_document_and_path(text: str, want: str, tmp_path: Path) -> None:
    """As the operator would tell them in the profile's status."""
    head = "apiVersion: moorage.dev/v1alpha1\nkind: SchedulerProfile\nmetadata: {name: bad}\n"
    file = write(tmp_path, f"{POD}\n---\n{head}{text}\n")
    report = check([file])
    assert report.status == 1
    (line, *_) = report.lines
    assert line.startswith(f"{file}: document 2 (SchedulerProfile bad): ")
    assert want in line


def test_one_run_tells_all(tmp_path: Path) -> None:
    """A field that cannot be read hides no misspelt name."""
    head = "apiVersion: moorage.dev/v1alpha1\nkind: SchedulerProfile\nmetadata: {name: bad}\n"
    report = check(
        [
            write(
                tmp_path,
                (
                    f"{head}spec: {{wieghts: {{}}, plugins: {{filter: {{enabled: [{{name: "
                    f"NodeNam}}]}}}}}}"
                ),
            )
        ]
    )
    assert [
        path
        for path in ("spec.wieghts", "spec.plugins.filter.enabled[0].name")
        if path in " ".join(report.lines)
    ] == [
        "spec.wieghts",
        "spec.plugins.filter.enabled[0].name",
    ]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(
            "{apiVersion: moorage.dev/v1, kind: SchedulerProfile, metadata: {name: a}}",
            "only moorage.dev/v1alpha1 is served",
            id="version",
        ),
        pytest.param(
            "{apiVersion: moorage.dev/v1alpha1, kind: Profile, metadata: {name: a}}",
            "kind: 'Profile'",
            id="kind",
        ),
        pytest.param(
            "{apiVersion: moorage.dev/v1alpha1, kind: SchedulerProfile}",
            "metadata.name: Required value",
            id="name",
        ),
        pytest.param("- a list", "document 1 is no object", id="no object"),
        pytest.param("a: b: c", "not readable as YAML", id="no YAML"),
        pytest.param(
            f"{GOOD_CONFIG}---{GOOD_CONFIG}",
            "more than one object of this kind and name",
            id="twice",
        ),
    ],
)
def test_what_is_no_object_of_ours_to_begin_with(text: str, want: str, tmp_path: Path) -> None:
    """Each is told, none ends the check."""
    report = check(
        [
            write(tmp_path, text),
            write(tmp_path, GOOD_PROFILE.replace("BinPack", "BinPak"), "other.yaml"),
        ]
    )
    assert report.status == 1
    assert any(want in line for line in report.lines)
    assert any("BinPak" in line for line in report.lines)


def test_two_profiles_with_one_name_for_pods(tmp_path: Path) -> None:
    """Across files."""
    first = (
        "{apiVersion: moorage.dev/v1alpha1, kind: SchedulerProfile, metadata: {name: a}, spec: {}}"
    )
    second = (
        "{apiVersion: moorage.dev/v1alpha1, kind: SchedulerProfile, metadata: {name: b}, spec: "
        "{schedulerName: a}}"
    )
    report = check([write(tmp_path, first, "a.yaml"), write(tmp_path, second, "b.yaml")])
    assert report.status == 1
    assert (
        "b.yaml: document 1 (SchedulerProfile b): spec.schedulerName: a has this name"
        in report.lines[0]
    )


def test_references_are_found_across_files_and_in_lists(tmp_path: Path) -> None:
    """All files are checked as if they were applied together."""
    listed = "apiVersion: v1\nkind: List\nitems:\n" + "".join(
        f"  {line}\n" for line in f"- {GOOD_CONFIG.strip()}".replace("\n", "\n  ").splitlines()
    )
    report = check([write(tmp_path, GOOD_PROFILE, "a.yaml"), write(tmp_path, listed, "b.yaml")])
    assert (report.status, report.lines) == (0, ("2 objects checked: no errors",))


def test_nothing_to_check_is_wrong_use(tmp_path: Path) -> None:
    """A file that is not there, or holds none of our kinds."""
    absent = tmp_path / "none.yaml"
    assert check([absent]).status == 2
    assert check([absent]).lines == (f"{absent}: no such file",)
    assert check([write(tmp_path, POD)]).status == 2
