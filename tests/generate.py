"""Generated files: what each is made of. `python -m tests.generate` rewrites them, `--check` only
says which are out of date.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from moorage.api import crd_files
from tests import dashboard, reference_of_inputs, reference_of_outputs, reference_pages
from tests.conformance import known
from tests.packaging import chart, kustomizing

ROOT = Path(__file__).parent.parent
Files = Mapping[str, str]

Table = tuple[tuple[str, Callable[[], Files]], ...]
GENERATED: Table = (
    ("crds", crd_files.crd_documents),
    ("docs", reference_pages.pages),
    ("docs", reference_of_inputs.pages),
    ("docs", reference_of_outputs.pages),
    ("manifests/components/monitoring", dashboard.files),
    ("packages/towtank/docs", known.pages),
)
"""(folder, function that gives its generated files: name -> text). Other files of the folder are
written by hand.
"""

KUSTOMIZED: Table = (
    ("operator/moorage/data/install", kustomizing.files),
    ("manifests/chart", chart.files),
)
"""The same, of what kubectl makes of manifests/; without kubectl they stay as they are. All files
of these folders are generated.
"""


def outdated(table: Table = GENERATED) -> dict[Path, str]:
    """Files that are missing or differ from what they should be, with what they should be."""
    wanted = {
        ROOT / folder / name: text for folder, files in table for name, text in files().items()
    }
    return {
        path: text
        for path, text in wanted.items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    }


def main() -> int:
    """Rewrite, or check; the exit code is 1 when a check finds something."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="change nothing, name what is out of date"
    )
    check = parser.parse_args().check
    tables = [GENERATED]
    if kustomizing.kubectl().exists():
        tables.append(KUSTOMIZED)  # of files that the others are among
    else:
        sys.stdout.write("without kubectl (make assets) left as it is: manifests/chart\n")
    late = False
    for table in tables:
        for path, text in outdated(table).items():
            late = True
            sys.stdout.write(f"{'out of date' if check else 'written'}: {path.relative_to(ROOT)}\n")
            if not check:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
    return 1 if check and late else 0


if __name__ == "__main__":
    sys.exit(main())
