"""Signs of exponential functions, and laws of their algebra: at points, between zeros, suprema."""

from fractions import Fraction
from itertools import pairwise
from typing import TypeVar

import pytest
from flint import arb, fmpq
from hypothesis import assume, given
from hypothesis import strategies as st

from dipapprox import Answer, Claim, Enclosure, LimitReached, Limits, NotEnclosed, Options
from dipapprox.arithmetic.enclosure import simplest
from dipapprox.arithmetic.precision import precision, to_ball
from dipapprox.errors import BrokenInvariant
from dipapprox.events.event import Event
from dipapprox.exact.laplace import algebra as pieces
from dipapprox.exact.laplace import polyhedra
from dipapprox.exact.laplace.algebra import ExactAlgebra, Units
from dipapprox.exact.methods import LaplaceForms
from dipapprox.exact.signs.interval import ALL_EPSILONS, EpsilonInterval, split_point
from dipapprox.exact.signs.nonnegative import (
    Negative,
    Nonnegative,
    Undecided,
    is_nonnegative,
    positive_on,
)
from dipapprox.exact.signs.normal_form import NormalForm, normal_form, reduce_function
from dipapprox.exact.signs.supremum import Infinity, derivative, enclose_supremum, limit_at_infinity
from dipapprox.exact.signs.values import Evaluator, compare_at, enclose_at, sign_at
from dipapprox.exact.signs.zeros import (
    BoxesUsedUp,
    Cover,
    SignBox,
    SignChart,
    cover,
    near_zero,
    refine,
    zeros,
)
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio
from dipapprox.language.elaborate import elaborate
from dipapprox.language.parser import parse
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import EXPONENTIAL, GAUSSIAN, LAPLACE, REFLECTED_EXPONENTIAL
from dipapprox.limits import limited
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.algebras.balls import BallAlgebra
from dipapprox.numerics.algebras.grid import build_grid
from dipapprox.numerics.algebras.piecewise import FunctionAlgebra, Piecewise
from dipapprox.numerics.methods import InOrder, Method, TriedMethod, has_density, is_laplace_type
from dipapprox.pairs.selections import AllPairs
from dipapprox.privacy.run import Setting
from dipapprox.privacy.verifier import verify
from exact.sign_functions import (
    EPS,
    OMEGA,
    ONE,
    coarse_functions,
    constant,
    exp,
    functions,
    product,
    small_fractions,
)
from tests.cases import cases, check_answers, evaluated, part, refuses, text_of
from tests.event_strategies import laplace
from tests.numerics.one_by_one import Recording, alone, integral, whole


@given(functions, functions, st.fractions(Fraction(1, 50), Fraction(20), max_denominator=50))
def test_signs_are_those_of_a_ring(left, right, eps) -> None:
    sign_left, sign_right = sign_at(left, eps), sign_at(right, eps)
    assert sign_at(left * right, eps) == sign_left * sign_right
    assert compare_at(left, right, eps) == -compare_at(right, left, eps)
    assert compare_at(left, left, eps) == 0
    if right.as_constant() is None and sign_right:
        ratio = ExponentialRatio.of(left, {right: 1})
        assert sign_at(ratio, eps) == sign_left * sign_right
        assert compare_at(ratio, ratio, eps) == 0


def test_tiny_values_keep_their_digits() -> None:
    # e^-1000 (1 - e^-1): 1000 / ln 10 = 434.29 decimal places.
    tiny = enclose_at(exp(-1000) - exp(-1001), Fraction(1), 64)
    assert 0 < tiny.lower < tiny.upper < Fraction(1, 10**434)
    scaled = enclose_at(ONE - exp(-1), Fraction(1), 64)
    unit = enclose_at(exp(-1000), Fraction(1), 64)
    assert tiny.meets(Enclosure(scaled.lower * unit.lower, scaled.upper * unit.upper))


def test_reasons_can_name_any_epsilon() -> None:
    for eps in (Fraction(10**400), Fraction(1, 10**400)):
        hidden = exp(Fraction(1, 2**300_000)) - ONE
        refuses(LimitReached, "precision-budget", sign_at, hidden, eps)


F = Fraction


