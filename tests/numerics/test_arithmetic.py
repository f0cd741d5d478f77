"""Numbers in and out, exact or rounded outwards, and threads that round otherwise."""

import ctypes
import platform
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from hypothesis import assume, example, given
from hypothesis import strategies as st

import dipapprox
from dipapprox import Answer, UserError
from dipapprox.arithmetic import rounding
from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.arithmetic.precision import exact_fraction, precision, to_ball, to_enclosure
from dipapprox.arithmetic.rounding import require_sound_arithmetic
from dipapprox.cli.app import main
from dipapprox.errors import UnsoundArithmetic
from dipapprox.events.event import Star
from dipapprox.language.formula import Formula, parse_formula, rational_value
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import GAUSSIAN
from dipapprox.numerics.elimination.engine import Eliminated
from dipapprox.numerics.formula_values import Jet, Undefined, eps_jet, evaluate
from dipapprox.numerics.methods import Tier
from dipapprox.numerics.powers import logarithm, powers
from dipapprox.pairs.divergence import Factor
from dipapprox.pairs.hockey_stick import bounds_in_doubles, positive_part
from tests.cases import check_answers, evaluated, refuses, text_of
from tests.formulas import exact, formulas, rational_formulas, rounded
from tests.numerics.one_by_one import alone

UNIT = st.just(0.0) | st.floats(rounding.FLOOR, 1) | st.integers(0, 900).map(lambda k: 2.0**-k)
ARRAYS = st.lists(UNIT, min_size=1, max_size=12).map(lambda values: np.array(values))
TINY = st.integers(1, 2**70).map(lambda n: Fraction(n, 2**1090))


@given(st.one_of(st.fractions(0, 1), TINY, UNIT.map(Fraction), TINY.map(lambda t: 1 - t)))
def test_conversion_is_outward_and_tight(value) -> None:
    low, high = rounding.below(value), rounding.above(value)
    assert 0 <= low <= high <= 1
    assert Fraction(low) <= value <= Fraction(high)
    assert all(end == 0 or end >= rounding.FLOOR for end in (low, high))
    if low >= rounding.FLOOR:
        assert high <= np.nextafter(low, np.inf)
    assert (low == high) == (Fraction(low) == value)


@given(ARRAYS, ARRAYS)
def test_products_and_sums(left, right) -> None:
    size = min(len(left), len(right))
    left, right = left[:size], right[:size]
    results = [
        (rounding.product_below(left, right), rounding.product_above(left, right)),
        (rounding.sum_below(left, right), rounding.sum_above(left, right)),
    ]
    for k, (a, b) in enumerate(zip(map(Fraction, left), map(Fraction, right), strict=True)):
        for true, (low, high) in zip((a * b, a + b), results, strict=True):
            assert Fraction(low[k]) <= true <= Fraction(high[k])
            assert all(end == 0 or end >= rounding.FLOOR for end in (low[k], high[k]))
            if true >= 2 * Fraction(rounding.FLOOR):
                assert high[k] <= np.nextafter(np.nextafter(low[k], np.inf), np.inf)
        if a in (0, 1) or b in (0, 1):
            assert results[0][0][k] == results[0][1][k] == a * b
        if a == 0 or b == 0:
            assert results[1][0][k] == results[1][1][k] == a + b


@given(st.lists(st.integers(0, 10**6), min_size=2, max_size=8).filter(any), st.data())
def test_tightening_keeps_the_truth_and_never_widens(weights, data) -> None:
    total = sum(weights)
    truth = [Fraction(weight, total) for weight in weights]
    slack = st.sampled_from([Fraction(0), Fraction(1, 2**60), Fraction(1, 10), Fraction(1)])
    lower = np.array([rounding.below(max(p - data.draw(slack), Fraction(0))) for p in truth])
    upper = np.array([rounding.above(min(p + data.draw(slack), Fraction(1))) for p in truth])
    assert not rounding.contradicts_one(lower, upper)
    low, high = rounding.tightened(lower, upper)
    assert (low >= lower).all() and (high <= upper).all()
    for p, a, b in zip(truth, low, high, strict=True):
        assert Fraction(float(a)) <= p <= Fraction(float(b))


NUMBERS = st.fractions() | st.builds(
    lambda digits, power: digits * Fraction(10) ** power,
    st.fractions(max_denominator=10**6),
    st.integers(-400, 400),
)


