"""Programs that compare samples one by one: the largest delta against doubles, densely sampled."""

import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from fractions import Fraction as F
from itertools import product
from math import exp
from typing import Any

import numpy as np
import pytest
from flint import arb
from numpy.typing import NDArray
from scipy.special import expit, ndtr

from dipapprox import Answer, Enclosure, LimitReached, parse, profile, verify
from dipapprox.language.elaborate import elaborate
from dipapprox.language.parser import parse as read
from dipapprox.laws.families import FAMILIES
from dipapprox.pairs.boxes.cells import PairSet, pairs_of
from dipapprox.pairs.boxes.corners import CornerSearch
from dipapprox.pairs.boxes.one_by_one import image_of, one_by_one
from dipapprox.pairs.boxes.thresholds import thresholds_of
from dipapprox.pairs.divergence import eps_prv_factor
from dipapprox.semantics.execution import execute
from tests.cases import cases, part, text_of

Array = NDArray[np.float64]


def _laplace(z: Array) -> Array:
    tail = np.exp(-np.abs(z)) / 2
    return np.where(z > 0, 1 - tail, tail)


_CDF: dict[str, Callable[[Array], Array]] = {"Lap": _laplace, "Gauss": ndtr, "Logistic": expit}

Part = tuple[str, tuple[int, int], int, Fraction]
"""A family, what q[1] and q[2] are multiplied with, 1 / scale at eps = 1, and a threshold."""


def _text(parts: list[Part], high: int, rule: str) -> str:
    lines = [f"input q[2] in real 0..{high}", f"output out[{len(parts)}] in {{0, 1}}"]
    lines.append(f"adjacent {rule}")
    for k, (family, (a, b), inverse, threshold) in enumerate(parts, 1):
        lines += [
            f"out[{k}] <- 0",
            f"x{k} <- {family}({a} * q[1] + {b} * q[2], 1/{inverse}/eps)",
            f"if x{k} > {threshold} then out[{k}] <- 1 end",
        ]
    return "\n".join(lines)


def _probabilities(parts: list[Part], eps: float, u: Array) -> Array:
    cells = np.ones((1, len(u)))
    for family, weights, inverse, threshold in parts:
        p = _CDF[family]((float(threshold) - u @ np.array(weights, float)) * inverse * eps)
        cells = np.concatenate([cells * p, cells * (1 - p)])
    return cells


def _largest(parts: list[Part], high: int, rule: str, eps: float, eps_prv: float) -> float:
    """Try all pairs of a grid, and move the best ones about."""
    kind, radius = rule.split()
    grid = np.linspace(0, high, 17)
    inputs = np.array(list(product(grid, grid)))
    growth, generator = np.exp(eps_prv), np.random.default_rng(1)

    def adjacent(d: Array) -> NDArray[np.bool_]:
        size = np.abs(d).sum(axis=-1) if kind == "l1" else np.abs(d).max(axis=-1)
        return np.asarray(size <= float(Fraction(radius)) + 1e-12)

    def delta(u: Array, v: Array) -> Array:
        p, q = (_probabilities(parts, eps, each) for each in (u, v))
        return np.asarray(np.maximum(p - growth * q, 0).sum(axis=0))

    first, second = np.repeat(inputs, len(inputs), axis=0), np.tile(inputs, (len(inputs), 1))
    kept = adjacent(first - second)
    pairs = np.concatenate([first[kept], second[kept]], axis=1)
    found = delta(pairs[:, :2], pairs[:, 2:])
    best, pair, step = float(found.max()), pairs[found.argmax()], high / 17
    for _ in range(120):
        tried = np.clip(pair + step * generator.uniform(-1, 1, (64, 4)), 0, high)
        move = step * generator.uniform(-1, 1, (64, 2))
        tried = np.concatenate([tried, np.clip(pair + np.tile(move, 2), 0, high)])
        tried = tried[adjacent(tried[:, :2] - tried[:, 2:])]
        values = delta(tried[:, :2], tried[:, 2:]) if len(tried) else np.zeros(1)
        if values.max() > best:
            best, pair = float(values.max()), tried[values.argmax()]
        else:
            step *= 0.85
    return best


