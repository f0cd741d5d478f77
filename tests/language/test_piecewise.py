"""What programs mean: sugar, ranges, choices, adjacency by conditions, irrational scales."""

import random
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Decimal
from fractions import Fraction
from itertools import product
from math import log
from typing import Annotated

import numpy as np
import pytest
from flint import arb, ctx, fmpq
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import dipapprox
from dipapprox import Answer, SourceError
from dipapprox.arithmetic import elementary
from dipapprox.arithmetic.elementary import NoValue, Number
from dipapprox.bundled import BUNDLED
from dipapprox.data_classes import replace
from dipapprox.errors import NoCertificate, UserError
from dipapprox.language import core
from dipapprox.language.checker import unused
from dipapprox.language.constants import ACCURACY
from dipapprox.language.core import Everyone, Listed, Norm, Rounding, Within
from dipapprox.language.elaborate import elaborate
from dipapprox.language.load import read_source
from dipapprox.language.parser import parse
from dipapprox.pairs.adjacency import count_selected, select_pairs
from dipapprox.pairs.selections import AllPairs, is_symmetric
from tests.cases import check_answers, evaluated, examples, refuses, template_of, text_of
from tests.language.samples import core_of
from tests.semantics.interpreter import Noise, run

_MODES = {"round": ROUND_HALF_UP, "floor": ROUND_FLOOR, "ceil": ROUND_CEILING}


def nearest(word: str, value: Fraction) -> int:
    """What `decimal` says; its halves go away from zero, so values are moved above it."""
    moved = Decimal((value + 1000).numerator) / Decimal((value + 1000).denominator)
    return int(moved.to_integral_value(_MODES[word])) - 1000


@given(
    word=st.sampled_from(sorted(_MODES)),
    step=st.sampled_from(["1", "2", "1/2", "3/4"]),
    slope=st.sampled_from([1, -1, Fraction(1, 2), Fraction(-3, 4)]),
    point=st.tuples(st.integers(-3, 3), st.integers(-3, 3)),
)
def test_functions_of_inputs(word, step, slope, point) -> None:
    program = core_of(
        "input q[2] in -3..3\noutput a, b, c, d in real\nadjacent all\n"
        f"x <- ({slope}) * q[1] + q[2]\n"
        f"a <- {word}(({slope}) * q[1] + q[2], {step})\nd <- {word}(x, {step})\n"
        f"b <- abs(({slope}) * q[1])\nc <- clamp(q[1] + q[2], -1/2, 2)"
    )
    inputs = tuple(map(Fraction, point))
    value = slope * inputs[0] + inputs[1]
    unit = Fraction(step)
    found = run(_published(program), inputs, Noise(random.Random(0)))
    assert found == (
        nearest(word, value / unit) * unit,
        abs(slope * inputs[0]),
        min(max(sum(inputs), Fraction(-1, 2)), Fraction(2)),
        nearest(word, value / unit) * unit,
    )


def _published(program: core.Program) -> core.Program:
    """The same, with the outputs where the interpreter reads them."""
    return replace(program, outputs=program.real_outputs)


@given(
    word=st.sampled_from(sorted(_MODES)),
    factor=st.sampled_from(["z/2", "2*z", "(z + w)/3", "z - 1/2"]),
    seed=st.integers(0, 10**6),
)
def test_functions_of_integer_noise(word, factor, seed) -> None:
    program = core_of(
        "input q in 0..1\noutput a, b, c in -9..9\nadjacent all\n"
        f"z <- DLap(q, 1/eps)\nw <- DLap(0, 1/eps)\na <- clamp({word}({factor}), -2, 2)\n"
        "b <- clamp(abs(z - w), 0, 4)\nc <- clamp(max(z, w) + min(z, w), -5, 5)"
    )
    noise = Noise(random.Random(seed))
    found = run(program, (Fraction(1),), noise)
    z, w = (
        noise.value(draw.site, draw.family.name, Fraction(mean), draw.scale)
        for draw, mean in zip(program.body[:2], (1, 0), strict=True)
        if isinstance(draw, core.Draw)
    )
    value = {
        "z/2": z / 2, "2*z": 2 * z, "(z + w)/3": (z + w) / 3, "z - 1/2": z - Fraction(1, 2)
    }[factor]  # fmt: skip
    assert found == (
        min(max(nearest(word, value), -2), 2),
        min(abs(z - w), 4),
        min(max(z + w, -5), 5),
    )


