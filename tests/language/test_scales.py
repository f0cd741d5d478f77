"""Irrational scales: bounds that hold, answers that are widened, and refusals with a place."""

from collections.abc import Callable
from fractions import Fraction
from math import log
from typing import Annotated

import numpy as np
import pytest
from flint import arb, ctx, fmpq
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import dipapprox
from dipapprox.arithmetic import elementary
from dipapprox.arithmetic.elementary import NoValue, Number
from dipapprox.data_classes import replace
from dipapprox.errors import NoCertificate, SourceError, UserError
from dipapprox.language import core
from dipapprox.language.constants import ACCURACY
from dipapprox.language.core import Rounding
from dipapprox.language.elaborate import elaborate
from dipapprox.language.parser import parse
from dipapprox.privacy.verdict import Answer
from tests.cases import refuses
from tests.texts import text_of
from tests.thorough import examples

GAUSS = text_of("language/scales-gauss")


def scales(text: str, **values: Fraction) -> list[Fraction]:
    header = "input q in 0..1\noutput out in 0..1\nadjacent all\n"
    program = elaborate(parse(header + text + "\nout <- 0"), values, "f", irrational=True)
    return [each.scale.coefficient for each in program.body if isinstance(each, core.Draw)]


@given(st.lists(st.fractions(-9, 9, max_denominator=9), min_size=1, max_size=3))
def test_largest_and_least_are_those_of_numbers(given) -> None:
    written = ", ".join(f"({each})/eps" for each in given)
    wanted = 20 + max(given), 20 + min(given), 20 + abs(given[0])
    text = f"20/eps + max({written})", f"20/eps + min({written})", f"20/eps + abs(({given[0]})/eps)"
    assert tuple(scales("\n".join(f"r <- Lap(q, {each})" for each in text))) == wanted


@given(st.lists(st.fractions(Fraction(1, 9), 9, max_denominator=9), min_size=1, max_size=3))
def test_largest_and_least_are_those_of_irrational_numbers(given) -> None:
    written = ", ".join(f"sqrt({each})/eps" for each in given)
    text = f"max({written})", f"min({written})", f"abs(-sqrt({given[0]})/eps)"
    found = scales("\n".join(f"r <- Lap(q, {each})" for each in text))
    plain = (f"sqrt({each})/eps" for each in (max(given), min(given), given[0]))
    assert found == scales("\n".join(f"r <- Lap(q, {each})" for each in plain))


# --- numbers --------------------------------------------------------------------------------------


@st.composite
def numbers(draw: st.DrawFn, depth: int = 3) -> tuple[Number, Callable[[], arb]]:
    """A constant, and how flint computes it."""
    kind = draw(st.sampled_from(["number", "sqrt", "log", "*", "+", "^"])) if depth else "number"
    if kind == "number":
        value = draw(st.fractions(Fraction(1, 1000), 1000, max_denominator=1000))
        return value, lambda: arb(fmpq(value.numerator, value.denominator))
    left, ours = draw(numbers(depth=depth - 1))
    match kind:
        case "sqrt":
            return elementary.square_root(left), lambda: ours().sqrt()
        case "log":
            bigger = elementary.total([left, Fraction(2)])
            return elementary.logarithm(bigger), lambda: (ours() + 2).log()
        case "^":
            exponent = draw(st.sampled_from([-2, -1, 2, 3]))
            return left**exponent, lambda: ours() ** exponent
    right, other = draw(numbers(depth=depth - 1))
    if kind == "*":
        return left * right, lambda: ours() * other()
    return elementary.total([left, right]), lambda: ours() + other()


@given(pair=numbers())
def test_bounds_hold_and_are_close(pair) -> None:
    with ctx.workprec(600):
        near, error = elementary.approximate(pair[0], 200)
        assert error <= Fraction(1, 2**200)
        distance = abs((pair[1]() / arb(fmpq(near.numerator, near.denominator))).log())
        # flint's own rounding at 600 bits is far below the error that is claimed
        assert distance < arb(fmpq(error.numerator, error.denominator)) + arb(2) ** -400


