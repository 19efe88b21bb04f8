"""Quantities are read exactly and written as a kube-apiserver stores them."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from towtank.model import quantities

_SUFFIXES = st.sampled_from(["", "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti", "e3", "E2", "e-3"])


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("1000m", "1"),
        ("0.5", "500m"),
        ("1024Mi", "1Gi"),
        ("1500Mi", "1500Mi"),
        ("100k", "100k"),
        ("1000k", "1M"),
        ("0.1Gi", "107374182400m"),
        ("1.5Gi", "1536Mi"),
        ("1024", "1024"),
        ("12e5", "1200e3"),
        ("1e-3", "1e-3"),
        ("2048Ki", "2Mi"),
        ("0.0001", "1m"),
        ("-0", "0"),
        ("512Ki", "512Ki"),
        (2, "2"),
        (0.5, "500m"),
        ("1e19", "10e18"),
        ("1e999", "1e999"),
        ("1e-400", "1e-3"),
        ("1e01", "10"),
    ],
)
def test_the_stored_form_is_the_api_servers(text: str | float, stored: str) -> None:
    """Asked of a kube-apiserver."""
    assert quantities.canonical(text) == stored


@given(st.integers(-(10**6), 10**6), _SUFFIXES)
def test_the_stored_form_is_the_same_amount(number: int, suffix: str) -> None:
    """And it is stored as it is written."""
    stored = quantities.canonical(f"{number}{suffix}")
    assert quantities.parse(stored) == quantities.parse(f"{number}{suffix}")
    assert quantities.canonical(stored) == stored


@given(st.decimals(0, 10**6, places=7), _SUFFIXES)
def test_what_is_finer_than_a_thousandth_is_rounded_up(number: object, suffix: str) -> None:
    """Nothing gets lost."""
    exact = quantities.parse(f"{number:f}{suffix}")
    assert 0 <= quantities.parse(quantities.canonical(f"{number:f}{suffix}")) - exact < Fraction(1, 1000)


@pytest.mark.parametrize("text", ["", "x", "1 ", "1KB", "--1", "1.2.3", ".", "Gi"])
def test_other_texts_are_refused(text: str) -> None:
    """With the words that administrators look for."""
    with pytest.raises(ValueError, match="quantities must match"):
        quantities.canonical(text)


@pytest.mark.parametrize("text", ["1e9999999999", "1e-9999999999", "1e99999999", "1e", "1e+", "1ki", "1mm"])
def test_exponents_have_an_end(text: str) -> None:
    """A kube-apiserver hangs over the large ones."""
    with pytest.raises(ValueError, match=r"\Aunable to parse quantity's suffix\Z"):
        quantities.parse(text)
