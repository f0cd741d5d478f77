"""Small machines whose delta is known to many digits, and proofs about them."""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any

from dipapprox import Program, parse
from dipapprox.proof_steps.liveness import machine_json
from kernel.machines import RUN
from tests.cases import text_of

Json = Any

EPS = "1/2"

CLAMPED = text_of("kernel/small-clamped")


@dataclass(frozen=True, slots=True)
class Small:
    """A machine and its delta.

    Attributes:
        name: For people.
        text: The program.
        eps_prv: As JSON.
        delta: The supremum over pairs at eps = 1/2, within 10^-9.
        worst: The pair that attains it, as JSON, and a set of outputs.
        pairs: Those that are listed; None for all adjacent ones.
    """

    name: str
    text: str
    eps_prv: int | str
    delta: Fraction
    worst: tuple[Json, Json, Json]
    pairs: Json = None

    @property
    def machine(self) -> Json:
        return machine_json(program_of(self.text))

    def above(self) -> str:
        """A delta that is a hair too large."""
        return written(self.delta + Fraction(1, 10**6))

    def below(self) -> str:
        """A delta that is a hair too small."""
        return written(self.delta - Fraction(1, 10**6))

    def private(self, delta: str | int, exactly: bool = False) -> tuple[Json, list[Json]]:
        """The claim that it is private, and the steps of a proof."""
        stated = {"eps_prv": self.eps_prv, "delta": delta}
        claim = {"verdict": "DP", "eps": EPS, "pairs": self.pairs, **stated}
        inputs = None
        if self.pairs is not None:
            listed = [each for pair in self.pairs for each in pair]
            inputs = [u for k, u in enumerate(listed) if u not in listed[:k]]
        run = {**RUN, "eps": EPS, "inputs": inputs, "bits": None if exactly else 40}
        return claim, [run, {"rule": "every pair", "from": [-1], **stated}]

    def violated(self, delta: str | int) -> tuple[Json, list[Json]]:
        """The claim that it is not, and the steps of a proof."""
        stated = {"eps_prv": self.eps_prv, "delta": delta}
        claim = {"verdict": "Not_DP", "eps": EPS, "pairs": self.pairs, **stated}
        first, second, outputs = self.worst
        run = {**RUN, "eps": EPS, "inputs": [first, second]}
        pair = {"input": first, "adjacent": second, "outputs": outputs}
        return claim, [run, {"rule": "violation", "from": [-1], **stated, **pair}]


def written(value: Fraction) -> str:
    """With nine digits, in lowest terms."""
    found = Fraction(round(value * 10**9), 10**9)
    return f"{found.numerator}/{found.denominator}"


@cache
def program_of(text: str) -> Program:
    program = parse(text)
    assert isinstance(program, Program)
    return program


def small_text(name: str) -> str:
    file = name.lower().replace(",", "").replace("-", "_").replace(" ", "_")
    return text_of(f"kernel/small-{file}")


def _small(
    name: str, eps_prv: int | str, delta: str, first: Json, second: Json, outputs: Json
) -> Small:
    return Small(name, small_text(name), eps_prv, Fraction(delta), (first, second, outputs))


SMALL = (
    _small("a Gaussian above a threshold", "1/4", "0.164113645671", [1], [0], [[1]]),
    _small(
        "a difference of Laplace noise in a band", "1/8", "0.070897636089", [0, 1], [1, 1], [[0]]
    ),
    _small("discrete Laplace noise", "1/8", "0.103003274262", [0], [-1], [[3], [2], [1]]),
    _small("discrete Gaussian noise", 0, "0.199471140201", [0], [1], [[1]]),
    _small("a choice in proportion", "1/8", "0.001293659754", [0, 0], [2, 0], [[2]]),
    _small("a coin, then noise, joined", "1/8", "0.017564453241", [0], [1], [[0]]),
    _small("one-sided noise", "1/2", "0.393469340287", [0], [1], [[0]]),
    _small(
        "named values",
        "1/8",
        "0.169351157172",
        [{"name": "high"}],
        [{"name": "low"}],
        [[{"name": "high"}]],
    ),
    _small("sparse vectors", "1/4", "0.005813645428", [0, 0, 1], [1, 1, 0], [[0, 0, 1]]),
    _small("a loop that ends by chance", "1/8", "0.169351157172", [0], [1], [[0]]),
    _small(
        "the largest of three, and one between",
        "1/4",
        "0.196885308866",
        [0, 1, 0],
        [1, 0, 1],
        [[2]],
    ),
    _small("integers between integers", "1/8", "0.110795647054", [0, 0], [0, 1], [[0], [1]]),
    _small("an element that is looked up", "1/8", "0.41166873161", [3, 3], [0, 3], [[3]]),
)
"""Of each: its eps_prv, the delta at eps = 1/2 to 12 digits, the pair with it, and outputs."""

LISTED = tuple(
    replace(small, name=f"{small.name}, one pair listed", pairs=[list(small.worst[:2])])
    for small in SMALL[1::4]
)
"""One ordered pair, listed."""

CLOSED = tuple(small for small in SMALL if "Gauss" not in small.text and "DLap" not in small.text)
"""Those whose probabilities have closed forms in the kernel."""
