"""Rényi divergences, shared Gaussian noise, and inputs many deviations apart."""

import math
from fractions import Fraction
from fractions import Fraction as F
from math import exp, log, sqrt
from types import SimpleNamespace
from typing import NoReturn, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pair_programs import read
from scipy import stats

import dipapprox
from dipapprox import Answer, Claim, Enclosure, LeastDelta, LeastEpsPrv, Options, RenyiProfile
from dipapprox.arithmetic.extended import INFINITE, Extended
from dipapprox.errors import BrokenInvariant, LimitReached, NoCertificate
from dipapprox.pairs.published.together import PublishedPairs
from dipapprox.pairs.selections import AllPairs, OrderedPairs, Pair, is_symmetric
from dipapprox.privacy.profiles import renyi
from dipapprox.privacy.profiles.profile_result import OrderResult
from dipapprox.privacy.profiles.renyi import clipped, concentrated
from dipapprox.privacy.published import guarantees
from dipapprox.privacy.published.guarantees import coupled_divergence
from dipapprox.privacy.run import Setting
from dipapprox.privacy.verifier import verify
from tests.cases import cases, refuses
from tests.moved_noise import gaussian
from tests.texts import text_of


def divergences(text: str, *orders: str, bits: int = 8192) -> RenyiProfile:
    program = dipapprox.parse("input q in {0, 1}\nadjacent linf 1\n" + text)
    options = dipapprox.Options(max_precision=bits)
    found = dipapprox.profile(program, eps=1, renyi=orders, options=options)
    assert isinstance(found, RenyiProfile)
    return found


def laplace(order: float, shift: float) -> float:
    """Mironov 2017, table II."""
    a = order
    if a == 1:
        return shift + exp(-shift) - 1
    parts = a * exp((a - 1) * shift) + (a - 1) * exp(-a * shift)
    return log(parts / (2 * a - 1)) / (a - 1)


def test_without_a_bound_of_the_tails_there_is_a_lower_one() -> None:
    found = divergences(
        "output y in real\nr <- Gauss(q, 1)\nif r < 0 then\n    y <- 0\nelse\n    y <- r\nend",
        "2",
        bits=80,
    )
    divergence = found.orders[0].divergence
    assert divergence.upper is None
    assert F(9, 10) < divergence.lower < 1  # clamping is post-processing
    assert "quotient of densities" in found.run.reason


TAIL = dipapprox.parse(text_of("published/renyi-7"))
"""One output is so rare that large powers of its probability leave every number format."""


@given(
    st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), min_size=2, max_size=4),
    st.sampled_from([(0, 1), (1, 0), (1, 1)]),
)
def test_relative_entropies_of_wide_probabilities_are_inside(weights, sides) -> None:
    """Against the sum in doubles, for probabilities at ends of what is known of them."""
    totals = [sum(column) for column in zip(*weights, strict=True)]
    pairs = [(Fraction(p, totals[0]), Fraction(q, totals[1])) for p, q in weights]
    down, up = (Fraction(side, 4) for side in sides)
    first = [Enclosure(p * (1 - down), p * (1 + up)) for p, _ in pairs]
    second = [Enclosure.exact(q) for _, q in pairs]
    lower, upper = renyi.relative_entropy(first, second, 64)
    truth = sum(float(p) * math.log(p / q) for p, q in pairs)
    assert float(lower) - 1e-12 <= truth <= float(upper) + 1e-12


@given(st.integers(1, 39), st.integers(1, 39), st.sampled_from([F(1), F(3, 2), F(2), F(40)]))
def test_couplings_bound_divergences(first, second, order) -> None:
    """Of two outcomes the ratios are budgets; then the bound is attained, but for rounding."""
    p, q = first / 40, second / 40
    ratios = [p / q, (1 - p) / (1 - q)]
    budgets = {0: log(max(ratios)), 1: -log(min(ratios))}
    above = {k: F(math.ceil(each * 10**9), 10**9) for k, each in budgets.items()}
    pairs = SimpleNamespace(budget=lambda pair: above[pair[0]])
    most = coupled_divergence(cast(PublishedPairs, pairs), cast(Pair, (0, 1)), order)
    a, terms = float(order), zip((p, 1 - p), (q, 1 - q), strict=True)
    if a == 1:
        truth = sum(x * log(x / y) for x, y in terms)
    else:
        truth = log(sum(x**a * y ** (1 - a) for x, y in terms)) / (a - 1)
    assert truth - 1e-12 <= float(most) <= truth + 1e-6


