"""The checker's pairs against those of the run, and against what nobody here wrote."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest
from flint import arb
from scipy import special

from dipapprox.certificates.compositions import (
    ApproximateRun,
    ConcentratedRun,
    DiscreteGaussianRun,
    DiscreteLaplaceRun,
    ExponentialRun,
    GaussianRun,
    LaplaceRun,
    RecordedRun,
    RenyiRun,
    ResponseRun,
)
from dipapprox.checking.compositions.examine import pair_of
from dipapprox.checking.compositions.pairs import FinitePair, grouped
from dipapprox.checking.values import Stuck
from dipapprox.composition import mechanisms as run_by
from dipapprox.composition.catalogue import profile_of
from dipapprox.composition.profile import ReversedProfile
from dipapprox.errors import LimitReached
from dipapprox.limits import Limits, limited
from dipapprox.numerics.precision import precision, to_ball

F = Fraction
BITS = 128
PLACES = [F(k, 6) for k in range(-24, 25)] + [F(1, 5), F(-1, 10), F(2), F(-2)]
KINDS = [
    (GaussianRun(sensitivity=F(1), sigma=F(2, 3)), run_by.Gaussian(F(1), F(2, 3))),
    (LaplaceRun(sensitivity=F(2), scale=F(3)), run_by.Laplace(F(2), F(3))),
    (DiscreteLaplaceRun(sensitivity=3, scale=F(2)), run_by.DiscreteLaplace(3, F(2))),
    (DiscreteGaussianRun(sensitivity=2, sigma=F(5, 2)), run_by.DiscreteGaussian(2, F(5, 2))),
    (ResponseRun(probability=F(1, 2), values=5), run_by.RandomisedResponse(
        F(1, 2), 5, run_by.Adjacency.ADD_REMOVE)),
    (ExponentialRun(eps=F(1)), run_by.ExponentialMechanism(F(1))),
    (ApproximateRun(eps=F(1), delta=F(1, 10)), run_by.ApproximateStatement(F(1), F(1, 10))),
    (RenyiRun(orders=((F(2), F(1)), (F(8), F(3)))), run_by.RenyiStatement(
        ((F(2), F(1)), (F(8), F(3))))),
    (ConcentratedRun(rho=F(1, 3)), run_by.ConcentratedStatement(F(1, 3))),
]  # fmt: skip


@pytest.mark.parametrize(("recorded", "mechanism"), KINDS, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("rate", [F(1), F(1, 5)])
def test_two_roads_lead_to_one_profile(
    recorded: object, mechanism: run_by.Mechanism, rate: Fraction
) -> None:
    """H of the check is that of the run; its lines are below; in both directions."""
    run = RecordedRun(what=recorded, subsample=rate, times=1)
    sampled = mechanism if rate == 1 else run_by.Subsampled(mechanism, rate)
    with precision(BITS):
        for added in (False, True):
            pair = pair_of(run, BITS, added=added)
            profile = profile_of(sampled, BITS)
            other = ReversedProfile(profile) if added else profile
            for place in PLACES:
                alpha = to_ball(place).exp()
                found, known = pair.most(alpha), other.at(alpha).bound
                assert found.upper() <= known.upper() + arb(2) ** -60
                # Of all orders the run guesses one, the check nearly the best one.
                assert found.upper() >= known.lower() - arb(2) ** -40
                first, second = pair.set_at(alpha)
                line = first - alpha * second
                assert line.lower() <= known.upper() and 0 <= second.upper() <= 1 + arb(2) ** -60


def test_gaussian_tails() -> None:
    with precision(BITS):
        run = RecordedRun(what=KINDS[0][0], subsample=None, times=1)
        pair = pair_of(run, BITS, added=False)
        for place in (-2, 0, 1, 3):
            found = float(pair.most(to_ball(F(place)).exp()))
            x, shift = float(place), 1.5
            first = special.ndtr(shift / 2 - x / shift)
            assert (
                abs(found - first + special.ndtr(-shift / 2 - x / shift) * 2.718281828459045**x)
                < 1e-12
            )


def test_groups_are_products() -> None:
    """Three runs of a pair, summed by hand."""
    one = [(F(3, 5), F(1, 5)), (F(3, 10), F(2, 5)), (F(1, 10), F(2, 5))]
    with precision(BITS):
        pair = FinitePair([(to_ball(p), to_ball(q)) for p, q in one])
        several = grouped(pair, 3)
        for alpha in (F(1, 7), F(1), F(5, 4), F(3), F(40)):
            true = sum(
                max(a[0] * b[0] * c[0] - alpha * a[1] * b[1] * c[1], F(0))
                for a in one
                for b in one
                for c in one
            )
            assert several.most(to_ball(alpha)).overlaps(to_ball(true))


@pytest.mark.parametrize("subsample", [None, F(1, 2)])
@pytest.mark.parametrize("added", [False, True])
def test_what_a_table_of_noise_lacks_is_never_forgotten(
    subsample: Fraction | None, added: bool
) -> None:
    """At 64 bits the table ends long before the losses of 20, where δ is about 2e-88."""
    run = RecordedRun(
        what=DiscreteGaussianRun(sensitivity=1, sigma=F(1)), times=1, subsample=subsample
    )
    with precision(BITS):
        pair = pair_of(run, 64, added=added)
        factor = arb(20).exp()
        assert pair.most(factor).upper() > arb("1e-90")
        assert isinstance(pair, FinitePair)
        assert grouped(pair, 2).most(factor).upper() > arb("1e-90")
        assert pair.most(factor).upper() < arb(2) ** -60


@pytest.mark.parametrize(
    "mechanism",
    [
        DiscreteLaplaceRun(sensitivity=1, scale=F(10**7)),
        DiscreteLaplaceRun(sensitivity=10**9, scale=F(2)),
        DiscreteGaussianRun(sensitivity=1, sigma=F(10**9)),
    ],
)
def test_tables_of_wide_noise_are_not_made(
    mechanism: DiscreteLaplaceRun | DiscreteGaussianRun,
) -> None:
    run = RecordedRun(what=mechanism, subsample=None, times=1)
    with limited(Limits(seconds=0)), precision(BITS), pytest.raises(Stuck, match="1048576 values"):
        pair_of(run, BITS, added=False)


def test_large_groups_are_not_counted_out() -> None:
    coin = FinitePair([(arb(1) / 4, arb(3) / 4), (arb(3) / 4, arb(1) / 4)])
    sure = FinitePair([(arb(1), arb(1))])
    with precision(BITS):
        assert grouped(sure, 10**9).most(arb(1) / 2) == arb(1) / 2
        with limited(Limits(seconds=0)), pytest.raises(Stuck, match="65536 losses"):
            grouped(coin, 10**9)
        with limited(Limits(seconds=0)), pytest.raises(LimitReached):
            grouped(coin, 60_000)


def test_tables_ask_the_limits(work_clock: Callable[[], float]) -> None:
    mechanism = DiscreteGaussianRun(sensitivity=1, sigma=F(1000))
    run = RecordedRun(what=mechanism, subsample=None, times=1)
    with limited(Limits(seconds=0.01, started=0)), precision(BITS), pytest.raises(LimitReached):
        pair_of(run, BITS, added=False)
    assert work_clock() < 0.02
