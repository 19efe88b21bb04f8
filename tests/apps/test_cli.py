"""The command line, as a user calls it: texts and exit statuses."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

import moorage
from moorage.api.operator_config import ConfigErrors, load_config
from moorage.apps import resources
from moorage.apps.cli import FLAGS, Flag, app
from tests.rig.operators import ROOT

MODULES = 200
"""Loaded for `moorage --help`, at most: 173 by now, 115 of them of the standard library."""
HEAVY = ("aiohttp", "kopf", "kubernetes", "numpy", "prometheus_client", "yaml")


def call(
    *words: str | Path, environment: dict[str, str] | None = None, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run `python -I -m moorage` with these words and nothing of this process's environment that it
    would read.
    """
    clean = {name: value for name, value in os.environ.items() if not name.startswith("MOORAGE_")}
    command = [sys.executable, "-I", "-m", "moorage", *map(str, words)]
    whole = {**clean, **(environment or {})}
    return subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=60, env=whole, input=stdin
    )


@pytest.mark.parametrize("flag", FLAGS, ids=lambda flag: flag.name)
def test_every_flag_sets_a_field(flag: Flag) -> None:
    """The configuration knows the path, and judges the value; a path that it lacks would be a
    KeyError.
    """
    with contextlib.suppress(ConfigErrors):
        load_config(None, {}, {flag.field: "7"})


def test_help_is_light() -> None:
    """`moorage --help` names the commands and loads nothing heavy."""
    program = f"""
import sys
from moorage.apps import cli
sys.argv = ["moorage", "--help"]
try:
    cli.main()
finally:
    found = [name for name in {HEAVY} if name in sys.modules]
    many = len(sys.modules) > {MODULES} and f"{{len(sys.modules)}} modules"
    sys.exit(",".join(found) or many or 0)
"""
    done = subprocess.run(
        [sys.executable, "-I", "-c", program],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    reading = ("snapshot", "record", "replay", "fit", "simulate", "tune")
    for command in ("run", "demo", "check", "convert", "crds", "version", *reading):
        assert f"\n  {command} " in done.stdout
    assert "..." not in done.stdout.replace("[ARGS]...", "")


def test_module_and_script_are_the_same() -> None:
    """`python -I -m moorage` and the installed script."""
    script = Path(sys.executable).with_name("moorage")
    assert call("--version").stdout == call("version").stdout
    assert (
        call("version").stdout
        == subprocess.check_output([script, "version"], text=True)
        == f"moorage {moorage.__version__}\n"
    )


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["walk"],
        ["run", "--walk"],
        ["run", "extra"],
        ["check"],
        ["convert"],
        ["convert", "none"],
        ["record"],
        ["replay"],
        ["tune"],
    ],
    ids=" ".join,
)
def test_wrong_use_is_2(words: list[str]) -> None:
    """An unknown command, flag or argument, or a missing one."""
    assert call(*words).returncode == 2


def test_every_configuration_error_is_told_at_once(tmp_path: Path) -> None:
    """Those of file, environment and flags together, each with its path; nothing is started."""
    config = tmp_path / "config.yaml"
    config.write_text(
        "apiVersion: config.moorage.dev/v1alpha1\nkind: "
        "OperatorConfiguration\nbindConcurency: 5\npercentageOfNodesToScore: 101\n"
    )
    environment = {"MOORAGE_CFG_LOGGING__FORMAT": "xml"}
    done = call(
        "run",
        "--config",
        config,
        "--secure-port=http",
        "--leader-elect-lease-duration=1s",
        environment=environment,
    )
    assert done.returncode == 2
    for told in (
        'bindConcurency: 5: unknown field; did you mean "bindConcurrency"?',
        "percentageOfNodesToScore: 101",
        "logging.format: 'xml'",
    ):
        assert told in done.stderr
    for told in ("serving.securePort: 'http'", "renewDeadline"):
        assert told in done.stderr
    assert done.stdout == ""


def test_a_configuration_file_must_be_there(tmp_path: Path) -> None:
    """And be text."""
    assert "No such file" in call("run", "--config", tmp_path / "none.yaml").stderr
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe")
    done = call("run", "--config", tmp_path / "binary.yaml")
    assert (done.returncode, "binary.yaml" in done.stderr) == (2, True)


