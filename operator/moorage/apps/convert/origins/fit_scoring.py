"""Fit scoring: several scores by what is used of resources, as one scoring strategy of
NodeResourcesFit.

A score that prefers full nodes is the sum over resources of the weight times the share that is
used. One that prefers empty nodes is the same with the sign turned, but for a number that is equal
on all nodes. So scores add up by resource.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

_MOST = 100
"""The highest weight of a resource in NodeResourcesFit's arguments."""


class FitTerm(NamedTuple):
    """A score of this weight, which its resources share by theirs; a negative weight, of the whole
    or of a resource, prefers empty nodes.
    """

    weight: int
    resources: Mapping[str, float]


class CombinedFit(NamedTuple):
    """The arguments of NodeResourcesFit and its weight, which is 0 when nothing is left to prefer;
    ``dropped``: resources for which the opposite was asked.
    """

    weight: int
    args: dict[str, Any]
    dropped: tuple[str, ...]


def combined(terms: Iterable[FitTerm]) -> CombinedFit:
    """The strategy that ranks nodes as all terms together do."""
    shares: dict[str, Fraction] = {}
    for weight, resources in terms:
        whole = sum(abs(Fraction(part)) for part in resources.values())
        for name, part in resources.items():
            if part:
                shares[name] = shares.get(name, Fraction()) + weight * Fraction(part) / whole
    net = sum(shares.values(), Fraction())
    kept = {name: abs(share) for name, share in shares.items() if share * net > 0}
    dropped = tuple(name for name, share in shares.items() if share and name not in kept)
    if not kept:
        return CombinedFit(0, {}, dropped)
    listed = [{"name": name, "weight": weight} for name, weight in _integers(kept).items()]
    strategy = {"type": "MostAllocated" if net > 0 else "LeastAllocated", "resources": listed}
    weight = max(1, round(sum(kept.values())))
    return CombinedFit(weight, {"scoringStrategy": strategy}, dropped)


def _integers(shares: Mapping[str, Fraction]) -> dict[str, int]:
    """The smallest whole weights in these proportions, rounded where the largest would pass 100."""
    scale = math.lcm(*(share.denominator for share in shares.values()))
    whole = {name: int(share * scale) for name, share in shares.items()}
    divisor = math.gcd(*whole.values())
    most = max(whole.values()) // divisor
    factor = Fraction(1, divisor) * min(Fraction(1), Fraction(_MOST, most))
    return {name: max(1, round(value * factor)) for name, value in whole.items()}