def test_a_limit_leaves_what_couplings_bound(monkeypatch) -> None:
    text = "output y in real\nr <- Lap(q, 1/eps)\nif r < 0 then\n y <- 0\nelse\n y <- r\nend"
    known = divergences(text, "2")

    def ended(*_: object) -> NoReturn:
        raise LimitReached("time limit: 1 s")

    monkeypatch.setattr(guarantees, "_divergence", ended)
    left = divergences(text, "2")
    ends, wide = (each.orders[0].divergence for each in (known, left))
    assert 0 == wide.lower < ends.lower <= ends.upper <= wide.upper < 1
    assert "time limit" in left.run.reason


def result(order: int | str, lower: Fraction | None, upper: Fraction | None) -> OrderResult:
    made = Extended(lower, upper)
    return OrderResult("inf" if isinstance(order, str) else Fraction(order), made, None)


def test_infinity_spreads_to_larger_orders_and_contradictions_are_noticed() -> None:
    zero, one = Fraction(0), Fraction(1)
    spread = clipped([result(1, None, None), result(2, zero, None), result("inf", one, None)])
    assert all(each.divergence == INFINITE for each in spread)
    assert concentrated(spread, symmetric=True) == INFINITE
    for wrong in (
        [result(1, None, None), result(2, zero, one)],
        [result(1, one, None), result(2, zero, Fraction(1, 2))],
    ):
        refuses(BrokenInvariant, None, clipped, wrong)


def test_orders_beyond_all_powers_are_bounded_by_their_neighbours() -> None:
    orders = (1, 2, 1000, 100_000, "inf")
    found = dipapprox.profile(TAIL, eps=2, renyi=orders)
    pure = found.orders[-1].divergence
    # Gauss(0) against Gauss(1) at scale 1/2, below -30
    expected = stats.norm.logcdf(-60) - stats.norm.logcdf(-62)
    assert float(pure.lower) == pytest.approx(expected, rel=1e-9)
    previous = Fraction(0)
    for each in found.orders:
        assert previous <= each.divergence.lower
        assert each.divergence.upper <= pure.upper
        previous = each.divergence.lower
    assert previous > 3
    assert found.rho.upper is not None
    assert "precision limit: 320 bits" in found.reason
    # The same bound without asking for order infinity.
    alone = dipapprox.profile(TAIL, eps=2, renyi=(100_000,))
    assert alone.orders[0].divergence.upper == pure.upper


def test_pure_privacy_bounds_rho_if_pairs_are_checked_both_ways() -> None:
    text = dipapprox.parse(
        "input q in {0, 1}\noutput o in {0, 1}\nadjacent all\no <- 0\n"
        "x <- Lap(q, 1 / eps)\nif x >= 1/2 then o <- 1 end\n"
    )
    found = dipapprox.profile(text, eps=Fraction(1, 2), renyi=(2, "inf"))
    pure = found.orders[-1].divergence.upper
    assert found.rho.upper <= pure**2 / 2
    # Randomised response with p = 1 - exp(-1/4)/2: D_a / a is largest as a falls to 1.
    p = 1 - math.exp(-0.25) / 2
    assert float(found.rho.upper) >= (2 * p - 1) * math.log(p / (1 - p))
    one_way = concentrated(found.orders, symmetric=False)
    assert one_way.upper > pure**2 / 2
    assert not is_symmetric(text, OrderedPairs((((Fraction(0),), (Fraction(1),)),)))
    assert is_symmetric(text, AllPairs())


def test_too_many_candidates_are_not_a_matter_of_precision(monkeypatch) -> None:
    monkeypatch.setattr(renyi, "MOST_CANDIDATES", 0)
    found = dipapprox.profile(TAIL, eps=2, renyi=(1000,))
    assert "more than 0 pairs may be the largest of order 1000" in found.reason


# --- Numbers that share Gaussian noise, and the sets that tell products apart ---------------------

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
        refuses(NoCertificate, None, dipapprox.certify, program, text, found)


COUNT = 400_000

NOISE = {
    "Gauss": lambda rng, mean, scale: rng.normal(mean, scale, COUNT),
    "Lap": lambda rng, mean, scale: rng.laplace(mean, scale, COUNT),
}


@cases(
    "first, second, published",
    ("Gauss", "Gauss", ("a + b", "a - b")),
    ("Gauss", "Gauss", ("2 * b", "b - 3 * a")),
    ("Lap", "Lap", ("b", "2 * b - a + 3")),
    ("Lap", "Gauss", ("-1 * a", "b + a")),
)
def test_masses_of_what_is_said_are_those_of_samples(first, second, published) -> None:
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


