"""The colours, as the stylesheet says them: contrast of texts and shapes, and what can still be
told apart without one kind of cone.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping, Sequence
from typing import Final

import pytest

from tests.architecture.sources import PACKAGE

STATIC: Final = PACKAGE / "apps" / "ui" / "static"
THEMES: Final = ("light", "dark")

Colour = tuple[float, float, float]

# Machado, Oliveira and Fernandes 2009, at full strength, in linear light: rows give red, green and
# blue.
SIGHTS: Final[Mapping[str, Sequence[Sequence[float]]]] = {
    "usual": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}


def tokens(theme: str) -> dict[str, str]:
    """Colours by name; those that dark does not say are light's."""
    text = (STATIC / "css" / "tokens.css").read_text(encoding="utf-8")
    light, _, dark = text.partition('[data-theme="dark"]')
    found = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", light))
    return (
        found
        if theme == "light"
        else found | dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", dark))
    )


def stops(scale: str, theme: str) -> list[str]:
    """The nine colours of a scale, from js/map/scales.js."""
    text = (STATIC / "js" / "map" / "scales.js").read_text(encoding="utf-8")
    (block,) = re.findall(rf"{scale}: {{(.*?)}},", text, re.DOTALL)
    (found,) = re.findall(rf'{theme}: ("[0-9a-f ]+")', block)
    return [f"#{one}" for one in json.loads(found).split()]


def linear(colour: str) -> Colour:
    """In linear light."""
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))

    def undone(one: float) -> float:
        return one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4

    return undone(red), undone(green), undone(blue)


def seen(colour: str, sight: str) -> Colour:
    """In linear light, as a sight sees it."""
    light = linear(colour)
    red, green, blue = (
        min(1.0, max(0.0, sum(a * b for a, b in zip(row, light, strict=True))))
        for row in SIGHTS[sight]
    )
    return red, green, blue


def oklab(light: Colour) -> Colour:
    """Björn Ottosson 2020."""
    red, green, blue = light
    long = (0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue) ** (1 / 3)
    middle = (0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue) ** (1 / 3)
    short = (0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue) ** (1 / 3)
    return (
        0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short,
    )


def distance(one: str, other: str, sight: str = "usual") -> float:
    """In OKLab."""
    a, b = (oklab(seen(colour, sight)) for colour in (one, other))
    return float(sum((x - y) ** 2 for x, y in zip(a, b, strict=True)) ** 0.5)


def contrast(one: str, other: str) -> float:
    """As WCAG 2 counts it, 1 to 21."""
    light, dark = sorted(
        (sum(a * b for a, b in zip((0.2126, 0.7152, 0.0722), linear(each), strict=True)))
        for each in (one, other)
    )[::-1]
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", THEMES)
def test_texts_stand_out(theme: str) -> None:
    """4.5 on every ground that they stand on."""
    colour = tokens(theme)
    pairs = [
        *itertools.product(("text", "text-2", "text-3"), ("bg", "surface", "well")),
        *((state, f"{state}-soft") for state in ("ok", "warn", "bad", "trial", "accent")),
        *itertools.product(("ok", "warn", "bad", "trial", "accent"), ("bg", "surface")),
        *itertools.product(("text", "text-2"), ("lower", "higher", "accent-soft")),
        *(("text", f"{state}-soft") for state in ("ok", "warn", "bad", "trial")),
    ]
    low = {pair: contrast(colour[pair[0]], colour[pair[1]]) for pair in pairs}
    assert {pair: found for pair, found in low.items() if found < 4.5} == {}


@pytest.mark.parametrize("theme", THEMES)
def test_shapes_stand_out(theme: str) -> None:
    """3 on every ground; the focus is one of them."""
    colour = tokens(theme)
    shapes = ("ok", "warn", "bad", "trial", "accent", "text-3")
    pairs = itertools.product(shapes, ("bg", "surface", "well"))
    low = {pair: contrast(colour[pair[0]], colour[pair[1]]) for pair in pairs}
    assert {pair: found for pair, found in low.items() if found < 3} == {}


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize(
    "names",
    [
        ("active", "backoff", "unschedulable", "gated"),
        ("profile-0", "profile-1", "profile-2", "profile-3"),
        ("ok", "warn", "bad", "trial"),
    ],
    ids=["queue", "profiles", "states"],
)
def test_colours_differ_for_all_eyes(names: tuple[str, ...], sight: str, theme: str) -> None:
    """By 0.06 in OKLab; shapes and words say the same."""
    colour = tokens(theme)
    near = {
        pair: distance(colour[pair[0]], colour[pair[1]], sight)
        for pair in itertools.combinations(names, 2)
    }
    assert {pair: found for pair, found in near.items() if found < 0.06} == {}


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("scale", ["amount", "fragmentation"])
@pytest.mark.parametrize("sight", SIGHTS)
def test_scales_rise_evenly(scale: str, theme: str, sight: str) -> None:
    """Lightness goes one way, by 0.03 a step at least: more is further from the ground."""
    lightness = [oklab(seen(colour, sight))[0] for colour in stops(scale, theme)]
    rise = [b - a for a, b in itertools.pairwise(lightness)]
    sign = -1 if theme == "light" else 1
    assert [round(one, 3) for one in rise if one * sign < 0.03] == []
