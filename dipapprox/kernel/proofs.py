"""What steps are about, and what several rules read of them or do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from dipapprox.kernel.adjacency import Input, adjacent_pairs, all_inputs
from dipapprox.kernel.balls import lower_at, precision, to_ball, upper_at
from dipapprox.kernel.budget import spend
from dipapprox.kernel.errors import BadProof, Refused, Refuted
from dipapprox.kernel.forward import Run
from dipapprox.kernel.judgements import Inputs, Output
from dipapprox.kernel.machine import Machine, read_input
from dipapprox.kernel.nodes import Graph, Node
from dipapprox.kernel.reading import as_list, as_number
from dipapprox.kernel.signs import Signs

MOST_ENTRIES = 4_000_000
"""Most probabilities that one step may ask for."""

MOST_PAIRS = 20_000_000
"""Most pairs of inputs that one step may go through."""

Step = Mapping[str, Any]

Sum = tuple[Node, ...]
"""Scalars that add up to a probability."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What all steps are about: a machine, and which pairs of its inputs are meant.

    Attributes:
        machine: The machine.
        pairs: The listed ordered pairs; None for all adjacent ones.
    """

    machine: Machine
    pairs: tuple[Inputs, ...] | None


def outcomes(
    proof: Proof, signs: Signs, step: Step
) -> tuple[Graph, tuple[Output, ...], list[Sum], dict[Input, list[int]]]:
    """Run the machine for all inputs (null), or some.

    Returns:
        A graph; all outputs; what probabilities are sums of, each once; and for each input the
        places of its sums, in the order of outputs.
    """
    domains = proof.machine.domains
    inputs: Iterable[Input] = (
        all_inputs(domains)
        if step["inputs"] is None
        else [read_input(each, domains) for each in as_list(step["inputs"], "inputs")]
    )
    cuts = tuple(ascending(each) for each in as_list(step["cuts"], "cuts"))
    graph = Graph()
    run = Run(proof.machine, signs, graph)
    found: dict[Input, dict[Output, list[Node]]] = {}
    for input in inputs:
        spend(100)
        if input in found:
            raise BadProof("an input twice")
        found[input] = run.outcomes(input, cuts)
    outputs = tuple(dict.fromkeys(output for own in found.values() for output in own))
    if len(outputs) * len(found) > MOST_ENTRIES:
        raise Refused(f"more than {MOST_ENTRIES} probabilities")
    places: dict[Sum, int] = {}
    rows = {
        input: [places.setdefault(tuple(own.get(each, ())), len(places)) for each in outputs]
        for input, own in found.items()
    }
    return graph, outputs, list(places), rows


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
