"""Elimination where it is hard: extreme parameters, eight samples, wide components, tiny values."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.errors import LimitReached
from dipapprox.events.event import Connected, Event, Star
from dipapprox.laws.distribution import Distribution
from dipapprox.limits import Limits
from dipapprox.numerics.elimination.engine import Eliminated
from dipapprox.numerics.kinds import Tier
from tests.event_strategies import gauss, laplace, less
from tests.numerics.alone import alone

Q = Fraction


def enclose(event: Connected, bits: int = 40, tier: Tier = Tier.AUTO) -> Enclosure:
    found = alone(Eliminated(tier), event, bits, Limits())
    assert found.lower >= 0 and found.upper <= 1
    return found


HARD: dict[str, Connected] = {
    "means a million apart": Event((gauss(0), gauss(10**6), laplace(0)), (less(0, 1), less(2, 1))),
    "the same, impossible": Event((gauss(0), gauss(10**6), gauss(0)), (less(0, 1), less(1, 2))),
    "scales 1e-6 and 1e6": Event(
        (gauss(0, Q(1, 10**6)), laplace(1, 10**6), laplace(0)), (less(0, 1), less(1, 2))
    ),
    "both": Event(
        (gauss(0, Q(1, 10**6)), laplace(10**6, 10**6), gauss(-(10**6))), (less(0, 1), less(1, 2))
    ),
    "a thousand equal samples": Star(gauss(0), ((gauss(0), 1000),), ()),
    "eps = 1e-6": Star(gauss(0, 2 * 10**6), ((gauss(1, 4 * 10**6), 25),), ()),
    "eps = 50": Star(laplace(0, Q(2, 50)), ((laplace(1, Q(4, 50)), 25),), ()),
    "means 1e18 apart": Star(gauss(10**18 + 3), ((gauss(0), 1), (gauss(10**18 + 3), 2)), ()),
    # Grids that keep 64 bits have the standard Gaussian up to 75/8: a kink just before that end.
    "a kink next to an end": Star(gauss(0), ((laplace(Q(75, 8) - Q(1, 10**18), 10**6), 2),), ()),
    "below 1e-300": Star(gauss(-50), ((gauss(0), 3),), ()),
    "a scale of 1e-30": Event(
        (gauss(0, Q(1, 10**30)), gauss(0), gauss(0, 2)), (less(0, 1), less(1, 2))
    ),
    "a scale of 1e30": Event(
        (gauss(0, Q(10**30)), gauss(0), gauss(0, 2)), (less(0, 1), less(1, 2))
    ),
}


def test_values_known_by_symmetry_at_the_extremes() -> None:
    assert Q(1, 1001) in enclose(HARD["a thousand equal samples"], 90)
    # The least of three centred samples, one of them with a tiny scale: 1/4 in the limit.
    assert abs(enclose(HARD["a scale of 1e30"], 90).lower - Q(1, 4)) < Q(1, 10**25)
    assert enclose(HARD["below 1e-300"], 1100).upper < Q(1, 10**300)


def grid(side: int) -> Event:
    """A square grid of samples, ascending along both axes: many cycles."""
    rows = [less(k, k + 1) for k in range(side * side) if (k + 1) % side]
    columns = [less(k, k + side) for k in range(side * (side - 1))]
    laws: list[Distribution] = [gauss(k % 3) for k in range(side * side)]
    return Event(tuple(laws), (*rows, *columns))


def test_too_many_pieces_are_refused_with_a_reason() -> None:
    found = alone(Eliminated(), grid(5), 40, Limits(pieces=300))
    assert isinstance(found, NotEnclosed)
    assert "25 samples and 40 comparisons" in found.reason and "300 pieces" in found.reason


def test_a_time_limit_names_the_component() -> None:
    with pytest.raises(LimitReached, match=r"time limit: 0.2 s") as reached:
        alone(Eliminated(), grid(5), 40, Limits(seconds=0.2))
    assert reached.value.event == grid(5)
