"""Programs that publish numbers: closed forms, quadrature, budgets, a hair away."""

from fractions import Fraction
from itertools import pairwise
from math import exp, inf
from random import Random
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

import dipapprox
from dipapprox import Answer, Limits, Options, UserError, Verdict
from dipapprox.limits import current
from dipapprox.numerics.real_outputs.hockey_stick import IntervalMasses
from dipapprox.pairs.boxes.vertices import difference_pairs
from dipapprox.pairs.published.couplings import Couplings
from dipapprox.privacy.charts import svg
from dipapprox.privacy.notation import NumberSet, valuation_text
from dipapprox.privacy.probabilities import output_distribution
from dipapprox.semantics.execution import execute
from dipapprox.semantics.real_inputs import execute_for_declared
from tests.cases import cases, check_answers, evaluated, part, template_of, text_of
from tests.schemas import check_schema

PHI = NormalDist().cdf


MECHANISM = "input q in 0..3\nadjacent linf 1\noutput y in real\ny <- {}(q, 2 / eps)\n"


def mechanism(noise: str) -> dipapprox.Program:
    return dipapprox.parse(MECHANISM.format(noise))


def verdict_of(text: str, **claim: str) -> Verdict:
    found = dipapprox.verify(dipapprox.parse(text), **claim)
    assert isinstance(found, Verdict)
    return found


def test_a_share_of_pieces_is_that_of_closed_forms_alone(monkeypatch) -> None:
    """What has none is enclosed with all pieces that there are."""
    asked, own = set(), IntervalMasses.of

    def of(*given: Any, **named: Any) -> Any:
        asked.add(current().pieces)
        return own(*given, **named)

    monkeypatch.setattr(IntervalMasses, "of", of)
    text = (
        "input q in 0..1\noutput y in real\nadjacent linf 1\ny <- clamp(Gauss(q, 1 / eps), 0, 2)\n"
    )
    found = dipapprox.verify(dipapprox.parse(text), eps=1, eps_prv=1, delta=0)
    assert found.answer is Answer.NOT_DP and asked == {Limits().pieces}


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
    ((_, points),) = curve.lines
    for (low, bounds), (high, same) in zip(points[::2], points[1::2], strict=True):
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


@pytest.mark.parametrize("seed", part(range(3), 3))
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


# --- Numbers bounded by couplings, and by what tells less and more --------------------------------

TWO_NUMBERS = template_of("published-two_numbers")


@pytest.mark.parametrize("first", ["Lap", "LapPlus", "Gauss"])
@pytest.mark.parametrize("published", ["a", "a - b", "a + 2 * q[2]", "0"])
@pytest.mark.parametrize("compared", ["a >= b", "a + b >= 2 * q[1]"])
def test_a_coupling_never_promises_too_much(first, published, compared) -> None:
    """Where the divergence at a slightly larger budget can be told, it is 0."""
    text = TWO_NUMBERS.format(first=first, second="Lap", published=published, compared=compared)
    program = dipapprox.parse(text)
    states = execute(program, True, real_outputs=True)
    couplings = Couplings(states, Fraction(1))
    zero, one = Fraction(0), Fraction(1)
    pair = ((zero, zero), (one, one))
    budget = couplings.budget(pair)
    if budget is None:
        return
    found = dipapprox.profile(program, eps=1, eps_prv=budget, pairs=(pair,))
    assert found.delta_enclosure.lower == 0


def between(body: str) -> Fraction | None:
    """The budget by couplings of one real input; one guard may be the stricter one at both ends."""
    text = "input q in real 0..1\nadjacent linf 1\noutput y in real\noutput c in {0, 1}\nc <- 0\n"
    program = dipapprox.parse(f"{text}{body}\n")
    couplings = Couplings(execute_for_declared(program, True), Fraction(1))
    return couplings.budget_between(difference_pairs(program))


def test_vertices_are_enough_where_guards_point_apart() -> None:
    check_answers("published_between", evaluated(globals()))


