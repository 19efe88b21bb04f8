"""Python environments of their own: what the operator's has, and packages installed into them by
pip, as an image's builder does.
"""

import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Final


class Environment:
    """A virtual environment that sees all that this one has."""

    def __init__(self, folder: Path) -> None:
        """Made in `folder`, in about a second: without pip, as this environment's pip serves it."""
        subprocess.run(
            [sys.executable, "-I", "-m", "venv", "--without-pip", str(folder)],
            check=True,
            timeout=60,
        )
        self.python: Final = folder / "bin" / "python"
        (site,) = (folder / "lib").glob("python*/site-packages")
        # A line that begins with import is executed: .pth files of the other folder count too, as
        # for an editable install.
        (site / "parent.pth").write_text(
            f"import site; site.addsitedir({sysconfig.get_paths()['purelib']!r})\n"
        )

    def install(self, project: Path) -> None:
        """Install a project from its folder, without any network; a former version of it goes."""
        command = [
            sys.executable,
            "-m",
            "pip",
            "--python",
            str(self.python),
            "install",
            "--quiet",
            "--no-index",
        ]
        options = ["--no-deps", "--no-build-isolation", "--disable-pip-version-check", str(project)]
        done = subprocess.run(
            [*command, *options], capture_output=True, text=True, check=False, timeout=120
        )
        assert done.returncode == 0, done.stderr
