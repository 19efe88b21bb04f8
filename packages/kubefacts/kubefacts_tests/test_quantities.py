"""Quantities are read exactly, whatever the spelling, and nothing that a user can write breaks the
parser.
"""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubefacts import quantities

UNITS = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "": Fraction(1),
    "k": Fraction(1000),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
    "E": Fraction(10**18),
    **{letter + "i": Fraction(1024 ** (i + 1)) for i, letter in enumerate("KMGTPE")},
}
DIGITS = st.text("0123456789", max_size=25)
SUFFIXES = st.sampled_from(sorted(UNITS)) | st.builds(
    "{}{}".format, st.sampled_from("eE"), st.integers(-20, 20)
)


def naive(sign: str, digits: str, fraction: str, suffix: str) -> Fraction:
    """The amount in units, away from zero to a billionth."""
    unit = UNITS[suffix] if suffix in UNITS else Fraction(10) ** int(suffix[1:])
    number = Fraction(int(digits + fraction or "0"), 10 ** len(fraction)) * unit
    exact = min(Fraction(math.ceil(number * 10**9), 10**9), Fraction(quantities.MAX_NANOS, 10**9))
    if suffix.endswith("i"):
        exact = min(exact, Fraction(2**63 - 1))
    return -exact if sign == "-" else exact


@given(st.sampled_from(["", "+", "-"]), DIGITS, st.none() | DIGITS, SUFFIXES)
def test_amounts_are_exact(sign: str, digits: str, fraction: str | None, suffix: str) -> None:
    """Nano-units, units and thousandths of any spelling are those of exact fractions."""
    text = sign + digits + ("" if fraction is None else "." + fraction) + suffix
    if not text:
        return
    want = naive(sign, digits, fraction or "", suffix)
    assert quantities.nanos(text) == want * 10**9
    away = math.floor if sign == "-" else math.ceil
    assert quantities.value(text) == away(want)
    assert quantities.milli_value(text) == away(want * 1000)


@given(st.sampled_from(["", "-"]), st.integers(0, 10**15), st.none() | DIGITS, SUFFIXES)
def test_canonical_text_means_the_same(
    sign: str, whole: int, fraction: str | None, suffix: str
) -> None:
    """What Kubernetes would write back is the same amount, has no fraction, and stays as it is when
    written back again.
    """
    text = f"{sign}{whole}" + ("" if fraction is None else "." + fraction) + suffix
    canonical = quantities.canonical(text)
    assert quantities.nanos(canonical) == quantities.nanos(text)
    assert "." not in canonical
    assert quantities.canonical(canonical) == canonical


CANONICAL = {
    "1.5Gi": "1536Mi",
    "1024Mi": "1Gi",
    "0.5Ki": "512",
    "0.1Gi": "107374182400m",
    "65536E": "65536E",
    "100Ei": "9223372036854775807",
    "77870E2": "7787e3",
    "1.5e0": "1500e-3",
    "-100E2": "-10e3",
    "12.345678901m": "12345679n",
    "0.0001n": "1n",
    "0Gi": "0",
    "-": "0",
    "1000": "1k",
}


@pytest.mark.parametrize("text", CANONICAL)
def test_canonical_text(text: str) -> None:
    """An integer with the largest suffix, in the style of the input."""
    assert quantities.canonical(text) == CANONICAL[text]


@pytest.mark.parametrize("text", [".", "+", "-", "e3", "Ki", "+.", ".e-10", "0e999999999", "00"])
def test_nothing_much_is_zero(text: str) -> None:
    """Kubernetes reads a quantity without a digit as 0; so do we."""
    assert quantities.nanos(text) == 0


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "1 ",
        " 1",
        "abc",
        "1K",
        "1ki",
        "1mi",
        "1e",
        "1e1.5",
        "1.2.3",
        "--1",
        "0x10",
        "1_000",
        "inf",
        "1m\n",
        "١",
    ],
)
def test_other_texts_are_refused(text: str) -> None:
    """The error names the text and says what to write."""
    with pytest.raises(
        quantities.QuantityError, match="is not a quantity; write a number such as"
    ) as caught:
        quantities.nanos(text)
    assert repr(text) in str(caught.value)
    assert caught.value.text == text


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("1e999999999999999999", quantities.MAX_NANOS),
        ("-1e999999999999999999", -quantities.MAX_NANOS),
        ("9" * 100_000, quantities.MAX_NANOS),
        ("9" * 100_000 + "e-99995", 10**5 * 10**9),
        ("1e-999999999999999999", 1),
        ("0." + "0" * 100_000 + "1", 1),
    ],
    ids=["huge", "huge-negative", "long", "long-but-scaled-down", "tiny", "long-tiny"],
)
def test_extremes_cost_nothing(text: str, want: int) -> None:
    """A short or long text for an absurd amount is answered at once with a number that can be
    calculated with.
    """
    assert quantities.nanos(text) == want


@pytest.mark.parametrize("number", [0, 1, -3, 2**63])
def test_numbers_are_units(number: int) -> None:
    """A bare number in JSON is an amount in units."""
    assert quantities.value(number) == number


STORED = {
    "1000m": "1",
    "0.5": "500m",
    "1500Mi": "1500Mi",
    "100k": "100k",
    "0.1Gi": "107374182400m",
    "1024": "1024",
    "12e5": "1200e3",
    "1e-3": "1e-3",
    "0.0001": "1m",
    "-0": "0",
    "512Ki": "512Ki",
    "1e19": "10e18",
    "1e999": "1e999",
    "1e-400": "1e-3",
    "1e01": "10",
    2: "2",
    0.5: "500m",
}


@pytest.mark.parametrize("text", STORED)
def test_resources_are_stored_in_thousandths(text: str | float) -> None:
    """Asked of a kube-apiserver."""
    assert quantities.canonical(text, finest=-3) == STORED[text]


@given(st.decimals(-(10**6), 10**6, places=7), SUFFIXES)
def test_what_is_stored_is_a_little_further_from_zero_or_the_same(
    number: object, suffix: str
) -> None:
    """Nothing gets lost, and what is stored stays as it is."""
    text = f"{number:f}{suffix}"
    stored = quantities.canonical(text, finest=-3)
    assert 0 <= abs(quantities.exact(stored)) - abs(quantities.exact(text)) < Fraction(1, 1000)
    assert quantities.canonical(stored, finest=-3) == stored


@pytest.mark.parametrize(
    "text", ["1e9999999999", "1e-9999999999", "1e99999999", "1e", "1e+", "1ki", "1mm", "--1"]
)
def test_an_unknown_suffix_is_told_as_such(text: str) -> None:
    """Exponents over which a kube-apiserver hangs are among them, where nothing bounds the
    amount.
    """
    with pytest.raises(quantities.QuantityError) as caught:
        quantities.exact(text)
    assert caught.value.problem == "unable to parse quantity's suffix"


@pytest.mark.parametrize("text", ["", "x", "1 ", "1KB", "1.2.3"])
def test_another_text_is_told_with_the_form(text: str) -> None:
    """With the words that administrators look for."""
    with pytest.raises(quantities.QuantityError) as caught:
        quantities.exact(text)
    assert caught.value.problem.startswith("quantities must match the regular expression")