def check_signs(function: ExponentialPolynomial, chart: SignChart) -> None:
    """Compare every sign with exact signs at points of its gap."""
    starts = (chart.interval.lower, *(zero.upper for zero in chart.zeros))
    ends = (*(zero.lower for zero in chart.zeros), chart.interval.upper)
    gaps = zip(starts, ends, chart.signs, strict=True)
    for (lower, upper, sign), place in zip(gaps, range(100), strict=False):
        zero_left = chart.zeros[place - 1] if place else None
        if upper is not None and lower >= upper:
            # Touching boxes: their common end is no zero.
            if zero_left is not None and not zero_left.is_exact:
                assert sign_at(function, lower) == sign
            continue
        points = [simplest(lower, upper, inside=True)]
        points.append(simplest(lower, points[0], inside=True))
        points.append(simplest(points[0], upper, inside=True))
        assert {sign_at(function, point) for point in points} == {sign}


@cases("lower, upper", ("1e-300", "1e-9"), ("1", "1e6"), ("5/7", "6/7"))
def test_intervals_are_split_at_short_binary_fractions(lower, upper) -> None:
    middle = split_point(F(lower), F(upper))
    assert F(lower) < middle < F(upper)
    assert middle.denominator & (middle.denominator - 1) == 0


def test_what_is_beyond_reach_is_said(monkeypatch) -> None:
    double = (exp(F(1, 2)) - constant(2)) ** 2
    monkeypatch.setattr("dipapprox.exact.signs.zeros._WORK_BUDGET", 1)
    refuses(LimitReached, "degree-budget", zeros, double, ALL_EPSILONS)


Known = Fraction | tuple[Fraction, Fraction]
"""A factor: ε - root, or e^(rate ε) - level given as (rate, level)."""

rates = st.sampled_from([F(1, 3), F(1, 2), F(1), F(3, 2), F(2)])
some: st.SearchStrategy[Known] = small_fractions | st.tuples(rates, small_fractions)
known = st.lists(st.tuples(some, st.integers(1, 3)), min_size=1, max_size=3)


@given(known, st.sampled_from([ONE, exp(F(1, 3)) + EPS, exp(-2) + ONE]))
def test_products_of_known_factors(factors, positive) -> None:
    expected: dict[Fraction | str, int] = {}  # a root, or its decimals
    pieces: list[ExponentialPolynomial] = [positive]
    for factor, power in factors:
        key: Fraction | str
        if isinstance(factor, Fraction):
            pieces += [EPS - constant(factor)] * power
            key = factor
        else:
            rate, level = factor
            pieces += [exp(rate) - constant(level)] * power
            if level <= 1:
                continue
            with precision(400):
                key = str((to_ball(level).log() / to_ball(rate)).str(60, radius=False))
        expected[key] = expected.get(key, 0) + power
    function = product(pieces)
    chart = zeros(function, ALL_EPSILONS)
    found = sorted(zero.multiplicity for zero in chart.zeros)
    assert found == sorted(expected.values())
    for zero in chart.zeros:
        with precision(400):
            places = [
                place
                for place in expected
                if (to_ball(place) if isinstance(place, Fraction) else arb(place))
                in to_ball(zero.lower).union(to_ball(zero.upper))
            ]
        assert len(places) == 1
    check_signs(function, chart)


@given(functions, st.booleans())
def test_signs_of_any_function(function, bounded) -> None:
    interval = EpsilonInterval(F(1, 3), F(7, 2), True, True) if bounded else ALL_EPSILONS
    chart = zeros(function, interval)
    assert len(chart.signs) == len(chart.zeros) + 1
    check_signs(function, chart)
    for zero in chart.zeros:
        fine = refine(zero, F(1, 10**15))
        assert zero.lower <= fine.lower <= fine.upper <= zero.upper
        if zero.is_exact:
            assert sign_at(function, zero.lower) == 0
        else:
            before, after = (sign_at(function, end) for end in (fine.lower, fine.upper))
            assert before * after == (-1) ** zero.multiplicity


def inside(lower: Fraction, upper: Fraction) -> list[Fraction]:
    """Seven points of a closed range."""
    return [lower + (upper - lower) * k / 6 for k in range(7)]


