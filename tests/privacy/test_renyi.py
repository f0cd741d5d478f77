"""Rényi divergences, shared noise, intervals of ε, pairs that are alike."""

import json
import math
from fractions import Fraction
from fractions import Fraction as F
from math import log
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, NoReturn, cast

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given
from hypothesis import strategies as st
from pair_programs import read
from scipy import stats

import dipapprox
from dipapprox import (
    Answer,
    Claim,
    Enclosure,
    IntervalVerdict,
    LeastEpsPrv,
    Limits,
    Options,
    Program,
    RenyiProfile,
)
from dipapprox.arithmetic.enclosure import NotEnclosed, shortest, simplest
from dipapprox.arithmetic.extended import INFINITE, Extended
from dipapprox.arithmetic.precision import to_ball
from dipapprox.cli.app import main
from dipapprox.errors import BrokenInvariant, LimitReached, NoCertificate
from dipapprox.language import core
from dipapprox.language.load import load
from dipapprox.limits import limited
from dipapprox.pairs.adjacency import select_pairs
from dipapprox.pairs.maximum import FactorAt, Maximum, Together
from dipapprox.pairs.published.divergences import PublishedDivergences
from dipapprox.pairs.published.normal_form import MeasureSides, normal_form
from dipapprox.pairs.published.together import PublishedPairs
from dipapprox.pairs.selections import AllPairs, OrderedPairs, Pair, is_symmetric
from dipapprox.privacy.details import LeastFactor, PairDetails, PairsBounds
from dipapprox.privacy.intervals import published
from dipapprox.privacy.intervals.derivative_bounds import DerivativeBounds
from dipapprox.privacy.intervals.published import SpreadEnd, highest
from dipapprox.privacy.intervals.verdict import Minorant
from dipapprox.privacy.notation import NumberSet
from dipapprox.privacy.profiles import renyi
from dipapprox.privacy.profiles.curve import least_eps_prv
from dipapprox.privacy.profiles.profile_result import OrderResult
from dipapprox.privacy.profiles.renyi import clipped, concentrated
from dipapprox.privacy.published import guarantees
from dipapprox.privacy.published.guarantees import coupled_divergence
from dipapprox.privacy.run import Setting
from dipapprox.privacy.subjects import open_published
from dipapprox.privacy.verifier import verify
from dipapprox.replays.result import digest
from dipapprox.semantics.execution import execute
from tests.cases import cases, examples, refuses, template_of, text_of, texts_in
from tests.moved_noise import gaussian, laplace


def divergences(text: str, *orders: str, bits: int = 8192) -> RenyiProfile:
    program = dipapprox.parse("input q in {0, 1}\nadjacent linf 1\n" + text)
    options = dipapprox.Options(max_precision=bits)
    found = dipapprox.profile(program, eps=1, renyi=orders, options=options)
    assert isinstance(found, RenyiProfile)
    return found


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

_BEHIND_A_TEST = template_of("renyi-behind_a_test")


def least(text: str, delta: str, eps: str = "1", **parameters: int) -> LeastEpsPrv:
    return dipapprox.profile(dipapprox.parse(text, parameters), eps=eps, delta=delta)


# m²/2 + m z with Φ(-z) - φ(z) / (m + z) about 10^-6: z is 4.7534 and less.


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


def test_reasons_for_claims_that_are_left_open_are_true() -> None:
    program = dipapprox.parse(_PUBLISHED + "Gauss(q, sqrt(3)/eps)")
    verdict = dipapprox.verify(program, eps=1, eps_prv=64, delta="1e-78")
    assert verdict.answer is dipapprox.Answer.UNKNOWN
    below = verdict.run.reason.split("δ below ")[1].split(";")[0]
    assert 0 < F(below) < F(1, 10**70)


# --- Numbers over intervals of ε, pairs that are alike, and certificates by cells -----------------

PROGRAMS = Path(__file__).parents[2] / "programs" / "numbers"
HEAD = "input q[2] in {0, 1}\nadjacent linf 1\noutput y in real\noutput c in {0, 1}\nc <- 0\n"