_APART: list[Part] = [("Lap", (1, 0), 2, Fraction(1)), ("Lap", (0, 1), 2, Fraction(1))]
_SHARED: list[Part] = [("Lap", (1, -1), 2, Fraction(1)), ("Lap", (1, 0), 2, Fraction(1, 2))]
_MIXED: list[Part] = [("Gauss", (1, 0), 2, Fraction(1)), ("Logistic", (0, 1), 3, Fraction(3, 4))]
_ALIKE: list[Part] = [("Lap", (1, 1), 1, Fraction(3, 2)), ("Lap", (1, 1), 1, Fraction(2))]


@cases(
    "parts, high, rule, eps, eps_prv",
    (_APART, 2, "linf 1", "19/10", "19/20"),
    (_SHARED, 2, "linf 1", "19/10", "19/20"),
    pytest.param(_MIXED, 2, "linf 1/2", "1", "1/2", marks=pytest.mark.thorough),
    (_APART, 1, "l1 1", "3/5", "3/20"),
    (_ALIKE, 2, "linf 1/2", "7/5", "3/20"),
    ids=["apart", "shared", "mixed", "budget", "alike"],
)
def test_the_largest_delta_is_found(parts, high, rule, eps, eps_prv) -> None:
    found = profile(parse(_text(parts, high, rule)), eps=eps, eps_prv=eps_prv).delta_enclosure
    truth = _largest(parts, high, rule, float(Fraction(eps)), float(Fraction(eps_prv)))
    assert found.width < Fraction(3, 10**6)
    assert truth <= float(found.upper) + 1e-9
    assert truth >= float(found.lower) - 1e-3


def all_pairs_of(inputs: str, rule: str) -> list[PairSet]:
    text = f"{inputs}\noutput o in {{0, 1}}\nadjacent {rule}\no <- 0\n"
    return pairs_of(elaborate(read(text), {}, "x"))


def _random(seed: int) -> tuple[list[Part], int, str, str, str]:
    """One or two parts that compare sums of two inputs, and what is asked of them."""
    chosen = random.Random(seed)
    parts: list[Part] = []
    for _ in range(chosen.choice((1, 2, 2))):
        family, weights = (
            chosen.choice(["Lap", "Lap", "Gauss", "Logistic"]),
            chosen.choice([(1, 0), (0, 1), (1, 0), (0, 1), (1, -1), (1, 1), (2, -1), (1, 2)]),
        )
        parts.append((family, weights, chosen.choice((1, 2, 3, 5)), F(chosen.randint(-2, 6), 2)))
    high = chosen.choice((1, 2, 3))
    radius = min(F(chosen.choice(("1/2", "1", "3/2", "2"))), F(high))
    # Budgets that are shared out are tested with one part: two of them may keep a width.
    rule = f"{'l1' if len(parts) == 1 else 'linf'} {radius}"
    eps_prv = chosen.choice(("0", "1/20", "1/5", "1/2", "19/20", "2"))
    return parts, high, rule, chosen.choice(("1/2", "1", "7/5", "19/10", "3")), eps_prv


@pytest.mark.parametrize("seed", part(range(200), 100))
def test_random_parts_of_two_inputs(seed) -> None:
    parts, high, rule, eps, eps_prv = _random(seed)
    found = profile(parse(_text(parts, high, rule)), eps=eps, eps_prv=eps_prv).delta_enclosure
    truth = _largest(parts, high, rule, float(F(eps)), float(F(eps_prv)))
    assert found.width <= F(1, 10**6)
    assert float(found.lower) - 2e-2 <= truth <= float(found.upper) + 1e-9


def test_a_number_made_of_inputs_stands_for_them() -> None:
    """Each set holds the pair that is told of a place, and all images of its own pairs."""
    chosen = random.Random(3)
    for pairs in all_pairs_of("input q[3] in real 0..2", "l1 3/2"):
        first, second = (F(1), F(-2), F(1, 3)), (F(2), F(1), F(0))
        image = image_of(pairs, first, second)
        for _ in range(60):
            xs = [F(chosen.randint(0, 8), 4) for _ in range(3)]
            ys = [min(max(x + F(chosen.randint(-2, 2), 4), F(0)), F(2)) for x in xs]
            place = tuple(
                sum((a * x for a, x in zip(each, own, strict=True)), F(0))
                for each, own in ((first, xs), (second, ys))
            )
            points = image.pair((place[0], place[1]))
            assert sum(abs(x - y) for x, y in points) <= F(3, 2)
            assert sum((a * x for a, (x, _) in zip(first, points, strict=True)), F(0)) == place[0]
            assert sum((a * y for a, (_, y) in zip(second, points, strict=True)), F(0)) == place[1]
            assert all(0 <= end <= 2 for point in points for end in point)
        assert image.pair((F(100), F(0))) is None


