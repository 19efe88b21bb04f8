"""Arguments of CEL: expressions, checked and tried before a profile has them."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar

from annotated_types import Interval, Len

from kubefacts.cel import CELExpressionError
from moorage.core.framework.arguments import ARGUMENTS, TimedTrial, Violation
from moorage.core.plugins.cel.program import CELProgram, compile_program
from moorage.core.plugins.cel.variables import VARIABLES, samples
from moorage.core.structures.likeness import suggest

NAME = "CEL"

MAX_EXPRESSIONS = 32
"""Expressions of one plugin."""

MAX_CHARACTERS, MAX_TOTAL_CHARACTERS = 4096, 8192
"""Characters of one expression, and of all."""

MAX_EVALUATION_SECONDS = 250e-6
"""Seconds that one evaluation may take, in processor time."""

_NUMBERS = ("int", "uint", "double")


@dataclasses.dataclass(frozen=True, slots=True)
class CELFilter:
    """True where the pod may run."""

    __pydantic_config__: ClassVar = ARGUMENTS

    expression: Annotated[str, Len(1, MAX_CHARACTERS)]
    message: Annotated[str, Len(0, 256)] = ""


@dataclasses.dataclass(frozen=True, slots=True)
class CELScore:
    """The higher, the better."""

    __pydantic_config__: ClassVar = ARGUMENTS

    expression: Annotated[str, Len(1, MAX_CHARACTERS)]
    weight: Annotated[int, Interval(ge=1, le=100)] = 1
    normalize: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class CELArgs:
    """What must be true, and what is better."""

    __pydantic_config__: ClassVar = ARGUMENTS

    filters: tuple[CELFilter, ...] = ()
    scores: tuple[CELScore, ...] = ()

    def validate(self) -> list[Violation]:
        """Every expression must compile, to the right type; all together must not be too many or
        too long.
        """
        number = len(self.filters) + len(self.scores)
        if number > MAX_EXPRESSIONS:
            return [Violation("", number, f"must be at most {MAX_EXPRESSIONS} expressions in all")]
        length = sum(len(text) for _, text, _ in self._expressions())
        if length > MAX_TOTAL_CHARACTERS:
            most = f"{MAX_TOTAL_CHARACTERS} characters of expressions"
            return [Violation("", length, f"must be at most {most} in all")]
        return [
            Violation(path, text, wrong)
            for path, text, types in self._expressions()
            if (wrong := _wrong(text, types))
        ]

    def trials(self) -> Iterator[TimedTrial]:
        """One evaluation of each expression, of short values and of long ones."""
        for path, text, _ in self._expressions():
            program = compile_program(text, VARIABLES)
            for values in samples(program.reads):
                yield TimedTrial(
                    path,
                    text,
                    functools.partial(evaluated, program, values),
                    MAX_EVALUATION_SECONDS,
                )

    def _expressions(self) -> Iterator[tuple[str, str, tuple[str, ...]]]:
        """(path, text, types that it may have) of each."""
        for i, one in enumerate(self.filters):
            yield f"filters[{i}].expression", one.expression, ("bool",)
        for i, other in enumerate(self.scores):
            yield f"scores[{i}].expression", other.expression, _NUMBERS


def _wrong(text: str, types: tuple[str, ...]) -> str:
    """What is wrong with an expression, with line:column, "" for nothing."""
    try:
        program = compile_program(text, VARIABLES)
    except CELExpressionError as error:
        _, unknown, name = str(error).partition("undeclared reference to ")
        likeness = suggest(name.strip("'"), (name for name, _ in VARIABLES)) if unknown else ""
        return f"{error}{likeness}"
    return (
        ""
        if program.result in types
        else f"1:1: must be of type {' or '.join(types)}, not {program.result}"
    )


def evaluated(program: CELProgram, values: Mapping[str, Any]) -> Any:
    """What the expression says; the error where it fails."""
    try:
        return program.evaluate(values)
    except CELExpressionError as error:
        return error
