"""Programs that publish numbers, against closed forms, quadrature and what must not matter."""

from fractions import Fraction
from itertools import pairwise
from math import exp, inf
from random import Random
from statistics import NormalDist

import pytest
from scipy import integrate, stats

import dipapprox
from dipapprox import Answer, LeastDelta, Options, UserError, Verdict
from dipapprox.privacy.charts import svg
from dipapprox.privacy.notation import NumberSet, valuation_text
from dipapprox.privacy.probabilities import output_distribution
from tests.cases import cases
from tests.moved_noise import gaussian, laplace
from tests.schemas import check_schema
from tests.texts import text_of
from tests.thorough import part

PHI = NormalDist().cdf


MECHANISM = "input q in 0..3\nadjacent linf 1\noutput y in real\ny <- {}(q, 2 / eps)\n"


def mechanism(noise: str) -> dipapprox.Program:
    return dipapprox.parse(MECHANISM.format(noise))


def least_delta(program: dipapprox.Program, eps_prv: str) -> LeastDelta:
    found = dipapprox.profile(program, eps=1, eps_prv=eps_prv)
    assert isinstance(found, LeastDelta)
    return found


VECTOR = (
    "input q[{n}] in real 0..1\noutput y[{n}] in real\nadjacent {rule}\n"
    "for i in 1..{n} do y[i] <- Gauss(q[i], 1) end\n"
)
# Pr[o = 1] is F(q / 2): the largest difference over |q - q'| <= 1 is at -1/2 ~ 1/2.
COMPARED = (
    "input q in real -3..3\noutput o in {0, 1}\nadjacent linf 1\nr <- Gauss(q, 2)\no <- r >= 0\n"
)


@cases(
    "text, eps_prv, truth",
    *(
        (MECHANISM.format(noise), str(budget), oracle(0.5, float(budget)))
        for noise, oracle in (("Gauss", gaussian), ("Lap", laplace))
        for budget in (Fraction(0), Fraction(1, 3), Fraction(2))
    ),
    (VECTOR.format(n=1, rule="linf 1"), "1", gaussian(1, 1)),
    (VECTOR.format(n=2, rule="linf 1"), "1", gaussian(2**0.5, 1)),
    (VECTOR.format(n=2, rule="l1 1/2"), "1", gaussian(0.5, 1)),
    (VECTOR.format(n=3, rule="l0 2"), "1", gaussian(2**0.5, 1)),
    (COMPARED, "0", gaussian(0.5, 0)),
    (COMPARED.replace("Gauss", "Lap"), "0", laplace(0.5, 0)),
    # What is seen beside y is a label of it.
    (text_of("published/real_outputs-9"), "1/2", 1 - exp(-1 / 4)),
    # x and z share no guard, but are published as a sum; the other number tells the inputs.
    ("input q in 0..1\noutput y[2] in real\nadjacent linf 1\nx <- Lap(0, 1)\nz <- Lap(0, 2)\n"
     "if x > 0 then\n y[1] <- x + z\nelse\n y[1] <- 0\nend\ny[2] <- Lap(q, 2)\n",
     "1/4", 1 - exp(-1 / 8)),
)  # fmt: skip
def test_least_deltas_have_closed_forms(text, eps_prv, truth) -> None:
    found = least_delta(dipapprox.parse(text), eps_prv).delta_enclosure
    assert found.width < 1e-10
    assert float(found.lower) - 1e-12 <= truth <= float(found.upper) + 1e-12


@cases(
    "publish", "y <- 7 - a", "y <- 3 * a + q - q", "y <- a\nz <- 2 * a + 1", "y <- a + b\nz <- b"
)
def test_bijections_of_what_is_published_change_nothing(publish) -> None:
    text = "input q in 0..3\nadjacent linf 1\noutput y in real\n"
    head, body = ("output z in real", "b <- Gauss(0, 1)") if "z" in publish else ("", "")
    program = dipapprox.parse(f"{text}{head}\n{body}\na <- Lap(q, 2 / eps)\n{publish}\n")
    plain = least_delta(mechanism("Lap"), "1/5").delta_enclosure
    assert plain.meets(least_delta(program, "1/5").delta_enclosure)