def test_one_sample_tells_more_than_a_program_that_hides_it() -> None:
    """Outputs 1 and 2 hide which of the upper cells x is in: what pairs have bounds no sample."""
    text = text_of("boxes/corners-1")
    states = execute(elaborate(read(text), {}, "x"), True)
    pairs = one_by_one(states, F(1), pairs_of(states.program))
    assert len(pairs.samples) == 2
    factor = eps_prv_factor(F(1, 10), 64)
    search = CornerSearch(pairs, lambda pair: Enclosure.exact(0), factor)
    search.run(lambda delta, sets: True)
    # x < 7/5 where the sum is 2/3, and 2.
    truth = 1 - exp(2 / 3 - 7 / 5) / 2 - exp(1 / 10) * exp(7 / 5 - 2) / 2
    assert search._told_alone[0] >= truth


def test_cuts_are_far_from_where_large_terms_cancel() -> None:
    """Both terms of the cut are near 2^38: doubles have it a whole unit of theirs too far out."""
    unit = Fraction(1, 2**14)
    slope, threshold = 2**38 + unit * F(49, 100), 2**38 + 1 + unit * F(51, 100)
    text = f"""
input q[2] in real 0..1
output out in 0..2
adjacent linf 1
x <- Lap({slope.numerator}/{slope.denominator} * q[1], 1)
y <- Lap(q[2], 1)
if x <= {threshold.numerator}/{threshold.denominator} then out <- 0
else if y > 3 then out <- 1 else out <- 2 end end
"""
    states = execute(elaborate(read(text), {}, "x"), True)
    found = thresholds_of(states, Fraction(1), (F(0), F(0)), [0, 1], Fraction(1))
    bounds = found.curvature(np.ones((2, 1, 1)))
    truth = exp(-float(threshold - slope)) / 2
    assert bounds.steep[0, 0, 0] >= 2.0**38 * truth
    assert bounds.curved[0, 0, 0] >= 2.0**76 * truth
    # What y adds to the bend of an output counts as much as x is likely to be above.
    assert (np.sort(bounds.outputs[:, 1, 0])[:2] >= truth * exp(-2) / 4).all()


def test_a_limit_while_sets_are_cut_leaves_both_bounds(monkeypatch) -> None:
    """Wherever a limit ends a search by corners, what is not known yet is open, not forgotten."""
    program = parse(_text(_MIXED, 2, "linf 1/2"))
    whole = profile(program, eps=1, eps_prv="1/2").delta_enclosure
    look = CornerSearch._look
    for looks in (1, 3):
        left = iter(range(looks))

        def ended(self: CornerSearch, *sets: Any, left: Iterator[int] = left) -> None:
            if next(left, None) is None:
                raise LimitReached("time limit: 1 s")
            look(self, *sets)

        monkeypatch.setattr(CornerSearch, "_look", ended)
        found = verify(program, eps=1, eps_prv="1/2", delta=(whole.lower + whole.upper) / 2)
        assert found.answer is Answer.UNKNOWN
        assert found.delta_enclosure.meets(whole)
        assert 0 < found.delta_enclosure.lower <= whole.upper < found.delta_enclosure.upper


@pytest.mark.parametrize("name", ["Lap", "Gauss", "Logistic", "Gumbel", "GumbelMinus"])
def test_doubles_of_a_family_are_within_what_is_said_of_them(name: str) -> None:
    """Masses below places, the densities there, and their slopes, beside balls."""
    family = next(each for each in FAMILIES.values() if each.name == name)
    places = np.random.default_rng(3).normal(scale=6, size=400)
    masses, (steep, curved) = family.below(places), family.swing(abs(places), abs(places))
    for place, mass, most, slope in zip(places.tolist(), masses, steep, curved, strict=True):
        side, z = (1 if place > 0 else -1) * family.has_kink, arb(place)
        assert abs(float(family.cdf(z, side) - arb(float(mass)))) <= 2.0**-46
        density = family.pdf(z, side)
        assert float(density) <= most
        assert float(abs(density * family.score(z, side))) <= slope


