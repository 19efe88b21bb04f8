"""Our core decides as kube-scheduler did, whatever rows the nodes are in and however Python
hashes.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from moorage.core.framework.interfaces import HintSignaturePlugin, is_a
from moorage.core.objects.pods import Pod
from moorage.core.pods.signatures import waiting_signature
from tests.vectors.__main__ import failures_of, main
from tests.vectors.comparing import differences
from tests.vectors.deviations import deviations
from tests.vectors.families import BUILT
from tests.vectors.files import CASES, Case, family_files, read_cases
from tests.vectors.hints import hint, overlooked
from tests.vectors.profiles import revision_of
from tests.vectors.scheduling import cluster, scheduling

ROOT = Path(__file__).parents[2]
SCHEDULING = sorted(family for family, adapter in BUILT.items() if adapter is scheduling)


def cases_of(family: str) -> list[Case]:
    """The repository's copy."""
    return list(read_cases(CASES / f"{family}.jsonl.gz"))


def test_every_built_family_has_a_copy() -> None:
    """What is said to pass is here to be run."""
    assert sorted(family_files(CASES)) == sorted(BUILT)


@pytest.mark.parametrize("family", sorted(BUILT))
def test_family_agrees(family: str) -> None:
    """Every decision, score and text is the same as kube-scheduler's."""
    failed = {
        case["id"]: found
        for case in cases_of(family)
        if (found := failures_of(case, BUILT[family]))
    }
    assert not failed


@pytest.mark.parametrize("family", SCHEDULING)
@pytest.mark.parametrize("seed", [1, 2])
def test_order_of_rows_does_not_matter(family: str, seed: int) -> None:
    """Nodes in other rows and pods seen before them lead to the same decisions."""
    rows = random.Random(seed)
    failed = {
        case["id"]: found
        for case in cases_of(family)
        if (found := failures_of(case, lambda case: scheduling(case, rows)))
    }
    assert not failed


def test_hashing_does_not_matter() -> None:
    """All families agree under another PYTHONHASHSEED than this process's (which is drawn at
    random).
    """
    environment = {**os.environ, "PYTHONHASHSEED": "1", "PYTHONPATH": "operator"}
    command = [sys.executable, "-m", "tests.vectors", str(CASES)]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(BUILT)} of {len(BUILT)} families are built; 0 cases failed" in done.stdout


def test_shared_hints_do_not_tell_pods_apart() -> None:
    """A pod of another name, and with a label more where these are not heeded, gets the same
    answer, unless the event is about it.
    """
    asked = 0
    for case in cases_of("Hints"):
        twin = {
            **case["pod"],
            "metadata": {**case["pod"]["metadata"], "name": "twin", "uid": "uid-twin"},
        }
        plugin = revision_of(case["profile"]).deciders[case["plugin"]]
        if is_a(plugin, HintSignaturePlugin):
            twin["metadata"]["labels"] = {
                **twin["metadata"].get("labels", {}),
                "statefulset.kubernetes.io/pod-name": "twin",
            }
        twin = {**twin, "status": {**twin.get("status", {}), "nominatedNodeName": "n0"}}
        heeds = plugin.hint_signature if is_a(plugin, HintSignaturePlugin) else waiting_signature
        alike = len({heeds(msgspec.convert(pod, Pod)) for pod in (case["pod"], twin)}) == 1
        about = {
            case[field]["metadata"].get("uid") for field in ("oldObj", "newObj") if field in case
        }
        if alike and case["pod"]["metadata"]["uid"] not in about:
            asked += 1
            assert hint({**case, "pod": twin}) == hint(case), case["id"]
    assert asked > 300


def test_no_pod_is_overlooked_whose_hint_says_yes() -> None:
    """What plugins listen to and select covers every event about a pod that frees another."""
    assert [found for case in cases_of("Hints") if (found := overlooked(case))] == []


# ---- the harness itself --------------------------------------------------------------------------


def test_rows_are_scrambled() -> None:
    """Other rows, same order of visiting."""
    objects = cases_of("NodeAffinity")[0]["objects"]
    plain, scrambled = cluster(objects, None).nodes, cluster(objects, random.Random(1)).nodes
    assert scrambled.row_of.keys() == plain.row_of.keys()
    assert scrambled.row_of != plain.row_of
    assert scrambled.order.names == plain.order.names


@pytest.mark.parametrize("family", SCHEDULING)
def test_each_field_is_compared(family: str) -> None:
    """A case in which any one field of ``expect`` is spoilt fails."""
    case = cases_of(family)[0]
    for field in case["expect"]:
        spoilt = {**case, "expect": {**case["expect"], field: {"spoilt": "on purpose"}}}
        assert failures_of(spoilt, scheduling), field


def test_differences_name_the_place() -> None:
    """Changed, missing and additional fields are told with their paths; equal ones are not."""
    expected, got = {"a": {"x": 1, "y": [2]}, "b": 0}, {"a": {"x": 1, "y": [3]}, "c": None}
    assert list(differences(expected, got)) == [
        "a.y: expected [2], got [3]",
        "b: expected 0, got nothing",
        "c: expected nothing, got None",
    ]


def test_deviations_are_real() -> None:
    """A vector that an ADR lists differs in just the fields named, as far as this repository has it
    (other seeds' are not here).
    """
    listed = deviations()
    assert listed
    families = {name.partition("-")[0] for name in listed if " " not in name}
    cases = {case["id"]: case for family in families for case in cases_of(family)}
    for name, fields in listed.items():
        if " " in name:
            continue
        if name not in cases:
            assert name.split("-")[1] != "1", name
            continue
        got = BUILT[name.partition("-")[0]](cases[name])
        assert {
            one.partition(":")[0].partition(".")[0]
            for one in differences(cases[name]["expect"], got)
        } == fields, name


def test_crash_is_a_failure() -> None:
    """A case that our code can't take is reported, and the others still run."""
    assert failures_of({"id": "x", "expect": {}}, scheduling) == ["KeyError: 'pod'"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A built family with two cases, and one that is not built."""
    lines = [json.dumps(case) for case in cases_of("SchedulingGates")[:2]]
    (tmp_path / "SchedulingGates.jsonl").write_text("\n".join(lines))
    (tmp_path / "Unheard.jsonl.gz").write_bytes(gzip.compress(b"{}\n"))
    return tmp_path


def test_families_not_built_are_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They neither pass nor fail."""
    assert main([str(folder)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "SchedulingGates: 2 passed, 0 failed",
        "Unheard: not built yet, not run",
        "1 of 2 families are built; 0 cases failed",
    ]


def test_nothing_run_is_no_success(folder: Path) -> None:
    """Only families that are not built: exit code 1."""
    assert main([str(folder), "--families", "Unheard"]) == 1


def test_failure_is_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The case, the path and both values; exit code 1."""
    case = cases_of("SchedulingGates")[0]
    case["expect"]["preEnqueue"]["plugin"] = "Somebody"
    (folder / "SchedulingGates.jsonl").write_text(json.dumps(case))
    assert main([str(folder)]) == 1
    assert (
        f"{case['id']}\n    preEnqueue.plugin: expected 'Somebody', got 'SchedulingGates'"
        in capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["missing"], "missing is not a folder"),
        ([".", "--families", "Unheard"], "no file in . for: Unheard"),
    ],
    ids=["no folder", "no such family"],
)
def test_wrong_command_line(
    arguments: list[str],
    wanted: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Exit code 2 and a sentence."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert wanted in capsys.readouterr().err