def test_what_is_rational_stays_so() -> None:
    assert scales("r <- Gauss(q, sqrt(9/4) / eps)") == [Fraction(3, 2)]
    assert scales("r <- Gauss(q, sqrt(2) * sqrt(8) / eps)") == [4]
    assert scales("r <- Gauss(q, sqrt(16 / eps^2))") == [4]
    assert scales("r <- Lap(q, log(5) / log(5) + log(1))") == [1]


def test_bad_numbers_have_none() -> None:
    with pytest.raises(NoValue):
        elementary.approximate(elementary.total([root(2) * root(3), -root(6)]), 64)


def root(number: int) -> Number:
    return elementary.square_root(Fraction(number))


# --- the lemma ------------------------------------------------------------------------------------


@pytest.mark.parametrize("ratio", [1.02, 1.5])
@pytest.mark.parametrize("scale", [0.3, 1.0, 7.0])
def test_the_distance_of_laws_is_at_most_the_logarithm(ratio, scale) -> None:
    line = np.linspace(-60 * scale, 60 * scale, 240_001)
    whole = np.arange(-800, 801)
    grid = line[1] - line[0]
    densities = {
        "Gauss": (lambda b: stats.norm.pdf(line, scale=b) * grid),
        "Lap": (lambda b: stats.laplace.pdf(line, scale=b) * grid),
        "LapPlus": (lambda b: stats.expon.pdf(line, scale=b) * grid),
        "DLap": (lambda b: normed(np.exp(-abs(whole) / b))),
        "DGauss": (lambda b: normed(np.exp(-(whole**2) / (2 * b * b)))),
    }
    for law in densities.values():
        assert abs(law(scale) - law(scale * ratio)).sum() / 2 <= log(ratio) + 1e-3


def normed(weights: np.ndarray) -> np.ndarray:
    return weights / weights.sum()


# --- answers --------------------------------------------------------------------------------------


LAPLACE = """
param s = {scale}
input q in 0..1
output out in 0..1
adjacent all
out <- Lap(q, s / eps) + Lap(0, 2 / eps) > 1/3
"""


@given(moved=st.fractions(-1, 1, max_denominator=50))
@examples(5)
def test_answers_hold_for_every_program_that_near(moved) -> None:
    # The program with the scale 1 + moved/20 is nearer than 1/19 to that with the scale 1.
    scale = 1 + moved / 20
    near = dipapprox.parse(LAPLACE.format(scale=1))
    rounded = replace(near, rounding=Rounding(Fraction(1, 19), 1))
    meant = dipapprox.parse(LAPLACE.format(scale=scale))
    for budget in ("0", "1/2"):
        wide = dipapprox.profile(rounded, eps=1, eps_prv=budget)
        true = dipapprox.profile(meant, eps=1, eps_prv=budget).delta_enclosure
        assert wide.delta_enclosure.lower <= true.lower
        assert true.upper <= wide.delta_enclosure.upper
    chances = [
        dipapprox.probability(each, eps=1, input=(1,)).outputs[0].probability
        for each in (rounded, meant)
    ]
    assert chances[0].lower <= chances[1].lower <= chances[1].upper <= chances[0].upper
    for delta in (Fraction(1, 10), Fraction(1, 5), Fraction(1, 4), Fraction(2, 5)):
        said = dipapprox.verify(rounded, eps=1, eps_prv=0, delta=delta)
        true_answer = dipapprox.verify(meant, eps=1, eps_prv=0, delta=delta).answer
        assert said.answer in (true_answer, Answer.UNKNOWN)
        assert said.claim.delta == delta
    answers = [
        dipapprox.verify(rounded, eps=1, eps_prv=0, delta=delta).answer for delta in ("1/20", "2/5")
    ]
    assert answers == [Answer.NOT_DP, Answer.DP]


def test_least_budgets_are_between_those_of_deltas_a_slack_away() -> None:
    near = dipapprox.parse(LAPLACE.format(scale=1))
    rounded = replace(near, rounding=Rounding(Fraction(1, 10**9), 1))
    wide, true = (
        dipapprox.profile(each, eps=1, delta="1/10").eps_prv_enclosure for each in (rounded, near)
    )
    assert wide.lower + Fraction(1, 50) < true.lower <= true.upper < wide.upper - Fraction(1, 50)


