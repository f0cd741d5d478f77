"""The flags --eps, --eps-prv and --delta: what is claimed, and for which epsilons."""

from __future__ import annotations

import argparse


def add_claim(parser: argparse.ArgumentParser) -> None:
    """Add the three flags."""
    parser.add_argument(
        "--eps",
        required=True,
        metavar="E",
        help="the program's ε, exact: 1/2, 0.5; or every ε in an interval: 0.1..1",
    )
    parser.add_argument(
        "--eps-prv",
        metavar="P",
        help="the claimed budget, a number or a formula in eps and delta (default: --eps)",
    )
    parser.add_argument(
        "--delta", required=True, metavar="D", help="the claimed δ in [0, 1], or a formula in eps"
    )