def check_cover(form: NormalForm, boxes: Cover, interval: EpsilonInterval) -> None:
    """Compare every sign, and every change, with exact signs at points."""
    function = form.function()
    slope = derivative(function)
    place: Fraction | None = interval.lower
    for box in boxes:
        assert box.lower == place
        place = box.upper
        if box.upper is None:
            check_far_away(function, box)
            continue
        points = inside(box.lower, box.upper)[not box.lower :]
        signs = [sign_at(function, point) for point in points]
        assert signs[0] == box.sign != 0
        assert sum(a != b for a, b in pairwise(signs)) == box.crosses
        if box.crosses:
            slopes = {sign_at(slope, point) for point in points}
            assert len(slopes) == 1
            assert 0 not in slopes
    assert place == interval.upper


def test_signs_near_zero() -> None:
    for function, sign in ((EPS - EPS * EPS, 1), (ONE - exp(1) + EPS, -1), (OMEGA, -1)):
        upper, found = near_zero(Evaluator(normal_form(function)), F(2))
        assert found == sign
        assert {sign_at(function, upper / 10**k) for k in range(9)} == {sign}


def check_far_away(function: ExponentialPolynomial, box: SignBox) -> None:
    """The terms against the leading one are smaller at the bound, and fall from there on."""
    (leading_n, _), leading = max(function.terms, key=lambda term: (term[0][1], term[0][0]))
    assert leading * box.sign > 0
    against = [((n, q), c) for (n, q), c in function.terms if c * box.sign < 0]
    assert all((n - leading_n) <= -q * box.lower for (n, q), _ in against)
    total = F(0)
    for (n, q), c in against:
        value = enclose_at(exp(q), box.lower, 60)
        total += value.upper * abs(c) * box.lower ** (n - leading_n)
    assert total < abs(leading)


@given(functions)
def test_covers_of_any_function(function) -> None:
    assume(function)
    _, form = reduce_function(function)
    for interval in (ALL_EPSILONS, EpsilonInterval(F(1, 7), F(5)), EpsilonInterval(F(3), None)):
        try:
            boxes = cover(form, interval, 500)
        except BoxesUsedUp:
            continue  # a double zero
        check_cover(form, boxes, interval)


TRUE = {
    "zero function": constant(0),
    "spec: touching zero": OMEGA**2,
    "spec: e^x - 1 - x": exp(1) - ONE - EPS,
    "e^x - 1 - x - x²/2": exp(1) - ONE - EPS - (EPS * EPS).scaled(F(1, 2)),
    "double rational zero": (EPS - constant(F(1, 3))) ** 2 * (exp(1) + ONE),
    "two double zeros": (EPS * EPS - constant(2)) ** 2 * (exp(1) - constant(5)) ** 4,
    "nearly a double zero": OMEGA**2 + constant(F(1, 10**30)),
    "nearly a double zero, decaying": OMEGA**2 * exp(-2) + exp(-3).scaled(F(1, 10**20)),
    "x e^-x <= 1": ONE - EPS * exp(-1),
    "large denominators": exp(F(12345, 10007)) * (ONE - exp(F(-1, 8))) - EPS.scaled(F(1, 8)),
}

FALSE = {
    "spec: triple zero": OMEGA**3,
    "spec: e^x - 1 - x - x²": exp(1) - ONE - EPS - EPS * EPS,
    "negative constant": constant(F(-1, 10**50)),
    "nearly a double zero": OMEGA**2 - constant(F(1, 10**30)),
    "negative below 1e-9": exp(1) - constant(1 + F(1, 10**9)),
    "negative beyond 1e6": constant(10**6) - EPS,
    "negative far away": exp(F(-1, 10**6)) - constant(F(1, 3)),
    "a millionth wide, around 1": (EPS - ONE) ** 2 * exp(2) - exp(1).scaled(F(1, 4 * 10**12)),
    "a millionth wide, around W(1)": OMEGA**2 * exp(-2) - constant(F(1, 10**13)),
    "a rational pair": (EPS - constant(F("0.7777777"))) * (EPS - constant(F("0.7777778"))),
}


