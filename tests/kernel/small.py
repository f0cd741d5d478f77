"""Small machines whose delta is known to many digits, and proofs about them."""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any

from dipapprox import Program, parse
from dipapprox.proof_steps.liveness import machine_json
from kernel.machines import RUN
from tests.texts import text_of

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


TEXTS: dict[str, tuple[str, int | str]] = {
    "a Gaussian above a threshold": (text_of("kernel/small-a_gaussian_above_a_threshold"), "1/4"),
    "a difference of Laplace noise in a band": (
        text_of("kernel/small-a_difference_of_laplace_noise_in_a_band"),
        "1/8",
    ),
    "discrete Laplace noise": (text_of("kernel/small-discrete_laplace_noise"), "1/8"),
    "discrete Gaussian noise": (text_of("kernel/small-discrete_gaussian_noise"), 0),
    "a choice in proportion": (text_of("kernel/small-a_choice_in_proportion"), "1/8"),
    "a coin, then noise, joined": (text_of("kernel/small-a_coin_then_noise_joined"), "1/8"),
    "one-sided noise": (text_of("kernel/small-one_sided_noise"), "1/2"),
    "named values": (text_of("kernel/small-named_values"), "1/8"),
    "sparse vectors": (text_of("kernel/small-sparse_vectors"), "1/4"),
    "a loop that ends by chance": (text_of("kernel/small-a_loop_that_ends_by_chance"), "1/8"),
    "the largest of three, and one between": (
        text_of("kernel/small-the_largest_of_three_and_one_between"),
        "1/4",
    ),
    "integers between integers": (text_of("kernel/small-integers_between_integers"), "1/8"),
    "an element that is looked up": (text_of("kernel/small-an_element_that_is_looked_up"), "1/8"),
}


KNOWN: dict[str, tuple[str, Json, Json, Json]] = {
    "a Gaussian above a threshold": ("0.164113645671", [1], [0], [[1]]),
    "a difference of Laplace noise in a band": ("0.070897636089", [0, 1], [1, 1], [[0]]),
    "discrete Laplace noise": ("0.103003274262", [0], [-1], [[3], [2], [1]]),
    "discrete Gaussian noise": ("0.199471140201", [0], [1], [[1]]),
    "a choice in proportion": ("0.001293659754", [0, 0], [2, 0], [[2]]),
    "a coin, then noise, joined": ("0.017564453241", [0], [1], [[0]]),
    "one-sided noise": ("0.393469340287", [0], [1], [[0]]),
    "named values": ("0.169351157172", [{"name": "high"}], [{"name": "low"}], [[{"name": "high"}]]),
    "sparse vectors": ("0.005813645428", [0, 0, 1], [1, 1, 0], [[0, 0, 1]]),
    "a loop that ends by chance": ("0.169351157172", [0], [1], [[0]]),
    "the largest of three, and one between": ("0.196885308866", [0, 1, 0], [1, 0, 1], [[2]]),
    "integers between integers": ("0.110795647054", [0, 0], [0, 1], [[0], [1]]),
    "an element that is looked up": ("0.41166873161", [3, 3], [0, 3], [[3]]),
}
"""Of each: the delta at eps = 1/2 to 12 digits, the pair with it, and the set of outputs."""


def _small(name: str) -> Small:
    text, eps_prv = TEXTS[name]
    delta, first, second, outputs = KNOWN[name]
    return Small(name, text, eps_prv, Fraction(delta), (first, second, outputs))


SMALL = tuple(map(_small, TEXTS))

LISTED = tuple(
    replace(small, name=f"{small.name}, one pair listed", pairs=[list(small.worst[:2])])
    for small in SMALL[1::4]
)
"""One ordered pair, listed."""

CLOSED = tuple(small for small in SMALL if "Gauss" not in small.text and "DLap" not in small.text)
"""Those whose probabilities have closed forms in the kernel."""
