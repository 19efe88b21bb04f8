"""A hook of MkDocs (mkdocs.yml): links that leave docs/ become names of files in the repository,
which a site does not have.
"""

from __future__ import annotations

import re
from typing import Any

_LEAVES = re.compile(
    r"\[([^\]]+)\]\((?:\.\./)+((?:packages|tests|operator|manifests|crds)/?[^)#]*)[^)]*\)"
)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The page's text, from MkDocs; ``docs/`` itself is one folder below the repository's root."""
    return _LEAVES.sub(r"\1 (`\2` in the repository)", markdown)
