"""Profiles against independent oracles, and the laws that all of them obey."""

import math
from collections.abc import Callable
from fractions import Fraction

import pytest
from flint import arb

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.arithmetic.precision import precision, to_ball
from dipapprox.composition.catalogue import profile_of
from dipapprox.composition.closed_profiles import LaplaceProfile
from dipapprox.composition.mechanisms import (
    Adjacency,
    ApproximateStatement,
    Atoms,
    ConcentratedStatement,
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    Gaussian,
    Laplace,
    Mechanism,
    RandomisedResponse,
    RenyiStatement,
    Subsampled,
)
from dipapprox.composition.profile import ReversedProfile
from dipapprox.errors import UserError
from tests import moved_noise

F = Fraction
BITS = 160
PLACES = [F(k, 7) for k in range(-30, 31)] + [F(0), F(1), F(-1), F(1, 2), F(-1, 2), F(4, 3)]

GAUSSIAN = Gaussian(F(1), F(2, 3))
LOPSIDED = Atoms(
    tuple(
        (Enclosure.exact(F(p)), Enclosure.exact(F(q)))
        for p, q in (("1/2", "1/3"), ("1/4", "1/3"), ("1/4", "0"), ("0", "1/3"))
    )
)
MECHANISMS: list[Mechanism] = [
    GAUSSIAN,
    Laplace(F(1), F(3, 4)),
    DiscreteLaplace(3, F(2)),
    DiscreteGaussian(2, F(5, 2)),
    RandomisedResponse(F(3, 4)),
    RandomisedResponse(F(1, 2), 5),
    ExponentialMechanism(F(1)),
    ApproximateStatement(F(1), F(1, 10)),
    RenyiStatement(((F(2), F(1)), (F(8), F(3)))),
    ConcentratedStatement(F(1, 3)),
    LOPSIDED,
    Subsampled(GAUSSIAN, F(1, 5)),
    Subsampled(Laplace(F(1), F(1)), F(1, 3)),
    Subsampled(LOPSIDED, F(1, 2)),
]


def gaussian(alpha: float) -> float:
    return moved_noise.gaussian(1.5, math.log(alpha))


def laplace(alpha: float) -> float:
    return moved_noise.laplace(4 / 3, math.log(alpha))


def sum_of(p: Callable[[int], float], shift: int) -> Callable[[float], float]:
    return lambda alpha: sum(max(p(x) - alpha * p(x - shift), 0.0) for x in range(-200, 201))


def two_valued(a: float, b: float, rest: float) -> Callable[[float], float]:
    return lambda alpha: max(a - alpha * b, 0) + max(b - alpha * a, 0) + max(rest * (1 - alpha), 0)


def subsampled(inner: Callable[[float], float], rate: float) -> Callable[[float], float]:
    def value(alpha: float) -> float:
        place = (alpha - 1 + rate) / rate
        return rate * inner(place) if place > 0 else 1 - alpha

    return value


BELL = sum(math.exp(-x * x / 12.5) for x in range(-200, 201))
ORACLES: list[tuple[Mechanism, Callable[[float], float]]] = [
    (MECHANISMS[0], gaussian),
    (MECHANISMS[1], laplace),
    (MECHANISMS[2], sum_of(lambda x: math.tanh(0.25) * math.exp(-abs(x) / 2), 3)),
    (MECHANISMS[3], sum_of(lambda x: math.exp(-x * x / 12.5) / BELL, 2)),
    (MECHANISMS[4], two_valued(0.75, 0.25, 0.0)),
    (MECHANISMS[5], two_valued(0.5, 0.125, 0.375)),
    (MECHANISMS[11], subsampled(gaussian, 0.2)),
]


@pytest.mark.parametrize(("mechanism", "oracle"), ORACLES, ids=lambda m: type(m).__name__)
def test_profiles_are_the_hockey_stick(
    mechanism: Mechanism, oracle: Callable[[float], float]
) -> None:
    with precision(BITS):
        profile = profile_of(mechanism, BITS)
        for place in PLACES:
            alpha = to_ball(place).exp()
            found = profile.at(alpha)
            expected = oracle(math.exp(place))
            assert abs(float(found.bound) - expected) < 1e-7 * math.exp(max(place, 0))
            line = found.first - alpha * found.second
            assert abs(float(line) - expected) < 1e-7 * math.exp(max(place, 0))


def test_the_profile_of_bounded_range_is_the_largest_of_its_pairs() -> None:
    with precision(BITS):
        profile = profile_of(ExponentialMechanism(F(1)), BITS)
        for place in PLACES:
            pairs = []
            for k in range(1, 400):
                top = math.exp(k / 400)
                chance = (math.e - top) / (top * (math.e - 1))
                p, q = top * chance, chance
                alpha = math.exp(place)
                pairs.append(max(p - alpha * q, 0) + max(1 - p - alpha * (1 - q), 0))
            assert abs(float(profile.at(to_ball(place).exp()).bound) - max(pairs)) < 1e-4


