"""Small machines whose delta is known to many digits, and proofs about them."""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any

from dipapprox import Program, parse
from dipapprox.proof_steps.liveness import machine_json
from kernel.machines import RUN

Json = Any

EPS = "1/2"

CLAMPED = """
input q in 0..3
output o in {0, 1}
output y in real
adjacent linf 1
o <- 0
r <- Lap(q, 1 / eps)
if r < 1 then y <- 1 elif r > 2 then
    o <- 1
    y <- 2
else y <- r end
"""


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
    "a Gaussian above a threshold": (
        """
        input q in {0, 1}
        output o in {0, 1}
        adjacent linf 1
        x <- Gauss(2 * q - 1, 3/2 / eps)
        if -2 * x <= -1/2 then o <- 1 else o <- 0 end
        """,
        "1/4",
    ),
    "a difference of Laplace noise in a band": (
        """
        input q[2] in {0, 1}
        output o in {0, 1, 2}
        adjacent l1 1
        x <- Lap(q[1], 1 / eps)
        y <- Lap(q[2] - 1/2, 2 / eps)
        z <- Lap(0, 1)
        if x < y and 2 * y <= 2 * x + 3 and y >= 0 then o <- 1
        elif x + 1/3 > 2 * z then o <- 2 else o <- 0 end
        """,
        "1/8",
    ),
    "discrete Laplace noise": (
        """
        input q in -1..1
        output o in {0, 1, 2, 3}
        adjacent decreasing 1
        x <- DLap(q, 1 / eps)
        y <- DLap(1, 3/2)
        o <- 0
        if x > y then o <- 1 end
        if x = y then o <- 2 end
        if 2 * x != 1 and x + 1 = y and x >= -3/2 then o <- 3 end
        """,
        "1/8",
    ),
    "discrete Gaussian noise": (
        """
        input q in 0..2
        output o in {0, 1, 2}
        adjacent increasing 1
        x <- DGauss(-q, 1 / eps)
        if x < -5/2 then o <- 0 elif 3 * x + 1 > 0 then o <- 1 else o <- 2 end
        """,
        0,
    ),
    "a choice in proportion": (
        """
        input q[2] in {0, 2}
        output o in {1, 2, 3}
        adjacent l0 1
        k <- Exp(eps / 4, q)
        o <- choose {k : 2 * eps / 3, 3 : 1 - 2 * eps / 3}
        """,
        "1/8",
    ),
    "a coin, then noise, joined": (
        """
        input q in {0, 1}
        output o in {0, 1}
        adjacent all
        b <- choose {1 : 2 * eps / 3, 0 : 1 - 2 * eps / 3}
        if b = 1 then x <- Lap(q, 1 / eps) else x <- LapPlus(0, 1 / eps) end
        y <- LapMinus(1/2, 2 / eps)
        if x > y + 1 then o <- 1 else o <- 0 end
        """,
        "1/8",
    ),
    "one-sided noise": (
        """
        input q in {0, 1}
        output o in {0, 1, 2}
        adjacent linf 1
        x <- LapPlus(q, 1 / eps)
        y <- LapMinus(q, 1 / eps)
        if x < 1 then o <- 0 elif y > 0 then o <- 1 else o <- 2 end
        """,
        "1/2",
    ),
    "named values": (
        """
        input q in {low, high}
        output o in {low, mid, high}
        adjacent all
        c <- 0
        if q = high then c <- 1 end
        x <- Lap(c, 1 / eps)
        if x > 3/4 then o <- high else o <- mid end
        if x < 0 then o <- low end
        """,
        "1/8",
    ),
    "sparse vectors": (
        """
        param N = 3
        input q[N] in {0, 1}
        output out[N] in {0, 1}
        adjacent linf 1
        for i in 1..N do out[i] <- 0 end
        t <- Gauss(0, 2 / eps)
        for i in 1..N do
            r <- Gauss(q[i], 4 / eps)
            if r >= t then
                out[i] <- 1
                exit
            end
        end
        """,
        "1/4",
    ),
    "a loop that ends by chance": (
        """
        input q in {0, 1}
        output o in {0, 1, 2}
        adjacent linf 1
        x <- Lap(q, 1 / eps)
        n <- 0
        found <- 0
        while found = 0 do
            found <- choose {
                1 : 1 / (2 + 2 * exp(-eps)),
                2 : exp(-eps) / (1 + exp(-eps)),
                0 : 1 / (2 + 2 * exp(-eps))
            }
            if found = 0 and n = 1 then found <- 2 end
            if found = 2 and n = 0 then
                n <- 1
                found <- 0
            end
        end
        if x > 1/2 then o <- found else o <- 0 end
        """,
        "1/8",
    ),
    "the largest of three, and one between": (
        """
        input q[3] in {0, 1}
        output o in {1, 2, 3, 4}
        adjacent linf 1
        x <- Gauss(q[1], 1 / eps)
        y <- Gauss(q[2], 1 / eps)
        z <- Lap(q[3], 1 / eps)
        if x > y and x > z and x < 3 then o <- 1
        elif y > x and y > 1/2 * z + 1/4 then o <- 2
        elif z > y and y > x then o <- 3 else o <- 4 end
        """,
        "1/4",
    ),
    "integers between integers": (
        """
        input q[2] in {0, 1}
        output o in {0, 1, 2}
        adjacent l1 1
        x <- DLap(q[1], 1 / eps)
        y <- DLap(q[2], 1)
        z <- DGauss(0, 1)
        if x <= y and y < z then o <- 0 elif x < z + 1 and x > y - 2 then o <- 1 else o <- 2 end
        """,
        "1/8",
    ),
    "an element that is looked up": (
        """
        input q[2] in {0, 3}
        output o in {0, 1, 3}
        adjacent l1 3
        k <- choose {1 : 1/3, 2 : 2/3}
        x <- Lap(q[k], 4 / eps)
        if x > 1 then o <- 1 else o <- 0 end
        if q[3 - k] = 3 and x > 2 then o <- 3 end
        """,
        "1/8",
    ),
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