@given(NUMBERS, NUMBERS, st.integers(0, 12), st.sampled_from("efg"))
def test_what_is_written_contains_the_enclosure_and_is_as_narrow_as_its_digits(
    first, second, places, kind
) -> None:
    enclosure = Enclosure(min(first, second), max(first, second))
    low, high = (Fraction(end) for end in f"{enclosure:.{places}{kind}}".strip("[]").split(", "))
    assert low <= enclosure.lower
    assert enclosure.upper <= high
    for written, true in ((low, enclosure.lower), (high, enclosure.upper)):
        digits = places if kind == "e" else max(places, 1) - 1
        unit = Fraction(1, 10**places) if kind == "f" else abs(true) / 10**digits
        assert abs(written - true) <= unit


def test_immense_exponents_stay_small_and_sound() -> None:
    with precision(64):
        tiny = to_enclosure(arb(-(10**12)).exp())
        negative = to_enclosure(-(arb(-(10**12)).exp()))
        assert isinstance(to_enclosure(arb(10**12).exp()), NotEnclosed)
        refuses(OverflowError, None, exact_fraction, arb(-(10**12)).exp().mid())
    assert tiny.lower <= 0 < tiny.upper < Fraction(1, 2**60000)
    assert negative.lower < 0 <= negative.upper


def test_logarithms_near_one_keep_their_digits() -> None:
    tiny = Fraction(1, 10**60)
    found = logarithm(1 + tiny, 50)
    assert tiny - tiny**2 / 2 in found
    assert found.width < tiny / 2**45
    assert logarithm(Fraction(1), 50).width == 0
    refuses(ValueError, "needs a number > 0", logarithm, Fraction(0), 50)


# --- Values and derivatives of formulas -----------------------------------------------------------

BITS = 120
points = st.fractions(Fraction(1, 20), Fraction(5), max_denominator=50)


def at(formula: Formula, low: Fraction, high: Fraction | None = None) -> Jet:
    return evaluate(formula, {"eps": eps_jet(low, low if high is None else high)}, BITS)


def parse(text: str) -> Formula:
    return parse_formula(text, "--delta", ("eps",))


@given(rational_formulas, points)
@example("1 / 0", Fraction(1))
def test_rational_formulas_are_exact_at_points(text, eps) -> None:
    expected, formula = exact(text, eps=eps), parse(text)
    assert rational_value(formula, {"eps": eps}) == expected
    if expected is None:
        with pytest.raises(Undefined) as caught:
            at(formula, eps)
        assert caught.value.certain
    else:
        assert at(formula, eps).value == Enclosure.exact(expected)


@given(formulas, points, points, st.fractions(0, 1, max_denominator=16))
def test_intervals_contain_the_values_at_their_points(text, first, second, place) -> None:
    low, high, formula = min(first, second), max(first, second), parse(text)
    try:
        jet = at(formula, low, high)
    except Undefined:
        assume(False)
    inside = low + place * (high - low)
    found = at(formula, inside)
    assert found.value.meets(jet.value)
    assert jet.value.lower <= found.value.upper
    true = rounded(text, eps=inside)
    if true is not None:
        error = abs(true) / 10**40
        assert found.value.lower - error <= true <= found.value.upper + error
        assert found.value.width <= abs(true) / 2**40
    if found.value.width == 0:
        assert found.value.lower in jet.value
    if jet.slopes is None or low == high:
        return
    # Taylor's theorem from `low`, with the second derivative anywhere in its enclosure.
    step = inside - low
    start = at(formula, low)
    for derivative in (0, 1):
        assert start.slopes[derivative].meets(jet.slopes[derivative])
    corners = [
        value + step * slope + step * step / 2 * bend
        for value in (start.value.lower, start.value.upper)
        for slope in (start.slopes[0].lower, start.slopes[0].upper)
        for bend in (jet.slopes[1].lower, jet.slopes[1].upper)
    ]
    assert found.value.meets(Enclosure(min(corners), max(corners)))


THIRD, NOTHING = Enclosure(Fraction(1, 3), Fraction(2, 3)), Enclosure.exact(0)


def undefined(text: str, low: int | Fraction, high: int | Fraction | None = None) -> str:
    """Whether a formula certainly has no value between two numbers."""
    try:
        at(parse(text), Fraction(low), None if high is None else Fraction(high))
    except Undefined as error:
        return f"{'certainly' if error.certain else 'perhaps'}, at {error.span.start}: {error}"
    return "defined"


def test_what_is_written_converted_and_undefined() -> None:
    """Exact numbers alone become balls; huge values are refused at once."""
    asked = globals() | {"arb": arb, "to_ball": to_ball}
    check_answers("arithmetic", evaluated(asked, ValueError, TypeError))