@cases(
    "other",
    "y <- Lap(1, 1)",  # wider: the logarithm of the quotient has no bound by moves alone
    "y <- 2 * Lap(1, 2)",
    "y <- Gauss(1, 2)",
    "y <- Lap(1, 2) + Lap(0, 2)",
    "y <- Lap(1, 2)\n c <- 1",
    "c <- choose { 0 : 1/2, 1 : 1/2 }\n y <- Lap(1, 2)",
)
def test_paths_that_differ_in_more_than_means_do_not(other) -> None:
    text = (
        "input x in 0..1\noutput y in real\noutput c in {0, 1}\nadjacent all\nc <- 0\n"
        f"if x = 0 then\n y <- Lap(0, 2)\nelse\n {other}\nend\n"
    )
    program = dipapprox.parse(text)
    states = execute(program, True, real_outputs=True)
    pair = (Fraction(0),), (Fraction(1),)
    assert Couplings(states, Fraction(1)).budget(pair) is None


def test_two_paths_are_not_moved_into_one() -> None:
    """At x = 0 a coin of the noise decides between two paths, at x = 1 there is one of half of
    the mass for each of them: each is as likely, and no set is more likely."""
    text = (
        "input x in 0..1\noutput y in real\nadjacent all\nr <- Lap(0, 1)\nb <- Lap(0, 1)\n"
        "if x = 0 then\n if r <= 0 then y <- b else y <- b end\n"
        "else\n if r <= 0 then y <- b else y <- b + 1 end\nend\n"
    )
    found = dipapprox.profile(dipapprox.parse(text), eps=1, delta=0)
    # Of b against half b and half b + 1 the quotient of densities is at most 2 / (1 + e^-1).
    lower, upper = found.eps_prv_enclosure.lower, found.eps_prv_enclosure.upper
    assert float(lower) >= 0.3798
    assert upper is None or float(upper) >= 0.3798


SHARED = text_of("published/pure_budgets-shared")


def _delta(text: str, eps_prv: str) -> dipapprox.Enclosure:
    found = dipapprox.profile(dipapprox.parse(text), eps=1, eps_prv=eps_prv)
    return found.delta_enclosure


def test_sums_with_a_common_sample_are_bounded_from_both_sides() -> None:
    alone = SHARED.replace("output y, z", "output y").replace("z <- b + c", "")
    samples = SHARED.replace("y <- a + b", "y <- a").replace("z <- b + c", "z <- c")
    found, less, more = (_delta(each, "1/2") for each in (SHARED, alone, samples))
    assert found.lower >= less.lower - Fraction(1, 10**6)
    assert found.upper <= more.upper + Fraction(1, 10**6)
    x = np.linspace(-12, 12, 241)
    one, other = (np.exp(-abs(x[:, None] - x - k)) / 2 for k in (0, 1))  # of a, c about k
    p, q = (each * (np.exp(-abs(x)) / 2) @ each.T * 0.1 for each in (one, other))
    truth = np.maximum(p - exp(0.5) * q, 0).sum() * 0.01
    assert found.lower - Fraction(2, 1000) <= truth <= found.upper + Fraction(2, 1000)


def test_sums_that_take_too_many_panels_are_enclosed_less_well() -> None:
    """y moves by 1, of scale 2, and z by 3: δ is an integral of δ of z at what y has lost."""
    x = np.linspace(-80, 80, 40_001)
    f, g = ((3 * np.exp(-abs(x - m) / 3) - np.exp(-abs(x - m))) / 16 for m in (3, 0))
    y = (np.arange(200) + 0.5) / 200
    inner = np.exp(-abs(y - 1) / 2) / 4
    lost = [0.5, -0.5, *(y - 0.5)]
    weight = [0.5, 0.5 * exp(-0.5), *(inner / 200)]
    truth = sum(
        w * np.maximum(f - exp(0.5 - each) * g, 0).sum() * 0.004
        for w, each in zip(weight, lost, strict=True)
    )
    found = _delta(text_of("published/pure_budgets-summed"), "1/2")
    assert found.width < Fraction(1, 10**6)
    assert truth == pytest.approx(float(found.lower), abs=1e-4)


