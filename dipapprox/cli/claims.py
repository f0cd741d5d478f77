"""What `verify` and `decide` are told of a claim: numbers or formulas, pairs, a certificate."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from dipapprox.language.core import Program
from dipapprox.pairs.adjacency import PairSelection, count_selected
from dipapprox.privacy.selection import select

_VACUOUS = "warning: no two different inputs are adjacent: the claim holds vacuously"


def add_claim(parser: argparse.ArgumentParser) -> None:
    """Add --eps, --eps-prv and --delta: what is claimed, and for which epsilons."""
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


def add_certificate(parser: argparse.ArgumentParser, answers: str) -> None:
    """Add --certificate, for the answers that have one."""
    parser.add_argument(
        "--certificate",
        type=Path,
        metavar="OUT",
        help=f"write a record of {answers} that `dipapprox check` can check",
    )


def claimed_pairs(pairs: str, program: Program) -> PairSelection:
    """Select the pairs that a claim is about; warn if there are none.

    Raises:
        UserError: If `pairs` is malformed or does not suit the program.
    """
    selection = select(pairs, program)
    if count_selected(program, selection) == 0:
        print(_VACUOUS, file=sys.stderr)
    return selection