def verdict_of(text: str, **claim: str) -> Verdict:
    found = dipapprox.verify(dipapprox.parse(text), **claim)
    assert isinstance(found, Verdict)
    return found


def test_masses_of_intervals_and_outcomes() -> None:
    program = dipapprox.parse(text_of("published/real_outputs-mixed"))
    whole = dipapprox.probability(program, eps=1, input=(1,))
    assert [each.probability.lower for each in whole.outputs] == [Fraction(1, 2)] * 2
    # y = 3 - 2 r <= -1 if r >= 2; the constant 0 lies in no such interval.
    (found,) = dipapprox.probability(program, eps=1, input=(1,), where="-9 <= y <= -1").outputs
    assert found.probability.width < 1e-11
    assert abs(float(found.probability.lower) - (exp(-1) - exp(-5)) / 2) < 1e-11
    check_schema("probability", whole.to_dict())


def test_a_density_is_cut_into_masses() -> None:
    program = mechanism("Gauss")
    found = output_distribution(program, Fraction(1), (Fraction(1),), Options(), bins=12)
    (histogram,) = found.histograms
    for each in histogram.bins:
        wanted = PHI(float(each.upper - 1) / 2) - PHI(float(each.lower - 1) / 2)
        assert abs(float(each.mass.upper) - wanted) < 1e-5
    (curve,) = found.densities()
    for (low, bounds), (high, same) in zip(curve.points[::2], curve.points[1::2], strict=True):
        mass = PHI(float(high - 1) / 2) - PHI(float(low - 1) / 2)
        assert bounds == same
        assert abs(float(bounds) * float(high - low) - mass) < 1e-5
    assert "density" in svg(curve)


@pytest.mark.parametrize("where", ["y", "0 <= z", "1 <= y >= 2", "y in 0..1"])
def test_intervals_that_make_no_sense_are_refused(where) -> None:
    with pytest.raises(UserError):
        dipapprox.probability(mechanism("Lap"), eps=1, input=(0,), where=where)


def test_a_histogram_of_gaussian_counts_is_one_gaussian() -> None:
    """Shifts of 1 in all of 9 counts have the norm 3."""
    text = (
        "input q[9] in {0, 1}\nadjacent linf 1\noutput y[9] in real\n"
        "for i in 1..9 do\n  y[i] <- Gauss(q[i], 6 / eps)\nend\n"
    )
    pairs = "0,0,0,0,0,0,0,0,0~1,1,1,1,1,1,1,1,1"
    program = dipapprox.parse(text)
    found = dipapprox.profile(program, eps=1, delta="1e-4", pairs=pairs)
    alone = dipapprox.profile(mechanism("Gauss"), eps=1, delta="1e-4")
    lower, upper = found.eps_prv_enclosure.lower, alone.eps_prv_enclosure.upper
    assert abs(lower - upper) < Fraction(1, 10**8)
    check_schema("profile", found.to_dict())
    # Shifted by one deviation σ = 6 in each of 9: m = 1/2, and the sum of all has deviation 18.
    (row,) = found.witness.rows
    half_space = row.output[-1]
    total = " + ".join(f"y[{k}]" for k in range(1, 10))
    said, _, end = half_space.about.partition(" <= ")
    assert said == f"with {total}"
    assert abs(float(row.probability.lower) - PHI(float(end) / 18)) < 1e-9
    assert abs(float(row.adjacent_probability.lower) - PHI((float(end) - 9) / 18)) < 1e-9


