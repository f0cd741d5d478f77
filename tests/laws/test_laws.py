"""Families own all that is known of them, and the numbers of logistic and Gumbel laws."""

import ast
import copy
import pickle
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise, product
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from flint import arb

import dipapprox
from dipapprox.arithmetic.precision import precision, to_ball
from dipapprox.composition.shifted_noise import published_noise
from dipapprox.events.event import Event, Marginal, Part
from dipapprox.kernel.laws import FAMILIES as KERNELS
from dipapprox.laws import distribution, families
from dipapprox.laws.discrete import DISCRETE_GAUSSIAN, DISCRETE_LAPLACE
from dipapprox.laws.distribution import Distribution, Scale, exponential_sides
from dipapprox.laws.families import FAMILIES, GUMBEL, LOGISTIC
from dipapprox.laws.family import BOTH_SIDES, Family, IntegerFamily, RealFamily
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.algebras import grid
from dipapprox.numerics.closed_form import has_closed_form
from dipapprox.numerics.integers import forests
from dipapprox.numerics.methods import is_gaussian
from dipapprox.pairs.boxes import movement
from dipapprox.privacy.intervals import derivative_bounds
from dipapprox.proofs import cones
from dipapprox.semantics.real_inputs import NotReal
from tests.cases import refuses, text_of
from tests.event_strategies import REAL_FAMILIES
from tests.test_architecture import FILES, PACKAGE

ONE = Fraction(1)
each = pytest.mark.parametrize("family", FAMILIES.values(), ids=repr)
each_real = pytest.mark.parametrize("family", REAL_FAMILIES, ids=repr)


class _Seventh:
    """A family that nobody knows: it has a name, and says what it is not."""

    name = title = constant = "Cauchy"
    is_discrete = is_normal = is_exponential = False
    sides = BOTH_SIDES


MADE_UP = cast("Family", _Seventh())
LAW = Distribution(MADE_UP, Fraction(0), ONE)
SAMPLE: Any = SimpleNamespace(
    family=MADE_UP,
    scale=Scale(ONE, -1),
    mean=LinearForm.constant_form(0),
    label="x",
    line=1,
    site=0,
)

PLACES: dict[str, Callable[[], object]] = {
    "what a shift costs": lambda: cones._source(SAMPLE, {}),
    "masses": lambda: forests.law_masses(LAW, 2),
    "far away": lambda: movement._far(MADE_UP),
    "cutoffs": lambda: distribution.cutoff_interval(LAW, 40),
    "widths of panels": lambda: grid._shape(LAW, 40, 1),
    "widths of lattices": lambda: grid._widest(LAW),
    "densities": lambda: LAW.real,
    "closed forms": lambda: exponential_sides(LAW),
    "rates of change": lambda: derivative_bounds._scaling([(0, SAMPLE)]),
    "shifts of means": lambda: derivative_bounds._shift([(MADE_UP, ONE)]),
    "mirror images": lambda: LAW.affine(Fraction(-1), Fraction(0)),
}


@pytest.mark.parametrize("place", PLACES)
def test_an_unknown_family_is_refused(place) -> None:
    refuses((AttributeError, ValueError, movement.OutOfReach), None, PLACES[place])


def test_no_closed_form_is_taken_for_one_of_an_unknown_family() -> None:
    event = Event((LAW,), (LinearForm.symbol(0),))
    assert not has_closed_form(event)
    assert not is_gaussian(event)
    assert published_noise((Part((), (Marginal(event, LinearForm.symbol(0)),)),)) is None


@each
def test_a_family_says_all_that_is_asked(family) -> None:
    """Nothing has a default that says what a family is not."""
    kind = RealFamily if isinstance(family, RealFamily) else IntegerFamily
    assert isinstance(family, kind)
    stated = {name for base in (Family, kind) for name in base.__annotations__}
    for name in stated - {"name"}:
        assert hasattr(family, name), name
    assert FAMILIES[family.name] is family
    assert getattr(families, family.constant) is family
    assert (family.name in families.INTEGERS) == family.is_discrete


@each
def test_a_family_is_one_object(family) -> None:
    assert pickle.loads(pickle.dumps(family)) is family
    assert copy.deepcopy(family) is family


@each
def test_mirror_images(family) -> None:
    mirror = family.mirror
    assert mirror.mirror is family
    assert sorted(-side for side in mirror.sides) == list(family.sides)
    assert sorted(-side for side in mirror.shifts) == list(family.shifts)
    assert set(family.shifts) <= set(family.sides)


