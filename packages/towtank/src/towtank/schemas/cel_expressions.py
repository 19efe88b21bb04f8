"""CEL expressions of schemas.

An expression sees ``self`` and ``oldSelf``. Scalars, lists and maps of them have their schema's
types, so what mixes them up does not compile; objects are maps of anything, and ``undefined`` finds
what reads a field that they do not have. Sources of what expressions see: Kubernetes
apiextensions-apiserver/pkg/apiserver/schema/cel and apiserver/pkg/cel (v1.36).
"""

from __future__ import annotations

import base64
import datetime
import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from kubefacts import cel, durations
from kubefacts.cel import CELBudgetError, CELExpressionError
from kubefacts.cel_functions import CostMeter
from towtank.model.schema_nodes import SchemaNode
from towtank.schemas import cel_sizes

Shape: TypeAlias = tuple[str, ...]
"""The type of ``self``, from the outside in: ``("map", "list", "int")`` is a map of lists of
numbers.
"""

NO_OVERLOAD: Final = "no such overload"
SPENT: Final = CostMeter.SPENT

# ---- what expressions see ------------------------------------------------------------------------

_SCALARS: Final = {"string": "string", "integer": "int", "number": "double", "boolean": "bool"}
_FORMATS: Final = {
    "date-time": "timestamp",
    "date": "timestamp",
    "duration": "duration",
    "byte": "bytes",
}
_METADATA: Final = SchemaNode(
    type="object",
    properties={"name": SchemaNode(type="string"), "generateName": SchemaNode(type="string")},
)
_IMPLIED: Final = {
    "apiVersion": SchemaNode(type="string"),
    "kind": SchemaNode(type="string"),
    "metadata": _METADATA,
}
"""What an object with a kind of its own shows, whatever its schema says."""
_RESERVED: Final = re.compile(
    "true|false|null|in|as|break|const|continue|else|for|function|if|import|let|loop|package|namespace|return|var|void|while"
)
_ESCAPED: Final = re.compile(r"__|[.\-/]")
_ESCAPES: Final = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}


def escaped(name: str) -> str:
    """A field's name in expressions."""
    return (
        f"__{name}__"
        if _RESERVED.fullmatch(name)
        else _ESCAPED.sub(lambda found: _ESCAPES[found[0]], name)
    )


def shape(node: SchemaNode | None) -> Shape:
    """The type of a value of this schema."""
    if node is None or node.int_or_string:
        return ("dyn",)
    if node.type == "array":
        return ("list", *shape(node.items))
    if node.type == "object":
        return ("map", *shape(node.additional)) if node.additional else ("map", "dyn")
    kind = _SCALARS.get(node.type, "dyn")
    return (_FORMATS.get(str(node.limits.get("format")), kind) if kind == "string" else kind,)


def as_cel_value(value: Any, node: SchemaNode | None) -> Any:
    """A value as expressions see it: fields that its schema names, escaped; numbers and times of
    their types.
    """
    if isinstance(value, dict):
        return _as_cel_object(value, node)
    if node is None:
        return value
    if isinstance(value, list):
        return [as_cel_value(item, node.items) for item in value]
    if node.type == "number" and isinstance(value, int) and not isinstance(value, bool):
        return float(value) if abs(value) < 2**1000 else float("inf")
    if node.type == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _as_cel_object(value: Mapping[str, Any], node: SchemaNode | None) -> dict[str, Any]:
    if node is None or (node.type != "object" and not node.properties):
        return dict(value)
    if node.additional:
        return {key: as_cel_value(item, node.additional) for key, item in value.items()}
    return {
        escaped(key): as_cel_value(value[key], child)
        for key, child in fields(node).items()
        if value.get(key) is not None
    }


def fields(node: SchemaNode) -> Mapping[str, SchemaNode]:
    """The fields that expressions may name."""
    return {**node.properties, **_IMPLIED} if node.embedded else node.properties


