"""What is left out of a bundle: fields that may hold anything, and credentials wherever they stand.

It takes two goes, as a text may quote what a field of another document calls a secret.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from moorage.apps.bundle.secret_texts import LEFT_OUT, SECRET_FLAG, SECRET_NAME, without_secrets

_FIELDS: Final = frozenset(
    ("annotations", "managedFields", "env", "envFrom", "command", "image", "images", "data")
)
"""Of objects; ``data`` is that of Secrets and ConfigMaps, should one be in an object."""
_SHORTEST: Final = 6
"""A secret that is looked for in texts has so many characters: shorter ones are words."""


class LeavingOut:
    """Cleans the parts of one bundle. What it met as the value of a secret field it takes out of
    all texts, too: messages quote values.
    """

    def __init__(self) -> None:
        self._secrets: set[str] = set()

    def fields(self, value: Any) -> Any:
        """An object, or part of one, without the fields that are left out, and so in texts that are
        JSON; all parts go through this before any goes through ``texts``.
        """
        if isinstance(value, Mapping):
            named = _is_named_as_secret(value)
            return {
                name: self._hidden(one)
                if SECRET_NAME.search(str(name)) or (named and name in ("value", "values"))
                else self.fields(one)
                for name, one in value.items()
                if name not in _FIELDS
            }
        if isinstance(value, list | tuple):
            return list(self._arguments(value))
        return self._json(value) if isinstance(value, str) else value

    def texts(self, value: Any) -> Any:
        """The same without credentials in any text of it, be that a key."""
        return in_texts(value, self._text)

    def _arguments(self, values: Sequence[Any]) -> Iterator[Any]:
        flagged = False
        for one in values:
            yield self._hidden(one) if flagged else self.fields(one)
            flagged = isinstance(one, str) and SECRET_FLAG.fullmatch(one) is not None

    def _json(self, text: str) -> str:
        """A text, or each line of it, that is JSON, cleaned as a document: logs have such."""
        if "{" not in text and "[" not in text:
            return text
        whole = self._line(text)
        return whole or "".join(self._line(one) or one for one in text.splitlines(keepends=True))

    def _line(self, line: str) -> str | None:
        """None where it is no JSON."""
        bare = line.strip()
        if not bare.startswith(("{", "[")):
            return None
        try:
            found = json.loads(bare)
        except (ValueError, RecursionError):
            return None
        return line.replace(bare, json.dumps(self.fields(found), ensure_ascii=False))

    def _text(self, text: str) -> str:
        for secret in sorted(self._secrets, key=len, reverse=True):
            text = text.replace(secret, LEFT_OUT)
            text = text.replace(json.dumps(secret)[1:-1], LEFT_OUT)
        return without_secrets(text)

    def _hidden(self, value: Any) -> Any:
        """In its place; true and false say nothing."""
        if isinstance(value, Mapping):
            return {name: self._hidden(one) for name, one in value.items()}
        if isinstance(value, list | tuple):
            return [self._hidden(one) for one in value]
        if isinstance(value, bool) or value in (None, ""):
            return value
        if len(text := str(value)) >= _SHORTEST:
            self._secrets.add(text)
        return LEFT_OUT


def in_texts(value: Any, change: Callable[[str], str]) -> Any:
    """A document whose texts are changed, keys as well."""
    if isinstance(value, Mapping):
        return {change(str(name)): in_texts(one, change) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [in_texts(one, change) for one in value]
    return change(value) if isinstance(value, str) else value


def _is_named_as_secret(value: Mapping[str, Any]) -> bool:
    """Whether it is a pair as {name: PASSWORD, value: …}."""
    return any(
        isinstance(name := value.get(field), str) and SECRET_NAME.search(name)
        for field in ("name", "key")
    )
