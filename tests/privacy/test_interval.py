"""Verdicts on intervals of eps, rates and tubes: closed forms, points, and laws."""

import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

import dipapprox
from dipapprox import Answer, Limits, Options, UserError
from dipapprox.errors import LimitReached
from dipapprox.language.core import Input, Program
from dipapprox.language.load import load
from dipapprox.limits import limited
from dipapprox.numerics.probability import Bounds, OutputProbabilities
from dipapprox.pairs.selections import AllPairs
from dipapprox.privacy.intervals import verdict as claims
from dipapprox.privacy.intervals import verifier as interval_verifier
from dipapprox.privacy.intervals.derivative_bounds import DerivativeBounds, Rates
from dipapprox.privacy.intervals.tables import radii
from dipapprox.privacy.intervals.verdict import FormulaClaim, IntervalVerdict
from dipapprox.privacy.intervals.verifier import verify_interval
from dipapprox.privacy.run import Setting
from dipapprox.privacy.subjects import open_probabilities
from dipapprox.questions.arguments import spelled_as_keyword
from dipapprox.questions.question import read
from dipapprox.questions.verify import Verify
from dipapprox.semantics.execution import execute
from dipapprox.semantics.state import FinalStates
from tests.cases import cases, examples, template_of, text_of, texts_in

PROGRAMS = Path(__file__).parents[2] / "programs"

THRESHOLD = text_of("privacy/interval-1")
"""Pr[out = 1] is Phi(eps/2) for q = 1 and Phi(-eps/2) for q = 0."""


def options() -> Options:
    return Options()


def formula_claim(eps_prv: str | None, delta: str) -> FormulaClaim:
    given = {"eps": 1, "eps_prv": eps_prv, "delta": delta}
    return read(Verify, given, spelled_as_keyword).formulas()


def decide(
    text: Program, low: str, high: str, budget: str | None, delta: str, seconds: float | None = None
) -> IntervalVerdict:
    claim = formula_claim(budget, delta)
    ends = Fraction(low), Fraction(high)
    with limited(Limits(seconds=seconds)):
        return verify_interval(Setting(text, AllPairs(), options()), claim, *ends)


def threshold_delta(eps: float, budget: float) -> float:
    high = stats.norm.cdf(eps / 2)
    return float(max(high - math.exp(budget) * (1 - high), 0.0))


def test_the_least_delta_on_an_interval_against_the_closed_form() -> None:
    text = dipapprox.parse(THRESHOLD)
    # delta(eps) at budget eps^2 is largest somewhere inside [1/10, 1].
    peak = optimize.minimize_scalar(
        lambda e: -threshold_delta(e, e * e), bounds=(0.1, 1), method="bounded"
    )
    largest = Fraction(-peak.fun)
    assert max(threshold_delta(e, e * e) for e in (0.1, 1)) < float(largest) - 0.01
    near = Fraction(1, 10**7)
    holds = decide(text, "1/10", "1", "eps^2", str(largest + near))
    assert holds.answer is Answer.DP
    assert holds.delta_enclosure.lower <= largest + Fraction(1, 10**12)
    assert largest - Fraction(1, 10**12) <= holds.delta_enclosure.upper <= largest + near
    assert holds.points < 200
    fails = decide(text, "1/10", "1", "eps^2", str(largest - near))
    assert fails.answer is Answer.NOT_DP
    witness = fails.violation.claim.eps
    assert abs(float(witness) - peak.x) < 0.01
    assert threshold_delta(float(witness), float(witness) ** 2) > float(largest - near) - 1e-12


@cases(
    "failure, reason",
    (LimitReached("time limit: 1 s"), "time limit: 1 s"),
    (KeyboardInterrupt(), "interrupted"),
    (MemoryError(), "memory limit"),
)
@pytest.mark.parametrize("calls", [0, 1, 3])
def test_every_failure_is_an_answer(failure, reason, calls, monkeypatch) -> None:
    original = OutputProbabilities.table
    count = iter(range(1000))

    def table(self: OutputProbabilities, inputs: Sequence[Input], bits: int) -> Bounds:
        if next(count) >= calls:
            raise failure
        return original(self, inputs, bits)

    monkeypatch.setattr(OutputProbabilities, "table", table)
    verdict = decide(dipapprox.parse(text_of("intervals/laplace")), "1/10", "4", "eps*1.01", "0")
    assert verdict.answer is Answer.UNKNOWN
    assert reason in verdict.reason
    assert verdict.remaining[0][0] == Fraction(1, 10)
    assert verdict.remaining[-1][1] == 4
    assert verdict.interrupted == isinstance(failure, KeyboardInterrupt)


def test_too_many_pairs_are_not_listed_but_the_ends_are_tried() -> None:
    svt = load(PROGRAMS / "svt_gauss.dpg", {"N": Fraction(25)})
    unknown = decide(svt, "1/10", "1", "2*eps", "0.01")
    assert unknown.answer is Answer.UNKNOWN
    assert unknown.reason.startswith("pair limit: 1125899873288192 pairs; an interval needs at")
    assert "use --pairs (not refuted at eps = 1/10, 1, 1/3)" in unknown.reason
    assert unknown.remaining == ((Fraction(1, 10), Fraction(1)),)
    wrong = decide(svt, "1/10", "1", "eps/10", "1e-6")
    assert wrong.answer is Answer.NOT_DP
    assert wrong.violation.claim.eps == Fraction(1, 10)
    assert wrong.pairs == wrong.violation.pairs == 1  # a likely pair, which is looked at first
    assert wrong.points == 1


