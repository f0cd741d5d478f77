"""What tests of machines share: machines and proofs in JSON, and what runs of them say."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from dipapprox.kernel.balls import precision
from dipapprox.kernel.errors import NotProved
from dipapprox.kernel.evaluate import evaluate, most_factors
from dipapprox.kernel.exact import exact_values
from dipapprox.kernel.exponentials import Ratio
from dipapprox.kernel.forward import Run
from dipapprox.kernel.grid import accuracy
from dipapprox.kernel.machine import Value, read_machine
from dipapprox.kernel.nodes import Graph
from dipapprox.kernel.signs import Signs
from kernel.ends import lower, upper
from tests.cases import evaluated

Json = Any
Proof = tuple[Json, Json, list[Json]]
"""What is claimed of, the claim, and steps."""

ONE = Fraction(1)
Output = tuple[Value, ...]

RUN: Json = {"rule": "distributions", "from": [], "eps": 1, "inputs": None, "bits": 40}
"""What a machine does for all its inputs at eps = 1."""


def cell(name: str) -> Any:
    """A cell, in expressions and as a target."""
    return ["cell", name]


def finite(body: list[Any], **fields: Any) -> Json:
    """A machine with an output o, 0 or 1, and any two inputs adjacent, unless said otherwise."""
    machine = {"inputs": [], "outputs": [["o", [0, 1]]], "reals": [], "adjacency": {"norm": "all"}}
    return {**machine, "body": body, **fields}


def private(machine: Json, run: Json = RUN, eps_prv: Json = 1, delta: Json = "1/2") -> Proof:
    """A proof of privacy: what the machine does, and that this is so for every pair."""
    stated = {"eps_prv": eps_prv, "delta": delta}
    claim = {"verdict": "DP", "eps": run["eps"], "pairs": None, **stated}
    return machine, claim, [run, {"rule": "every pair", "from": [0], **stated}]


def machine(body: list[Any], outputs: dict[str, list[Any]]) -> Any:
    """A machine without inputs."""
    return read_machine(finite(body, outputs=[[name, domain] for name, domain in outputs.items()]))


def _outcomes(of: Any, eps: Fraction) -> tuple[Graph, dict[Output, list[int]]]:
    run = Run(of, Signs.at(eps), graph := Graph())
    found, outputs = run.outcomes([()])[()], [*run.numbers]
    return graph, {outputs[number]: own for number, own in found.items()}


def enclosed(of: Any, eps: Fraction = ONE, bits: int = 40) -> dict[Output, tuple[float, float]]:
    """Both ends of the probability of every output."""
    graph, found = _outcomes(of, eps)
    wanted = {scalar for own in found.values() for scalar in own}
    values = evaluate(graph, wanted, eps, accuracy(bits, most_factors(graph, wanted)))
    ends = {}
    with precision(300):
        for output, own in found.items():
            low, high = (sum(end(values[s]) for s in own) for end in (lower, upper))
            ends[output] = float(low), float(high)
    return ends


def exactly(of: Any, eps: Fraction = ONE) -> dict[Output, Ratio]:
    """The probability of every output in closed form."""
    graph, found = _outcomes(of, eps)
    wanted = {scalar for own in found.values() for scalar in own}
    values = exact_values(graph, wanted, Signs.at(eps))
    nothing = Ratio.constant(Fraction(0))
    return {o: sum((values[s] for s in own), nothing) for o, own in found.items()}


def judged(names: dict[str, Any]) -> Callable[[str], str]:
    """Return what an expression of these names is, or why the kernel proves nothing."""
    return evaluated(names, NotProved)
