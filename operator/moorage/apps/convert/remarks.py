"""Remarks: what a conversion could not carry over, or what is to be known about it."""

from __future__ import annotations

from typing import NamedTuple


class ConversionRemark(NamedTuple):
    """One thing: where it stands in what was converted ("" for the whole), and what became of
    it.
    """

    path: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}: {self.text}" if self.path else self.text
