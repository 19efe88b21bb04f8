"""Strategies of ConfigMaps and Secrets."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Sequence
from typing import Final

from towtank.model import object_selectors
from towtank.model.api_errors import StatusCause, undecodable
from towtank.model.kinds import Body, Strategy
from towtank.strategies.common import fill, unchanged

_KEY: Final = re.compile("[-._a-zA-Z0-9]+")
MAX_DATA_BYTES: Final = 1024 * 1024
"""Of all values together."""
_KEY_TEXT: Final = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "
    "'key.name',  or 'KEY_NAME',  or 'key-name', "
    f"regex used for validation is '{_KEY.pattern}')"
)
_FIXED: Final = "field is immutable when `immutable` is set"
_NEEDED: Final = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
}
_BASE64: Final = re.compile(r"[A-Za-z0-9+/=\s]*")


def _key_causes(body: Body, *parts: str) -> Iterator[StatusCause]:
    for part in parts:
        for key in body.get(part) or ():
            if not _KEY.fullmatch(key):
                yield StatusCause.invalid(f"{part}[{key}]", key, _KEY_TEXT)


def _size_causes(field: str, texts: Body | None, coded: Body | None) -> Iterator[StatusCause]:
    size = sum(len(text.encode()) for text in (texts or {}).values())
    size += sum(len(base64.b64decode(text or "")) for text in (coded or {}).values())
    if size > MAX_DATA_BYTES:
        yield StatusCause.too_long(field, MAX_DATA_BYTES)


def _fixed_causes(new: Body, old: Body, *parts: str) -> Iterator[StatusCause]:
    if old.get("immutable"):
        if not new.get("immutable"):
            yield StatusCause.forbidden("immutable", _FIXED)
        for part in parts:
            if new.get(part) != old.get(part):
                yield StatusCause.forbidden(part, _FIXED)


class ConfigMapStrategy(Strategy):
    def validate(self, body: Body) -> Sequence[StatusCause]:
        """Keys are file names."""
        return (
            *_key_causes(body, "data", "binaryData"),
            *_size_causes("[]", body.get("data"), body.get("binaryData")),
        )

    def validate_update(self, new: Body, old: Body) -> Sequence[StatusCause]:
        """An immutable one stays."""
        return tuple(_fixed_causes(new, old, "data", "binaryData"))


class SecretStrategy(Strategy):
    selectable = object_selectors.field_readers("type")

    def default(self, body: Body) -> None:
        """Text is written as bytes."""
        fill(body, {"type": "Opaque"})
        if text := body.pop("stringData", None):
            body["data"] = {
                **(body.get("data") or {}),
                **{key: base64.b64encode(value.encode()).decode() for key, value in text.items()},
            }
        for value in (body.get("data") or {}).values():
            _check_base64(value)

    def validate(self, body: Body) -> Sequence[StatusCause]:
        """Keys are file names, and some are needed."""
        needed = [
            StatusCause.required(f"data[{key}]")
            for key in _NEEDED.get(body["type"], ())
            if key not in (body.get("data") or {})
        ]
        return [*_key_causes(body, "data"), *_size_causes("data", None, body.get("data")), *needed]

    def validate_update(self, new: Body, old: Body) -> Sequence[StatusCause]:
        """A Secret's type is immutable, and where it says so its data."""
        return [*unchanged(new, old, "type"), *_fixed_causes(new, old, "data")]


def _check_base64(text: str | None) -> None:
    good = _BASE64.match(text or "")
    place = good.end() if good else 0
    try:
        base64.b64decode(text or "", validate=True)
    except (binascii.Error, ValueError) as error:
        raise undecodable(
            "Secret", "v1", "Secret", f"illegal base64 data at input byte {place}"
        ) from error