def test_all_else_is_refused_with_its_place() -> None:
    text = "input q in 0..1\noutput out in 0..1\nadjacent all\nout <- Gauss(q, sqrt(2)/eps) > 1/2"
    program = dipapprox.parse(text)
    assert program.rounding.error <= Fraction(1, 2**ACCURACY)
    for ask in (
        lambda: dipapprox.verify(program, eps="1..2", delta="1/2"),
        lambda: dipapprox.decide(program),
        lambda: dipapprox.profile(program, eps=1, renyi="2"),
        lambda: dipapprox.profile(program, eps=1, curve="0:1:3"),
        lambda: dipapprox.profile(program, eps=1, delta=0),
        lambda: dipapprox.pair_distributions(program, eps=1, input=(0,), adjacent=(1,)),
        lambda: dipapprox.compose([{"program": program, "eps": 1, "times": 2}]).epsilon("0.1"),
        lambda: dipapprox.prove(dipapprox.parse(text.replace("0..1", "real", 1))),
    ):
        refuses(UserError, "irrational scale", ask)


@dipapprox.mechanism(adjacent="linf 1")
def noisy(
    q: Annotated[dipapprox.Quantity, "in 0..1"],
    eps: dipapprox.Weight,
    delta: Fraction = Fraction(1, 10**5),
) -> Annotated[dipapprox.Quantity, "in real"]:
    return dipapprox.gauss(q, dipapprox.sqrt(2 * dipapprox.log(Fraction(5, 4) / delta)) / eps)


def test_python_functions_have_them_too() -> None:
    program = dipapprox.parse(GAUSS, parameters={"delta": Fraction(1, 10**5)})
    ours = dipapprox.profile(noisy, eps=1, eps_prv=1).delta_enclosure
    assert ours == dipapprox.profile(program, eps=1, eps_prv=1).delta_enclosure


def test_a_program_is_open_until_a_claim_says_its_delta() -> None:
    program, delta = dipapprox.parse(GAUSS, name="textbook"), Fraction(1, 10)
    assert program.name == "textbook"
    closed = dipapprox.parse(GAUSS, {"delta": delta})
    ours, theirs = (dipapprox.verify(each, eps=1, delta=delta) for each in (program, closed))
    assert ours.answer is Answer.DP
    assert ours.delta_enclosure == theirs.delta_enclosure
    refuses(SourceError, "'delta' has no value", dipapprox.probability, program, eps=1, input=(0,))
    refuses(SourceError, "unknown name 'z'", dipapprox.parse, GAUSS.replace("Gauss(q", "Gauss(z"))


FINITE = text_of("language/scales-18")


@pytest.mark.parametrize("text", [FINITE, GAUSS])
def test_they_have_no_certificate(text) -> None:
    """Machines of proofs have rational numbers alone."""
    program = dipapprox.parse(text, parameters={} if text is FINITE else {"delta": Fraction(1, 3)})
    verdict = dipapprox.verify(program, eps=1, eps_prv=Fraction(1, 8), delta=Fraction(9, 10))
    assert verdict.answer is Answer.DP
    refuses(NoCertificate, "irrational", dipapprox.certify, program, text, verdict)


def test_equal_turns_are_rounded_each() -> None:
    text = (
        "param N\ninput q[N] in 0..1\noutput out in 0..1\nadjacent all\n"
        "for i in 1..N do r <- Gauss(q[i], sqrt(2)/eps); if r > 2 then out <- 1; exit end end\n"
        "out <- 0"
    )
    found = [elaborate(parse(text), {"N": Fraction(size)}, "f", irrational=True) for size in (1, 8)]
    assert [isinstance(program.body[0], core.Repeat) for program in found] == [False, True]
    one, eight = (program.rounding for program in found)
    assert eight.error == 8 * one.error and eight.samples == 8 and eight.span == one.span
