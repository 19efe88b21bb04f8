"""The contexts of kubeconfig files."""

from __future__ import annotations

from moorage.api import yaml_documents
from moorage.apps.worlds.cluster_choice import ClusterChoice


def contexts(choice: ClusterChoice) -> list[str]:
    """The names of all contexts in the files of this choice; none for what cannot be read."""
    found: dict[str, None] = {}
    for file in choice.files():
        try:
            documents = yaml_documents.load_all(file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, yaml_documents.DocumentError):
            continue
        for document in documents:
            listed = document.get("contexts") if isinstance(document, dict) else None
            named = (one.get("name") for one in listed or () if isinstance(one, dict))
            found |= dict.fromkeys(map(str, filter(None, named)))
    return list(found)