BODIES = {
    "compared": "r <- Lap(q[1], 2 / eps)\ny <- 0\nif r >= 1/2 then\ny <- r\nc <- 1\nend",
    "integers": "c <- DGauss(q[2], 1 / eps) > 0\ny <- Lap(q[1], 2 / eps)",
    "fresh": "r <- Gauss(q[1], 2 / eps)\nc <- r >= 0\ny <- Lap(q[2], 3 / eps)",
    "between": "r <- Gauss(q[1], 2 / eps)\ns <- Lap(q[2], 1 / eps)\ny <- 0\n"
    "if r < s then\nc <- 1\ny <- s\nend",
    "powers": "r <- Gauss(q[1], 2)\ns <- Lap(q[2], 1 / eps)\nc <- r < s\ny <- s",
    "gap": "r <- Lap(q[1], 2 / eps)\ns <- Lap(q[2], 2 / eps)\nc <- r < s\n"
    "if c = 1 then y <- s - r else y <- r - s end",
    "one-sided": "r <- LapPlus(q[1], 2 / eps)\ny <- r",
    "inputs": "y <- Gauss(2 * q[1] - q[2], 1 / eps)",
    "mixture": "b <- choose {0 : 1/3, 1 : 2/3}\ny <- Lap(q[1] + b, 1 / eps)",
}


def decide(program: Program, low: str, high: str, eps_prv: str, delta: str) -> IntervalVerdict:
    found = dipapprox.verify(program, eps=f"{low}..{high}", eps_prv=eps_prv, delta=delta)
    assert isinstance(found, IntervalVerdict)
    return found


@pytest.mark.parametrize(("noise", "delta"), [("Gauss", gaussian), ("Lap", laplace)])
@given(
    st.fractions(Fraction(1, 4), Fraction(4), max_denominator=8),
    st.fractions(Fraction(1, 100), Fraction(1), max_denominator=100),
    st.fractions(0, 3, max_denominator=4),
    st.booleans(),
)
@examples(2)
def test_no_divergence_is_higher_than_the_bound(noise, delta, low, width, budget, narrow) -> None:
    program = dipapprox.parse(
        f"input q in 0..1\noutput y in real\nadjacent linf 1\ny <- {noise}(q, 1 / eps)"
    )
    states = execute(program, True, real_outputs=True)
    pair = (Fraction(0),), (Fraction(1),)
    growth = math.exp(budget)
    ends = []
    for eps in (low, low + width):
        alpha = max(growth * 3 / 4, 1.0)
        lesser = Fraction(alpha), Fraction(delta(float(eps), math.log(alpha)) + 1e-12)
        value = Fraction(delta(float(eps), float(budget)) + 1e-12)
        ends.append(SpreadEnd(Fraction(growth), value, lesser if narrow else None))
    factor = Minorant(Fraction(growth), Fraction(growth))
    for rates in DerivativeBounds(states, pair).families(low):
        bounds = highest(ends[0], ends[1], factor, width, rates)
        for k in range(11):
            t = k / 10
            bound = (1 - t) * float(bounds[0]) + t * float(bounds[1])
            assert delta(float(low + width * k / 10), float(budget)) <= bound + 1e-12


def test_couplings_tell_of_what_is_claimed_and_no_hair_less(monkeypatch) -> None:
    """Where all that is claimed is lost, less than e^eps_prv is not enough."""
    seen = list[SpreadEnd]()

    def watched(lower: SpreadEnd, *more: Any) -> tuple[Fraction, Fraction]:
        seen.append(lower)
        return highest(lower, *more)

    monkeypatch.setattr(published, "highest", watched)
    program = load(PROGRAMS / "laplace_mechanism.dpg", {})
    assert decide(program, "1", "2", "eps + (eps - 1)^2", "1e-3").answer is Answer.DP
    with ctx.workprec(400):
        growths = [to_ball(end.growth) for end in seen if not end.divergence]
        assert growths and all(growth >= arb(1).exp() for growth in growths)


@pytest.mark.parametrize(("name", "truth"), [("gaussian", gaussian), ("laplace", laplace)])
def test_the_least_delta_of_an_interval_from_both_sides(name, truth) -> None:
    program = load(PROGRAMS / f"{name}_mechanism.dpg", {})
    peak = max(truth(k / 2000, (k / 2000) ** 2) for k in range(500, 2001))
    holds = decide(program, "1/4", "1", "eps^2", str(Fraction(peak + 1e-4)))
    assert holds.answer is Answer.DP
    assert holds.delta_enclosure.upper >= Fraction(peak - 1e-6)
    assert holds.delta_enclosure.lower <= Fraction(peak + 1e-6)
    assert holds.points < 60
    fails = decide(program, "1/4", "1", "eps^2", str(Fraction(peak - 1e-4)))
    assert fails.answer is Answer.NOT_DP
    assert fails.witness is not None