def test_choices_among_ranges() -> None:
    header = "input q in 0..2\noutput out in 0..5\nadjacent all\n"
    written = core_of(header + "out <- choose {0 : 1/6, 1 : 2/6, 2 : 3/6}")
    assert core_of(header + "out <- choose {v : (v + 1)/6 for v in 0..2}") == written
    alike = core_of(header + "out <- choose {2 : 1/4, 3 : 1/4, 4 : 1/4, q : 1/4}")
    assert core_of(header + "out <- choose {2..4, q}") == alike
    assert core_of(header + "out <- choose {v + 1 for v in 1..3, q}") == alike
    with_eps = core_of(header + "out <- choose {v : exp(-v*eps)/(1 + exp(-eps)) for v in 0..1}")
    given = "out <- choose {0 : exp(-0*eps)/(1 + exp(-eps)), 1 : exp(-1*eps)/(1 + exp(-eps))}"
    assert with_eps == core_of(header + given)


@dipapprox.mechanism(adjacent="linf 1")
def snapped(
    q: Annotated[dipapprox.Quantity, "in -3..3"], eps: dipapprox.Weight
) -> Annotated[tuple[object, ...], "a in -2..2", "b in 0..3", "c in 0..1"]:
    r = dipapprox.laplace(q, 1 / eps)
    z = dipapprox.discrete_laplace(q, 1 / eps)
    held = dipapprox.clamp(r, 0, 1)
    near = dipapprox.clamp(abs(z), 0, 3)
    c = dipapprox.where(held > Fraction(1, 3), 1, 0)
    return dipapprox.rounded(r / 2, -2, 2, 2), near, c


def test_python_functions_have_them_too() -> None:
    ours = dipapprox.profile(snapped, eps=1, eps_prv="1/2")
    theirs = dipapprox.profile(
        dipapprox.parse(text_of("language/piecewise-13")), eps=1, eps_prv="1/2"
    )
    assert ours.delta_enclosure.meets(theirs.delta_enclosure)


# --- Adjacency by a condition, and by the Euclidean norm ------------------------------------------

Pair = tuple[tuple[int, int], tuple[int, int]]

RULES: dict[str, Callable[[Pair], bool]] = {
    "": lambda p: True,
    "all": lambda p: True,
    "linf 1": lambda p: max(map(abs, change(p))) <= 1,
    "l1 2": lambda p: sum(map(abs, change(p))) <= 2,
    "l2 3/2": lambda p: sum(d * d for d in change(p)) <= 2,
    "l0 1": lambda p: sum(d != 0 for d in change(p)) <= 1,
    "increasing 2": lambda p: all(0 <= d <= 2 for d in change(p)),
    "decreasing 1": lambda p: all(-1 <= d <= 0 for d in change(p)),
}

CONDITIONS: dict[str, Callable[[Pair], bool]] = {
    "q'[i] >= q[i] for i in 1..2": lambda p: min(change(p)) >= 0,
    "q[1] + q[2] = q'[1] + q'[2]": lambda p: sum(change(p)) == 0,
    "q[i] = q'[i] or q[i] = 0 or q'[i] = 0 for i in 1..N": lambda p: all(
        u == v or not u or not v for u, v in zip(*p, strict=True)
    ),
    "not (q[1] < q'[2] and -q[2] <= 2*q'[1] - 3)": lambda p: (
        not (p[0][0] < p[1][1] and -p[0][1] <= 2 * p[1][0] - 3)
    ),
    "q'[1] = 2 or q[1 + q'[1]] = 2": lambda p: p[1][0] == 2 or p[0][p[1][0]] == 2,
    "abs(q[i] - q'[i]) < i and max(q') - q[i] >= min(q[1], 1) for i in 1..N": lambda p: all(
        abs(p[0][i] - p[1][i]) < i + 1 and max(p[1]) - p[0][i] >= min(p[0][0], 1) for i in (0, 1)
    ),
}


def change(pair: Pair) -> list[int]:
    return [v - u for u, v in zip(*pair, strict=True)]


@given(rule=st.sampled_from(sorted(RULES)), condition=st.sampled_from(sorted(CONDITIONS)))
def test_the_pairs_are_those_of_the_rule_and_the_condition(rule, condition) -> None:
    text = (
        f"param N = 2\ninput q[N] in 0..2\noutput out in 0..1\nadjacent {rule} where {condition}\n"
        "out <- Lap(q[1], 1/eps) > 1"
    )
    points = list(product(range(3), repeat=2))
    expected = {
        pair
        for pair in product(points, repeat=2)
        if pair[0] != pair[1] and RULES[rule](pair) and CONDITIONS[condition](pair)
    }
    if not expected:
        refuses(SourceError, "no two different inputs", dipapprox.parse, text)
        return
    program = dipapprox.parse(text)
    found = list(select_pairs(program, AllPairs()))
    assert len(found) == len(set(found)) == count_selected(program, AllPairs())
    assert set(found) == expected
    assert is_symmetric(program, AllPairs()) == all((v, u) in expected for u, v in expected)