@pytest.mark.parametrize("name", TRUE)
def test_nonnegative(name) -> None:
    answer = is_nonnegative(TRUE[name], ALL_EPSILONS)
    assert isinstance(answer, Nonnegative)


@pytest.mark.parametrize("name", FALSE)
def test_negative(name) -> None:
    answer = is_nonnegative(FALSE[name], ALL_EPSILONS)
    assert sign_at(FALSE[name], answer.eps) == -1


def test_out_of_time_is_undecided_with_the_reason() -> None:
    square = OMEGA**2
    with limited(Limits(seconds=0)):
        late = is_nonnegative(square, ALL_EPSILONS)
    assert late.reason.startswith("time limit")


@pytest.mark.parametrize("name", [*TRUE, *FALSE])
@pytest.mark.parametrize(("bits", "boxes"), part([(64, 3), (128, 10), (64, 40), (256, 160)], 2))
def test_more_effort_never_changes_an_answer(name, bits, boxes, monkeypatch) -> None:
    function = {**TRUE, **FALSE}[name]
    full = is_nonnegative(function, ALL_EPSILONS)
    monkeypatch.setattr("dipapprox.exact.signs.values.MOST_BITS", bits)
    monkeypatch.setattr("dipapprox.exact.signs.zeros._FIRST_BOXES", boxes)
    monkeypatch.setattr("dipapprox.exact.signs.zeros._MOST_BOXES", boxes)
    less = is_nonnegative(function, ALL_EPSILONS)
    assert isinstance(less, type(full) | Undecided)


TINY = F(1, 10**20)


@given(coarse_functions)
def test_the_supremum_is_a_bound_and_is_reached(function) -> None:
    decaying = function * exp(-3)
    width = F(1, 10**9)
    found = enclose_supremum(decaying, ALL_EPSILONS, width)
    if isinstance(found, NotEnclosed):
        assert limit_at_infinity(decaying) is Infinity.PLUS
        return
    assert found.value.width <= width
    above = constant(found.value.upper) - decaying
    assert isinstance(is_nonnegative(above, ALL_EPSILONS), Nonnegative)
    below = constant(found.value.lower - width) - decaying
    assert isinstance(is_nonnegative(below, ALL_EPSILONS), Negative)


# --- Laws of the exact function algebra; exact integration before quadrature, within bounds -------

Function = TypeVar("Function")
Value = TypeVar("Value")
Q = Fraction
FAMILIES = (LAPLACE, EXPONENTIAL, REFLECTED_EXPONENTIAL)
LAWS = tuple(
    Distribution(family, mean, scale)
    for family in FAMILIES
    for mean in (Q(0), Q(1), Q(-1, 2))
    for scale in (Q(1), Q(2, 3), Q(1001, 1000))
)
HALF = ExponentialPolynomial.constant(Q(1, 2))
POINTS = (Q(-1), Q(0), Q(1, 3), Q(2))
ALGEBRA = ExactAlgebra(Units.of(LAWS, POINTS))
laws = st.sampled_from(LAWS)


@given(chosen=st.lists(laws, min_size=2, max_size=4), point=st.sampled_from(POINTS))
def test_integrals_agree_with_balls(chosen, point) -> None:
    """Two levels: ∫ f_1 F_3 F_4 over (point, ∞) of ∫ f_2 up to there, at ε' = 1."""
    grid = build_grid(sorted(set(chosen), key=repr), [point], 80)
    balls = BallAlgebra(grid, 128, 50)

    inside = point if grid.boundaries[0] < point < grid.boundaries[-1] else None

    def factors(algebra: FunctionAlgebra[Function, Value]) -> list[Function]:
        inner = integral(algebra, algebra.density(chosen[1]))
        others = [algebra.survival(law) for law in chosen[2:]]
        return [algebra.restrict(algebra.density(chosen[0]), inside, None), inner, *others]

    (exact,) = ALGEBRA.product_totals([factors(ALGEBRA)])
    (found,) = balls.product_totals([factors(balls)])
    value = enclose_at(exact, Q(1), 120)
    assert isinstance(value, Enclosure)
    lost = sum((grid.spans[law].lost for law in chosen), Q(0))
    assert Enclosure(found.lower, found.upper + lost).meets(value)
    assert found.width < Q(1, 2**60)