def test_write_config_to_round_trip(tmp_path: Path) -> None:
    """What is written is effective (defaults, file, environment, flags) and reads back as the
    same.
    """
    first, second = tmp_path / "first.yaml", tmp_path / "second.yaml"
    flags = [
        "--leader-elect=false",
        "--kubeconfig=/k",
        "--leader-elect-resource-namespace=here",
        "--secure-port=0",
        "-v=2",
    ]
    assert (
        call(
            "run",
            *flags,
            "--write-config-to",
            first,
            environment={"MOORAGE_CFG_BIND_CONCURRENCY": "8"},
        ).returncode
        == 0
    )
    written = yaml.safe_load(first.read_text())
    assert written["leaderElection"]["leaderElect"] is False
    assert written["leaderElection"]["leaseDuration"] == "15s"
    assert written["leaderElection"]["resourceNamespace"] == "here"
    assert written["clientConnection"]["kubeconfig"] == "/k"
    assert written["serving"]["securePort"] == 0
    assert written["logging"]["verbosity"] == 2
    assert written["bindConcurrency"] == 8
    assert call("run", "--config", first, "--write-config-to", second).returncode == 0
    assert second.read_text() == first.read_text()


@pytest.mark.parametrize(
    "words",
    [["--leader-elect"], ["--leader-elect=true"], ["--leader-elect", "--v", "2"]],
    ids=" ".join,
)
def test_flags_as_kube_scheduler_has_them(words: list[str], tmp_path: Path) -> None:
    """A boolean may stand alone or have a value."""
    config, out = tmp_path / "config.yaml", tmp_path / "out.yaml"
    config.write_text(
        "apiVersion: config.moorage.dev/v1alpha1\nkind: "
        "OperatorConfiguration\nleaderElection: {leaderElect: false}\n"
    )
    assert call("run", "--config", config, *words, "--write-config-to", out).returncode == 0
    assert yaml.safe_load(out.read_text())["leaderElection"]["leaderElect"] is True


def test_write_config_to_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    """Is wrong use."""
    done = call("run", "--write-config-to", tmp_path / "no" / "folder")
    assert (done.returncode, "No such file" in done.stderr) == (2, True)


def test_a_kubeconfig_that_is_not_there(tmp_path: Path) -> None:
    """Is told in one line, with the flag that named it."""
    done = call("run", "--kubeconfig", tmp_path / "none")
    assert done.returncode == 2
    assert f"--kubeconfig {tmp_path / 'none'}: no such file" in done.stderr
    assert "Traceback" not in done.stderr


def test_crds_can_be_applied() -> None:
    """Both kinds, as YAML."""
    done = call("crds")
    kinds = [document["spec"]["names"]["kind"] for document in yaml.safe_load_all(done.stdout)]
    assert (done.returncode, sorted(kinds)) == (0, ["PluginConfig", "SchedulerProfile"])


def test_a_wheel_has_what_it_needs(tmp_path: Path) -> None:
    """Without a checkout: CRDs and samples are in the wheel. The rest: tests/install."""
    subprocess.run(
        [sys.executable, "-I", "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        check=True,
        cwd=ROOT,
        capture_output=True,
        timeout=60,
    )
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")

    def installed(program: str) -> subprocess.CompletedProcess[str]:
        path = f"import sys; sys.path.insert(0, {str(tmp_path / 'installed')!r}); "
        return subprocess.run(
            [sys.executable, "-I", "-c", path + program],
            check=False,
            capture_output=True,
            text=True,
            timeout=60,
        )

    command = "from moorage.apps.cli import app; app({!r})"
    assert installed(command.format(["crds"])).stdout == call("crds").stdout
    samples = installed(
        "from moorage.apps import resources; print(resources.samples(), end='')"
    ).stdout
    assert samples == resources.samples()
    assert {body["kind"] for body in yaml.safe_load_all(samples)} == {
        "SchedulerProfile",
        "PluginConfig",
        "Pod",
    }


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "No such file or directory"),
        ("[1, 2", "this is no YAML"),
        ("- {name: n, cpu: 1}", "memory: None: it is missing"),
    ],
    ids=["no file", "no YAML", "incomplete"],
)
def test_demo_wants_nodes_that_make_sense(tmp_path: Path, text: str | None, told: str) -> None:
    """Before anything is started."""
    file = tmp_path / "nodes.yaml"
    if text is not None:
        file.write_text(text)
    done = call("demo", "--shape", str(file))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("moorage: ")
    assert str(file) in done.stderr
    assert told in done.stderr