_HAS: Final = re.compile(r"\bhas(\()\s*\Z")
_CHAIN: Final = re.compile(r"(?<![\w.])(?:self|oldSelf)((?:\.[A-Za-z_]\w*\b(?!\s*\())+)")


def uses_old(text: str) -> bool:
    """Whether an expression reads ``oldSelf``."""
    return re.search(r"(?<![\w.])oldSelf\b", cel_sizes.code(text)) is not None


def undefined(text: str, node: SchemaNode) -> Iterator[str]:
    """Complaints about fields of ``self`` that its schema does not name, as the compiler makes
    them.
    """
    code = cel_sizes.code(text)
    for chain in _CHAIN.finditer(code):
        at: SchemaNode | None = node
        for step in re.finditer(r"\.(\w+)", chain[1]):
            known = {escaped(name): child for name, child in fields(at).items()} if at else {}
            if at is None or at.type != "object" or at.additional:
                break
            if step[1] not in known:
                # Of has(...), the compiler shows the parenthesis.
                asked = step.end() == len(chain[1]) and _HAS.search(code, 0, chain.start())
                offset = asked.start(1) if asked else chain.start(1) + step.start()
                yield _complaint(text, offset, f"undefined field '{step[1]}'")
                break
            at = known[step[1]]


# ---- what texts may grow to ----------------------------------------------------------------------

_MULTIPLYING: Final = re.compile(r"\.\s*(replace|join|format)\s*(\()")