@pytest.mark.thorough
def test_the_least_budget_has_two_ends() -> None:
    found = dipapprox.profile(dipapprox.parse(SHARED), eps=1, delta="1/20")
    lower, upper = found.eps_prv_enclosure.lower, found.eps_prv_enclosure.upper
    assert Fraction(1, 2) < lower < upper <= 2
    for eps_prv, answer in ((lower, Answer.NOT_DP), (upper, Answer.DP)):
        eps_prv += Fraction(answer is Answer.DP, 100) - Fraction(answer is Answer.NOT_DP, 100)
        claim = dipapprox.verify(dipapprox.parse(SHARED), eps=1, eps_prv=eps_prv, delta="1/20")
        assert claim.answer is answer


def test_pairs_without_densities_are_bounded_each_for_itself() -> None:
    """Of 0 and 4 the first number alone tells much more than of 0 and 1."""
    program = dipapprox.parse(text_of("published/pure_budgets-far"))
    alone = dipapprox.verify(program, eps=1, eps_prv=1, delta="1/5", pairs=[((4,), (0,))])
    assert alone.answer is Answer.NOT_DP
    assert dipapprox.verify(program, eps=1, eps_prv=1, delta="1/5").answer is Answer.NOT_DP
    found = dipapprox.profile(program, eps=1, eps_prv=1).delta_enclosure
    assert found.lower >= alone.delta_enclosure.lower > Fraction(1, 2)


PARTS = template_of("published-parts")


@pytest.mark.thorough
def test_independent_parts_are_one_product() -> None:
    """Scales 1 and 6, deviation 3, scale 2; against a sum over losses of y[1] and what is beside.

    y[1] has the density (36 f_6 - f_1) / 35: "4770 panels of one width" were too many once.
    """
    x, wide = np.linspace(-150, 150, 200_001, retstep=True)
    y, step = np.linspace(0, 30, 6_001, retstep=True)
    y = y[:-1] + step / 2

    def beside(k: int, j: int) -> np.ndarray:
        number = np.append(stats.norm.pdf(y, k, 3) * step, stats.norm.cdf(0, k, 3))
        high = stats.laplace.sf(1, j, 2)
        return np.outer(number, [high, 1 - high]).ravel()

    def first(k: int) -> np.ndarray:
        return (36 * stats.laplace.pdf(x, k, 6) - stats.laplace.pdf(x, k, 1)) / 35 * wide

    p, q = first(0), first(1)
    order = np.argsort(p / q)[::-1]
    more, less = (np.append(0, np.cumsum(each[order])) for each in (p, q))
    own, other = beside(0, 0), beside(1, 1)
    factors = exp(0.5) * other / own
    places = len(x) - np.searchsorted((p / q)[order][::-1], factors)
    truth = float(np.sum(own * (more[places] - factors * less[places])))
    pairs = [((0, 0, 0), (1, 1, 1))]
    found = dipapprox.profile(dipapprox.parse(PARTS), eps="1/2", eps_prv="1/2", pairs=pairs)
    assert found.delta_enclosure.width < Fraction(1, 10**7)
    assert float(found.delta_enclosure.lower) == pytest.approx(truth, abs=1e-5)


def test_few_outcomes_of_independent_parts_are_enclosed_each_for_itself() -> None:
    """Most of them in closed form: a grid of all of them together tells it to 4e-10."""
    text = (
        "input q[2] in {0, 1}\noutput label in {0, 1}\noutput y[2] in real\nadjacent linf 1\n"
        "y[1] <- Lap(q[1], 2)\nc <- Gauss(q[2], 2)\ny[2] <- 0\nlabel <- 0\n"
        "if c > 1 then\n  y[2] <- c\n  label <- 1\nend\n"
    )
    pairs = [((0, 0), (1, 1))]
    found = dipapprox.profile(dipapprox.parse(text), eps=1, eps_prv="1/2", pairs=pairs)
    assert found.delta_enclosure.width < Fraction(1, 10**11)