UNITS, THIRD = ExactAlgebra(Units(2, 3)), Distribution(LAPLACE, Q(1, 3), Q(2))
POLE, BELOW = ExponentialRatio.of(ONE, {EPS - ONE: 1}), ONE - exp(F(-1, 2))
LINE, RATIO = EPS - ONE, ExponentialRatio.of(ONE + EPS, {ONE - EPS: 1})
"""Beyond 1 the ratio is negative."""
BOSE, TANH, WITCH = (
    ExponentialRatio.of(above, {below: 1})
    for above, below in (
        *((EPS, exp(1) - ONE), (ONE - exp(-1), ONE + exp(-1)), (EPS, ONE + EPS * EPS)),
    )
)
"""x / (e^x - 1) -> 1 at 0, tanh(x / 2) -> 1 at infinity, x / (1 + x²) has its maximum 1/2 at 1."""
HALF_OPEN = EpsilonInterval(F(1), F(2), True, False)
PART, POINT = (EpsilonInterval(F(low), F(high), True, True) for low, high in ((1.75, 2), (1, 1)))


def test_signs_suprema_and_what_is_refused() -> None:
    asked = {"whole": whole, "positive_on": positive_on, "pieces": pieces, "fmpq": fmpq}
    asked |= {"Piecewise": Piecewise, "GAUSSIAN": GAUSSIAN}
    refusals = ZeroDivisionError, ValueError, BrokenInvariant, BoxesUsedUp
    check_answers("signs", evaluated(globals() | asked, *refusals))


ONE_HALF = Enclosure.exact(Fraction(1, 2))


def sum_below(*laws: Distribution, bound: Fraction = Fraction(1)) -> Event:
    """The sum of all samples is at most `bound`."""
    terms = dict.fromkeys(range(len(laws)), Fraction(1))
    return Event(laws, (LinearForm.of(terms, -bound),))


THREE = sum_below(laplace(0), laplace(0, 2), laplace(0, 3))


def before(engine: Method) -> InOrder:
    steps = [
        TriedMethod(lambda: LaplaceForms(sums_only=False), is_laplace_type),
        TriedMethod(lambda: engine, has_density),
    ]
    return InOrder(steps, engine.name)


def test_too_much_work_goes_to_the_engine_and_is_not_begun_again(monkeypatch) -> None:
    begun = []
    integrate = polyhedra.integrate

    def counted(event: Event) -> ExponentialPolynomial | NotEnclosed:
        begun.append(event)
        return integrate(event)

    monkeypatch.setattr(polyhedra, "integrate", counted)
    engine = Recording(ONE_HALF)
    method = before(engine)
    larger = sum_below(*(laplace(0, k) for k in range(1, 5)))
    for event in (THREE, THREE, larger):
        with limited(Limits(pieces=5)):
            assert alone(method, event, 40) == ONE_HALF
    assert engine.asked == [THREE, THREE, larger]
    assert begun == [THREE]


@cases(
    "event, what",
    # Equal rates: the polynomials double with every sample.
    (sum_below(*(laplace(0) for _ in range(24))), "10000 terms"),
    # Every guard may be the one that counts.
    (
        Event(
            tuple(laplace(0) for _ in range(5)),
            tuple(
                LinearForm.of(
                    {j: Fraction((k * (j + 2) + j) % 7 - 3) for j in range(5)}, Fraction(-k)
                )
                for k in range(3, 12)
            ),
        ),
        "200 pieces",
    ),
)
def test_the_work_is_bounded_by_counting(event, what) -> None:
    with limited(Limits(pieces=200)):
        found = polyhedra.integrate(event)
    assert found.reason.startswith("integration-budget:")
    assert found.reason.endswith(f"split into more than {what}")


def test_a_program_that_adds_three_samples_needs_no_quadrature() -> None:
    program = elaborate(parse(text_of("exact/bounded_integration-1")), {}, "prefix")
    verdict = verify(Setting(program, AllPairs(), Options()), Claim(Fraction(1), Fraction(1, 100)))
    assert verdict.answer is Answer.DP
    assert verdict.engine == "exact"