def test_streams_that_cannot_be_counted_stop_at_the_same_limit(monkeypatch) -> None:
    monkeypatch.setattr("dipapprox.privacy.intervals.verifier.MOST_PAIRS", 5)
    monkeypatch.setattr("dipapprox.privacy.run.count_selected", lambda *_: None)
    verdict = decide(
        load(PROGRAMS / "svt_gauss.dpg", {"N": Fraction(2)}), "1/10", "1", "2*eps", "1"
    )
    assert verdict.answer is Answer.UNKNOWN
    assert verdict.reason.startswith("pair limit: more than 5 pairs")


_SAME = template_of("interval-same")


@cases(
    "text, eps_prv, delta",
    (_SAME.format(domain="{0, 1}"), "{}", "0"),
    (_SAME.format(domain="{0, 1}"), "1", "{}"),
    (_SAME.format(domain="real 0..1"), "{}", "0"),
    (_SAME.format(domain="real 0..1"), "1", "{}"),
    ("input q in {0, 1}\noutput y in real\nadjacent linf 1\ny <- Lap(q, 1/eps)\n", "eps", "{}"),
)
def test_nobody_is_private_below_0(text, eps_prv, delta, monkeypatch) -> None:
    """Where eps_prv or delta is below 0, all outputs together are a violation, even of equals."""
    monkeypatch.setattr(interval_verifier, "_FEW_POINTS", 5)
    monkeypatch.setattr(claims, "_MOST_PIECES", 100)
    made = dipapprox.parse(text)
    dips = "(eps - 0.3141592653)^2 - 1e-30"  # somewhere, by a hair
    try:
        found = dipapprox.verify(
            made, eps="0.1..1", eps_prv=eps_prv.format(dips), delta=delta.format(dips)
        )
    except UserError as error:
        assert "must be" in str(error)
    else:
        assert found.answer is Answer.UNKNOWN
    touches = "(eps - 0.3141592653)^2"
    holds = dipapprox.verify(
        made, eps="0.1..1", eps_prv=eps_prv.format(touches), delta=delta.format(touches)
    )
    assert holds.answer is Answer.DP


# --- Rates and tubes against the probabilities themselves, at epsilons that no bound was made fr --

ROWS = [(Fraction(a), Fraction(b)) for a in (0, 1) for b in (0, 1)]
STATES: dict[str, FinalStates] = {
    name: execute(dipapprox.parse(text), True) for name, text in texts_in("intervals").items()
}
NAMES = st.sampled_from(sorted(STATES))
TOLERANCE = 1e-9


def table(name: str, eps: Fraction) -> Bounds:
    options = Options()
    return open_probabilities(STATES[name], eps, options).table(ROWS, 40)


def value(bounds: Bounds) -> np.ndarray:
    return (bounds.lower + bounds.upper) / 2


@given(
    NAMES,
    st.fractions(Fraction(1, 20), Fraction(3), max_denominator=40),
    st.fractions(Fraction(1, 50), Fraction(2), max_denominator=50),
    st.fractions(0, 1, max_denominator=10),
)
@examples(5)
def test_probabilities_stay_in_their_tubes(name, lower, width, place) -> None:
    first, last = table(name, lower), table(name, lower + width)
    radius = radii(first, last, width, DerivativeBounds(STATES[name]).rates(lower))
    t = float(place)
    chord = (1 - t) * value(first) + t * value(last)
    middle = value(table(name, lower + place * width))
    assert np.all(np.abs(middle - chord) <= radius + TOLERANCE)


@given(
    NAMES,
    st.fractions(Fraction(1, 20), Fraction(3), max_denominator=40),
    st.fractions(Fraction(1, 4), Fraction(1), max_denominator=8),
)
@examples(5)
def test_first_and_second_differences_obey_the_rates(name, lower, width) -> None:
    step = width / 16
    rates = DerivativeBounds(STATES[name]).rates(lower)
    values = [value(table(name, lower + k * step)) for k in range(3)]
    largest = np.max(values, axis=0) + float(step)  # p moves between the points, too
    h = float(step)
    for bounds, difference in (
        (rates.first, np.abs(values[1] - values[0]) / h),
        (rates.second, np.abs(values[2] - 2 * values[1] + values[0]) / h**2),
    ):
        for rate in bounds:
            # Doubled: `largest` is only about the largest p between the points.
            allowed = float(rate.slope) * 2 * largest + float(rate.constant)
            assert np.all(difference <= allowed + TOLERANCE / h**2)


@pytest.mark.parametrize("size", [0.001, 0.05, 0.3, 0.5])
def test_majorants_of_a_gaussian_shift(size) -> None:
    """For one Gaussian of velocity 1 the worst events are tails; the majorants cover them."""
    cut, outer = stats.norm.isf(size), stats.norm.isf(size / 2)
    worst_first = stats.norm.pdf(cut)
    worst_second = 2 * outer * stats.norm.pdf(outer)
    rates = _one_gaussian()
    first = min(float(r.slope) * size + float(r.constant) for r in rates.first)
    second = min(float(r.slope) * size + float(r.constant) for r in rates.second)
    assert worst_first <= first <= 1.4 * worst_first
    assert worst_second <= second <= 1.6 * worst_second


def _one_gaussian() -> Rates:
    text = text_of("privacy/interval-7")
    states = execute(dipapprox.parse(text), True)
    derivatives = DerivativeBounds(states)
    assert derivatives.shifted is not None
    return derivatives.shifted
