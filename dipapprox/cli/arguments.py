"""The command line's words: flags, and the values that stand behind them."""

from __future__ import annotations

import argparse
import os
from fractions import Fraction

from dipapprox.integrals.strategy import Strategy
from dipapprox.limits import Limits
from dipapprox.numerics.elimination.refinement import Tier
from dipapprox.privacy.intervals.claim_text import read_epsilon
from dipapprox.privacy.options import FIRST_PRECISION, LAST_PRECISION, Engine, Options

_MEMORY_SHARE = 0.6
"""Of the physical memory, when --max-memory is not given."""

_OPTIMIZERS = {
    "least-nesting": Strategy.LEAST_NESTING,
    "paper": Strategy.PAPER,
    "none": Strategy.NONE,
}


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add --json."""
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def add_epsilon(parser: argparse.ArgumentParser) -> None:
    """Add --eps, one number."""
    parser.add_argument(
        "--eps", required=True, metavar="E", help="the program's ε, exact: 1/2, 0.5"
    )


def add_pairs(parser: argparse.ArgumentParser) -> None:
    """Add --pairs."""
    parser.add_argument(
        "--pairs",
        default="all",
        metavar="PAIRS",
        help='all (default), single (the pair 0…0, 0…01), "0,0~0,1;…" (both orders), '
        "or a JSON file of ordered pairs",
    )


def add_max_precision(parser: argparse.ArgumentParser) -> None:
    """Add --max-precision."""
    parser.add_argument(
        "--max-precision",
        type=int,
        default=LAST_PRECISION,
        metavar="BITS",
        help="what is undecided is refined up to this (default: %(default)s)",
    )


def add_computing(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `Options`."""
    group = parser.add_argument_group("computing")
    group.add_argument(
        "--engine",
        choices=[engine.value for engine in Engine],
        default=Engine.AUTO.value,
        help="what computes probabilities (default: %(default)s, elimination and then nested)",
    )
    group.add_argument(
        "--tier",
        choices=[tier.value for tier in Tier],
        default=Tier.AUTO.value,
        help="numbers that elimination works with (default: %(default)s, doubles and then balls)",
    )
    add_structure(group)
    group.add_argument(
        "--precision",
        type=int,
        default=FIRST_PRECISION,
        metavar="BITS",
        help="first attempt: enclosures at most 2^-BITS wide (default: %(default)s)",
    )
    add_jobs(group, "processes, for work that takes more than a second (default: %(default)s)")
    add_limits(parser)


def add_jobs(group: argparse._ActionsContainer, meaning: str) -> None:
    """Add --jobs."""
    group.add_argument("--jobs", type=_positive_int, default=1, metavar="N", help=meaning)


def add_structure(group: argparse._ActionsContainer) -> None:
    """Add the flags that choose how integrals are built."""
    group.add_argument(
        "--optimizer",
        choices=list(_OPTIMIZERS),
        default="least-nesting",
        help="how integrals are ordered and pulled apart (default: %(default)s)",
    )
    group.add_argument(
        "--no-optimize",
        dest="optimizer",
        action="store_const",
        const="none",
        help="the same as --optimizer none: nested integrals as the program writes them",
    )
    add_merging(group)


def add_merging(group: argparse._ActionsContainer) -> None:
    """Add --no-merge."""
    group.add_argument(
        "--no-merge", action="store_true", help="keep every final state, as the papers count them"
    )


def add_limits(parser: argparse.ArgumentParser) -> None:
    """Add the flags of `Limits`."""
    group = parser.add_argument_group("limits (when one is reached, the answer is Unknown)")
    group.add_argument("--timeout", type=_positive_float, metavar="SECONDS", help="wall-clock time")
    group.add_argument(
        "--max-states",
        type=_positive_int,
        default=100_000,
        metavar="N",
        help="symbolic states (default: %(default)s)",
    )
    group.add_argument(
        "--max-memory",
        type=_positive_int,
        metavar="MB",
        help="resident memory (default: 60%% of the machine's)",
    )


def epsilon_of(arguments: argparse.Namespace) -> Fraction:
    """Read --eps.

    Raises:
        UserError: If it is not a number > 0.
    """
    return read_epsilon(arguments.eps)


def strategy_of(arguments: argparse.Namespace) -> Strategy:
    """Read --optimizer."""
    return _OPTIMIZERS[arguments.optimizer]


def limits_of(arguments: argparse.Namespace) -> Limits:
    """Read the limits; their clock starts now."""
    memory = arguments.max_memory
    return Limits(
        seconds=arguments.timeout,
        memory=_default_memory() if memory is None else memory,
        states=arguments.max_states,
    )


def options_of(arguments: argparse.Namespace, max_precision: int) -> Options:
    """Read the flags of `add_computing`."""
    return Options(
        engine=Engine(arguments.engine),
        tier=Tier(arguments.tier),
        strategy=strategy_of(arguments),
        precision=arguments.precision,
        max_precision=max_precision,
        merge=not arguments.no_merge,
        jobs=arguments.jobs,
        limits=limits_of(arguments),
    )


def _default_memory() -> int:
    """Return a share of the physical memory in MiB."""
    return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * _MEMORY_SHARE) >> 20


def _positive_int(text: str) -> int:
    value = int(text)
    if value <= 0:
        raise argparse.ArgumentTypeError(f"must be > 0, got {text}")
    return value


def _positive_float(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a positive number, got {text}")
    return value


_positive_int.__name__ = "whole number"
_positive_float.__name__ = "number"
