"""Which webhook an API server speaks of. It may ask several about one object, those of others too.
What it says has the webhook's name and, where it asked in vain, the address.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from moorage.apps.install.object_keys import Document

_UNANSWERED: Final = re.compile(r'failed calling webhook "([^"]+)"')
_DENIED: Final = re.compile(r'admission webhook "([^"]+)" denied the request')


def unanswered(said: str, configurations: Iterable[Document]) -> list[Document]:
    """Those of the configurations whose webhook could not be asked. Of several that name it alike,
    the one that was asked, where the address tells; else all.
    """
    return _meant(_UNANSWERED, said, configurations)


def denied(said: str, configurations: Iterable[Document]) -> list[Document]:
    """Those whose webhook has answered, and said no."""
    return _meant(_DENIED, said, configurations)


def _meant(
    pattern: re.Pattern[str], said: str, configurations: Iterable[Document]
) -> list[Document]:
    names = {*pattern.findall(said)}
    named = [one for one in configurations if any(hook["name"] in names for hook in _hooks(one))]
    asked = [one for one in named if any(_address(hook) in said for hook in _hooks(one))]
    return asked or named


def _hooks(configuration: Document) -> list[dict[str, Any]]:
    return configuration.get("webhooks") or []


def _address(hook: Mapping[str, Any]) -> str:
    """The URL's beginning."""
    client = hook["clientConfig"]
    if service := client.get("service"):
        return f"https://{service['name']}.{service['namespace']}.svc:"
    return str(client["url"])
