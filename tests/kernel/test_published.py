"""Machines with real outputs: claims a hair inside and outside, by closed forms."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import exp, floor, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from flint import arb
from scipy import signal, stats

from dipapprox import Answer, Options, verify
from dipapprox.kernel.balls import precision, upper_at
from dipapprox.kernel.errors import Refused, Refuted
from dipapprox.kernel.judgements import Private, Violated
from dipapprox.kernel.machine import adjacent_pairs, read_machine
from dipapprox.kernel.replay import replay
from dipapprox.proof_steps.liveness import machine_json
from dipapprox.proof_steps.machines import number_json
from dipapprox.replays.words import words_of
from kernel.machines import RUN, judged
from kernel.small import CLAMPED, program_of, written
from tests.cases import THOROUGH, cases, check_answers, part, refuses, text_of

Json = Any

ONE = "input q in 0..2\noutput y in real\nadjacent linf 1\n"
GAUSS = ONE + "y <- 3 - 2 * Gauss(q, 1 / eps)"
MOVED = ONE + "y <- q + 2 * Lap(q, 1 / eps)"
AGAINST = ONE + "y <- 3 * q - 2 * Lap(q, 1 / eps)"
ONE_SIDED = ONE.replace("0..2", "0..1") + "y <- LapPlus(q, 1 / eps)"

BOTH = "input q[2] in 0..2\noutput y[2] in real\nadjacent l1 1\n"
LAPLACE = BOTH + "y[1] <- Lap(q[1], 1 / eps)\ny[2] <- y[1] / 2 - Lap(q[2], 1 / eps)"
SHARED = BOTH + "y[1] <- 2 * Lap(q[1], 1 / eps)\ny[2] <- y[1] / 4 - Lap(q[2], 1 / eps)"


LARGEST = text_of("kernel/published-largest")

phi = NormalDist().cdf


def gauss(eps_prv: float) -> float:
    """The Gaussian mechanism with deviation and sensitivity 1 (Balle and Wang 2018)."""
    return phi(1 / 2 - eps_prv) - exp(eps_prv) * phi(-1 / 2 - eps_prv)


def truncated(eps_prv: float) -> float:
    """From 1 to 0; the density of 1 is larger above 1/2 + eps_prv, outside of [0, 1] in no tail."""
    growth = exp(eps_prv)
    cut = 1 / 2 + eps_prv
    inside = max(0.0, phi(0) - phi(cut - 1) - growth * (phi(1) - phi(cut)))
    outside = phi(-1) + 1 - phi(0) - growth * (phi(0) + 1 - phi(1))
    return inside + max(0.0, outside)


CLOSED = [
    ("gauss", GAUSS, Fraction(1, 2), gauss(0.5)),
    ("gauss, eps_prv = 0", GAUSS, Fraction(0), gauss(0)),
    ("gauss, eps_prv = 3", GAUSS, Fraction(3), gauss(3)),
    ("laplace", LAPLACE, Fraction(1, 3), 1 - exp((1 / 3 - 1) / 2)),
    ("clamped", CLAMPED, Fraction(1, 3), 1 - exp((1 / 3 - 1) / 2)),
    ("truncated", text_of("kernel/published-truncated"), Fraction(1, 4), truncated(0.25)),
    ("moved", MOVED, Fraction(1, 3), 1 - exp((1 / 3 - 3 / 2) / 2)),
    ("moved back", AGAINST, Fraction(1, 3), 1 - exp((1 / 3 - 1 / 2) / 2)),
    ("shared", SHARED, Fraction(1, 3), 1 - exp((1 / 3 - 1) / 2)),
    ("one-sided", ONE_SIDED, Fraction(2), 1 - exp(-1)),
]


def proof_of(text: str, eps_prv: Json, delta: Json) -> tuple[Json, Json, Json]:
    """The machine, the claim that it is private at eps = 1, and the step of a proof."""
    claim = {"verdict": "DP", "eps": 1, "eps_prv": eps_prv, "delta": delta, "pairs": None}
    numbers = {"eps": 1, "eps_prv": eps_prv, "delta": delta, "bits": 40}
    step = {"rule": "every published pair", "from": [], **numbers}
    return machine_json(program_of(text)), claim, [step]


@pytest.mark.parametrize(
    ("text", "eps_prv", "delta"),
    part([c[1:] for c in CLOSED[::-1]], 2),
    ids=part([c[0] for c in CLOSED[::-1]], 2),
)
def test_claims_a_hair_from_closed_forms(text, eps_prv, delta) -> None:
    program = program_of(text)
    below, above = (Fraction(delta) + Fraction(shift, 10**6) for shift in (-1, 1))
    options = Options(proved=True)
    for eps, claimed in (("1", above), ("1", below), ("1/2..1", below)):
        found = verify(program, eps=eps, eps_prv=eps_prv, delta=claimed, options=options)
        assert found.answer is (Answer.DP if claimed == above else Answer.NOT_DP)
        assert found.replayed is not None


@pytest.mark.parametrize(
    ("text", "eps_prv", "delta"),
    part([c[1:] for c in CLOSED], 2),
    ids=part([c[0] for c in CLOSED], 2),
)
def test_few_bits_prove_nothing_false(text, eps_prv, delta) -> None:
    below, above = (written(Fraction(delta + shift)) for shift in (-1e-6, 1e-6))
    machine, claim, (step,) = proof_of(text, number_json(eps_prv), below)
    for bits in (1, 12, 40):
        refuses(Refuted, None, replay, machine, claim, [{**step, "bits": bits}])
    for bits in (-40, 0, 1001):
        refuses(Refused, "bits are not in", replay, machine, claim, [{**step, "bits": bits}])
    assert isinstance(replay(*proof_of(text, number_json(eps_prv), above)), Private)
    own = read_machine(machine)
    for bits, (u, v) in product((1, 12), adjacent_pairs(own.adjacency, own.domains)):
        pair = {"rule": "published violation", "input": [*u], "adjacent": [*v], "delta": above}
        violated = claim | {"verdict": "Not_DP", "delta": above}
        refuses(Refuted, "not larger", replay, machine, violated, [step | pair | {"bits": bits}])


TWO = text_of("kernel/published-two")


def of_two(first: Any, second: Any, eps_prv: float) -> float:
    """Two numbers, each of noise of scale 1 that moves by 1, by a grid of 10^7 pairs of places."""
    z = np.linspace(-30, 31, 3001)
    f, g = (np.multiply.outer(first(z - d), second(z - d)) for d in (0, 1))
    return float(np.maximum(0, f - exp(eps_prv) * g).sum() * (z[1] - z[0]) ** 2)


SEVERAL = [
    (("Lap", "Gauss"), Fraction(0)),
    (("Gauss", "Gauss"), Fraction(1, 2)),
    (("Logistic", "Lap"), Fraction(3, 2)),
    (("Gumbel", "Logistic"), Fraction(3, 2)),
]


@cases("families, eps_prv", *part(SEVERAL, 4))
def test_several_numbers(families, eps_prv) -> None:
    noise = {"Lap": "laplace", "Gauss": "norm", "Logistic": "logistic", "Gumbel": "gumbel_r"}
    draws = "\n".join(f"y[{k}] <- {name}(q, 1)" for k, name in enumerate(families, 1))
    text = f"input q in 0..1\noutput y[2] in real\nadjacent increasing 1\n{draws}"
    true = of_two(*(getattr(stats, noise[name]).pdf for name in families), float(eps_prv))
    for shift, answer in ((1, Answer.DP), (-1, Answer.NOT_DP)):
        claimed = Fraction(true) + Fraction(shift, 2000)
        found = verify(
            program_of(text), eps=1, eps_prv=eps_prv, delta=claimed, options=Options(proved=True)
        )
        assert found.answer is answer
        machine, claim, (step,) = proof_of(text, number_json(eps_prv), written(claimed))
        pair = {"rule": "published violation", "input": [0], "adjacent": [1]}
        for bits in (6, 16):
            if answer is Answer.DP:
                with pytest.raises(Refuted):
                    replay(machine, claim | {"verdict": "Not_DP"}, [step | pair | {"bits": bits}])
            else:
                refuses(Refuted, None, replay, machine, claim, [step | {"bits": bits}])


def of_sum(first: Any, second: Any, above: float) -> float:
    """At 1/8, a sum of noise that moves by 1 in its first part, told where it is above a number."""
    z, step = np.linspace(-60, 60, 60_001, retstep=True)
    f, g = (signal.fftconvolve(first(z - d), second(z), "same") * step for d in (0, 1))
    told, growth = z > above, exp(1 / 8)
    one, other = (1 - own[told].sum() * step for own in (f, g))
    return float(np.maximum(0, f - growth * g)[told].sum() * step + max(0, one - growth * other))


SUMS = [
    ("Gauss", "norm", "Gauss", "norm", -1, -50),
    ("Gumbel", "gumbel_r", "Gauss", "norm", -1, 0),
    ("LapPlus", "expon", "Lap", "laplace", -1, 1),
    ("Lap", "laplace", "Lap", "laplace", -1, -50),
    ("Logistic", "logistic", "LapMinus", "expon", 1, 1),
]


@cases("first, own, second, its, sign, above", *part(SUMS, 4))
def test_sums_of_samples(
    first: str, own: str, second: str, its: str, sign: int, above: int
) -> None:
    """Also where guards say something of the same sum, and so of nothing else."""
    draws = f"a <- {first}(q, 1)\nb <- {second}(0, 1)"
    shown = f"if 3 * b - 3/2 * a < {Fraction(-3 * above, 2)} then y <- a - 2 * b else y <- 0 end"
    text = f"input q in 0..1\noutput y in real\nadjacent increasing 1\n{draws}\n{shown}"
    noise, other = (getattr(stats, name).pdf for name in (own, its))
    true = of_sum(noise, lambda w: other(sign * w / 2) / 2, above)
    assert true > 0.01
    less, more = (written(Fraction(true) + Fraction(k, 2000)) for k in (-1, 1))
    machine, claim, (step,) = proof_of(text, "1/8", more)
    assert replay(machine, claim, [step])
    refuses(Refuted, None, replay, machine, claim | {"delta": less}, [step | {"delta": less}])
    pair = {"rule": "published violation", "input": [0], "adjacent": [1], "delta": less}
    assert replay(machine, claim | {"verdict": "Not_DP", "delta": less}, [step | pair])


def test_sums_of_more_samples_than_two_pairs() -> None:
    """The density of n is a multiple of z^(n-1) e^-z: f is larger up to z."""
    more = 5 if THOROUGH else 2
    text = ONE_SIDED.replace("eps)", "eps)" + more * " + LapPlus(0, 1 / eps)")
    ratio, law = exp(3 / 2 / more), stats.gamma(more + 1)
    z = ratio / (ratio - 1)
    true = Fraction(law.cdf(z) - exp(1 / 2) * law.cdf(z - 1))
    machine, claim, (step,) = proof_of(text, "1/2", written(true + Fraction(1, 10**6)))
    assert replay(machine, claim, [step])
    less = {"delta": written(true - Fraction(1, 10**6))}
    refuses(Refuted, None, replay, machine, claim | less, [step | less])


HIDDEN = "k <- choose {0 : 1/4, 1 : 3/4}\nif k = 0 then\n    y <- Gauss(q, 1 / eps)\nelse\n"


@cases(
    "body, one, other",
    (
        "a <- Gauss(0, 1 / eps)\nb <- Gauss(0, 1 / eps)\nc <- Gauss(0, 2 / eps)\n"
        "if q = 0 then\n    y <- a + b\nelse\n    y <- c\nend\n",
        [(1, 0, sqrt(2))],
        [(1, 0, 2)],
    ),
    (
        HIDDEN + "    y <- Gauss(3 + q, 1 / eps)\nend\n",
        [(1 / 4, 0, 1), (3 / 4, 3, 1)],
        [(1 / 4, 1, 1), (3 / 4, 4, 1)],
    ),
    (
        HIDDEN + "    y <- Gauss(3 - 2 * q, 2 / eps)\nend\n",
        [(1 / 4, 0, 1), (3 / 4, 3, 2)],
        [(1 / 4, 1, 1), (3 / 4, 1, 2)],
    ),
    ids=["sums and samples", "shifted mixtures", "other mixtures"],
)
def test_terms_of_one_number_add_up(body, one, other) -> None:
    """Gaussian terms (weight, mean, deviation) on a grid: from both sides."""
    text = "input q in 0..1\noutput y in real\nadjacent linf 1\n" + body
    z = np.linspace(-40, 40, 800_001)
    f, g = (sum(w * stats.norm.pdf(z, mean, s) for w, mean, s in own) for own in (one, other))
    deltas = [float(np.maximum(0, p - exp(1 / 2) * q).sum() * 1e-4) for p, q in ((f, g), (g, f))]
    pair = ((0,), (1,)) if deltas[0] > deltas[1] else ((1,), (0,))
    below, above = (written(Fraction(max(deltas) + hair)) for hair in (-1e-6, 1e-6))
    refuses(Refuted, None, replay, *proof_of(text, "1/2", below))
    assert replay(*proof_of(text, "1/2", above))
    assert isinstance(replay(*violation_of(text, below, pair)), Violated)
    refuses(Refuted, None, replay, *violation_of(text, above, pair))


RELATED = text_of("kernel/published-related")


@pytest.mark.parametrize(
    ("slope", "offset", "delta"),
    [(2, "1", gauss(0.5)), (2, "q", 1), ("q", "0", 1), (0, "a", gauss(0.5))],
)
def test_numbers_that_follow_from_others(slope: Json, offset: str, delta: float) -> None:
    """a and b are told; the last number is one of a plane, which may tell inputs apart."""
    text = RELATED.replace("SLOPE", str(slope)).replace("OFFSET", offset)
    ends = (min(Fraction(delta).limit_denominator(10**7) + Fraction(k, 10**6), 1) for k in (-1, 1))
    less, more = map(number_json, map(Fraction, ends))
    machine, claim, (step,) = proof_of(text, "1/2", more)
    assert replay(machine, claim, [step])
    pair = {"rule": "published violation", "input": [0], "adjacent": [1], "delta": less}
    assert replay(machine, claim | {"verdict": "Not_DP", "delta": less}, [step | pair])


UNLIKE = text_of("kernel/published-unlike")


COMPARED = text_of("kernel/published-compared")


RESPONSE = "output y in real\ninput q in 0..1\nadjacent linf 1\nif q = 0 then\n"
RESPONSE += "    y <- choose {0 : 1/4, 1 : 3/4}\nelse\n    y <- choose {0 : 3/4, 1 : 1/4}\nend\n"


def test_growth_is_rounded_down() -> None:
    """Probabilities that are known exactly, in few places."""
    for k in range(1, 40):
        delta = Fraction(floor((3 - exp(k / 97)) * 2**15), 2**17)
        machine, claim, (step,) = proof_of(
            RESPONSE, number_json(Fraction(k, 97)), number_json(delta)
        )
        refuses(Refuted, None, replay, machine, claim, [{**step, "bits": 1}])


def test_densities_whose_quotient_neither_rises_nor_falls() -> None:
    """Of the largest of noisy values that all change by 1, or some by 1 and some by -1."""
    values = np.linspace(-60, 60, 400_001)

    def largest(means: Sequence[int]) -> np.ndarray:
        below = [
            np.where(z < 0, np.exp(z / 2) / 2, 1 - np.exp(-z / 2) / 2)
            for z in (values - m for m in means)
        ]
        whole = np.prod(below, axis=0)
        return sum(
            np.exp(-abs(values - m) / 2) / 4 * whole / own
            for m, own in zip(means, below, strict=True)
        )

    pairs = [((0, 1), (1, 0)), ((0, 0), (1, 1)), ((1, 1), (0, 0))]
    deltas = []
    for first, second in pairs:
        over = np.maximum(largest(first) - exp(1 / 3) * largest(second), 0)
        deltas.append(over.sum() * (values[1] - values[0]))
    for shift, answer in ((1e-6, Answer.DP), (-1e-6, Answer.NOT_DP)):
        claimed = Fraction(max(deltas) + shift)
        program = program_of(LARGEST)
        found = verify(program, eps=1, eps_prv="1/3", delta=claimed, options=Options(proved=True))
        assert found.answer is answer
        assert found.replayed is not None


def violation_of(text: str, delta: Json, inputs: Json = ((0,), (1,))) -> tuple[Json, Json, Json]:
    """The claim that a pair breaks it at eps_prv = 1/2."""
    machine, claim, (step,) = proof_of(text, "1/2", delta)
    pair = dict(zip(("input", "adjacent"), map(list, inputs), strict=True))
    return machine, claim | {"verdict": "Not_DP"}, [step | pair | {"rule": "published violation"}]


def test_distances_on_a_line_are_rounded_up() -> None:
    """Two Gaussian numbers that move by 1 are one that moves by sqrt 2; a hair of 2^-70 tells."""
    both = "input q in 0..1\noutput y[2] in real\nadjacent linf 1\n"
    both += "y[1] <- Gauss(q, 1 / eps)\ny[2] <- Gauss(q, 1 / eps)\n"
    with precision(400):
        root = arb(2).sqrt()
        less, more = (
            (z / root).erfc() / 2 for z in (1 / root / 2 - root / 2, 1 / root / 2 + root / 2)
        )
        true = Fraction(upper_at(less - (arb(1) / 2).exp() * more, 300), 1 << 300)
    machine, claim, (step,) = proof_of(both, "1/2", number_json(true - Fraction(1, 1 << 70)))
    refuses(Refuted, "is larger", replay, machine, claim, [step | {"bits": 100}])


# --- What is shown and what is not: expressions, and what is said of each -------------------------

HALF, HAIR, NEXT = Fraction(1, 2), Fraction(1, 10**6), Fraction(1, 10**9)
OTHERWISE = "input q in 0..1\noutput y[2] in real\nadjacent linf 1\na <- Gauss(0, 1 / eps)\n"
OTHERWISE += "b <- Gauss(0, 1 / eps)\ny[1] <- a\nif q = 0 then\n    y[2] <- a + b\nelse\n"
"""Both numbers have the same noise of their own, for either input."""


def real_distributions(bits: int | None) -> Any:
    machine, claim, _ = proof_of(GAUSS, "1/2", "1/2")
    last = {"rule": "every pair", "from": [-1], "eps_prv": "1/2", "delta": "1/2"}
    return replay(machine, claim, [RUN | {"bits": bits}, last])


def whole_noise(machine: Json, claim: Json, steps: Json) -> Any:
    """One input publishes 0, the other one integers: they may be the same."""
    draw, fixed = ["draw", ["cell", "y"], "DLap", 0, [1, -1]], ["set", ["cell", "y"], 0]
    body = [["if", ["=", ["cell", "q"], 0], [draw], [fixed]]]
    return replay({**machine, "body": body}, claim, steps)


def attained(delta: Json) -> Any:
    """At eps_prv = 0 it is exactly 1/2, in binary places."""
    machine, claim, (step,) = violation_of(RESPONSE, delta)
    return replay(machine, claim | {"eps_prv": 0}, [step | {"eps_prv": 0}])


def attained_budget(text: str, price: str) -> str:
    """Whether a budget is shown of all pairs that there are."""
    machine, *rest = proof_of(text, price if "/" in price else int(price), 0)
    read = read_machine(machine)
    count = len(list(adjacent_pairs(read.adjacency, read.domains)))
    said = words_of(replay(machine, *rest))
    return "OK: each of all" if f"each of the {count} adjacent" in said else said


def few_bits(machine: Json, claim: Json, steps: Json) -> Any:
    """A sum of densities has more mass than 1: what one input never shows is bounded by its own."""
    return replay(machine, claim, [steps[0] | {"bits": 16}])


def two_moved(shift: float) -> float:
    """Two numbers that move tell as much as one that moves by sqrt 2."""
    return phi(shift / 2 - 0.5 / shift) - exp(0.5) * phi(-shift / 2 - 0.5 / shift)


def beside(order: str) -> str:
    """One number of variance 2 that moves by 1, and another that does not move."""
    drawn = {"a": "a <- Gauss(q, 1 / eps)\n", "b": "b <- Gauss(0, 1 / eps)\n"}
    drawn["c"] = "c <- Lap(0, 1 / eps)\n"
    text = "input q in 0..1\noutput y[2] in real\nadjacent linf 1\n"
    return text + "".join(map(drawn.get, order)) + "y[1] <- a + b\ny[2] <- c\n"


def test_what_is_published_is_shown_a_hair_away() -> None:
    check_answers("kernel_published", judged(globals()))
