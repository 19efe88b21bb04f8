"""`moorage tune`: what is found, what is not, and what the search may see."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from moorage.apps.check import check
from moorage.apps.exit_status import NoAnswer, WrongUse
from moorage.apps.tune.searching import ProfileSearch, SearchLimits
from moorage.apps.tune.tune import TuneOptions, run
from tests.apps.outputs.reading import read_output
from tests.apps.test_cli import call
from tests.apps.tune.recordings import CUT, NODES, SECONDS, a_recording, small, whole
from tests.apps.worlds.recordings import RESOLVER
from tests.engine.worlds import a_body, a_config

EMPTY = ("nodes left empty",)


def options(recording: Path, /, seed: int = 0, trials: int = 4, **more: Any) -> TuneOptions:
    """As typed, with a short search; a new file each time."""
    folder = recording.parent
    wanted: dict[str, Any] = {
        "gains": EMPTY,
        "file": folder / f"{len(list(folder.iterdir()))}-tuned.yaml",
        "limits": SearchLimits(trials, None, seed),
        "resolver": RESOLVER,
        **more,
    }
    return TuneOptions(recording=recording, **wanted)


def documented(wanted: TuneOptions, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """What programs get; the exit status says whether something is recommended."""
    status = run(TuneOptions(**{**_fields(wanted), "form": "json"}))
    found: dict[str, Any] = read_output(capsys.readouterr().out)
    assert status == (1 if found["recommendation"] is None else 0)
    return found


def _fields(wanted: TuneOptions) -> dict[str, Any]:
    return {name: getattr(wanted, name) for name in TuneOptions.__slots__}


@pytest.fixture(scope="module")
def gainful(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pods fit one node, and are spread over four."""
    return a_recording(tmp_path_factory.mktemp("gainful") / "a.rec", small(0, SECONDS))


