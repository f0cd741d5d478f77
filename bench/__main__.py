"""python -m bench [--quick] [--output FOLDER]"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from bench.plot import MISSING, plot_growth
from bench.report import BUSY, page, write_records
from bench.suite import full, measure, quick
from dipapprox.experiments.tables.table import describe_machine


def main() -> None:
    """Measure and write benchmarks.jsonl, benchmarks.md and, with matplotlib, benchmarks.svg."""
    parser = argparse.ArgumentParser(description=main.__doc__, allow_abbrev=False)
    parser.add_argument("--quick", action="store_true", help="a few cases, under a minute")
    parser.add_argument("--output", type=Path, default=Path("results/benchmarks"), metavar="FOLDER")
    parser.add_argument("--programs", type=Path, default=Path("programs"), metavar="FOLDER")
    words = parser.parse_args()
    words.output.mkdir(parents=True, exist_ok=True)
    machine = dict(describe_machine())
    start = time.monotonic()

    def tell(what: str) -> None:
        print(f"{time.monotonic() - start:6.1f} s  {what}", file=sys.stderr, flush=True)

    suite = (quick if words.quick else full)(words.programs)
    results = measure(suite, words.programs, tell)
    machine["load, five minutes to the end"] = f"{load():.1f}"
    machine["kind of run"] = "quick" if words.quick else "full"
    machine["seconds in all"] = f"{time.monotonic() - start:.0f}"
    write_records(results, machine, words.output / "benchmarks.jsonl")
    picture = words.output / "benchmarks.svg"
    drawn = plot_growth(results, picture)
    notes = [] if drawn else [MISSING]
    notes += [BUSY] if is_busy() else []
    text = page(results, machine, picture.name if drawn else None, notes)
    (words.output / "benchmarks.md").write_text(text, encoding="utf-8")
    print(words.output / "benchmarks.md")


def load() -> float:
    """Return how many processes wanted a processor, on average over the last five minutes."""
    return os.getloadavg()[1]


def is_busy() -> bool:
    """Whether other work takes so much of the machine that times are too long."""
    return load() > (os.cpu_count() or 1)


if __name__ == "__main__":
    main()