@each_real
def test_samples_lie_on_the_sides_of_their_family(family) -> None:
    with precision(64):
        for side in BOTH_SIDES:
            assert (family.pdf(to_ball(side), side) > 0) == (side in family.sides)
    for noise in (Fraction(-2), Fraction(0), Fraction(3)):
        assert (family.possible(noise) > 0) - (family.possible(noise) < 0) in (0, *family.sides)


@each_real
def test_shifts_cost_what_they_are_said_to(family) -> None:
    """f(z - d) <= e^|d| f(z) where a family says so, and somewhere not elsewhere."""
    points = [Fraction(k, 4) + Fraction(1, 8) for k in range(-80, 80)]
    with precision(64):
        for side in BOTH_SIDES:
            ratios = []
            for z in points:
                here, there = (to_ball(x) for x in (z, z - side))
                one = family.pdf(here, 1 if z > 0 else -1)
                other = family.pdf(there, 1 if z > side else -1)
                ratios.append(other - to_ball(1).exp() * one)
            worst = max(float(ratio.upper()) for ratio in ratios)
            assert (worst <= 1e-15) == (side in family.shifts)


@each_real
def test_scores_are_slopes_of_logarithms_that_never_rise(family) -> None:
    """Between two points the slope is one between their scores; far out f is like its tail."""
    for side, near in product(family.sides, (0, 1, 3, 9)):
        places = sorted(side * (Fraction(near) + Fraction(k, 8)) for k in (1, 2))
        with precision(128):
            left, right = (family.score(to_ball(z), side) for z in places)
            logs = [family.pdf(to_ball(z), side).log() for z in places]
            slope = 8 * (logs[1] - logs[0])
            assert not slope > left and not slope < right and (left > right or family.has_kink)
    with precision(128):
        far, kind = to_ball(60), family.tail
        shown = family.pdf(far, 1) * far.exp()
        assert abs(shown - to_ball(kind or 0)) < 1e-20
    assert (family.steepness is None) == (None not in (kind, family.mirror.tail))


@each_real
def test_numbers_of_densities(family) -> None:
    """The largest density, and how fast probabilities move with mean and scale, on a fine grid."""
    step = Fraction(1, 64)
    with precision(64):
        values = [
            float(family.pdf(to_ball(k * step + step / 2), 1 if k >= 0 else -1))
            for k in range(-2000, 2000)
        ]
    width = float(step)
    variation = sum(abs(b - a) for a, b in pairwise(values)) / 2
    assert variation <= float(family.steep) <= variation * 1.02
    slopes = [(b - a) / width for a, b in pairwise(values)]
    bent = sum(abs(b - a) for a, b in pairwise(slopes)) / 2
    if family.curved is None:
        assert bent > 10
    else:
        assert bent <= float(family.curved) <= bent * 1.02
    # s f = -(f + z f') is the derivative of f(z / r) / r by ln r.
    at = [(k + 1) * width - 2000 * width for k in range(len(slopes))]
    means = [(a + b) / 2 for a, b in pairwise(values)]
    jump = 2 / width / 4
    rates = [
        (abs(-(f + z * g)), f) for z, f, g in zip(at, means, slopes, strict=True) if abs(g) < jump
    ]
    assert family.drift <= 1  # which irrational scales rest on
    drift = sum(rate for rate, _ in rates) * width / 2
    assert drift <= float(family.drift) * 1.01
    for cut in (ONE, Fraction(3, 2), Fraction(2), Fraction(3)):
        level = max(float(cut) ** 2 - 1, 1.0)
        beyond = sum(max(rate - level * f, 0.0) for rate, f in rates) * width
        assert beyond <= float(family.excess(cut)) * 1.01


@pytest.mark.parametrize("family, power", [(DISCRETE_LAPLACE, 1), (DISCRETE_GAUSSIAN, 2)])
def test_integers_move_with_the_scale_as_is_said(family, power) -> None:
    """Weights e^(-t |k|^p), at many t: s = p (t |k|^p - its mean) is what ln f rises by."""
    k = np.arange(-4000, 4001)
    for t in np.geomspace(1e-2, 30, 200):
        size = t * np.abs(k) ** power
        weights = np.exp(-size) / np.exp(-size).sum()
        score = power * (size - size @ weights)
        bent = -power * score - score**2 @ weights
        assert np.abs(score) @ weights / 2 <= float(family.drift)
        assert (score**2 + np.abs(bent)) @ weights / 2 <= float(family.bend)
        for cut in (ONE, Fraction(3, 2), Fraction(2), Fraction(3)):
            beyond = np.abs(score) - max(float(cut) ** 2 - 1, 1.0)
            assert np.maximum(beyond, 0) @ weights <= float(family.excess(cut))