def test_adding_and_removing_one_row() -> None:
    found = dipapprox.verify(dipapprox.parse(text_of("language/adjacency_where-3")), eps=1, delta=0)
    assert found.answer is Answer.DP
    where = "row[i] = row'[i] or row[i] = none or row'[i] = none for i in 1..3"
    assert f"adjacent l0 1 where {where}" in found.scope.text
    assert found.pairs == 3 * 9 * 4


def test_one_order_only_is_said_and_checked() -> None:
    text = (
        "input q in 0..1\noutput out in 0..1\nadjacent where q' > q\n"
        "out <- choose {q : 1/2, 0 : 1/2}"
    )
    found = dipapprox.profile(dipapprox.parse(text), eps=1, eps_prv="log(2)")
    assert found.delta_enclosure.upper == 0
    assert "in this order only" in found.run.scope.text
    back = dipapprox.profile(dipapprox.parse(text.replace("q' >", "q' <")), eps=1, eps_prv="log(2)")
    assert back.delta_enclosure.lower > 0


@dipapprox.mechanism(adjacent="l0 1 where q'[i] >= q[i] for i in 1..N")
def risen(
    q: Annotated[list[dipapprox.Quantity], "[N] in 0..2"], eps: dipapprox.Weight, N: int = 2
) -> Annotated[bool, "in bool"]:
    return dipapprox.laplace(sum(q), 2 / eps) > 1


def test_python_functions_have_it_too() -> None:
    assert "where q'[i] >= q[i] for i in 1..2" in risen.text()
    found = dipapprox.verify(risen, eps=1, delta=0)
    assert found.answer is Answer.DP
    assert found.pairs == 2 * 3 * 3


# --- Surface to core ------------------------------------------------------------------------------


def test_no_program_that_comes_along_has_any() -> None:
    for path in BUNDLED.rglob("*.dpg"):
        assert unused(read_source(path, {}).program) == (), path


# --- Irrational scales: bounds that hold, answers that are widened, and refusals with a place -----

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


LAPLACE = template_of("piecewise-laplace")


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


@dipapprox.mechanism(adjacent="linf 1")
def noisy(
    q: Annotated[dipapprox.Quantity, "in 0..1"],
    eps: dipapprox.Weight,
    delta: Fraction = Fraction(1, 10**5),
) -> Annotated[dipapprox.Quantity, "in real"]:
    return dipapprox.gauss(q, dipapprox.sqrt(2 * dipapprox.log(Fraction(5, 4) / delta)) / eps)


def test_python_functions_have_irrational_scales_too() -> None:
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


# --- Expressions, and what they are ---------------------------------------------------------------

SQUARE = template_of("piecewise-vector").format(n=2, radius="3/2", scale=1)
"""Of 9 points: 12 sides and 8 diagonals of squares."""

IRRATIONAL = "input q in 0..1\noutput out in 0..1\nadjacent all\nout <- Gauss(q, sqrt(2)/eps) > 1/2"
ROUGH, OPEN = dipapprox.parse(IRRATIONAL), dipapprox.parse(GAUSS)


def adjacency(written: str) -> core.Adjacency:
    head = "input q in {-3/2, 0, 1, 3/2}\noutput out in {0, 1}\n"
    return core_of(f"{head}{written}\nout <- 0").adjacency


def test_adjacencies_scales_and_what_irrational_ones_are_not_asked() -> None:
    asked = {"Everyone": Everyone, "ACCURACY": ACCURACY, "Listed": Listed, "Norm": Norm}
    asked |= {"Within": Within, "elementary": elementary}
    check_answers("piecewise", evaluated(globals() | asked, UserError, NoValue))


def test_an_extreme_of_an_input_and_numbers_is_one_clamp() -> None:
    head = "input q in real 0..3\noutput out in {0, 1}\nadjacent linf 1\n"
    written = ("max(0, q, 1)", "max(q, 1)", "min(2, max(q, 1, 0), 5)", "min(max(1, q), 2)")
    bodies = [core_of(f"{head}r <- Lap({each}, 1/eps)\nout <- r > 1").body for each in written]
    assert bodies[0] == bodies[1] != bodies[2] == bodies[3]