# --- Threads that round otherwise, or flush subnormal numbers: refused, and yet harmless ----------

SOURCE = """
#include <xmmintrin.h>
unsigned get(void) { return _mm_getcsr(); }
void set(unsigned modes) { _mm_setcsr(modes); }
"""

FLUSHED = 0x8000  # results that would be subnormal become 0
UNREAD = 0x0040  # operands that are subnormal count as 0
DOWN, UP, TOWARDS_ZERO = 0x2000, 0x4000, 0x6000
MODES = {
    "flush to zero": FLUSHED,
    "denormals are zero": UNREAD,
    "both": FLUSHED | UNREAD,
    "down": DOWN,
    "up": UP,
    "towards zero": TOWARDS_ZERO,
}

BOTH_ABOVE = text_of("numerics/arithmetic-both_above")
"""Not private at any budget without delta; and the probability that `out` is 1 is subnormal."""


def pure(program: dipapprox.Program) -> dipapprox.Verdict:
    return dipapprox.verify(program, eps=1, delta=0)


@pytest.fixture(scope="session")
def control(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The processor's control register of the calling thread."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("setting the processor's modes takes a C compiler and an x86 processor")
    folder = tmp_path_factory.mktemp("modes")
    (folder / "modes.c").write_text(SOURCE, encoding="utf-8")
    library = folder / "modes.so"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-o", library, folder / "modes.c"], check=True, timeout=60
    )
    found = ctypes.CDLL(str(library))
    found.get.restype = ctypes.c_uint
    found.set.argtypes = [ctypes.c_uint]
    return found


@contextmanager
def modes(control: ctypes.CDLL, bits: int) -> Iterator[None]:
    before = control.get()
    control.set(before | bits)
    try:
        yield
    finally:
        control.set(before)


@pytest.mark.parametrize("bits", MODES.values(), ids=MODES)
def test_unsound_arithmetic_is_noticed(control, bits) -> None:
    require_sound_arithmetic()
    with modes(control, bits), pytest.raises(UnsoundArithmetic):
        require_sound_arithmetic()
    require_sound_arithmetic()


def test_a_mode_that_changes_during_a_run_is_noticed(control) -> None:
    before = control.get()
    try:
        with pytest.raises(UnsoundArithmetic), rounding.sound_arithmetic():
            control.set(before | FLUSHED)
    finally:
        control.set(before)


RUNS = {
    "verify": pure,
    "verify_interval": lambda p: dipapprox.verify(p, eps=(1, 2), delta=0),
    "decide": dipapprox.decide,
    "probabilities": lambda p: dipapprox.probability(p, eps=1, input=[0]),
    "profile": lambda p: dipapprox.profile(p, eps=1, eps_prv=Fraction(1)),
    "calibrate": lambda p: dipapprox.calibrate(p, eps_prv=1, delta=Fraction(1, 100)),
    "pair_distributions": lambda p: dipapprox.pair_distributions(p, eps=1, input=[0], adjacent=[1]),
}


@pytest.mark.parametrize("bits", [FLUSHED | UNREAD, DOWN], ids=["flushed", "down"])
def test_every_run_is_refused(control, bits) -> None:
    program = dipapprox.parse(BOTH_ABOVE)
    verdict = dipapprox.verify(program, eps=1, delta="9/10")
    certificate = dipapprox.certify(program, BOTH_ABOVE, verdict)
    with modes(control, bits):  # the kernel has no floating-point numbers
        assert dipapprox.check(certificate.to_json()).outcome is dipapprox.Outcome.CONFIRMED
    for name, run in RUNS.items():
        with modes(control, bits), pytest.raises(UserError, match="this thread"):
            run(program)
            pytest.fail(name)


def test_the_command_says_why(control, tmp_path, capsys) -> None:
    file = tmp_path / "both.dpg"
    file.write_text(BOTH_ABOVE, encoding="utf-8")
    words = ["verify", str(file), "--eps", "1", "--delta", "0"]
    with modes(control, FLUSHED):
        assert main(words) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("error: this thread takes subnormal doubles for 0\nhint: ")
    assert main(words) == 1


# --- without the guard ---------------------------------------------------------------------------

FLUSHING = [FLUSHED, UNREAD, FLUSHED | UNREAD]


