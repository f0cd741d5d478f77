"""Sets that tell products apart, against densities that are summed up over random points."""

from __future__ import annotations

from fractions import Fraction
from math import exp

import numpy as np
import pytest
from pair_programs import read

import dipapprox
from dipapprox.pairs.selections import AllPairs
from dipapprox.privacy.claim import Claim
from dipapprox.privacy.notation import NumberSet
from dipapprox.privacy.options import Options
from dipapprox.privacy.verdict import Answer
from dipapprox.privacy.verifier import verify

COUNT = 400_000

NOISE = {
    "Gauss": lambda rng, mean, scale: rng.normal(mean, scale, COUNT),
    "Lap": lambda rng, mean, scale: rng.laplace(mean, scale, COUNT),
}


@pytest.mark.parametrize(
    ("first", "second", "published"),
    [
        ("Gauss", "Gauss", ("a + b", "a - b")),
        ("Gauss", "Gauss", ("2 * b", "b - 3 * a")),
        ("Lap", "Lap", ("b", "2 * b - a + 3")),
        ("Lap", "Gauss", ("-1 * a", "b + a")),
    ],
)
def test_masses_of_what_is_said_are_those_of_samples(
    first: str, second: str, published: tuple[str, str]
) -> None:
    """The text of the set is evaluated on samples: 5 standard errors."""
    text = (
        "input q in {0, 1}\noutput y[2] in real\nadjacent all\n"
        f"a <- {first}(q, 1)\nb <- {second}(2 * q, 3)\n"
        f"y[1] <- {published[0]}\ny[2] <- {published[1]}\n"
    )
    claim = Claim(Fraction(1), Fraction(0), Fraction(1, 10))
    found = verify(read(text), claim, AllPairs(), Options(precision=12))
    assert found.answer is Answer.NOT_DP
    assert found.witness.argument is None
    assert found.witness.delta_enclosure.lower > 0
    (row,) = found.witness.rows
    rng = np.random.default_rng(3)
    for input, mass in (
        (found.witness.input, row.probability),
        (found.witness.adjacent, row.adjacent_probability),
    ):
        q = float(Fraction(str(input[0])))
        names = {"a": NOISE[first](rng, q, 1), "b": NOISE[second](rng, 2 * q, 3)}
        y = [eval(own, {}, names) for own in published]
        inside = np.ones(COUNT, bool)
        for k, own in enumerate(row.output):
            assert isinstance(own, NumberSet)
            condition = own.text(f"y[{k + 1}]").removeprefix(f"y[{k + 1}] with ")
            for part in condition.split(" and "):
                if not part.startswith("any "):
                    inside &= _holds(part, y)
        assert mass.width < Fraction(1, 10**5)
        error = 5 * (float(mass.upper) * (1 - float(mass.lower)) / COUNT) ** 0.5
        assert abs(inside.mean() - float(mass.lower)) < error + 1e-5


def _holds(condition: str, y: list[np.ndarray]) -> np.ndarray:
    """Evaluate "2 y[1] - y[2] <= 1/3" on samples."""
    words = condition.replace("y[1]", "* u").replace("y[2]", "* v").split()
    for k, word in enumerate(words):
        if word == "*" and (k == 0 or words[k - 1] in "+-<=>="):
            words[k] = "1 *"
        if word == "-*":
            words[k] = "-1 *"
    return np.asarray(eval(" ".join(words), {}, {"u": y[0], "v": y[1]}))


def test_the_half_space_attains_the_divergence() -> None:
    """Balle and Wang 2018, theorem 8, at m² = 1 + 4/9."""
    text = (
        "input q in {0, 1}\noutput y[2] in real\nadjacent all\n"
        "y[1] <- Gauss(q, 1)\ny[2] <- Gauss(2 * q, 3)\n"
    )
    found = dipapprox.verify(dipapprox.parse(text), eps=1, eps_prv="1/2", delta="1/10")
    assert found.answer is Answer.NOT_DP
    shown = found.witness.delta_enclosure
    assert abs(shown.lower - found.delta_enclosure.lower) < Fraction(1, 10**11)
    (row,) = found.witness.rows
    assert row.probability.lower > Fraction(1, 10) + row.adjacent_probability.upper * Fraction(
        exp(0.5)
    )
