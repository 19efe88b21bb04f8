"""How many GPUs are given away at a demand of 130 %: ``python -m tests.bench.openb [--orders N]
[--demand learnt|told]``.

The openb trace (README.md) goes through ``core.cycle``, without an API server: devices that can be
shared, with a capacity in thousandths, a claim for each pod, ties by our rule. DeviceScoring alone
scores, as each published policy did. One pod after another; one that fits nowhere is dropped and
not tried again. ``learnt``: DeviceScoring knows of the pods that are placed; ``told``: it is told
the frequencies of the list beforehand, as the published FGD is.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Mapping, Sequence

from tests.bench.openb import trace
from tests.bench.openb.placing import Placed, place


def main(arguments: Sequence[str]) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.openb", description="Place the openb trace of shared GPUs."
    )
    parser.add_argument("--orders", type=int, default=10, help="so many of the ten published ones")
    parser.add_argument("--demand", choices=("learnt", "told"), default="learnt")
    options = parser.parse_args(arguments)
    placed: dict[int, Placed] = {}
    for seed, order in list(trace.orders().items())[: options.orders]:
        started = time.monotonic()
        placed[seed] = one = place(order, told=options.demand == "told")
        seconds = time.monotonic() - started
        print(f"order {seed}: {one.given:.2f} % of GPUs, {seconds:.0f} s", flush=True)
    _report({seed: one.given for seed, one in placed.items()}, options.demand)
    left, stranded = (
        statistics.fmean(some) for some in list(zip(*placed.values(), strict=True))[1:]
    )
    print(
        f"Left in the end: {left:.2f} % of GPUs, {stranded:.2f} % on nodes with less cpu than half"
    )
    print("of the pods with GPUs ask for.")


def _report(mine: Mapping[int, float], demand: str) -> None:
    """The table, and where the best published policy is better."""
    published = trace.published()
    print(f"\nGPUs allocated at 130 % demand, mean of {len(mine)} orders (least, most)")
    rows = {**published, f"DeviceScoring, {demand}": mine}
    for name, found in sorted(rows.items(), key=lambda row: _mean(row[1], mine)):
        here = [found[seed] for seed in mine]
        print(f"{name:24}{_mean(found, mine):7.2f} %   ({min(here):.2f}, {max(here):.2f})")
    best = max(published, key=lambda name: _mean(published[name], mine))
    ahead = {seed: share - published[best][seed] for seed, share in mine.items()}
    mean = statistics.fmean(ahead.values())
    below = ", ".join(f"{seed} ({by:+.2f})" for seed, by in ahead.items() if by < 0) or "none"
    print(f"\nBeside {best}: {mean:+.2f} on average; below it in orders: {below}")


def _mean(found: Mapping[int, float], seeds: Mapping[int, float]) -> float:
    return statistics.fmean(found[seed] for seed in seeds)


if __name__ == "__main__":
    main(sys.argv[1:])
