"""The fixtures, each time in a pytest of its own, as somebody's project would have them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

import pytest

import towtank

PACKAGE: Final = Path(towtank.__file__).parent
PROJECT: Final = PACKAGE.parents[1]


def run_pytest(folder: Path, *words: str) -> tuple[int, str]:
    """Exit code and output. The plugin is named, so that it is this tree's and not an installed
    one.
    """
    plugins = ("-p", "no:towtank", "-p", "towtank.pytest_plugin", "-p", "no:cacheprovider")
    paths = os.pathsep.join(path for path in sys.path if path)
    environment = {
        **os.environ,
        "PYTHONPATH": paths,
        "PYTEST_ADDOPTS": "",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = (
        sys.executable,
        "-m",
        "pytest",
        *plugins,
        "-q",
        f"--rootdir={folder}",
        *words,
        str(folder),
    )
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return done.returncode, done.stdout + done.stderr


def test_it_is_announced() -> None:
    """As pytest finds plugins."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"towtank": "towtank.pytest_plugin"}


def test_a_run_without_a_cluster_pays_nothing() -> None:
    """Neither the server nor what it needs is imported."""
    heavy = "'aiohttp', 'cryptography', 'yaml', 'asyncio', 'towtank.cluster'"
    text = f"import sys, towtank.pytest_plugin; print(sorted({{{heavy}}} & set(sys.modules)))"
    done = subprocess.run(
        (sys.executable, "-c", text), capture_output=True, text=True, check=True, cwd=PACKAGE.parent
    )
    assert done.stdout == "[]\n"


FIXTURES = """
import os, stat, subprocess, sys
import pytest, yaml

seen = set()

@pytest.mark.parametrize("number", [1, 2])
def test_each_has_its_own_namespace(cluster, session_cluster, namespace, kubeconfig, number):
    assert cluster.namespace == namespace and namespace.startswith("test-")
    assert namespace not in seen
    seen.add(namespace)
    assert cluster.server == session_cluster.server
    assert cluster.kubeconfig == kubeconfig != session_cluster.kubeconfig
    assert os.environ["KUBECONFIG"] == str(kubeconfig)
    assert stat.S_IMODE(kubeconfig.stat().st_mode) == 0o600
    (context,) = yaml.safe_load(kubeconfig.read_text())["contexts"]
    assert context["context"]["namespace"] == namespace

def test_nothing_is_left_in_the_environment():
    assert "KUBECONFIG" not in os.environ

def test_nodes(session_cluster):
    nodes = session_cluster.run(
        lambda api: api.verbs.store.list(api.catalogue.of_kind("v1", "Node").key)
    )
    assert len(nodes) == 5
"""


def test_fixtures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the session, and of a test; with an option from the configuration."""
    monkeypatch.delenv("KUBECONFIG", raising=False)
    (tmp_path / "test_fixtures.py").write_text(FIXTURES)
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\ntowtank_nodes = 5\ntowtank_controllers = none\n"
    )
    code, output = run_pytest(tmp_path)
    assert (code, output.splitlines()[-1][:9]) == (0, "4 passed "), output


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--towtank-controllers=some", "towtank_controllers: 'some': write one of all, none"),
        ("--towtank-nodes=-1", "towtank_nodes: '-1': write a whole number from 0 to 100000"),
        (
            "--towtank-frozen-after=soon",
            "towtank_frozen_after: 'soon': write a number of seconds, at most 86400",
        ),
    ],
)
def test_wrong_options(tmp_path: Path, option: str, message: str) -> None:
    """They are refused by name."""
    (tmp_path / "test_it.py").write_text("def test_it(cluster): pass\n")
    code, output = run_pytest(tmp_path, option)
    assert code == 1
    assert f"UsageError: {message}" in output


FROZEN = """
import ssl, time, urllib.request

def stand_still(cluster):
    cluster._thread._loop.call_soon_threadsafe(time.sleep, 60)

def test_before(cluster):
    pass

def test_that_waits(cluster, session_cluster):
    stand_still(session_cluster)
    try:
        urllib.request.urlopen(cluster.server, context=ssl._create_unverified_context())
    except Exception:
        raise AssertionError("a client that tries again would wait for ever") from None

def test_later(cluster):
    pass

def test_elsewhere():
    pass
"""


def test_a_frozen_server_fails_the_test_that_waits(tmp_path: Path) -> None:
    """By name and soon, though the test is blocked in a socket; later ones that need the cluster
    too, and no others.
    """
    (tmp_path / "test_frozen.py").write_text(FROZEN)
    code, output = run_pytest(tmp_path, "--towtank-frozen-after=0.5", "-rfE")
    assert code == 1
    said = (
        "towtank: the server is frozen: towtank-server has answered nothing for 0.5 s. It is here:"
    )
    assert output.count(said) >= 2
    assert "in _run" in output  # the stack
    assert re.search(r"^FAILED .*::test_that_waits", output, re.MULTILINE)
    assert re.search(r"^ERROR .*::test_later", output, re.MULTILINE)
    assert "1 failed, 2 passed, 1 error" in output
