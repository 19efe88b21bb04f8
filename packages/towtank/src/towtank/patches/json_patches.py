"""JSON patches (RFC 6902), with the liberties that the API server's library takes and clients have
come to rely on.

Beyond the RFC: a member that is not there may be replaced, is null when tested or copied, and a
missing value is null; an index may be negative, and the first segment of a path is not looked at.
So a library that keeps to the letter would refuse what a cluster accepts.
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from towtank.model.api_errors import ApiError, bad_request
from towtank.model.json_values import TooDeep, cloned, json_type, require_shallow
from towtank.model.kinds import Body

MAX_OPERATIONS: Final = 10_000
MAX_COPIED_BYTES: Final = 3 * 1024 * 1024
"""Of all copy operations of one patch: each may double the document."""

_INDEX: Final = re.compile(r"[+-]?[0-9]{1,9}")


def json_patch(old: Body, patch: Any) -> Body:
    """The new body. Raises ApiError: 400 for what is no JSON patch, 413 for too long a one, 422 for
    one that does not fit the body.
    """
    operations = _operations(patch)
    document = _Document(cloned(old))
    try:
        for operation in operations:
            document.apply(operation)
        require_shallow(document.root)
    except TooDeep as error:
        raise bad_request(str(error)) from error
    except RecursionError as error:  # a document that was copied into itself again and again
        raise _unfit() from error
    if not isinstance(document.root, dict):
        raise _unfit()
    return document.root


def _operations(patch: Any) -> list[dict[str, Any]]:
    """The operations. null is a patch without any."""
    if patch is None:
        return []
    if not isinstance(patch, list):
        raise _undecodable(patch, "Go value of type []handlers.jsonPatchOp")
    if len(patch) > MAX_OPERATIONS:
        text = (
            f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(patch)}"
        )
        raise ApiError(413, "RequestEntityTooLarge", f"Request entity too large: {text}")
    return [_operation(one) for one in patch]


def _operation(one: Any) -> dict[str, Any]:
    """An operation, of which members are strings where they have to be. null is one without any
    content.
    """
    if not isinstance(one, dict | None):
        raise _undecodable(one, "Go value of type handlers.jsonPatchOp")
    operation = one or {}
    for name in ("op", "path", "from"):
        if not isinstance(said := operation.get(name), str | None):
            raise _undecodable(said, f"Go struct field jsonPatchOp.{name} of type string")
    return operation


def _undecodable(value: Any, target: str) -> ApiError:
    return bad_request(
        f"error decoding patch: json: cannot unmarshal {json_type(value)} into {target}"
    )


def _unfit() -> ApiError:
    return ApiError(
        422, "Invalid", "the server rejected our request due to an error in our request", {}
    )


class _Document:
    """A body on which operations work in place."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self._copied = 0

    def apply(self, operation: dict[str, Any]) -> None:
        """Do one operation. Raises ApiError 422."""
        kind, path, value = (operation.get(name) for name in ("op", "path", "value"))
        if path == "" and kind in ("replace", "test"):
            self._whole(str(kind), value)
            return
        if kind in ("move", "copy"):
            value = self._taken(operation.get("from"), move=kind == "move")
        container, token = self._place(path)
        if kind in ("add", "move", "copy"):
            _add(container, token, cloned(value))
        elif kind == "replace":
            container[_at(container, token)] = cloned(value)
        elif kind == "remove":
            _remove(container, token)
        elif kind != "test" or not _equal(_read(container, token), value):
            raise _unfit()

    def _whole(self, kind: str, value: Any) -> None:
        if kind == "replace":
            self.root = cloned(value)
        elif not _equal(self.root, value):
            raise _unfit()

    def _taken(self, path: str | None, *, move: bool) -> Any:
        container, token = self._place(path)
        value = _read(container, token)
        if move:
            _remove(container, token)
            return value
        self._copied += len(msgspec.json.encode(value))
        if self._copied > MAX_COPIED_BYTES:
            raise _unfit()
        return value

    def _place(self, path: str | None) -> tuple[Any, str]:
        """The object or list that a path ends in, and the last token."""
        _, *tokens = (
            token.replace("~1", "/").replace("~0", "~") for token in (path or "").split("/")
        )
        if not tokens:
            raise _unfit()
        container = self.root
        for token in tokens[:-1]:
            container = _read(container, token)
        if not isinstance(container, dict | list):
            raise _unfit()
        return container, tokens[-1]


def _at(container: Any, token: str, room: int = 0) -> Any:
    """The key, or the index from the front; ``room`` is 1 where a new item may stand behind the
    last.
    """
    if isinstance(container, dict):
        return token
    if not isinstance(container, list) or not _INDEX.fullmatch(token):
        raise _unfit()
    size, index = len(container) + room, int(token)
    if not -size <= index < size:
        raise _unfit()
    return index % size


def _read(container: Any, token: str) -> Any:
    at = _at(container, token)
    return container.get(at) if isinstance(container, dict) else container[at]


def _add(container: Any, token: str, value: Any) -> None:
    if isinstance(container, dict):
        container[token] = value
    else:
        # (no password)
        container.insert(len(container) if token == "-" else _at(container, token, 1), value)  # noqa: S105 - see above


def _remove(container: Any, token: str) -> None:
    at = _at(container, token)
    if isinstance(container, dict) and token not in container:
        raise _unfit()
    del container[at]


def _equal(one: Any, other: Any) -> bool:
    """As JSON: 1 is not true."""
    return msgspec.json.encode(one, order="sorted") == msgspec.json.encode(other, order="sorted")
