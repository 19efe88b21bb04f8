"""Rules of a schema: x-kubernetes-validations, in CEL.

``check`` asks them of an object, ``compile_errors`` whether they can be asked at all. Like a
kube-apiserver since 1.33, ``check`` lets pass what a rule refuses and the writer has not touched,
unless the rule itself looks at the old value.
Source: Kubernetes apiextensions-apiserver/pkg/apiserver/schema/cel (v1.36).
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from kubefacts.cel import CELExpressionError
from towtank.model.api_errors import StatusCause
from towtank.model.schema_nodes import MergeType, SchemaNode, ValidationRule
from towtank.schemas import cel_expressions, cel_sizes
from towtank.schemas.cel_expressions import RuleProgram

ROOT: Final = "<nil>"
"""How causes name the object itself."""
NOT_CHECKED: Final = StatusCause(
    "FieldValueInvalid",
    ROOT,
    "Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete "
    "validation",
)
"""Said besides the causes of a schema that keep rules from being asked."""
_BLOCKING: Final = {
    "FieldValueTypeInvalid",
    "FieldValueRequired",
    "FieldValueTooLong",
    "FieldValueTooMany",
    "FieldValueNotSupported",
}
_REASONS: Final = (
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
)


def blocked(causes: Sequence[StatusCause], node: SchemaNode) -> bool:
    """Whether there are rules, and an object is so wrong that they cannot be asked."""
    return any(cause.reason in _BLOCKING for cause in causes) and any(_ruled(node, "", ""))


# ---- asking --------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, slots=True)
class _RuleScope:
    """A value of an object; ``olds`` holds what stood here before, if anything did; ``around``:
    whether what holds it is untouched.
    """

    path: str
    value: Any
    olds: tuple[Any, ...]
    node: SchemaNode
    around: bool = False

    @property
    def untouched(self) -> bool:
        """Whether a write left it as it was; of what has no identity, the list around it says
        that.
        """
        return self.olds[0] == self.value if self.olds else self.around

    def child(self, name: str, node: SchemaNode) -> _RuleScope:
        """The place of one of its fields."""
        olds = tuple(
            old[name] for old in self.olds if isinstance(old, dict) and old.get(name) is not None
        )
        path = _inside(self.path, name, self.node)
        return _RuleScope(path, self.value[name], olds, node, self.untouched)

    def item(self, index: int, node: SchemaNode) -> _RuleScope:
        """An item's of a list; what it was before is known where keys tell items apart."""
        value = self.value[index]
        olds = self.olds if self.node.merge is MergeType.MAP and isinstance(value, dict) else ()
        same = (
            old
            for before in olds
            if isinstance(before, list)
            for old in before
            if _keys(old, self.node) == _keys(value, self.node)
        )
        return _RuleScope(f"{self.path}[{index}]", value, tuple(same)[:1], node, self.untouched)


def _keys(item: Any, node: SchemaNode) -> Any:
    return [item.get(key) for key in node.keys] if isinstance(item, dict) else None


def _inside(path: str, name: str, node: SchemaNode) -> str:
    if name not in node.properties and node.additional:
        return f"{path}[{name}]"
    return f"{path}.{name}" if path else name


def check(new: dict[str, Any], old: dict[str, Any] | None, node: SchemaNode) -> list[StatusCause]:
    """What the rules refuse of an object that keeps to its schema."""
    return refusals(new, dataclasses.replace(node, embedded=True), () if old is None else (old,))


def refusals(value: Any, node: SchemaNode, olds: tuple[Any, ...] = ()) -> list[StatusCause]:
    """Likewise of any value, such as a default; ``olds`` holds what it was, if it was anything."""
    causes = []
    for cause in _visited(_RuleScope("", value, olds, node)):
        causes.append(cause)
        if cel_expressions.SPENT in cause.text:
            break
    return causes


def _visited(place: _RuleScope) -> Iterator[StatusCause]:
    value, node = place.value, place.node
    if value is None:
        return
    if node.rules:
        yield from _asked(place)
    if isinstance(value, dict):
        for name in value:
            if child := node.child(name):
                yield from _visited(place.child(name, child))
    elif isinstance(value, list) and node.items:
        for index in range(len(value)):
            yield from _visited(place.item(index, node.items))


