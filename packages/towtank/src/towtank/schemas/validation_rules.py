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
    value, priors = (
        cel_expressions.as_cel_value(place.value, place.node),
        [cel_expressions.as_cel_value(old, place.node) for old in place.olds],
    )
    untouched = place.untouched
    for rule in place.node.rules:
        transition = cel_expressions.uses_old(rule.rule)
        if (transition and not (priors or rule.optional_old_self)) or (
            untouched and not transition
        ):
            continue
        try:
            program = cel_expressions.compiled(
                rule.rule, cel_expressions.shape(place.node), rule.optional_old_self
            )
            if program.evaluate(value, priors) is not True:
                yield _refusal(rule, place, _message(rule, place.node, value, priors))
        except CELExpressionError as error:
            yield StatusCause(
                "FieldValueInvalid",
                place.path or ROOT,
                f'Invalid value: "{place.node.type}": {_failed(str(error), rule)}',
            )


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
            said = cel_expressions.compiled(
                rule.message_expression, cel_expressions.shape(node), rule.optional_old_self
            ).evaluate(value, priors)
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
        return (
            StatusCause(rule.reason, field, "Duplicate value")
            if whole
            else StatusCause.duplicate(field, value)
        )
    return (
        StatusCause("FieldValueInvalid", field, f"Invalid value: {message}")
        if whole
        else StatusCause.invalid(field, value, message)
    )


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
    places = list(_ruled(dataclasses.replace(node, embedded=True), path, ""))
    written = [cause for at, where, list_path in places for cause in _written(at, where, list_path)]
    return written or [cause for at, where, _ in places for cause in _uncompilable(at, where)]


def _ruled(node: SchemaNode, path: str, list_path: str) -> Iterator[tuple[SchemaNode, str, str]]:
    """Places with rules; ``list_path`` is of the list around it whose items have no identity."""
    if node.rules:
        yield node, path, list_path
    for name, child in node.properties.items():
        yield from _ruled(child, f"{path}.properties[{name}]", list_path)
    if node.additional:
        yield from _ruled(node.additional, f"{path}.additionalProperties", list_path)
    if node.items:
        loose = "" if node.merge is MergeType.MAP else path
        yield from _ruled(node.items, f"{path}.items", list_path or loose)


def _written(node: SchemaNode, path: str, list_path: str) -> Iterator[StatusCause]:
    for i, rule in enumerate(node.rules):
        at = f"{path}.x-kubernetes-validations[{i}]"
        text, message = rule.rule.strip(), rule.message.strip()
        if not text:
            yield StatusCause.required(f"{at}.rule", "rule is not specified")
        elif list_path and cel_expressions.uses_old(text):
            why = (
                f"oldSelf cannot be used on the uncorrelatable portion of the schema within "
                f"{list_path}"
            )
            yield StatusCause.invalid(f"{at}.rule", rule.rule, why)
        if rule.message and not message:
            yield StatusCause.invalid(
                f"{at}.message", rule.message, "must be non-empty if specified"
            )
        elif "\n" in message:
            yield StatusCause.invalid(f"{at}.message", rule.message, "must not contain line breaks")
        elif "\n" in text and not message:
            yield StatusCause.required(
                f"{at}.message", "message must be specified if rule contains line breaks"
            )
        if rule.message_expression and not rule.message_expression.strip():
            yield StatusCause.required(f"{at}.messageExpression", "must be non-empty if specified")
        if rule.reason not in _REASONS:
            yield StatusCause.unsupported(f"{at}.reason", rule.reason, _REASONS)
        if rule.field_path and _resolved(rule.field_path, node) is None:
            yield StatusCause.invalid(f"{at}.fieldPath", rule.field_path, "must be a valid path")


_COSTS: Final = (
    "estimated rule cost exceeds budget by factor of more than 100x (try simplifying the rule, "
    "or adding maxItems, maxProperties, and "
    "maxLength where arrays, maps, and strings are declared)"
)


def _uncompilable(node: SchemaNode, path: str) -> Iterator[StatusCause]:
    for i, rule in enumerate(node.rules):
        at = f"{path}.x-kubernetes-validations[{i}]"
        if why := _fault(rule.rule, node, rule.optional_old_self):
            yield _broken(rule, f"{at}.rule", f"compilation failed: {why}")
        elif _result(rule.rule, node, rule.optional_old_self) not in ("bool", "dyn"):
            yield _broken(rule, f"{at}.rule", "cel expression must evaluate to a bool")
        for name, expression in (
            ("rule", rule.rule),
            ("messageExpression", rule.message_expression),
        ):
            if cel_sizes.growth_factor(expression) > cel_sizes.MAX_GROWTH_FACTOR:
                yield StatusCause.forbidden(f"{at}.{name}", _COSTS)
        if rule.message_expression and (
            why := _fault(rule.message_expression, node, rule.optional_old_self)
        ):
            yield _broken(
                rule, f"{at}.messageExpression", f"messageExpression compilation failed: {why}"
            )
        elif rule.message_expression and _result(
            rule.message_expression, node, rule.optional_old_self
        ) not in ("string", "dyn"):
            yield _broken(
                rule, f"{at}.messageExpression", "messageExpression must evaluate to a string"
            )
        if rule.optional_old_self and not cel_expressions.uses_old(rule.rule):
            yield StatusCause.invalid(
                f"{at}.optionalOldSelf", True, "may not be set if oldSelf is not used in rule"
            )


def _fault(text: str, node: SchemaNode, optional: bool) -> str:
    try:
        cel_expressions.compiled(text, cel_expressions.shape(node), optional)
    except CELExpressionError as error:
        return str(error)
    return "\n".join(cel_expressions.undefined(text, node))


def _result(text: str, node: SchemaNode, optional: bool) -> str:
    return cel_expressions.compiled(text, cel_expressions.shape(node), optional).result


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