@cases(
    "eps_prv, answer",
    ("1999999/1000000", Answer.NOT_DP),
    (f"{2 * 10**40 - 1}/{10**40}", Answer.NOT_DP),
    ("2", Answer.DP),
    ("2000001/1000000", Answer.DP),
)
def test_pure_budgets_of_two_answers_add_up_exactly(eps_prv, answer) -> None:
    """The likelihood ratio of two Laplace answers that move apart is e^2 on a quadrant."""
    text = (
        "input q in 0..1\nadjacent linf 1\noutput y[2] in real\n"
        "y[1] <- Lap(q, 1)\ny[2] <- Lap(-q, 1)\n"
    )
    found = verdict_of(text, eps="1", eps_prv=eps_prv, delta="0")
    assert found.answer is answer
    if answer is Answer.NOT_DP:
        (row,) = found.witness.rows
        check_schema("verify", found.to_dict())
        if len(eps_prv) > 20:
            # Too little to be enclosed: the densities say so.
            assert found.witness.argument is not None
            assert all(isinstance(y, NumberSet) and y.about for y in row.output)
            assert found.witness.delta_enclosure.lower == 0
            assert "not enclosed" in str(found.describe())
        else:
            # The quadrant is shown: 1/4 against e^-2 / 4, nearly.
            assert found.witness.argument is None
            assert all(isinstance(y, NumberSet) and not y.about for y in row.output)
            assert abs(float(row.probability.lower) - 0.25) < 1e-6
            assert abs(float(row.adjacent_probability.upper) - exp(-2) / 4) < 1e-6
            assert 0 < found.witness.delta_enclosure.lower < Fraction(1, 10**6)


def test_a_set_of_a_difference_of_outputs_says_so() -> None:
    """What tells the inputs apart is 2 z = y[2] - y[1] - 1, not less than 1 where 2 z is."""
    program = dipapprox.parse(
        "input q in {0, 1}\nadjacent linf 1\noutput y[2] in real\n"
        "x <- Gauss(0, 1)\nz <- Gauss(q, 1)\ny[1] <- x\ny[2] <- x + 2*z + 1\n"
    )
    found = dipapprox.verify(program, eps=1, eps_prv=0, delta="1/3", pairs=[((1,), (0,))])
    (row,) = found.witness.rows
    assert float(row.probability.lower) == pytest.approx(PHI(0.5))
    text = valuation_text(program.real_outputs, row.output)
    assert text == "any y[1], y[2] with -y[1] + y[2] >= 2"


LAWS = {"Gauss": stats.norm, "Lap": stats.laplace}


@pytest.mark.parametrize("seed", part(range(3), 2))
def test_random_programs_agree_with_quadrature(seed) -> None:
    random = Random(seed)
    first, second = (random.choice(sorted(LAWS)) for _ in range(2))
    scales = [random.randint(1, 4) for _ in range(2)]
    slope, offset = random.choice((-2, 1, 3)), random.randint(-1, 2)
    budget = Fraction(random.randint(0, 3), 4)
    program = dipapprox.parse(
        "input q, t in {0, 1}\nadjacent linf 1\noutput y in real\noutput above in {0, 1}\n"
        f"a <- {first}({slope} * q, {scales[0]} / eps)\nb <- {second}(t, {scales[1]} / eps)\n"
        f"y <- 0\nabove <- a >= b + {offset}\nif above = 1 then\n    y <- 5 - 2 * a\nend\n"
    )
    found = dipapprox.profile(program, eps=1, eps_prv=budget, pairs="0,0~1,1")

    def density(place: float, q: int, t: int) -> float:
        law, other = LAWS[first], LAWS[second]
        below = other.cdf(place - offset, loc=t, scale=scales[1])
        return float(law.pdf(place, loc=slope * q, scale=scales[0]) * below)

    def divergence(u: tuple[int, int], v: tuple[int, int]) -> float:
        factor = exp(float(budget))
        marks = sorted({0.0, slope, offset, offset + 1.0})

        def excess(place: float) -> float:
            return max(density(place, *u) - factor * density(place, *v), 0.0)

        ends = [-inf, *marks, inf]
        total = sum(
            integrate.quad(excess, a, b, limit=400, epsabs=1e-9)[0] for a, b in pairwise(ends)
        )
        above = [integrate.quad(density, -inf, inf, args=w, limit=400)[0] for w in (u, v)]
        return float(total + max(1 - above[0] - factor * (1 - above[1]), 0.0))

    wanted = max(divergence((0, 0), (1, 1)), divergence((1, 1), (0, 0)))
    assert found.delta_enclosure.width < 1e-9
    assert abs(float(found.delta_enclosure.lower) - wanted) < 1e-6