def _asked(place: _RuleScope) -> Iterator[StatusCause]:
    node, untouched = place.node, place.untouched
    value = cel_expressions.as_cel_value(place.value, node)
    priors = [cel_expressions.as_cel_value(old, node) for old in place.olds]
    for rule in node.rules:
        transition = cel_expressions.uses_old(rule.rule)
        if transition and not (priors or rule.optional_old_self):
            continue
        if untouched and not transition:
            continue
        try:
            if _program(rule.rule, node, rule).evaluate(value, priors) is not True:
                yield _refusal(rule, place, _message(rule, node, value, priors))
        except CELExpressionError as error:
            text = _failed(str(error), rule)
            yield StatusCause.invalid(place.path or ROOT, node.type, text)


def _program(text: str, node: SchemaNode, rule: ValidationRule) -> RuleProgram:
    """An expression of a rule. Raises CELExpressionError."""
    return cel_expressions.compiled(text, cel_expressions.shape(node), rule.optional_old_self)


def _failed(error: str, rule: ValidationRule) -> str:
    shown = rule.message.strip() or rule.rule.strip()
    if error.startswith(cel_expressions.NO_OVERLOAD):
        return (
            f"'{error}': call arguments did not match a supported operator, function or macro "
            f"signature for rule: {shown}"
        )
    if error == cel_expressions.SPENT:
        return (
            f"'{error}': no further validation rules will be run due to call cost exceeds limit "
            f"for rule: {shown}"
        )
    return f"{error} evaluating rule: {shown}"


def _message(rule: ValidationRule, node: SchemaNode, value: Any, priors: Sequence[Any]) -> str:
    """The message expression's, when it comes to one line, or what is written down."""
    if rule.message_expression:
        try:
            said = _program(rule.message_expression, node, rule).evaluate(value, priors)
        except CELExpressionError:  # then the message stands in for it, as Kubernetes has it
            said = None
        if isinstance(said, str) and said.strip() and "\n" not in said.strip():
            return said.strip()
    return rule.message.strip() or f"failed rule: {rule.rule.strip()}"


def _refusal(rule: ValidationRule, place: _RuleScope, message: str) -> StatusCause:
    field = place.path + "".join(_resolved(rule.field_path, place.node) or ())
    field, value = field.removeprefix(".") or ROOT, place.value
    if rule.reason == "FieldValueRequired":
        return StatusCause.required(field, message)
    if rule.reason == "FieldValueForbidden":
        return StatusCause.forbidden(field, message)
    whole = isinstance(value, dict | list)  # is too much to show
    if rule.reason == "FieldValueDuplicate":
        shown = StatusCause.duplicate(field, value)
        return dataclasses.replace(shown, text="Duplicate value") if whole else shown
    shown = StatusCause.invalid(field, value, message)
    return dataclasses.replace(shown, text=f"Invalid value: {message}") if whole else shown


_STEP: Final = re.compile(r"\.([^.\['\]]+)|\['((?:[^'\\]|\\.)*)'\]")


def _resolved(field_path: str, node: SchemaNode) -> list[str] | None:
    """A rule's fieldPath as paths are written in causes, step by step; None when it leads to no
    field.
    """
    steps: list[str] = []
    at: SchemaNode | None = node
    position = 0
    while position < len(field_path):
        step = _STEP.match(field_path, position)
        name = step and (step[1] or re.sub(r"\\(.)", r"\1", step[2] or ""))
        child = at.child(name) if at and name else None
        if step is None or name is None or at is None or child is None:
            return None
        steps.append(
            _inside(".", name, at).removeprefix(".") if name not in at.properties else f".{name}"
        )
        at, position = child, step.end()
    return steps


# ---- compiling -----------------------------------------------------------------------------------


def compile_errors(node: SchemaNode, path: str) -> list[StatusCause]:
    """What is wrong with the rules of a schema at ``path``; what they say is looked at when all are
    written as they should be.
    """
    placed = [
        (rule, at, f"{where}.x-kubernetes-validations[{i}]", list_path)
        for at, where, list_path in _ruled(dataclasses.replace(node, embedded=True), path, "")
        for i, rule in enumerate(at.rules)
    ]
    written = [cause for place in placed for cause in _written(*place)]
    return written or [
        cause for rule, at, where, _ in placed for cause in _uncompilable(rule, at, where)
    ]


