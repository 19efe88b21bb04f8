"""Fetch the libraries and fonts of the page into its folder ``vendor``: ``make vendor``.

npm fetches the packages, from whatever registry its user has set. A package whose content is not
the one in VENDORED is refused. Browsers resolve no bare names of modules, so imports become paths.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
VENDOR: Final = ROOT / "operator" / "moorage" / "apps" / "ui" / "static" / "vendor"


@dataclass(frozen=True)
class Vendored:
    """A package: its version, the SHA-256 of its archive, its files by their names here, and texts
    that are replaced in all its scripts.
    """

    package: str
    version: str
    sha256: str
    files: dict[str, str]
    replaced: dict[str, str] = field(default_factory=dict)
    appended: str = ""

    @property
    def folder(self) -> str:
        """Where its files go."""
        return self.package.rpartition("/")[2]


VENDORED: Final = (
    Vendored(
        "preact",
        "11.2.0",
        "3c4456766bd32b6b534d52bf4e9c2a29b33e7eedf6e96ed479300ba1a7888ebf",
        {"preact.js": "dist/preact.mjs", "hooks.js": "hooks/dist/hooks.mjs"},
        {'from"preact"': 'from"./preact.js"'},
    ),
    Vendored(
        "htm",
        "3.1.1",
        "2425b9bee11409177bcabc7f32e319926fc6690c1701c0b257c88bdff2d5ba90",
        {"htm.js": "dist/htm.mjs"},
    ),
    Vendored(
        "uplot",
        "1.6.32",
        "4b8a8191e425658e3ea8c8c1314b0fc679c861ee3a1af2b20c7b16ba50b5133d",
        {"uplot.js": "dist/uPlot.iife.min.js", "uplot.css": "dist/uPlot.min.css"},
        appended="export default uPlot;\n",
    ),
    Vendored(
        "@tanstack/virtual-core",
        "3.19.11",
        "61e75133db75f5bc1b1656a095e1a92387c0c3b24b5052f2cd9bf00283c5081d",
        {
            f"{name}.js": f"dist/esm/{name}.js"
            for name in ("index", "ios-gesture", "lazy-measurements", "scroll-classifier", "utils")
        },
        {"process.env.NODE_ENV": '"production"'},
    ),
    Vendored(
        "@fontsource-variable/inter",
        "5.3.0",
        "d26710dd38e7217484a1d47ee76c024977ec550548876f26d06ed1844af09a14",
        {"inter.woff2": "files/inter-latin-wght-normal.woff2"},
    ),
    Vendored(
        "@fontsource-variable/jetbrains-mono",
        "5.3.0",
        "996fe6368a480c9ce15d4de22a2682b7c40b403718fee2b15e7272f244fd993f",
        {"jetbrains-mono.woff2": "files/jetbrains-mono-latin-wght-normal.woff2"},
    ),
)


def main() -> int:
    """Fetch all of them; 1 when an archive is not the one that is expected."""
    wrong = []
    for one in VENDORED:
        with tempfile.TemporaryDirectory(prefix="moorage-vendor-") as folder:
            archive = packed(one, Path(folder))
            found = hashlib.sha256(archive.read_bytes()).hexdigest()
            if found == one.sha256:
                unpack(one, archive)
            else:
                wrong.append(f"{one.package} {one.version} has {found}, expected {one.sha256}")
    sys.stderr.writelines(f"{line}\n" for line in wrong)
    return 1 if wrong else 0


def packed(one: Vendored, folder: Path) -> Path:
    """The package's archive, fetched by npm."""
    command = ("npm", "pack", "--silent", f"{one.package}@{one.version}")
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    (archive,) = folder.glob("*.tgz")
    return archive


def unpack(one: Vendored, archive: Path) -> None:
    """Write the files that are wanted, and the licence."""
    target = VENDOR / one.folder
    target.mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive) as tar:
        for name, source in {**one.files, "LICENSE": "LICENSE"}.items():
            member = tar.extractfile(f"package/{source}")
            assert member is not None, f"{one.package} has no {source}"
            content = member.read()
            if name.endswith(".js"):
                content = adapted(content.decode(), one).encode()
            (target / name).write_bytes(content)


def adapted(script: str, one: Vendored) -> str:
    """A script as a browser takes it without a build step."""
    for before, after in one.replaced.items():
        script = script.replace(before, after)
    return "\n".join((*without_source_maps(script.splitlines()), one.appended))


def without_source_maps(lines: Iterable[str]) -> list[str]:
    """Nothing asks for maps that are not there."""
    return [line for line in lines if not line.startswith("//# sourceMappingURL=")]


if __name__ == "__main__":
    sys.exit(main())