def test_renyi_statements_bound_a_gaussian() -> None:
    """A Gaussian of m = sensitivity / sigma is m²/2-zCDP: its profile is below."""
    orders = tuple((F(k, 4), F(9, 8) * F(k, 4)) for k in range(5, 80))
    with precision(BITS):
        tight = profile_of(GAUSSIAN, BITS)
        for loose in (ConcentratedStatement(F(9, 8)), RenyiStatement(orders)):
            profile = profile_of(loose, BITS)
            for place in PLACES:
                alpha = to_ball(place).exp()
                assert not profile.at(alpha).bound < tight.at(alpha).bound
                assert profile.at(alpha).bound < tight.at(alpha).bound * 12 + arb("0.35")


@pytest.mark.parametrize(
    ("mechanism", "middle", "radius"),
    [
        (Subsampled(GAUSSIAN, F(1, 5)), F(4, 5), F(1, 100)),
        (Laplace(F(1), F(3, 4)), F(379, 100), F(1, 100)),
        (Laplace(F(1), F(3, 4)), F(264, 1000), F(1, 100)),
        (Laplace(F(1), F(3, 4)), F(264, 1000), F(1, 4)),
        (ExponentialMechanism(F(1)), F(272, 100), F(1, 100)),
        (RandomisedResponse(F(3, 4)), F(3), F(2)),
        (RenyiStatement(((F(8), F(1)),)), F(5, 2), F(1, 2)),
        (RenyiStatement(((F(8), F(1)),)), F(2, 5), F(1, 5)),
        (ConcentratedStatement(F(1, 2)), F(6, 5), F(1, 5)),
        (RandomisedResponse(F(3, 4)), F(1, 3), F(1, 4)),
        (RandomisedResponse(F(3, 4)), F(1, 2), F(3, 7)),
    ],
)
def test_factors_known_roughly_about_a_bend(mechanism: Mechanism, middle: F, radius: F) -> None:
    """What holds for a ball holds for each of its numbers."""
    with precision(BITS):
        profile = profile_of(mechanism, BITS)
        for shift in (-1, 0, 1):
            place = middle + radius * F(shift, 4)
            if place <= radius:
                continue
            bound = profile.at(to_ball(place) + arb(0, 1) * to_ball(radius)).bound
            for k in range(-4, 5):
                true = profile.at(to_ball(place + radius * F(k, 4))).bound
                assert bound.upper() >= true.lower()


def test_laplace_laws_whose_shift_is_known_to_a_hundredth() -> None:
    """Near the greatest factors, whatever the shift is: a bound, and masses of one set."""
    rough = LaplaceProfile(arb(1, 0.01))
    for k in range(-10, 11):
        for place in (1 + k / 1000, -1 - k / 1000):
            alpha = arb(place).exp().mid()
            found = rough.at(alpha)
            for m in (0.99, 0.995, 1.0, 1.005, 1.01):
                assert found.bound.upper() >= LaplaceProfile(arb(m)).at(alpha).bound.lower()
                cut = (m - place) / 2
                below = math.exp(min(cut, 0.0)) / 2 if cut < 0 else 1 - math.exp(-cut) / 2
                there = math.exp(cut - m) / 2 if cut < m else 1 - math.exp(m - cut) / 2
                # One of the sets, best at α or all or nothing, has both masses.
                sets = ((below, there), (0.0, 0.0), (1.0, 1.0))
                assert any(
                    found.first.overlaps(arb(p, 1e-9)) and found.second.overlaps(arb(q, 1e-9))
                    for p, q in sets
                )


def test_the_pair_the_other_way_round() -> None:
    """Its masses are those of the complements, and what P alone had is what Q alone has."""
    with precision(BITS):
        turned = ReversedProfile(profile_of(LOPSIDED, BITS))
        point = turned.at(arb(1))
        assert point.first.overlaps(to_ball(F(2, 3))) and point.second.overlaps(to_ball(F(1, 4)))
        assert turned.ends.infinite.overlaps(to_ball(F(1, 3)))
        assert turned.ends.lost.overlaps(to_ball(F(1, 4)))


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (
            lambda: Subsampled(RandomisedResponse(F(3, 4)), F(1, 10)),
            "amplifies privacy for add/remove adjacency",
        ),
        (lambda: Subsampled(GAUSSIAN, F(0)), "rate must be in"),
        (lambda: Gaussian(F(1), F(0)), "sigma must be > 0, got 0"),
        (lambda: RandomisedResponse(F(1)), "probability must be in"),
        (
            lambda: Atoms(((Enclosure.exact(F(1, 2)), Enclosure.exact(1)),)),
            "masses of P are no distribution",
        ),
        (lambda: Atoms(LOPSIDED.masses, adjacency=Adjacency.SUBSTITUTION), "must be symmetric"),
    ],
)
def test_parameters_are_checked(made: Callable[[], Mechanism], message: str) -> None:
    with pytest.raises(UserError, match=message):
        made()


def test_what_is_for_one_adjacency_only() -> None:
    assert Subsampled(GAUSSIAN, F(1)).adjacency is Adjacency.ADD_REMOVE
    Atoms(LOPSIDED.masses, symmetric=True, adjacency=Adjacency.SUBSTITUTION)