def test_small_deltas_take_few_points() -> None:
    # 5 eps at every eps: 5.7e-7 and less (Balle and Wang 2018).
    program = load(PROGRAMS / "gaussian_mechanism.dpg", {})
    found = decide(program, "1/4", "1", "5*eps", "1e-6")
    assert found.answer is Answer.DP
    assert found.points < 40


TEXTS = [HEAD + body for body in BODIES.values()]
TEXTS += [text for name, text in texts_in("intervals").items() if name not in ("spike", "sums")]


@given(
    st.sampled_from(TEXTS),
    st.sampled_from(["eps", "2*eps", "eps/2", "eps^2 + 1/4", "sqrt(eps)", "3/4"]),
    st.sampled_from(["0", "1/100", "eps/20", "1/4", "1 - exp(-eps/8)"]),
    st.fractions(Fraction(1, 10), Fraction(2), max_denominator=10),
    st.fractions(Fraction(1, 20), Fraction(1), max_denominator=20),
    st.lists(st.fractions(0, 1, max_denominator=30), min_size=2, max_size=2),
)
@examples(7)
def test_intervals_agree_with_their_points(text, eps_prv, delta, low, width, places) -> None:
    def answer(eps: str | Fraction, **limits: Any) -> Any:
        asked = {"eps_prv": eps_prv, "delta": delta, "options": Options(**limits)}
        return dipapprox.verify(dipapprox.parse(text), eps=eps, **asked)

    with limited(Limits(seconds=1)):
        found = answer(f"{low}..{low + width}", max_precision=40)
    points = [low + place * width for place in places]
    if found.answer is Answer.NOT_DP:
        assert low <= found.violation.claim.eps <= low + width
        assert answer(found.violation.claim.eps).answer is Answer.NOT_DP
    else:
        assert (
            not found.remaining if found.answer is Answer.DP else found.remaining and found.reason
        )
        proved = [e for e in points if not any(a <= e <= b for a, b in found.remaining)]
        assert all(answer(eps).answer is not Answer.NOT_DP for eps in proved)


@cases(
    "body, reason",
    ("b <- choose {0 : exp(-eps), 1 : 1 - exp(-eps)}\ny <- Lap(q[1] + b, 1)", "weights"),
    ("b <- Lap(0, 1 / eps)\ny <- b + Lap(q[1], 1 / eps)\nz <- b + Lap(0, 1)", "one another"),
)
def test_what_has_no_bounds_is_unknown_everywhere(body, reason) -> None:
    if "z" not in body:
        body += "\nz <- 0"
    program = dipapprox.parse(f"output z in real\n{HEAD}{body}")
    found = decide(program, "1/2", "1", "eps/2", "1/2")
    assert found.answer is Answer.UNKNOWN
    assert found.remaining == ((Fraction(1, 2), Fraction(1)),)
    assert reason in found.reason


def test_what_is_left_of_an_interval_is_named() -> None:
    # At eps/2 it is 1 - exp(-eps/4): what is claimed at the upper end.
    program = load(PROGRAMS / "laplace_mechanism.dpg", {})
    options = Options(max_precision=40)
    found = dipapprox.verify(
        program, eps="1/2..1", eps_prv="eps/2", delta="1 - exp(-1/4)", options=options
    )
    assert found.answer is Answer.UNKNOWN
    assert found.reason.startswith("critical: at eps = 1 ")
    ((low, high),) = found.remaining
    assert high == 1
    assert low > Fraction(9, 10)


# --- Pairs that differ by shifts have one normal form ---------------------------------------------

ALIKE = [
    "y <- {0}(q, 2 / eps)\nz <- {1}({2} * q + t, 1)",
    "a <- {0}({2} * q, 2)\ny <- 5 - 2 * a\nb <- {1}(t, 1)\nif t = 1 then z <- q else z <- b end",
    "y <- 0\nz <- {0}(3 * t - q, 1 / eps)\na <- {1}(q, 1)\nif a >= {2} then y <- a end",
    "z <- 1\nif q = 0 then y <- {0}(t, 1) else y <- {1}({2} - t, 2) end",
    "a <- choose {{ 0 : 1/3, 1 : 2/3 }}\nz <- 0\n"
    "if a = 1 then y <- {0}(q, 1) else y <- {1}(0, 1) end",
]


def opened(text: str) -> tuple[core.Program, PublishedDivergences]:
    program = dipapprox.parse(text)
    options = Options()
    states = execute(program, True, real_outputs=True)
    return program, open_published(states, Fraction(1, 2), options)


