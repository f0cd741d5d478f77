"""No decision is made from what a family is not: one that nobody knows is refused, not priced."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from dipapprox.arithmetic.precision import to_ball
from dipapprox.composition.shifted_noise import ShiftedNoise
from dipapprox.events.event import Event
from dipapprox.events.sums import law_of
from dipapprox.laws import family as families
from dipapprox.laws.distribution import Distribution, Scale
from dipapprox.laws.family import Decay, Family
from dipapprox.numerics.algebras import grid, lattice, sampled_laws
from dipapprox.numerics.closed_form import is_half_space
from dipapprox.numerics.densities import STANDARD_LAWS
from dipapprox.numerics.integers import masses
from dipapprox.numerics.kinds import is_gaussian
from dipapprox.pairs.boxes import infinity
from dipapprox.privacy.intervals import derivative_bounds
from dipapprox.proofs import cones
from dipapprox.semantics.linear import LinearForm

ONE = Fraction(1)


class _Seventh:
    """A family that nobody knows; what is asked of all families it answers, in its own way."""

    name, value = "CAUCHY", "Cauchy"
    is_discrete = is_gaussian = is_exponential = False
    decay = "1 / (1 + z²)"
    sides = (-1, 1)


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
    "masses": lambda: masses._probabilities(LAW, 2),
    "far away": lambda: infinity._far(MADE_UP),
    "sums": lambda: law_of(LinearForm.symbol(0), [LAW]),
    "cutoffs": lambda: grid.cutoff_interval(LAW, 40),
    "widths of panels": lambda: grid._shape(LAW, 40, 1),
    "widths of lattices": lambda: lattice._WIDTHS[LAW.family.decay],
    "samples of densities": lambda: sampled_laws._side_mass(MADE_UP, np.ones(1)),
    "rates of change": lambda: derivative_bounds._scaling([(0, SAMPLE)]),
    "shifts of means": lambda: derivative_bounds._shift([(MADE_UP, ONE)]),
    "shifted noise": lambda: ShiftedNoise(MADE_UP, ONE, ONE),
    "laws": lambda: STANDARD_LAWS[MADE_UP],
    "mirror images": lambda: LAW.affine(Fraction(-1), Fraction(0)),
}


@pytest.mark.parametrize("place", PLACES)
def test_an_unknown_family_is_refused(place: str) -> None:
    with pytest.raises((AssertionError, KeyError, ValueError, infinity.OutOfReach)):
        PLACES[place]()


def test_no_closed_form_is_taken_for_one_of_an_unknown_family() -> None:
    event = Event((LAW,), (LinearForm.symbol(0),))
    assert not is_half_space(event)
    assert not is_gaussian(event)


def test_a_family_needs_a_row_of_facts() -> None:
    """A name is none: a family may begin with D, or end with Gauss, and be another one."""
    for word in ("Cauchy", "Dirichlet", "SkewGauss"):
        with pytest.raises(KeyError):
            Family.__init__(cast("Any", SimpleNamespace()), word)
    assert families._FACTS.keys() == {family.value for family in Family}
    assert {family for family in Family if family.is_discrete} == {
        Family.DISCRETE_LAPLACE,
        Family.DISCRETE_GAUSSIAN,
    }
    assert {family for family in Family if family.decay is Decay.SQUARED} == {
        Family.GAUSSIAN,
        Family.DISCRETE_GAUSSIAN,
    }
    for family in Family:
        assert family.is_gaussian is not family.is_exponential
        mirrored = families.MIRRORED[family]
        assert sorted(-side for side in mirrored.sides) == list(family.sides)
        law = STANDARD_LAWS.get(family)
        for side in (-1, 1) if law is not None else ():
            inside = law.pdf(law_place(side), side)
            assert (inside > 0) == (side in family.sides)


def law_place(side: int) -> Any:
    """One scale from the mean, as a ball."""
    return to_ball(side)
