"""YAML in, as the API server reads it: what plain texts stand for is neither YAML 1.1 nor 1.2, and
keys are texts, as in JSON.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Callable
from typing import Any, Final

import yaml

_PLAIN: Final = "!plain"
_TAG: Final = "tag:yaml.org,2002:"
_WORDS: Final[dict[str, bool | None]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **{
        form: True
        for word in ("y", "yes", "true", "on")
        for form in (word, word.capitalize(), word.upper())
    },
    **{
        form: False
        for word in ("n", "no", "false", "off")
        for form in (word, word.capitalize(), word.upper())
    },
}
_NUMBER: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_WHOLE: Final = re.compile(
    r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|([1-9][0-9]*))"
)
_NO_NUMBERS: Final = re.compile(r"([-+]?)\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_BASES: Final = (16, 2, 8, 10)
_BITS: Final = 64
_TOO_LARGE: Final = 1 << _BITS


MAX_YAML_EVENTS: Final = 100_000
"""Values, and ends of lists and maps, of a text: what is made of so many takes a second or two.
JSON has no such bound.
"""


def read(text: bytes | str) -> tuple[Any, list[str]]:
    """The first document, and what is said of keys that are there twice, where the last counts.
    Raises ValueError and yaml.YAMLError.
    """
    _require_short(text)
    loader = KubernetesYamlLoader(text)
    try:
        value = loader.get_data() if loader.check_data() else None  # type: ignore[no-untyped-call]
        return value, loader.duplicate_keys
    finally:
        loader.dispose()


def _require_short(text: bytes | str) -> None:
    """Looks at the first document only, and no further than it may go."""
    for count, event in enumerate(yaml.parse(text, Loader=yaml.CSafeLoader)):
        if isinstance(event, yaml.DocumentEndEvent):
            return
        if count > MAX_YAML_EVENTS:
            raise ValueError(f"document has more than {MAX_YAML_EVENTS} values")


def plain(text: str) -> Any:
    """What a text without quotation marks stands for."""
    if text in _WORDS:
        return _WORDS[text]
    if found := _NO_NUMBERS.fullmatch(text):
        return float(f"{found[1]}inf") if found[1] is not None else math.nan
    if not (text[0] in "+-." or text[0].isdigit()):
        return text
    digits = text.replace("_", "")
    if (number := _whole(digits)) is not None:
        return number
    value = float(digits) if _NUMBER.fullmatch(digits) else math.inf
    if not math.isfinite(value):
        return text
    return int(value) if value.is_integer() and abs(value) < 1 << 53 else value


def _whole(digits: str) -> int | None:
    """A number of 64 bits, signed or not, in one of the bases."""
    found = _WHOLE.fullmatch(digits)
    if found is None:
        return None
    sign, *forms = found.groups()
    form, base = next(pair for pair in zip(forms, _BASES, strict=True) if pair[0])
    number = int(sign + form, base) if len(form) <= _BITS else _TOO_LARGE
    return number if -(1 << 63) <= number < _TOO_LARGE else None


class KubernetesYamlLoader(yaml.CSafeLoader):
    """A loader for all that comes in; ``duplicate_keys`` is what is said of keys."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - PyYAML's way of saying it
        "<": [(f"{_TAG}merge", re.compile("<<$"))],
        "": [(_PLAIN, re.compile(""))],
        None: [(_PLAIN, re.compile(""))],
    }

    def __init__(self, stream: bytes | str) -> None:
        super().__init__(stream)
        self.duplicate_keys: list[str] = []

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[str, Any]:  # type: ignore[override]  # keys are texts
        """A map; the last of like keys counts."""
        if not isinstance(node, yaml.MappingNode):
            raise yaml.constructor.ConstructorError(
                None, None, "cannot unmarshal into a map", node.start_mark
            )
        seen: set[str] = set()
        for key_node, _ in node.value:
            key = self._key(key_node)
            if key in seen:
                self.duplicate_keys.append(_already_set(key, key_node))
            seen.add(key)
        self.flatten_mapping(node)
        return {
            self._key(key): self.construct_object(value, deep=deep) for key, value in node.value
        }

    def _key(self, node: yaml.Node) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise ValueError("invalid map key")  # the decoder's words, without Go's form of the key
        value = plain(node.value) if node.tag == _PLAIN else node.value
        if value is None:
            raise ValueError("unsupported map key of type: %!s(<nil>), key: <nil>")
        if isinstance(value, bool):
            return str(value).lower()
        return str(value) if isinstance(value, int | float) and math.isfinite(value) else node.value


def _already_set(key: str, node: yaml.ScalarNode) -> str:
    bare = node.tag == _PLAIN and not isinstance(plain(node.value), str)
    shown = key if bare else json.dumps(key)
    return f"line {node.start_mark.line + 1}: key {shown} already set in map"


def _scalar(read: Callable[[str], Any]) -> Callable[[KubernetesYamlLoader, yaml.ScalarNode], Any]:
    return lambda loader, node: read(loader.construct_scalar(node))


def _nothing(text: str) -> None:
    if plain(text) is not None:
        raise ValueError(f"cannot decode !!str `{text}` as a !!null")


def _other(loader: KubernetesYamlLoader, node: yaml.Node) -> Any:
    """Of a type that nobody knows."""
    if isinstance(node, yaml.ScalarNode):
        return node.value
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    return loader.construct_mapping(node, deep=True)  # type: ignore[arg-type]  # it is one


for _name in (_PLAIN, *(_TAG + one for one in ("int", "float", "bool"))):
    KubernetesYamlLoader.add_constructor(_name, _scalar(plain))
KubernetesYamlLoader.add_constructor(f"{_TAG}null", _scalar(_nothing))
KubernetesYamlLoader.add_constructor(
    f"{_TAG}binary", _scalar(lambda text: base64.b64decode(text).decode())
)
for _name in ("timestamp", "set", "omap", "pairs"):
    KubernetesYamlLoader.add_constructor(_TAG + _name, _other)
KubernetesYamlLoader.add_constructor(None, _other)
