"""What a linter would say of the Dockerfile, rule by rule; that its steps work: tests/install."""

from __future__ import annotations

import fnmatch
import re
import tomllib
from collections.abc import Callable, Iterator

import pytest

import moorage
from tests.release.dockerfile import Instruction, instructions, pairs, stages
from tests.rig.operators import ROOT

TEXT = (ROOT / "Dockerfile").read_text()


def base_without_tag(one: Instruction) -> bool:
    """FROM an image that is whatever is the latest."""
    return one.word == "FROM" and not re.search(r"\$\{BASE\}|:(?!latest)", one.rest)


def added(one: Instruction) -> bool:
    """ADD, which unpacks and fetches."""
    return one.word == "ADD"


def shell_form(one: Instruction) -> bool:
    """A process of a shell's, which swallows signals."""
    return one.word in ("CMD", "ENTRYPOINT") and not one.rest.startswith("[")


def relative_folder(one: Instruction) -> bool:
    """WORKDIR that depends on the base."""
    return one.word == "WORKDIR" and not one.rest.startswith("/")


def changes_folder(one: Instruction) -> bool:
    """`cd` in the place of WORKDIR."""
    return one.word == "RUN" and re.search(r"\bcd ", one.rest) is not None


def unpinned(one: Instruction) -> bool:
    """Packages whose content nobody has seen: every installation has hashes, or no index."""
    commands = re.findall(r"pip [^&]*install[^&]*", one.rest) if one.word == "RUN" else []
    return any(not re.search("--require-hashes|--no-index", command) for command in commands)


def keeps_a_cache(one: Instruction) -> bool:
    """What pip keeps for the next time, which does not come."""
    commands = re.findall(r"pip [^&]*(?:install|wheel)[^&]*", one.rest)
    return one.word == "RUN" and any("--no-cache-dir" not in command for command in commands)


def hidden_failure(one: Instruction) -> bool:
    """A pipe or a list of commands of which only the last counts."""
    return one.word == "RUN" and re.search(r"(?<!\|)\|(?!\|)|;|\|\|", one.rest) is not None


def with_privileges(one: Instruction) -> bool:
    """sudo, and packages of the distribution, which nobody pins."""
    return (
        one.word == "RUN" and re.search(r"\bsudo\b|\bapt(-get)?\b|\bcurl\b", one.rest) is not None
    )


def outdated(one: Instruction) -> bool:
    """MAINTAINER is no more."""
    return one.word == "MAINTAINER"


def secret(one: Instruction) -> bool:
    """What stays in the image's history."""
    return one.word in ("ARG", "ENV") and re.search("TOKEN|SECRET|PASSWORD", one.rest) is not None


RULES: dict[Callable[[Instruction], bool], str] = {
    base_without_tag: "FROM python",
    added: "ADD a b",
    shell_form: "CMD run",
    relative_folder: "WORKDIR src",
    changes_folder: "RUN cd /src && make",
    unpinned: "RUN pip install --no-cache-dir numpy",
    keeps_a_cache: "RUN pip install --require-hashes -r a.txt",
    hidden_failure: "RUN a | b",
    with_privileges: "RUN apt-get install -y make",
    outdated: "MAINTAINER somebody",
    secret: "ARG TOKEN",
}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_rules(rule: Callable[[Instruction], bool]) -> None:
    """No instruction breaks it; an example does."""
    (example,) = instructions(RULES[rule])
    assert rule(example)
    assert [one.line for one in instructions(TEXT) if rule(one)] == []


def words(stage: list[Instruction], word: str) -> Iterator[str]:
    """What follows a word."""
    return (one.rest for one in stage if one.word == word)


def test_the_base_can_be_given_by_its_digest() -> None:
    """Both stages have one base, which is an argument."""
    first, *_ = instructions(TEXT)
    assert first.word == "ARG"
    assert first.rest.startswith("BASE=python:3.11-slim")
    builder, final = stages(TEXT)
    assert builder[0].rest == "${BASE} AS builder"
    assert final[0].rest == "${BASE}"


def test_nobody_is_root() -> None:
    """The last word is a number, so that the kubelet can tell; files are root's, and stay so."""
    _, final = stages(TEXT)
    assert list(words(final, "USER")) == ["65532:65532"]
    assert not [copied for copied in words(final, "COPY") if "--chown" in copied]
    assert not list(words(final, "RUN"))


def test_labels() -> None:
    """Those of OCI, with the version that there is."""
    _, final = stages(TEXT)
    (labels,) = (pairs(rest) for rest in words(final, "LABEL"))
    names = {name.removeprefix("org.opencontainers.image.") for name in labels}
    assert names == {"title", "description", "version", "revision", "licenses", "base.name"}
    assert f"VERSION={moorage.__version__}" in words(final, "ARG")


def test_times_are_those_of_the_source() -> None:
    """Wheels are built, and bytecode is made, without any time of the build."""
    builder, _ = stages(TEXT)
    assert [one for one in words(builder, "ARG") if one.startswith("SOURCE_DATE_EPOCH=")]
    installs = [run for run in words(builder, "RUN") if "--python /opt/moorage" in run]
    assert installs
    assert all("--no-compile" in run for run in installs)
    assert any("--invalidation-mode unchecked-hash" in run for run in words(builder, "RUN"))


def test_the_build_context_has_what_is_copied() -> None:
    """And no more: every name in .dockerignore is copied, every name that is copied is there."""
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    let_in = {line[1:].rstrip("/") for line in lines if line.startswith("!")}
    builder, _ = stages(TEXT)
    copied = {name.rstrip("/") for rest in words(builder, "COPY") for name in rest.split()[:-1]}
    assert "*" in lines
    assert {name for name in copied if not (ROOT / name).exists()} == set()
    assert {name for name in copied if not _within(name, let_in)} == set()
    assert {name for name in let_in if not any(_within(one, {name}) for one in copied)} == set()


def _within(name: str, folders: set[str]) -> bool:
    return any(name == one or fnmatch.fnmatch(name, f"{one}/*") for one in folders)


def test_the_build_has_what_pyproject_puts_into_the_wheel() -> None:
    """A folder that is forced into the wheel is copied."""
    tables = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    forced = tables["targets"]["wheel"]["force-include"]
    builder, _ = stages(TEXT)
    copied = {name.rstrip("/") for rest in words(builder, "COPY") for name in rest.split()[:-1]}
    assert {name for name in forced if not _within(name, copied)} == set()