@pytest.mark.parametrize("body", ALIKE)
@pytest.mark.parametrize("seed", range(2))
def test_remembered_forms_are_those_of_the_measures(body, seed) -> None:
    random = Random(seed)
    noise = [random.choice(["Lap", "Gauss"]) for _ in range(2)]
    head = "input q in 0..2\ninput t in {0, 1}\noutput y, z in real\nadjacent all\n"
    program, found = opened(head + body.format(*noise, random.choice([-1, 1, 2])) + "\n")
    pairs = list(select_pairs(program, AllPairs()))
    random.shuffle(pairs)
    for u, v in pairs:
        first, second, known = found.measures(u), found.measures(v), found.sides((u, v))
        if isinstance(first, NotEnclosed) or isinstance(second, NotEnclosed):
            assert isinstance(known, NotEnclosed)
            continue
        assert not isinstance(known, NotEnclosed)
        assert [outcome for outcome, _ in known] == list(first)
        for outcome, form in known:
            assert form == normal_form(MeasureSides(first[outcome], second.get(outcome, ())))


PAIR = ((0,), (1,))


@given(st.fractions(max_denominator=10**12), st.integers(0, 40))
def test_the_shortest_number_is_inside_and_short(place, bits) -> None:
    upper = place + F(1, 2**bits)
    found = shortest(place, upper)
    assert place <= found <= upper
    text = NumberSet(((found, None),)).text("y")
    assert F(text.removeprefix("y >= ")) == found
    assert len(text) <= max(len(str(simplest(place, upper))), len(str(int(place))) + 17) + 6


@given(st.fractions())
def test_shown_ends_are_the_ends(end) -> None:
    assert F(NumberSet(((None, end),)).text("y").removeprefix("y <= ")) == end


class _Interrupted:
    """All pairs, of which one bound is known before the time is up."""

    ladder = (40,)
    pairs = 2
    ended: str | None = None
    out_of_time = True

    def __init__(self, calls: int) -> None:
        self._calls = calls

    def sharpened(self, factor_at: FactorAt, enough: object) -> Maximum:
        if not self._calls:
            raise LimitReached("time limit: 1 s")
        self._calls -= 1
        return Maximum(Enclosure(F(1, 4), F(1, 2)), PAIR, 40)


class _Demanding:
    def least_factor(self, pair: object, delta: F, bits: int) -> LeastFactor:
        return LeastFactor(F(2), F(2) + F(1, 2**40), None)


def interrupted(calls: int) -> tuple[PairsBounds, _Interrupted]:
    maxima, details = _Interrupted(calls), _Demanding()
    found = least_eps_prv(cast(Together, maxima), cast(PairDetails, details), F(1, 10), F(1, 100))
    return found, maxima


def test_what_was_demanded_before_a_limit_stays() -> None:
    found, maxima = interrupted(1)
    assert 0.693 < found.told.lower < 0.694
    assert found.told.upper is None and found.pair == PAIR
    assert maxima.ended == "time limit: 1 s"
    found, maxima = interrupted(0)
    assert found.told == Extended(F(0), None) and maxima.ended == "time limit: 1 s"


# --- Certificates of violations that a number shows -----------------------------------------------


def certified(folder: Path, name: str, *claim: str) -> Path:
    found = folder / "found.json"
    program = str(PROGRAMS / f"{name}.dpg")
    assert main(["verify", program, "--eps", "1", *claim, "--certificate", str(found)]) == 1
    return found


def test_a_violation_of_more_is_refuted(tmp_path, capsys) -> None:
    found = certified(tmp_path, "gaussian_mechanism", "--eps-prv", "1/2", "--delta", "0.2")
    text = found.read_text(encoding="utf-8")
    fields = json.loads(text)
    fields["claim"]["delta"] = fields["steps"][0]["delta"] = "39/100"
    fields["digest"] = digest(fields)
    found.write_text(json.dumps(fields), encoding="utf-8")
    assert main(["check", str(found)]) != 0
    capsys.readouterr()


def test_decisions_are_refused_with_what_to_ask_instead(capsys) -> None:
    program = str(PROGRAMS / "gaussian_mechanism.dpg")
    assert main(["decide", program]) == 1
    assert "Not_DP" in capsys.readouterr().out
    assert main(["decide", program, "--violations"]) == 2
    assert "ask verify, also about an interval of eps" in capsys.readouterr().err