def test_flushed_subnormals_prove_nothing(control, monkeypatch) -> None:
    program = dipapprox.parse(BOTH_ABOVE)
    assert pure(program).answer is Answer.NOT_DP
    monkeypatch.setattr(rounding, "require_sound_arithmetic", lambda: None)
    for bits in FLUSHING[2:]:
        with modes(control, bits):
            assert pure(program).answer is Answer.NOT_DP
    with modes(control, FLUSHED | UNREAD):
        two = dipapprox.parse(BOTH_ABOVE.replace("{0..12}", "{11, 12}"))
        found = dipapprox.verify(two, eps=(1, Fraction(9, 8)), delta=0, eps_prv=Fraction(1, 8))
    assert found.answer is Answer.NOT_DP


DOUBLES = np.array(
    [0.0, 1.0, 0.75, rounding.FLOOR, 3 * rounding.FLOOR]
    + [2.0**-k * m for k in (1, 52, 300, 449, 450, 451, 511, 512, 537, 600, 890) for m in (1, 1.75)]
)


@pytest.mark.parametrize("bits", FLUSHING)
def test_bounds_are_bounds_where_subnormals_are_flushed(control, bits) -> None:
    left, right = (each.ravel() for each in np.meshgrid(DOUBLES, DOUBLES))
    least, most = Fraction(1, 2**700), Fraction(1, 2**699)
    tiny = [Fraction(n, 2**k) for n in (0, 1, 3) for k in (899, 901, 1022, 1030, 1074, 1100, 5000)]
    with modes(control, bits):
        found = {
            "product": (rounding.product_below(left, right), rounding.product_above(left, right)),
            "sum": (rounding.sum_below(left, right), rounding.sum_above(left, right)),
        }
        bounds = bounds_in_doubles(left, left, Factor(least, most))
        high = positive_part(bounds.upper - bounds.low_scaled[::-1])
        low = positive_part(bounds.lower - bounds.high_scaled[::-1])
        conversions = [(rounding.below(each), rounding.above(each)) for each in tiny]
        tightened = rounding.tightened(np.array([1.0, 0.0]), np.array([1.0, 0.5]))
        power = powers(left, left, Fraction(3))
    pairs = list(zip(map(Fraction, left.tolist()), map(Fraction, right.tolist()), strict=True))
    exact = {"product": [a * b for a, b in pairs], "sum": [a + b for a, b in pairs]}
    for name, ends in found.items():
        assert contains(*ends, exact[name]), name
    firsts = [a for a, _ in pairs]
    nothing, everything = np.zeros(len(firsts)), np.full(len(firsts), np.inf)
    assert contains(bounds.low_scaled, everything, [least * a for a in firsts])
    assert contains(nothing, bounds.high_scaled, [most * a for a in firsts])
    differences = list(zip(firsts, reversed(firsts), strict=True))
    slack = 1 + 2.0**-50
    assert contains(nothing, high * slack, [a - least * b for a, b in differences])
    certain = [max(a - most * b, Fraction(0)) for a, b in differences]
    assert contains(low / slack, everything, certain)
    assert contains(*zip(*conversions, strict=True), tiny)
    assert contains(*power, [a**3 for a in firsts])
    assert (tightened[0] <= [1, 0]).all() and (tightened[1] >= [1, 2.0**-1074]).all()


def contains(low: Iterable[float], high: Iterable[float], exact: Iterable[Fraction]) -> bool:
    return all(
        (a == 0 or Fraction(float(a)) <= x) and (b == np.inf or x <= Fraction(float(b)))
        for a, b, x in zip(low, high, exact, strict=True)
    )


@pytest.mark.parametrize("bits", FLUSHING[2:])
def test_engines_enclose_where_subnormals_are_flushed(control, bits) -> None:
    """Probabilities of all sizes, from doubles, against those of balls."""
    near = Distribution(GAUSSIAN, Fraction(0), Fraction(1))
    for distance in (1, 20, 37, 60):
        far = Distribution(GAUSSIAN, Fraction(distance), Fraction(1))
        star = Star(far, ((near, 30), (far, 1)), ((far, 2),))
        with modes(control, bits):
            found = Eliminated(Tier.FLOAT64).enclose([star] * 20, 40)
            low, high = found.lower.tolist(), found.upper.tolist()
            one = alone(Eliminated(Tier.FLOAT64), star, 40)
        truth = alone(Eliminated(Tier.BALLS), star, 120)
        assert all(Fraction(end) <= truth.upper for end in low)
        assert all(truth.lower <= Fraction(end) for end in high)
        assert one.lower <= truth.upper and truth.lower <= one.upper