def _ruled(node: SchemaNode, path: str, list_path: str) -> Iterator[tuple[SchemaNode, str, str]]:
    """Places with rules; ``list_path`` is of the list around it whose items have no identity."""
    if node.rules:
        yield node, path, list_path
    for where, child in node.children():
        loose = path if where == "items" and node.merge is not MergeType.MAP else ""
        yield from _ruled(child, f"{path}.{where}", list_path or loose)


def _written(
    rule: ValidationRule, node: SchemaNode, path: str, list_path: str
) -> Iterator[StatusCause]:
    if not rule.rule.strip():
        yield StatusCause.required(f"{path}.rule", "rule is not specified")
    elif list_path and cel_expressions.uses_old(rule.rule):
        why = (
            f"oldSelf cannot be used on the uncorrelatable portion of the schema within {list_path}"
        )
        yield StatusCause.invalid(f"{path}.rule", rule.rule, why)
    yield from _message_causes(rule, f"{path}.message")
    if rule.message_expression and not rule.message_expression.strip():
        yield StatusCause.required(f"{path}.messageExpression", "must be non-empty if specified")
    if rule.reason not in _REASONS:
        yield StatusCause.unsupported(f"{path}.reason", rule.reason, _REASONS)
    if rule.field_path and _resolved(rule.field_path, node) is None:
        yield StatusCause.invalid(f"{path}.fieldPath", rule.field_path, "must be a valid path")


def _message_causes(rule: ValidationRule, field: str) -> Iterator[StatusCause]:
    message = rule.message.strip()
    if rule.message and not message:
        yield StatusCause.invalid(field, rule.message, "must be non-empty if specified")
    elif "\n" in message:
        yield StatusCause.invalid(field, rule.message, "must not contain line breaks")
    elif "\n" in rule.rule.strip() and not message:
        why = "message must be specified if rule contains line breaks"
        yield StatusCause.required(field, why)


_COSTS: Final = (
    "estimated rule cost exceeds budget by factor of more than 100x (try simplifying the rule, "
    "or adding maxItems, maxProperties, and "
    "maxLength where arrays, maps, and strings are declared)"
)


def _uncompilable(rule: ValidationRule, node: SchemaNode, path: str) -> Iterator[StatusCause]:
    for name, text in (("rule", rule.rule), ("messageExpression", rule.message_expression)):
        if text and (why := _fault(name, text, node, rule)):
            yield _broken(rule, f"{path}.{name}", why)
        if cel_sizes.growth_factor(text) > cel_sizes.MAX_GROWTH_FACTOR:
            yield StatusCause.forbidden(f"{path}.{name}", _COSTS)
    if rule.optional_old_self and not cel_expressions.uses_old(rule.rule):
        yield StatusCause.invalid(
            f"{path}.optionalOldSelf", True, "may not be set if oldSelf is not used in rule"
        )


_EXPRESSIONS: Final = {
    "rule": ("bool", "compilation failed", "cel expression must evaluate to a bool"),
    "messageExpression": (
        "string",
        "messageExpression compilation failed",
        "messageExpression must evaluate to a string",
    ),
}
"""What an expression makes, and what is said of one that is none, or makes something else."""


def _fault(name: str, text: str, node: SchemaNode, rule: ValidationRule) -> str:
    kind, failed, mistyped = _EXPRESSIONS[name]
    try:
        program = _program(text, node, rule)
    except CELExpressionError as error:
        return f"{failed}: {error}"
    if undefined := "\n".join(cel_expressions.undefined(text, node)):
        return f"{failed}: {undefined}"
    return "" if program.result in (kind, "dyn") else mistyped


def _broken(rule: ValidationRule, field: str, why: str) -> StatusCause:
    """A cause that shows the whole rule, as Go prints it."""
    shown = {
        "Rule": rule.rule,
        "Message": rule.message,
        "MessageExpression": rule.message_expression,
        "Reason": None if rule.reason == "FieldValueInvalid" else rule.reason,
        "FieldPath": rule.field_path,
        "OptionalOldSelf": rule.optional_old_self or None,
    }
    text = json.dumps(shown, separators=(",", ":"), ensure_ascii=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return StatusCause("FieldValueInvalid", field, f"Invalid value: {text}: {why}")