def _bounded(text: str) -> str:
    """An expression with our own functions in place of the library's that do not count what they
    make.
    """
    code, changes = cel_sizes.code(text), list[tuple[int, int, str]]()
    for call in _MULTIPLYING.finditer(code):
        if call[1] == "format":
            end = cel_sizes.closing(code, call.start(2))
            changes += [(call.end(), call.end(), "boundedArguments("), (end, end, ")")]
        else:
            changes.append((*call.span(1), f"bounded{call[1].capitalize()}"))
    for start, end, new in sorted(changes, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _complaint(text: str, offset: int, what: str) -> str:
    line, column = text.count("\n", 0, offset), offset - (text.rfind("\n", 0, offset) + 1)
    return (
        f"ERROR: <input>:{line + 1}:{column + 1}: {what}\n | {text.splitlines()[line]}\n | "
        f"{'.' * column}^"
    )


# ---- programs ------------------------------------------------------------------------------------


class RuleProgram:
    """An expression ready to be asked; ``result`` is its type."""

    __slots__ = ("_compiled", "_loops", "_meter", "_shape", "result")

    def __init__(
        self, compiled: cel.Expression, of: Shape, meter: CostMeter, loops: cel_sizes.LoopBound
    ) -> None:
        self._compiled = compiled
        self._loops = loops
        self._meter = meter
        self._shape = of
        self.result = compiled.result

    def evaluate(self, value: Any, priors: Sequence[Any]) -> Any:
        """What it says of a value, as ``as_cel_value`` gives it; ``priors`` holds the old one, if
        any. Raises CELExpressionError.
        """
        if self._loops.exceeded([value, *priors]):
            raise CELExpressionError(SPENT)
        self._meter.left = self._meter.MAX_COST
        try:
            return self._compiled.evaluate(self._variables(value, priors))
        except CELBudgetError as error:
            raise CELExpressionError(SPENT) from error
        except CELExpressionError as error:
            raise CELExpressionError(_translated(str(error))) from error
        except (OverflowError, ValueError) as error:  # a time that Python can't hold
            raise CELExpressionError(str(error)) from error
        finally:
            if self._meter.left < 0:  # whatever the rest of the expression made of that
                raise CELExpressionError(SPENT)

    def _variables(self, value: Any, priors: Sequence[Any]) -> dict[str, Any]:
        olds = [_timed(prior, self._shape) for prior in priors]
        seen = {"self": _timed(value, self._shape), "priors": olds}
        return {**seen, "oldSelf": olds[0]} if olds else seen


@functools.lru_cache(maxsize=4096)
def compiled(text: str, of: Shape, optional: bool) -> RuleProgram:
    """An expression on values of a type; ``optional``: oldSelf is an optional value. Raises
    CELExpressionError.
    """
    # for its complaints, which have the text's places
    _environment(of, optional, ours=False)[0].compile(text)
    environment, meter = _environment(of, optional, ours=True)
    bounded = _bounded(text)
    program = environment.compile(
        f"cel.bind(oldSelf, priors[?0], {bounded}\n)" if optional else bounded
    )
    return RuleProgram(program, of, meter, cel_sizes.LoopBound.of(text))


@functools.lru_cache(maxsize=64)
def _environment(of: Shape, optional: bool, *, ours: bool) -> tuple[cel.Environment, CostMeter]:
    """``ours``: for what we put into expressions, besides what their writers may."""
    kind, meter = _type(of), CostMeter()
    environment = cel.Environment(
        {
            "self": kind,
            "oldSelf": cel.scalar("dyn") if optional else kind,
            "priors": cel.list_of(kind),
        },
        libraries=cel.LIBRARIES | {cel.BOUNDED} if ours else cel.LIBRARIES,
        meter=meter,
        extensions=("bindings", "optional", "strings") if ours else ("optional", "strings"),
    )
    return environment, meter


def _type(of: Shape) -> cel.CELType:
    """Put together from parts: of a text such as ``list(int)`` the library makes a type that is no
    list.
    """
    if of[0] == "list":
        return cel.list_of(_type(of[1:]))
    return cel.map_of(_type(of[1:])) if of[0] == "map" else cel.scalar(of[0])


# ---- times ---------------------------------------------------------------------------------------


def _timed(value: Any, of: Shape) -> Any:
    """A value whose texts are times where its type says so. The library takes those in typed places
    only, not within objects.
    """
    read = _READERS.get(of[-1]) if of else None
    if read is None:
        return value
    if isinstance(value, dict):
        return {key: _timed(item, of[1:]) for key, item in value.items()}
    if isinstance(value, list):
        return [_timed(item, of[1:]) for item in value]
    return read(value) if isinstance(value, str) else value


def _instant(text: str) -> datetime.datetime | str:
    try:
        found = datetime.datetime.fromisoformat(text)
    except ValueError:
        return text
    return found if found.tzinfo else found.replace(tzinfo=datetime.UTC)


def _length(text: str) -> datetime.timedelta | str:
    try:
        return datetime.timedelta(seconds=durations.parse_signed(text))
    except ValueError:
        return text


def _bytes(text: str) -> bytes | str:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return text


_READERS: Final[Mapping[str, Callable[[str], object]]] = {
    "timestamp": _instant,
    "duration": _length,
    "bytes": _bytes,
}

# ---- the library's words -------------------------------------------------------------------------

_WORDS: Final = tuple(
    (re.compile(pattern, re.DOTALL), replacement)
    for pattern, replacement in (
        (r"No matching overloads? found.*|Applying SELECT to non-message type", NO_OVERLOAD),
        (r'Key not found in map : "?(.*?)"?', r"no such key: \1"),
        (r"Index error: index=(-?\d+) size=\d+", r"index out of bounds: \1"),
        (r"divide by zero", "division by zero"),
        (r"cannot convert (\w+) to (\w+)", r"type conversion error from '\1' to '\2'"),
        (
            r"String to (Timestamp|Duration) conversion failed",
            r"type conversion error from 'string' to 'google.protobuf.\1'",
        ),
        (
            r"invalid regular expression: missing (.): (.*)",
            r"error parsing regexp: missing closing \1: `\2`",
        ),
        (
            r"decimal clause can only be used on numbers, (.*)",
            r"error during formatting: decimal clause can only be used on integers, \1",
        ),
    )
)


def _translated(message: str) -> str:
    """What went wrong in cel-go's words."""
    for pattern, replacement in _WORDS:
        if found := pattern.fullmatch(message):
            return found.expand(replacement)
    return message