def test_budgets_are_for_noise_whose_shifts_are_known_to_cost_that() -> None:
    """|f'| <= f bounds the cost from above alone: lower ends of budgets ask for moments."""
    family = SimpleNamespace(**vars(_Seventh), shifts=BOTH_SIDES)
    noise: Any = SimpleNamespace(**{**vars(SAMPLE), "family": family})
    refuses(NotReal, "Cauchy noise", cones._source, noise, {})


@each
def test_the_kernel_knows_every_family(family) -> None:
    """It shares nothing with what is known here, and says the same of what both know."""
    known = KERNELS[family.name]
    assert set(known.shifts) == set(family.shifts)
    assert set(known.sides) == set(family.sides)
    assert known.is_exponential == family.is_exponential
    assert FAMILIES[known.mirror] == family.mirror


@each
def test_verdicts_about_every_family_are_proved(family) -> None:
    program = dipapprox.parse(text_of("laws/families-first").replace("Gauss", family.name))
    found = dipapprox.profile(program, eps=1, eps_prv="1/4").delta_enclosure
    low, high = found.lower, found.upper
    proved = dipapprox.Options(proved=True)
    for delta, answer in ((high + Fraction(1, 10**6), "DP"), (low - Fraction(1, 10**6), "Not_DP")):
        verdict = dipapprox.verify(program, eps=1, eps_prv="1/4", delta=delta, options=proved)
        assert verdict.answer.value == answer


def test_a_new_family_is_a_file() -> None:
    """Families are named where a theorem is about them alone, and nowhere else."""
    found = set()
    for path in FILES:
        relative = path.relative_to(PACKAGE)
        if relative.parts[0] in {"laws", "kernel"}:
            continue
        text = path.read_text(encoding="utf-8")
        if "dipapprox.laws.families" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and node.module == "dipapprox.laws.families":
                names = {alias.name for alias in node.names} - {"FAMILIES", "INTEGERS"}
                if names:
                    found.add(str(relative.with_suffix("")))
    assert found == set(NAMED)


SHIFTED = "divergences of shifted Gaussian and Laplace noise in closed form"
NAMED = {
    "composition/product_measures": SHIFTED,
    "composition/shifted_noise": SHIFTED,
    "numerics/real_outputs/coordinates": "sums of Laplace noise by partial fractions",
    "proofs/prove_automaton": "log-ratios in closed form, of Laplace noise",
}
"""Modules that name families, and what they know of them alone."""

# --- Logistic and Gumbel laws: numbers of their densities, and what they are to mechanisms --------

BITS = 100


def above(number: Fraction, truth: arb, ratio: float = 1.001) -> bool:
    """A bound holds, and is not much more than that."""
    return bool(truth <= to_ball(number)) and bool(to_ball(number) <= truth * ratio)


def test_the_numbers_of_the_density() -> None:
    with precision(BITS):
        assert above(GUMBEL.steep, arb(-1).exp())
        slopes = []
        for sign in (1, -1):
            v = (3 + sign * arb(5).sqrt()) / 2
            slopes.append((v * v - v) * (-v).exp())
        assert GUMBEL.curved is not None
        assert above(GUMBEL.curved, slopes[0] - slopes[1])
        # z f is extreme where z (1 - e^-z) = 1: between these points, by the signs there.
        extremes = []
        for low, high in (("1.349976", "1.349977"), ("-0.806467", "-0.806465")):
            ends = [z * (1 - (-z).exp()) - 1 for z in (arb(low), arb(high))]
            assert ends[0] * ends[1] < 0
            z = arb(low).union(arb(high))
            extremes.append(z * GUMBEL.pdf(z, 0))
        assert above(GUMBEL.drift, extremes[0] - extremes[1])
        information = arb.pi() ** 2 / 6 + (1 - arb.const_euler()) ** 2
        assert above(GUMBEL.bend, information)


# --- what it is drawn for -------------------------------------------------------------------------


def test_logistic_noise() -> None:
    with precision(BITS):
        assert above(LOGISTIC.steep, arb(1) / 4)
        assert above(LOGISTIC.curved, arb(3).sqrt() / 9)
        # z f is largest where z tanh(z/2) = 1: between these points, by the signs there.
        ends = arb("1.5434046384"), arb("1.5434046385")
        low, high = (z * (z / 2).tanh() - 1 for z in ends)
        assert low < 0 < high
        z = ends[0].union(ends[1])
        assert above(LOGISTIC.drift, 2 * z * LOGISTIC.pdf(z, 0))
