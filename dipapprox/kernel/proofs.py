"""What steps are about, and what several rules read of them or do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from dipapprox.kernel.adjacency import Input, adjacent_pairs
from dipapprox.kernel.balls import lower_at, precision, to_ball, upper_at
from dipapprox.kernel.budget import spend
from dipapprox.kernel.errors import BadProof, Refused, Refuted
from dipapprox.kernel.judgements import Distributions, Inputs
from dipapprox.kernel.machine import Machine, read_input
from dipapprox.kernel.reading import as_list, as_number

MOST_PAIRS = 20_000_000
"""Most pairs of inputs that one step may go through."""

Step = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Proof:
    """What all steps are about: a machine, and which pairs of its inputs are meant.

    Attributes:
        machine: The machine.
        pairs: The listed ordered pairs; None for all adjacent ones.
    """

    machine: Machine
    pairs: tuple[Inputs, ...] | None


def pairs_of(proof: Proof) -> Iterator[Inputs]:
    """Yield the pairs that are meant."""
    machine = proof.machine
    adjacent = adjacent_pairs(machine.adjacency, machine.domains)
    pairs = adjacent if proof.pairs is None else proof.pairs
    for count, (first, second) in enumerate(pairs):
        spend(1)
        if count >= MOST_PAIRS:
            raise Refused(f"more than {MOST_PAIRS} pairs")
        yield first, second


def pair_of(proof: Proof, step: Step) -> Inputs:
    """Read one of the pairs that are meant: "input" and "adjacent"."""
    first, second = (read_input(step[n], proof.machine.domains) for n in ("input", "adjacent"))
    if proof.pairs is not None:
        if (first, second) not in proof.pairs:
            raise Refuted("the pair is not listed")
    elif not proof.machine.adjacency.holds(first, second):
        raise Refuted("the inputs are not adjacent")
    return first, second


def ascending(json: object) -> tuple[Fraction, ...]:
    """Read numbers that ascend."""
    cuts = tuple(as_number(each, "a cut") for each in as_list(json, "cuts"))
    if any(a >= b for a, b in pairwise(cuts)):
        raise BadProof("cuts do not ascend")
    return cuts


def claimed(step: Step) -> tuple[Fraction, Fraction]:
    """Read the numbers of a claim."""
    eps_prv, delta = as_number(step["eps_prv"], "eps_prv"), as_number(step["delta"], "delta")
    if eps_prv < 0 or not 0 <= delta <= 1:
        raise BadProof("eps_prv is below 0, or delta not in [0, 1]")
    return eps_prv, delta


def positive(json: object, what: str) -> Fraction:
    """Read a number > 0."""
    value = as_number(json, what)
    if value <= 0:
        raise BadProof(f"{what} is not above 0")
    return value


def growth_bound(eps_prv: Fraction, places: int, above: bool) -> Fraction:
    """Return a multiple of 2 ** -places that is at most e ** eps_prv, or at least that."""
    if eps_prv > MOST_EPS_PRV:
        raise Refused(f"eps_prv is above {MOST_EPS_PRV}")
    with precision(places + 2 * int(eps_prv) + 32):
        ball = to_ball(eps_prv).exp()
        return Fraction((upper_at if above else lower_at)(ball, places), 1 << places)


MOST_EPS_PRV = 1000


def largest_of(
    found: Distributions, eps_prv: Fraction, others: Sequence[int] = ()
) -> Callable[[Input, Input], int]:
    """Return what bounds f_S for two inputs and every S but {}, in units of 2 ** -places.

    `others` are f_o of outputs that are not among those found.
    """
    bounds, scaled = found.bounds, dict[Input, list[int]]()
    factor, divisor = growth_bound(eps_prv, found.places, above=False).as_integer_ratio()

    def largest(first: Input, second: Input) -> int:
        spend(20 + len(found.outputs) // 8)
        if first not in bounds or second not in bounds:
            raise Refuted("an input of a pair has no distribution")
        if second not in scaled:
            scaled[second] = [factor * low // divisor for low in bounds[second][0]]
        high, low = bounds[first][1], scaled[second]
        total = sum([h - s for h, s in zip(high, low, strict=True) if h > s])
        return total or max([h - s for h, s in zip(high, low, strict=True)] + [*others])

    return largest