@pytest.mark.parametrize(
    ("text", "told"),
    [(None, "No such file or directory"), ("{podMaxBackoffSeconds: none}", "podMaxBackoffSeconds")],
)
def test_demo_wants_a_configuration_that_makes_sense(
    tmp_path: Path, text: str | None, told: str
) -> None:
    """Before anything is started."""
    file = tmp_path / "operator.yaml"
    if text is not None:
        file.write_text(text)
    done = call("demo", "--config", str(file))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("moorage: ")
    assert told in done.stderr


def test_what_is_converted_can_be_checked(tmp_path: Path) -> None:
    """From stdin to profiles on stdout, with warnings on stderr; the check is of the same
    opinion.
    """
    policy = (
        '{"kind": "Policy", "apiVersion": "v1", "priorities": [{"name": "MostRequestedPriority", '
        '"weight": 2}]}'
    )
    done = call("convert", "--plugin-configs", "-", stdin=policy)
    assert done.returncode == 0
    assert all(
        line.startswith("moorage: -: document 1: warning: ") for line in done.stderr.splitlines()
    )
    assert [body["kind"] for body in yaml.safe_load_all(done.stdout)] == [
        "PluginConfig",
        "SchedulerProfile",
    ]
    file = tmp_path / "profiles.yaml"
    file.write_text(done.stdout)
    assert call("check", file).stdout == "2 objects checked: no errors\n"
    again = call("check", "-", stdin=file.read_text())
    assert again.stdout == "2 objects checked: no errors\n"


def test_what_kube_scheduler_refuses_is_not_converted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit status 1 and nothing on stdout."""
    file = tmp_path / "config.yaml"
    file.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: "
        "KubeSchedulerConfiguration\nparallelism: 0\n"
    )
    with pytest.raises(SystemExit) as ended:
        app(["convert", str(file)])
    told = capsys.readouterr()
    assert (ended.value.code, told.out) == (1, "")
    assert (
        f"moorage: {file}: document 1: error: parallelism: 0: should be an integer value "
        f"greater than zero"
    ) in told.err


def test_what_a_file_holds_cannot_command_the_terminal(tmp_path: Path) -> None:
    """Names and values with control characters are shown escaped, by whatever command reads
    them.
    """
    odd = "x\\e]0;owned\\a\\n\\u202e\\x9b"
    file = tmp_path / "odd.yaml"
    profile = (
        f"apiVersion: moorage.dev/v1alpha1\nkind: SchedulerProfile\nmetadata: {{name: "
        f'"{odd}"}}\nspec: {{preset: "{odd}"}}\n'
    )
    upstream = (
        f"apiVersion: kubescheduler.config.k8s.io/v1\nkind: "
        f'KubeSchedulerConfiguration\nprofiles: [{{schedulerName: "{odd}"}}]\n'
    )
    for text, command in ((profile, "check"), (upstream, "convert"), (f'kind: "{odd}"', "run")):
        file.write_text(text)
        done = call(command, *(["--config"] if command == "run" else []), file)
        assert all(line.isprintable() for line in (done.stdout + done.stderr).split("\n"))
        assert "x\\" in done.stdout + done.stderr


@pytest.mark.parametrize("words", [["version"], ["crds"], ["--help"]], ids=" ".join)
def test_a_full_disk_is_told(words: list[str]) -> None:
    """In a line, whether the answer is longer than what Python keeps back or not; it is no "no"."""
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-I", "-m", "moorage", *words],
            check=False,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    assert ended.stderr == "moorage: not all could be written: No space left on device\n"
    assert ended.returncode == 3
