"""What no committed file may say: where its author's files were, or from which host packages
come.
"""

import re
from pathlib import Path
from typing import Final

import pytest

from tests.architecture.sources import ROOT, committed

# Which registry serves a package is the user's setting. Names are put together here, or this file
# would break its own rule.
_HOSTS: Final = (
    "pypi.{}org",
    "pythonhosted.{}org",
    "proxy.golang.{}org",
    "sum.golang.{}org",
    "npmjs.{}org",
    "crates.{}io",
    "debian.{}org",
)
_FOLDERS: Final = ("work", "root", "home")
FORBIDDEN: Final = re.compile(
    "|".join(
        (
            *(re.escape(host.format("")) for host in _HOSTS),
            *(rf"(?<![\w.:/$\}}-])/{folder}/" for folder in _FOLDERS),
            *(f"{option}-{'url'}" for option in ("index", "index-extra", "extra-index")),
            f"find-{'links'} ",
        )
    )
)

# Lists that tools make and check themselves: hashes of modules by their names.
_NOT_READ: Final = frozenset({"go.sum"})


def readable() -> list[Path]:
    """The committed files that are text."""
    return [
        path
        for path in committed()
        if path.name not in _NOT_READ and b"\0" not in path.read_bytes()[:1024]
    ]


def test_no_file_names_a_host_or_a_folder_of_its_author() -> None:
    """A clone works wherever it is, with whatever registry its user has."""
    found = [
        f"{path.relative_to(ROOT)}:{number}: {match.group()}"
        for path in readable()
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
        if (match := FORBIDDEN.search(line))
    ]
    assert not found


@pytest.mark.parametrize(
    ("text", "forbidden"),
    [
        (f"--index-{'url'} https://example.com", True),
        (f"see /{'root'}/notes.md", True),
        (f"at '/{'work'}/main'", True),
        (f"https://{'pypi'}.org/simple", True),
        ("kubectl get pods -n kube-system", False),
        ("GET /apis/batch/v1/work/", False),
    ],
)
def test_what_is_forbidden(text: str, forbidden: bool) -> None:
    """The pattern finds what it is for, and leaves paths of the API alone."""
    assert bool(FORBIDDEN.search(text)) is forbidden


def test_exemptions_from_the_linter_say_why() -> None:
    """A `noqa` names its rule, and the rest of the comment is the reason."""
    lifted = re.compile(r"#\s*noqa\b(?!: [A-Z]+\d+(, ?[A-Z]+\d+)*\W+\w)")
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in readable()
        if path.suffix == ".py" and path != Path(__file__)
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if lifted.search(line)
    ]
    assert not found