# --- Infinite and large budgets -------------------------------------------------------------------

_PLAIN = "param D = 1\ninput q in {{0, D}}\noutput y in real\nadjacent all\ny <- {}(q, 1/eps)"
_BEHIND_A_TEST = """param D = 1
input q in {{0, D}}
output o in {{0, 1}}
output y in real
adjacent all
o <- 0
y <- 0
r <- Lap(q / D, 1/eps)
if r > 0 then
    o <- 1
    y <- {}(q, 1/eps)
end"""


def least(text: str, delta: str, eps: str = "1", **parameters: int) -> LeastEpsPrv:
    return dipapprox.profile(dipapprox.parse(text, parameters), eps=eps, delta=delta)


# m²/2 + m z with Φ(-z) - φ(z) / (m + z) about 10^-6: z is 4.7534 and less.


@cases(
    "text, delta, high, truth",
    (_PLAIN.format("Lap"), "0", 50_000, 50_000),
    (_PLAIN.format("Lap"), "1/2", 50_000, 49_998.6137),
    (_BEHIND_A_TEST.format("Gauss"), "1e-6", 100, 5470.7308),
    (_BEHIND_A_TEST.format("Lap"), "1e-6", 100, 100.4898),
)
def test_large_least_budgets(text, delta, high, truth) -> None:
    found = least(text, delta, D=high).eps_prv_enclosure
    assert found.upper - found.lower < F(1, 10**9)
    assert abs(float(found.lower) - truth) < 1e-3


def test_beyond_all_factors_there_is_a_lower_bound() -> None:
    found = least(_BEHIND_A_TEST.format("Gauss"), "1e-6", D=1000)
    assert found.eps_prv_enclosure.upper is None
    assert found.eps_prv_enclosure.lower > 9_999
    assert "above 10000" in found.run.reason


_PUBLISHED = "input q in {0, 1}\noutput y in real\nadjacent all\ny <- "
_ONE_SIDED = text_of("published/renyi-one_sided")


@pytest.mark.parametrize("text", [_ONE_SIDED, _PUBLISHED + "LapPlus(q, sqrt(2)/eps)"])
def test_outputs_that_the_adjacent_input_never_has(text) -> None:
    found = least(text, "1/10")
    assert found.eps_prv_enclosure.infinite
    assert found.run.reason is None and found.witness is not None
    # Pr[a < 1] is about 0.753 and Pr[y < 1] about 0.507: beyond that there is no need.
    enough = least(text, "4/5").eps_prv_enclosure
    assert enough.lower is not None and enough.upper is not None


_FINITE = text_of("published/renyi-finite")
_HALF = text_of("published/renyi-half")


@cases(
    "text, eps_prv, delta, answer",
    (_PUBLISHED + "Gauss(q, sqrt(3)/eps)", "1000", "1/2", "DP"),
    pytest.param(
        *(_PUBLISHED + "Gauss(q, sqrt(3)/eps)", "1e9", "1e-60", "DP"), marks=pytest.mark.thorough
    ),
    (_PUBLISHED + "LapPlus(q, sqrt(2)/eps)", "1e30", "1/10", "Not_DP"),
    (_ONE_SIDED, "5000", "4/5", "DP"),
    (_HALF, "5000", "51/100", "DP"),
    (_HALF, "1e30", "49/100", "Not_DP"),
    # Pr[a < 0] = 1/2 for q = 0, and for q = 100 it is about e^-2504
    (_FINITE, "2400", "2/5", "Not_DP"),
    (_FINITE, "2600", "2/5", "DP"),
)
def test_claims_with_large_budgets(text, eps_prv, delta, answer) -> None:
    program = dipapprox.parse(text)
    verdict = dipapprox.verify(program, eps=1, eps_prv=eps_prv, delta=delta)
    assert verdict.answer.value == answer
    tightest = dipapprox.profile(program, eps=1, eps_prv=eps_prv).delta_enclosure
    assert tightest.upper > F(delta) if answer == "Not_DP" else tightest.lower < F(delta)


def test_reasons_for_claims_that_are_left_open_are_true() -> None:
    program = dipapprox.parse(_PUBLISHED + "Gauss(q, sqrt(3)/eps)")
    verdict = dipapprox.verify(program, eps=1, eps_prv=64, delta="1e-78")
    assert verdict.answer is dipapprox.Answer.UNKNOWN
    below = verdict.run.reason.split("δ below ")[1].split(";")[0]
    assert 0 < F(below) < F(1, 10**70)