def test_second_derivatives_are_within_bounds() -> None:
    parts: list[Part] = [*_SHARED, ("Gauss", (1, 1), 1, Fraction(2))]
    program = elaborate(read(_text(parts, 2, "linf 1")), {}, "x")
    states = execute(program, True)
    zero = (Fraction(0), Fraction(0))
    found = thresholds_of(states, Fraction(1), zero, [0, 1], Fraction(1))
    generator, step = np.random.default_rng(2), 1e-3
    inputs = generator.uniform(0, 2, (40, 2))
    bounds = found.curvature(inputs.T[:, :, None]).half()
    own = _probabilities(parts, 1.0, inputs)
    assert np.abs(np.sort(found.masses(inputs.T), axis=0) - np.sort(own, axis=0)).max() < 1e-12
    for axis in (0, 1):
        move = np.eye(2)[axis] * step
        sides = [_probabilities(parts, 1.0, inputs + sign * move) for sign in (-1, 1)]
        second = (sides[0] + sides[1] - 2 * own) / step**2
        largest = np.maximum(second, 0).sum(axis=0)  # of the best set of outputs
        assert (largest / 2 <= bounds[axis] + 1e-3).all()
        assert (bounds[axis] <= 3 * largest.max() + 1).all()


@pytest.mark.parametrize("seed", part(range(40), 10))
def test_unlikely_outputs_bend_little(seed: int) -> None:
    """Second differences inside of boxes, five of each, beside the bound of every output there."""
    chosen = random.Random(seed)
    parts: list[Part] = [
        (
            chosen.choice(["Lap", "Gauss", "Logistic", "Gumbel"]),
            chosen.choice([(1, 0), (0, 1), (1, -1), (1, 1), (2, -1)]),
            chosen.choice((1, 2, 5)),
            F(chosen.randint(-2, 6), 2),
        )
        for _ in range(chosen.choice((1, 2, 3)))
    ]
    states = execute(elaborate(read(_text(parts, 8, "linf 1")), {}, "x"), True)
    found = thresholds_of(states, F(1), (F(0), F(0)), [0, 1], F(1))
    generator, step = np.random.default_rng(seed), 1e-3
    low = generator.uniform(step, 7, 2)
    high = low + generator.uniform(0, 1, 2)
    corners = np.array(list(product(*zip(low, high, strict=True)))).T[:, None]
    bounds = found.curvature(corners).outputs[:, :, 0]
    inside = generator.uniform(low, high, (5, 2)).T
    for axis in (0, 1):
        move = np.eye(2)[axis][:, None] * step
        sides = [found.masses((inside + sign * move)[:, :, None]) for sign in (-1, 0, 1)]
        second = np.abs(sides[0] + sides[2] - 2 * sides[1])[..., 0] / step**2
        steep = sum(abs(a) * inverse for _, weights, inverse, _ in parts for a in weights)
        assert (second / 2 <= bounds[:, axis, None] + step * steep**3).all()


@pytest.mark.thorough
def test_a_claim_of_the_least_budget_is_judged_by_who_finds_it() -> None:
    """Bounds of δ are no help at δ = 0, where it is attained: `profile` knows what is enough."""
    program = parse(
        "input x in real 0..4\noutput out in 0..4\nadjacent linf 1\n"
        "out <- clamp(round(Gauss(x, 1 / eps)), 0, 4)\n"
    )
    least = profile(program, eps=1, delta=0).eps_prv_enclosure
    assert least.lower is not None and least.upper is not None
    assert verify(program, eps=1, eps_prv=least.upper, delta=0).answer is Answer.DP
    less = least.lower * (1 - Fraction(1, 10**6))
    assert verify(program, eps=1, eps_prv=less, delta=0).answer is Answer.NOT_DP
    # Between the two nobody knows; no closed form compares real inputs.
    open_one = verify(program, eps=1, eps_prv=least.lower, delta=0)
    assert open_one.answer is not Answer.NOT_DP