def test_a_gain_that_is_there_is_found(gainful: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All pods on one node: no profile does better. Nothing but what leads there is changed."""
    wanted = options(gainful, guards=("wait p99",))
    assert run(wanted) == 0
    lines = capsys.readouterr().out.splitlines()
    change = "NodeResourcesFit scoringStrategy.type LeastAllocated -> MostAllocated"
    assert lines[0].startswith(f"Recommends {change}: nodes left empty +")
    assert "wait, p99 no clear change" in lines[0]
    assert "on 11:06:40 - 11:13:20, judged the best" in lines[1]
    assert lines[1].endswith("on 11:13:20 - 11:16:40, which none had seen")
    assert lines[2].split()[:4] == ["#", "NODES", "LEFT", "EMPTY"]
    assert any(line.startswith("- ") and line.endswith("as it is") for line in lines)
    assert lines[-1].endswith(f"--profile test={wanted.file}")


def test_the_profile_is_ready(gainful: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`moorage check` takes it; it is the one that was judged. It gains all there is, once the pods
    are gone that were there at the cut.
    """
    wanted = options(gainful)
    found = documented(wanted, capsys)
    assert wanted.file is not None
    assert check([wanted.file]).status == 0
    written = yaml.safe_load(wanted.file.read_text())
    chosen = found["recommendation"]
    assert written == chosen["document"]
    assert RESOLVER(written, {}).id == chosen["revision"]
    assert written["metadata"] == {"name": "test"}
    empty = next(one for one in chosen["measures"] if one["name"] == EMPTY[0])
    assert empty["candidate"] == pytest.approx(NODES - 1, abs=0.5)
    assert empty["clear"] and chosen["gained"] == list(EMPTY)


def test_the_document(gainful: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = documented(options(gainful), capsys)
    assert list(found)[:3] == ["apiVersion", "kind", "answer"]
    assert found["kind"] == "Tuning"
    assert found["profile"]["revision"] == RESOLVER(a_body("test"), {}).id
    assert found["goals"] == [{"name": EMPTY[0], "unit": "", "better": "more"}]
    assert found["notWorse"] == [{"name": "pods that wait", "unit": "", "better": "less"}]
    assert found["searched"]["to"] == found["judged"]["from"]
    assert [one["number"] for one in found["trials"]] == list(range(1, len(found["trials"]) + 1))
    assert 1 <= len(found["front"]) <= 5
    assert found["recommendation"]["number"] in [one["number"] for one in found["front"]]
    same = found["trials"][0]
    assert (same["changes"], same["gains"], same["losses"]) == (
        [],
        {EMPTY[0]: 0.0},
        {"pods that wait": 0.0},
    )


def test_nothing_is_recommended_where_nothing_is_to_gain(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every pod fills a node."""
    recording = a_recording(tmp_path / "a.rec", whole(0, SECONDS))
    wanted = options(recording)
    assert run(wanted) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Nothing better found: none of 4 profiles gains anything")
    assert wanted.file is not None and not wanted.file.exists()
    assert not documented(options(recording), capsys)["front"]


@pytest.mark.parametrize("seed", range(4))
def test_a_gain_of_the_first_part_alone_is_none(
    seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The search finds what packs; later there is nothing to pack."""
    visits = [*small(0, CUT - 40), *whole(CUT - 40, SECONDS)]
    found = documented(options(a_recording(tmp_path / "a.rec", visits), seed), capsys)
    assert max(one["gains"][EMPTY[0]] for one in found["trials"]) > 1
    assert found["front"] and found["recommendation"] is None
    assert found["answer"].startswith("Nothing better found: the best of ")


def test_the_search_never_sees_what_is_held_back(
    gainful: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another rest, the same trials; what is judged is another matter."""
    visits = [*small(0, CUT), *whole(CUT, SECONDS)]
    other = a_recording(tmp_path / "a.rec", visits)
    a, b = (documented(options(path, 3, 12), capsys) for path in (gainful, other))
    assert a["trials"] == b["trials"] and len(a["trials"]) >= 12
    assert a["searched"] == b["searched"]
    assert [one["number"] for one in a["front"]] == [one["number"] for one in b["front"]]
    assert a["front"] != b["front"]


def test_a_seed_makes_a_search(gainful: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same one again, or another."""
    a, b, c = (documented(options(gainful, seed, 8), capsys)["trials"] for seed in (1, 1, 2))
    assert a == b != c


def test_time_ends_a_search(gainful: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With what was tried by then, here nothing."""
    limits = SearchLimits(1000, 1e-9, 0)
    found = documented(options(gainful, limits=limits), capsys)
    assert found["trials"] == [] and found["recommendation"] is None


def test_a_guard_forbids(gainful: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Packing moves pods together, which somebody does not want."""
    guards = ("less:cpu requested, of nodes used",)
    found = documented(options(gainful, guards=guards), capsys)
    assert found["front"] == [] and found["recommendation"] is None
    assert any(one["losses"][guards[0][5:]] > 0 for one in found["trials"])


def test_several_goals(gainful: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each has its column; the most important one leads."""
    gains = ("nodes left empty", "cpu requested, of nodes used")
    assert run(options(gainful, gains=gains)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "NODES LEFT EMPTY  CPU REQUESTED, OF NODES USED" in lines[2]


def test_what_a_profile_references_is_inline(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file stands alone; what is not varied is as it was."""
    config = a_config("cpu", scoringStrategy={"resources": [{"name": "cpu", "weight": 7}]})
    hosts = {"defaultingType": "List"}
    body = a_body(
        "binpack",
        schedulerName="test",
        weights={"NodeAffinity": 9},
        pluginConfig=[
            {"name": "PodTopologySpread", "args": hosts},
            {"name": "NodeResourcesFit", "configRef": {"name": "cpu"}},
        ],
    )
    decides = {"test": RESOLVER(body, {"cpu": config}).revision}
    recording = a_recording(tmp_path / "a.rec", small(0, SECONDS), decides)
    spec = documented(options(recording, profile="binpack"), capsys)["recommendation"]["document"][
        "spec"
    ]
    assert (spec["schedulerName"], spec["weights"]) == ("test", {"NodeAffinity": 9})
    strategy = {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 7}]}
    assert spec["pluginConfig"] == [
        {"name": "PodTopologySpread", "args": hosts},
        {"name": "NodeResourcesFit", "args": {"scoringStrategy": strategy}},
    ]


def test_the_present_profile_may_be_a_file(
    gainful: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of one that packs already nothing better is found."""
    file = tmp_path / "packed.yaml"
    file.write_text(yaml.safe_dump(a_body("packed", preset="BinPack")))
    assert run(options(gainful, profile=f"test={file}")) == 1
    assert "Nothing better found" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        pytest.param({"gains": ()}, "--for: say what is to gain", id="no goal"),
        pytest.param(
            {"gains": ("nodes empty",)}, "--for nodes empty: no such measure", id="measure"
        ),
        pytest.param({"gains": ("most:x",)}, "is more or less", id="direction"),
        pytest.param({"gains": EMPTY, "guards": EMPTY}, "named twice", id="twice"),
        pytest.param({"profile": "spread"}, "the recording has: test", id="profile"),
        pytest.param({"varied": ("NodeName",)}, "does not score with it", id="plugin"),
        pytest.param({"file": Path(__file__)}, "is there already", id="file"),
    ],
)
def test_what_means_nothing(gainful: Path, wrong: dict[str, Any], why: str) -> None:
    with pytest.raises(WrongUse, match=why):
        run(options(gainful, **wrong))


def test_a_profile_that_scores_with_nothing(gainful: Path, tmp_path: Path) -> None:
    file = tmp_path / "none.yaml"
    file.write_text(yaml.safe_dump(a_body("none", preset="NoScoring")))
    with pytest.raises(WrongUse, match="nothing that may vary"):
        run(options(gainful, profile=f"test={file}"))


def test_a_moment_is_too_short(tmp_path: Path) -> None:
    from tests.apps.worlds.recordings import write_recording

    with pytest.raises(NoAnswer, match="no more than a moment is recorded"):
        run(options(write_recording(tmp_path / "a.snap", [])))


def test_without_optuna(gainful: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says what to install, before anything is read."""
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(NoAnswer, match=r"needs optuna: pip install 'moorage\[tune\]'"):
        run(options(gainful.parent / "absent"))


def test_a_file_that_cannot_be_written_ends_it_at_once(
    gainful: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is searched for nothing."""
    monkeypatch.setattr(ProfileSearch, "run", lambda *_: pytest.fail("it searches"))
    with pytest.raises(NoAnswer, match="cannot be written: No such file or directory"):
        run(options(gainful, file=gainful.parent / "absent" / "tuned.yaml"))


@pytest.mark.parametrize("form", ["", "json"])
def test_what_was_found_is_told_where_it_cannot_be_written(
    form: str,
    gainful: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Somebody else makes the file during the search: the answer has the profile."""
    file, search = tmp_path / "tuned.yaml", ProfileSearch.run

    def meanwhile(*given: Any) -> Any:
        file.write_text("theirs")
        return search(*given)

    monkeypatch.setattr(ProfileSearch, "run", meanwhile)
    with pytest.raises(NoAnswer, match="cannot be written: File exists"):
        run(options(gainful, file=file, form=form))
    out = capsys.readouterr().out
    assert file.read_text() == "theirs" and "Written" not in out
    if form:
        chosen = read_output(out)["recommendation"]
        assert chosen["file"] is None
        document = chosen["document"]
    else:
        document = yaml.safe_load(out[out.index("# By moorage tune") :])
    assert RESOLVER(document, {}).id


def test_the_command(gainful: Path, tmp_path: Path) -> None:
    """As it is typed; wrong use is 2, and what cannot be read 3."""
    file = tmp_path / "tuned.yaml"
    words = ("--for", EMPTY[0], "--trials", "4", "--seed", "5", "--timeout", "5m", "--write", file)
    done = call("tune", gainful, *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert file.exists() and call("tune", gainful, *words).returncode == 2
    to_stdout = call("tune", gainful, *words[:-1], "-")
    assert to_stdout.stdout == file.read_text()
    assert to_stdout.stderr.startswith("Recommends ") and "Try it" not in to_stdout.stderr
    assert call("tune", tmp_path / "absent.rec", *words[:-1], tmp_path / "b.yaml").returncode == 3
    assert call("tune", gainful, *words, "--timeout", "soon").returncode == 2
