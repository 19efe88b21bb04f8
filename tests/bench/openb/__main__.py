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
from collections.abc import Sequence

from tests.bench.openb import trace
from tests.bench.openb.placing import allocated


def main(arguments: Sequence[str]) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.openb", description="Place the openb trace of shared GPUs."
    )
    parser.add_argument("--orders", type=int, default=10, help="so many of the ten published ones")
    parser.add_argument("--demand", choices=("learnt", "told"), default="learnt")
    options = parser.parse_args(arguments)
    mine: dict[int, float] = {}
    for seed, order in list(trace.orders().items())[: options.orders]:
        started = time.monotonic()
        mine[seed] = allocated(order, told=options.demand == "told")
        seconds = time.monotonic() - started
        print(f"order {seed}: {mine[seed]:.2f} % of GPUs, {seconds:.0f} s", flush=True)
    print(f"\nGPUs allocated at 130 % demand, mean of {len(mine)} orders (least, most)")
    rows = {**trace.published(), f"DeviceScoring, {options.demand}": mine}
    for name, found in sorted(rows.items(), key=lambda row: _mean(row[1], mine)):
        here = [found[seed] for seed in mine]
        print(f"{name:24}{_mean(found, mine):7.2f} %   ({min(here):.2f}, {max(here):.2f})")


def _mean(found: dict[int, float], seeds: dict[int, float]) -> float:
    return statistics.fmean(found[seed] for seed in seeds)


if __name__ == "__main__":
    main(sys.argv[1:])
