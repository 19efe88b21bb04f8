"""CEL expressions on devices, as Kubernetes has them.

Everything else sees ``holds(text, facts)``: true, false or ``CELExpressionError``. An
expression is compiled once, a device that looks the same as another is the same ``DeviceFacts``,
and what an expression says of it is remembered: a function of the two.

Quantities and versions are maps with one entry that no attribute can be
(``kubefacts.cel_functions``). ``device`` is declared as a map as well: what Kubernetes refuses
while compiling, such as a misspelt field, is an error here when it is evaluated. Both end the
attempt.

Kubernetes' libraries for URLs, IP addresses and ``find``/``findAll`` are not here: an expression
that calls them does not compile.
Source: Kubernetes dynamic-resource-allocation/cel and apiserver/pkg/cel/library (v1.36).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from kubefacts import cel
from kubefacts.cel import CELExpressionError
from kubefacts.cel_functions import semver_value
from moorage.core.devices.expression_sizes import is_too_expensive
from moorage.core.structures.remembering import byte_size, memoized

_MAX_KEPT_RESULTS = 1024
"""Answers kept for one device; more texts than that are not a cluster's few classes and
templates.
"""


COST_LIMIT_EXCEEDED = "operation cancelled: actual cost limit exceeded"
"""As Kubernetes says it."""


def semver(version: str) -> dict[str, str]:
    """A version as expressions see it: build metadata does not count. Raises CELExpressionError."""
    try:
        return semver_value(version)
    except ValueError as error:
        raise CELExpressionError(
            f"{version!r} is not a semantic version; write one such as 1.2.3 or 1.2.3-rc.1"
        ) from error


_COMPILE_ERROR = "CEL compile error"
_HINT = (
    "consider using CEL optional chaining (.? followed by orValue()) or guarding the check with "
    "has() for optional fields"
)
"""As Kubernetes says it."""


class DeviceFacts:
    """What expressions can ask of a device: ``attributes`` and ``capacity`` by domain and name.

    ``fault``: why nothing can be said of it.
    """

    __slots__ = ("_device", "_fault", "_results")

    def __init__(
        self,
        driver: str,
        shared: bool,
        attributes: Mapping[str, Any],
        capacity: Mapping[str, Any],
        fault: str = "",
    ) -> None:
        self._fault = fault
        self._device: dict[str, Any] = {
            "driver": driver,
            "allowMultipleAllocations": shared,
            "attributes": attributes,
            "capacity": capacity,
        }
        self._results: dict[str, bool | str] = {}

    def is_evaluated(self, text: str) -> bool:
        """Whether the expression was asked already, so that it costs nothing now."""
        return text in self._results

    def answer(self, text: str) -> bool | str | None:
        """What the expression said when it was asked; None where it was not."""
        return self._results.get(text)

    def evaluate(self, text: str) -> bool | str:
        """What the expression says; a text is an error."""
        answer = self._results.get(text)
        if answer is None:
            if len(self._results) >= _MAX_KEPT_RESULTS:
                del self._results[next(iter(self._results))]  # the latest belong to one search
            answer = self._results[text] = self._evaluate(text)
        return answer

    def _evaluate(self, text: str) -> bool | str:
        compiled = _compiled(text)
        if isinstance(compiled, str):
            return f"{_COMPILE_ERROR}: {compiled}"
        if self._fault:
            return f"CEL runtime error: {self._fault}"
        if _is_too_expensive(text):
            return f"CEL runtime error: {COST_LIMIT_EXCEEDED}"
        return self._test(compiled)

    def _test(self, compiled: cel.Expression) -> bool | str:
        """A domain that the device knows nothing of is an empty one, Kubernetes says. It costs a
        second try, and only then.
        """
        device = self._device
        while True:
            try:
                return compiled.test({"device": device})
            except CELExpressionError as error:
                key = cel.missing_key(error)
                lacking = [
                    part
                    for part in ("attributes", "capacity")
                    if key is not None and key not in device[part]
                ]
                if not lacking:
                    return f"CEL runtime error: {f'no such key: {key}. {_HINT}' if key else error}"
            device = {**device, **{part: {**device[part], key: {}} for part in lacking}}


def is_compile_error(error: CELExpressionError) -> bool:
    """Whether the expression is none, whatever it is asked of."""
    return str(error).startswith(_COMPILE_ERROR)


def holds(text: str, facts: DeviceFacts) -> bool:
    """Whether the expression is true of the device. Raises CELExpressionError."""
    answer = facts.evaluate(text)
    if isinstance(answer, str):
        raise CELExpressionError(answer)
    return answer


@memoized(byte_size)
def _compiled(text: str) -> cel.Expression | str:
    """The expression ready to be asked, or why it is none."""
    try:
        compiled = _environment().compile(text)
    except CELExpressionError as error:
        return f"compilation failed: {error}"
    if compiled.result not in ("bool", "dyn"):
        return f"must evaluate to bool or the unknown type, not {compiled.result.upper()}"
    return compiled


@memoized(byte_size)
def _is_too_expensive(text: str) -> bool:
    """Whether an expression that compiles could make too much of little."""
    compiled = _compiled(text)
    return not isinstance(compiled, str) and is_too_expensive(compiled.serialize())


@functools.lru_cache(maxsize=1)
def _environment() -> cel.Environment:
    return cel.Environment(
        {"device": cel.scalar("map")}, libraries=("quantity", "semver", "comparison", "sets")
    )
