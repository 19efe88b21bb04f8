"""Durations as Kubernetes' component configuration writes them, as fields of what people write. In
Python: seconds, a float.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import BeforeValidator, PlainSerializer, ValidationInfo, WithJsonSchema

from kubefacts.durations import MAX_CHARACTERS, parse, parse_signed, text_of

__all__ = ["Duration", "parse", "parse_signed", "text_of"]


def _read(value: object, info: ValidationInfo) -> float:
    """Documents have text; code says seconds."""
    return value if isinstance(value, float) and info.mode == "python" else parse(value)


Duration: TypeAlias = Annotated[
    float,
    BeforeValidator(_read),
    PlainSerializer(text_of),
    WithJsonSchema(
        {
            "type": "string",
            "maxLength": MAX_CHARACTERS,
            "pattern": r"^(0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$",
        }
    ),
]
"""A field that people write as text and code reads as seconds."""
