"""Numbers that share Gaussian noise, and the sets that tell products apart."""

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from pair_programs import read

import dipapprox
from dipapprox.errors import NoCertificate
from dipapprox.pairs.selections import AllPairs
from dipapprox.privacy.claim import Claim
from dipapprox.privacy.options import Options
from dipapprox.privacy.profiles.profile_result import LeastDelta
from dipapprox.privacy.run import Setting
from dipapprox.privacy.verdict import Answer
from dipapprox.privacy.verifier import verify
from tests.moved_noise import gaussian

TREE = (
    "input x[4] in DOMAIN\noutput y[3] in real\nadjacent l1 1\n"
    "a <- Gauss(x[1] + x[2] + x[3] + x[4], 1 / eps)\nb <- Gauss(x[1] + x[2], 1 / eps)\n"
    "c <- Gauss(x[3] + x[4], 1 / eps)\n"
    "y[1] <- (a + 2*b - c) / 3\ny[2] <- (a + 2*c - b) / 3\ny[3] <- (2*a + b + c) / 3\n"
)
"""Least squares of a tree of counts: of three numbers one is the sum of the others."""


def least_delta(text: str, eps_prv: str) -> LeastDelta:
    found = dipapprox.profile(dipapprox.parse(text), eps=1, eps_prv=eps_prv)
    assert isinstance(found, LeastDelta)
    return found


def test_any_matrix_of_noise() -> None:
    """Three numbers of four samples of different deviations; samples move, and numbers do."""
    rng = np.random.default_rng(7)
    matrix = rng.integers(-3, 4, (3, 4))
    assert np.linalg.matrix_rank(matrix) == 3
    deviations, shift = [1, 2, 3, 1], [2, 0, -1]
    text = "input q in {0, 1}\noutput y[3] in real\nadjacent all\n"
    for k, deviation in enumerate(deviations, 1):
        text += f"s{k} <- Gauss({k} * q, {deviation})\n"
    for i, row in enumerate(matrix):
        terms = " + ".join(f"{c} * s{k}" for k, c in enumerate(row, 1))
        text += f"y[{i + 1}] <- {terms} + {shift[i]} * q\n"
    moved = matrix @ np.arange(1, 5) + np.array(shift)
    covariance = matrix @ np.diag(np.array(deviations) ** 2) @ matrix.T
    square = float(moved @ np.linalg.solve(covariance.astype(float), moved))
    found = least_delta(text, "1/2").delta_enclosure
    assert found.width < Fraction(1, 10**10)
    assert abs(float(found.lower) - gaussian(sqrt(square), 0.5)) < 1e-9


def test_renyi_divergences_are_half_the_square_times_the_order() -> None:
    found = dipapprox.profile(
        dipapprox.parse(TREE.replace("DOMAIN", "real")), eps=1, renyi=["1", "4"]
    )
    for each, wanted in zip(found.orders, (1, 4), strict=True):
        assert each.divergence.lower <= wanted <= each.divergence.upper
        assert each.divergence.upper - each.divergence.lower < Fraction(1, 10**9)


def test_they_have_no_certificate() -> None:
    text = TREE.replace("DOMAIN", "real")
    program = dipapprox.parse(text)
    for delta, answer in (("0.29", dipapprox.Answer.DP), ("0.2", dipapprox.Answer.NOT_DP)):
        found = dipapprox.verify(program, eps=1, eps_prv=1, delta=delta)
        assert found.answer is answer
        with pytest.raises(NoCertificate):
            dipapprox.certify(program, text, found)


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
    found = verify(Setting(read(text), AllPairs(), Options(precision=12)), claim)
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
