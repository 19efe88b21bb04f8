"""Folders as the whole file system of a process: the steps of a Dockerfile where there is no
registry to pull its base from.

The base is this machine's: its libraries and the Python that runs the tests, bound where an image
has them, read-only. Mounts are those of one process each and end with it. Only root may do this.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_BASE = ("bin", "etc", "lib", "lib64", "sbin", "usr")
"""Folders of the machine that a base image has too."""
_PYTHON = Path("usr/local")
"""Where the base has Python."""


def is_possible() -> bool:
    """Whether this process may mount."""
    command = ["unshare", "--mount", "--propagation", "private", "true"]
    return os.getuid() == 0 and subprocess.run(command, check=False).returncode == 0


@dataclass(frozen=True)
class Root:
    """A folder that stands for /; what is in it besides the base is written by steps."""

    folder: Path
    binds: Mapping[str, Path] = field(default_factory=dict)
    """Path within -> folder of the machine, which is not written to."""
    user: str = ""
    """UID and GID of processes, as in 65532:65532; then nothing can be written anywhere."""

    def command(self, words: Sequence[str], environment: Mapping[str, str]) -> list[str]:
        """A command that runs these words with this as /, in an environment of only this. It stays
        one process.
        """
        mounts = {name: Path("/", name) for name in _BASE if Path("/", name).exists()}
        mounts[str(_PYTHON)] = Path(sys.base_prefix)
        script = ["set -eu", f"mount --bind {self._at('')} {self._at('')}"]
        for name, source in {**mounts, **self.binds}.items():
            script += self._mount(name, source)
        script += [f"mkdir -p {self._at('proc')}", f"mount -t proc proc {self._at('proc')}"]
        script += self._devices()
        if self.user:
            script.append(f"mount -o bind,remount,ro {self._at('')}")
        else:
            shared = self._at("dev/shm")
            script += [f"mkdir -p {shared}", f"mount -t tmpfs shm {shared}"]
        given = {"LD_LIBRARY_PATH": f"/{_PYTHON}/lib", **environment}
        pairs = shlex.join(f"{name}={value}" for name, value in given.items())
        who = f"--userspec={self.user} --groups=" if self.user else ""
        run = shlex.join(words)
        script.append(f"exec chroot {who} {self._at('')} /usr/bin/env -i {pairs} {run}")
        text = "\n".join(script)
        return ["unshare", "--mount", "--propagation", "private", "bash", "-c", text]

    def _at(self, name: str) -> str:
        return shlex.quote(str(self.folder / name)) if name else shlex.quote(str(self.folder))

    def _mount(self, name: str, source: Path) -> list[str]:
        place, origin = self._at(name), shlex.quote(str(source))
        return [
            f"mkdir -p {place}",
            f"mount --bind {origin} {place}",
            f"mount -o bind,remount,ro {place}",
        ]

    def _devices(self) -> list[str]:
        found = [f"mkdir -p {self._at('dev')}"]
        for name in ("null", "urandom", "random"):
            place = self._at(f"dev/{name}")
            found += [f"touch {place}", f"mount --bind /dev/{name} {place}"]
        return found


def inherited() -> dict[str, str]:
    """How pip finds its index here."""
    return {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
