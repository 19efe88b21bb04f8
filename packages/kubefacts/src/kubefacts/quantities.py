"""Quantities: amounts as Kubernetes writes them ("250m", "1.5Gi", "2e3"), read exactly.

An amount is a Python int of nano-units (10^-9), the finest step that Kubernetes keeps; nothing is
ever a float. Finer amounts are rounded up in magnitude, so that a little is never nothing. Sums and
maxima are taken in nano-units; a cycle then works with whole units (``to_units``) or thousandths
(``to_milli``), rounded once.

Source: Kubernetes apimachinery ``resource.Quantity`` (v1.36), including that ".", "+" and "e3" are
0.
"""

from __future__ import annotations

import decimal
import re
from fractions import Fraction

NANO = 10**9
"""Nano-units in a unit."""
_DIGITS = 50
"""Of MAX_NANOS."""
MAX_NANOS = 10**_DIGITS
"""Nano-units beyond which an amount is taken to be just this: far more than any field can hold,
small enough to calculate with.
"""

_FORM = re.compile(
    r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]{1,18})|([numkMGTPE]?)|([KMGTPE])i)"
)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_SUFFIX_OF = {power: suffix for suffix, power in _DECIMAL.items()}
_BINARY = "KMGTPE"
_BINARY_LIMIT = (2**63 - 1) * NANO
"""Amounts with a binary suffix stop at the largest int64."""
_PLAIN_DIGITS = 18
_PLAIN = {
    **{suffix: 10 ** (9 + power) for suffix, power in _DECIMAL.items()},
    **{f"e{power}": 10 ** (9 + power) for power in _DECIMAL.values()},
    **{f"{suffix}i": NANO * 1024 ** (i + 1) for i, suffix in enumerate(_BINARY)},
}
"""Nano-units that a suffix stands for, as an API server writes nearly all quantities: digits and
one of these.
"""
_SCANNED = re.compile(r"[+-]?[0-9]*(?:\.[0-9]*)?[eEinumkKMGTP]*[+-]?[0-9]*")
"""What an API server reads before it looks at the suffix."""
_UNREADABLE = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
_UNKNOWN_SUFFIX = "unable to parse quantity's suffix"
_MOST_DIGITS = 1100
"""Of an amount in nano-units that is written back, or calculated with as a fraction."""
_LARGEST_EXPONENT = 999
"""Of these."""
_MAX_EXPONENT = 10**8
"""A decimal exponent that no number of digits in an API object can make up for; larger ones count
as this.
"""
_EXACT = decimal.Context(
    prec=100, rounding=decimal.ROUND_UP, Emin=-10 * _MAX_EXPONENT, Emax=10 * _MAX_EXPONENT, traps=[]
)
"""100 digits: beyond MAX_NANOS on the left, and far below nano on the right, where rounding up
twice is the same as once.
"""


class QuantityError(ValueError):
    """A text that is no quantity. The message names the text, and the field once somebody knows
    it.
    """

    def __init__(self, text: str, path: str = "") -> None:
        self.text = text
        self.path = path
        where = f"{path}: " if path else ""
        super().__init__(
            f"{where}{text!r} is not a quantity; write a number such as 2, 0.5, 250m, 1.5Gi or 2e3"
        )

    @property
    def problem(self) -> str:
        """What the API server says of it."""
        return _UNKNOWN_SUFFIX if self.text and _SCANNED.fullmatch(self.text) else _UNREADABLE


def nanos(quantity: str | int) -> int:
    """The exact amount in nano-units. Raises QuantityError."""
    text = str(quantity)
    suffix = text.lstrip("0123456789")
    digits = text[: -len(suffix)] if suffix else text
    scale = _PLAIN.get(suffix)
    if scale is None or not digits or len(digits) > _PLAIN_DIGITS:
        return _any(text)
    amount = int(digits) * scale
    return amount if amount < _BINARY_LIMIT or not suffix.endswith("i") else _BINARY_LIMIT


def exact(quantity: str | float) -> Fraction:
    """The amount in units, whatever its size. Raises QuantityError, also for exponents over which
    an API server hangs.
    """
    text = str(quantity)
    exponent = _form(text)[4]
    if exponent and abs(int(exponent)) > _LARGEST_EXPONENT:
        raise QuantityError(text)
    return Fraction(_any(text, _MOST_DIGITS), NANO)


def _form(text: str) -> re.Match[str]:
    form = _FORM.fullmatch(text)
    if form is None or not text:
        raise QuantityError(text)
    return form


def _any(text: str, digits: int = _DIGITS) -> int:
    """Any quantity, also one with a sign or a fraction, or of more digits than are calculated
    with.
    """
    sign, whole, fraction, exponent, suffix, binary = _form(text).groups()
    power = int(exponent) if exponent else _DECIMAL[suffix or ""]
    power = max(-_MAX_EXPONENT, min(power, _MAX_EXPONENT))
    number = _EXACT.create_decimal(f"{whole or 0}.{fraction or 0}").scaleb(9 + power, _EXACT)
    if binary:
        number = _EXACT.multiply(number, decimal.Decimal(1024 ** (_BINARY.index(binary) + 1)))
    amount: int = 10**digits
    if not number or number.adjusted() < digits:
        amount = int(number.to_integral_value(context=_EXACT))
    if binary:
        amount = min(amount, _BINARY_LIMIT)
    return -amount if sign == "-" else amount


def to_units(amount: int) -> int:
    """Nano-units as whole units, rounded away from zero."""
    return -(-amount // NANO) if amount > 0 else amount // NANO


def to_milli(amount: int) -> int:
    """Nano-units as thousandths, rounded away from zero."""
    return -(-amount // 10**6) if amount > 0 else amount // 10**6


def value(quantity: str | int) -> int:
    """Whole units, rounded away from zero. Raises QuantityError."""
    return to_units(nanos(quantity))


def milli_value(quantity: str | int) -> int:
    """Thousandths, rounded away from zero. Raises QuantityError."""
    return to_milli(nanos(quantity))


def canonical(quantity: str | float, finest: int = -9) -> str:
    """The quantity as Kubernetes writes it back: an integer with the largest suffix, in the style
    that it came in.

    What is finer than 10^``finest`` is rounded away from zero: resources are stored in thousandths
    (-3). Raises QuantityError.
    """
    text = str(quantity)
    form, amount = _form(text), _any(text, _MOST_DIGITS)
    if form[6] and abs(amount) >= 1024 * NANO and amount % NANO == 0:
        number, place = _shortened(amount // NANO, 1024, len(_BINARY))
        return f"{number}{_BINARY[place - 1]}i" if place else str(number)
    step = 10 ** (9 + finest)
    number = -(-amount // step) if amount > 0 else amount // step
    number, place = _shortened(number, 1000, _MOST_DIGITS if form[4] else (18 - finest) // 3)
    power = finest + 3 * place if number else 0
    if form[4]:
        return f"{number}e{power}" if power else str(number)
    return f"{number}{_SUFFIX_OF[power]}"


def _shortened(number: int, step: int, most: int) -> tuple[int, int]:
    """The number divided by ``step`` as often as that is exact, at most so many times; and how
    often that was.
    """
    place = 0
    while number and number % step == 0 and place < most:
        number //= step
        place += 1
    return number, place
