"""The check's own divergences of what is published, beside closed forms and the engine's."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import pytest
from scipy.stats import norm

import dipapprox
from dipapprox.checking import pairs
from dipapprox.checking.distributions import Distributions
from dipapprox.checking.published.divergences import Divergences
from dipapprox.limits import Limits
from dipapprox.numerics.enclosure import Enclosure

HEAD = "input q in 0..1\noutput y in real\nadjacent linf 1\n"
WITH_LABEL = "input q in 0..1\noutput out in 0..2\noutput y in real\nadjacent linf 1\nout <- 0\n"


def opened(text: str, *, densities: bool = True) -> tuple[Divergences, list[pairs.Pair]]:
    """The check's divergences of a program at ε = 1, and its pairs; if wanted by densities only."""
    program, limits = dipapprox.parse(text), Limits()
    found = Divergences(Distributions(program, Fraction(1), limits), limits)
    every = list(permutations(pairs.all_inputs(program), 2))
    if densities:
        for pair in every:
            found._budgets[pair] = None
    return found, every


def largest(text: str, eps_prv: str, bits: int = 50) -> Enclosure:
    found, every = opened(text)
    deltas = [found.delta(pair, Fraction(eps_prv), bits) for pair in every]
    return Enclosure(max(d.lower for d in deltas), max(d.upper for d in deltas))


def check_near(found: Enclosure, truth: float) -> None:
    assert float(found.lower) - 1e-12 <= truth <= float(found.upper) + 1e-12
    assert found.width < Fraction(1, 10**12)


def test_closed_forms() -> None:
    found = largest(HEAD + "y <- Lap(q, 2)\n", "1/4")
    check_near(found, 1 - 2.718281828459045 ** ((0.25 - 0.5) / 2))
    gauss = norm.cdf(1 / 4 - 1) - 2.718281828459045**0.5 * norm.cdf(-1 / 4 - 1)
    for text in ("y <- Gauss(q, 2)\n", "y <- 1 - 3 * Gauss(q, 2)\n",
                 "a <- Gauss(q, 6/5)\nb <- Gauss(0, 8/5)\ny <- a + b\n"):  # fmt: skip
        check_near(largest(HEAD + text, "1/2"), gauss)
    # One-sided noise: what is below the second one's end is impossible there.
    check_near(largest(HEAD + "y <- LapPlus(q, 2)\n", "1"), 1 - 2.718281828459045**-0.5)


@pytest.mark.parametrize(
    "body",
    [
        "r <- Lap(q, 2)\nif r < 0 then\n y <- 0\nelse\n y <- r\nend\n",
        "a <- Lap(q, 2)\nb <- Lap(0, 3)\ny <- a - 2 * b\n",
        "a <- Lap(q, 2)\nb <- Lap(0, 3)\nif a < b then\n y <- b - a\nelse\n y <- a + b\nend\n",
        "a <- Gauss(q, 1)\nb <- Gauss(0, 3)\nif a < b then\n y <- 7\nelse\n y <- a\nend\n",
        "a <- Gauss(q, 1)\nb <- Lap(0, 1)\nif a < b then\n y <- b\nelse\n y <- a\nend\n",
        "a <- LapPlus(q, 1)\nb <- LapMinus(3, 1)\nif a + 1 < b then\n y <- b\nelse\n y <- a\nend\n",
    ],
)
@pytest.mark.parametrize("eps_prv", ["1/2"])
def test_the_engine_agrees(body: str, eps_prv: str) -> None:
    text = HEAD + body
    ours = largest(text, eps_prv)
    theirs = dipapprox.profile(
        dipapprox.parse(text), eps=1, eps_prv=Fraction(eps_prv)
    ).delta_enclosure
    assert ours.meets(theirs)
    assert ours.width < Fraction(1, 10**12)


def test_numbers_that_do_not_tell_are_left_out() -> None:
    two = WITH_LABEL.replace("y in", "y[3] in") + (
        "a <- Lap(0, 1)\nb <- Lap(q, 2)\nc <- Gauss(0, 1)\n"
        "y[1] <- a\ny[2] <- a + b\ny[3] <- y[1] - 2 * c + 1\n"
    )
    check_near(largest(two, "1/4"), float(largest(HEAD + "y <- Lap(q, 2)\n", "1/4").lower))


def test_gaussian_vectors_share_noise() -> None:
    """(a, a + b): the second tells what b tells, the first what a tells."""
    text = HEAD.replace("output y", "output y[2]") + (
        "a <- Gauss(q, 3)\nb <- Gauss(q, 4)\ny[1] <- a\ny[2] <- a + b\n"
    )
    shift = (1 / 9 + 1 / 16) ** 0.5
    truth = norm.cdf(shift / 2 - 0.25 / shift) - 2.718281828459045**0.25 * norm.cdf(
        -shift / 2 - 0.25 / shift
    )
    check_near(largest(text, "1/4"), truth)


@pytest.mark.parametrize(
    ("body", "budget"),
    [
        ("y <- Lap(q, 2)\n", Fraction(1, 2)),
        ("a <- Lap(q, 2)\nb <- Lap(0, 4)\nif a < b then\n y <- 0\nelse\n y <- a\nend\n", None),
        ("a <- Lap(q, 2)\nb <- Lap(0, 4)\nif a < b then\n y <- 0\nelse\n y <- Lap(q, 1)\nend\n",
         Fraction(5, 4)),
        ("y <- LapPlus(-q, 2)\n", Fraction(1, 2)),
        ("y <- Gauss(q, 2)\n", None),
    ],
)  # fmt: skip
def test_budgets_bound_what_densities_say(body: str, budget: Fraction | None) -> None:
    found, every = opened(HEAD + body, densities=False)
    known = [each for pair in every if (each := found.budget(pair)) is not None]
    if budget is not None:
        assert budget in known
    for pair in every:
        least = found.budget(pair)
        if least is not None:
            by_densities, _ = opened(HEAD + body)
            assert by_densities.delta(pair, least, 40).upper < Fraction(1, 2**36)
            assert found.delta(pair, least, 40).upper == 0
